//! Hyper-V features bring along those that they need.

use crate::api::v1::{CpuFeature, FeatureHyperv, FeatureState, VirtualMachineInstanceSpec};

/// The CPU feature that nested virtualization with an enlightened VMCS needs, and how it must be asked for.
pub(crate) const VMX: &str = "vmx";
/// See [`VMX`].
pub(crate) const REQUIRE: &str = "require";

/// Switches on what the requested features need, as far as nobody switched it off; what was switched off is
/// pointed out by validation.
pub(super) fn complete(spec: &mut VirtualMachineInstanceSpec) {
    let Some(hyperv) = spec.domain.features.as_mut().and_then(|features| features.hyperv.as_mut()) else { return };
    if requirements(hyperv).is_none() {
        return;
    }
    if hyperv.evmcs.as_ref().is_some_and(|state| state.enabled != Some(false)) {
        require_vmx(&mut spec.domain.cpu.get_or_insert_default().features);
    }
}

/// `None` as soon as something needed was switched off: nothing further is done then.
fn requirements(hyperv: &mut FeatureHyperv) -> Option<()> {
    let on = |state: &Option<FeatureState>| state.as_ref().is_some_and(|s| s.enabled == Some(true));
    if on(&hyperv.evmcs) {
        switch_on(&mut hyperv.vapic)?;
    }
    let flush = hyperv.tlbflush.as_ref().is_some_and(|t| t.enabled == Some(true));
    if on(&hyperv.ipi) || flush {
        switch_on(&mut hyperv.vpindex)?;
    }
    if hyperv.synictimer.as_ref().is_some_and(|t| t.enabled == Some(true)) {
        switch_on(&mut hyperv.synic)?;
    }
    if on(&hyperv.synic) {
        switch_on(&mut hyperv.vpindex)?;
    }
    Some(())
}

fn switch_on(state: &mut Option<FeatureState>) -> Option<()> {
    let enabled = &mut state.get_or_insert_default().enabled;
    enabled.get_or_insert(true).then_some(())
}

fn require_vmx(features: &mut Vec<CpuFeature>) {
    match features.iter_mut().find(|feature| feature.name == VMX) {
        Some(feature) => REQUIRE.clone_into(&mut feature.policy),
        None => features.push(CpuFeature { name: VMX.to_owned(), policy: REQUIRE.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn features_bring_along_what_they_need() {
        for (given, wanted) in [
            (json!({"ipi": {"enabled": true}}), json!({"ipi": {"enabled": true}, "vpindex": {"enabled": true}})),
            (
                json!({"synictimer": {"enabled": true}}),
                json!({"synictimer": {"enabled": true}, "synic": {"enabled": true}, "vpindex": {"enabled": true}}),
            ),
            (json!({"ipi": {"enabled": false}}), json!({"ipi": {"enabled": false}})),
            (
                json!({"synic": {"enabled": true}, "vpindex": {"enabled": false}}),
                json!({"synic": {"enabled": true}, "vpindex": {"enabled": false}}),
            ),
        ] {
            let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(json!({"domain": {"features": {"hyperv": given}}})).unwrap();
            complete(&mut spec);
            assert_eq!(serde_json::to_value(spec.domain.features.unwrap().hyperv).unwrap(), wanted);
        }
    }

    #[test]
    fn an_enlightened_vmcs_needs_vmx() {
        let spec = json!({"domain": {"cpu": {"features": [{"name": "vmx", "policy": "optional"}]}, "features": {"hyperv": {"evmcs": {}}}}});
        let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(spec).unwrap();
        complete(&mut spec);
        assert_eq!(spec.domain.cpu.unwrap().features, [CpuFeature { name: VMX.to_owned(), policy: REQUIRE.to_owned() }]);
    }
}
