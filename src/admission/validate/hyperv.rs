//! Hyper-V features and those that they need.

use super::spec::Subject;
use crate::admission::Cause;
use crate::admission::mutate::vmi::{REQUIRE, VMX};
use crate::api::v1::{FeatureHyperv, FeatureState};

/// Judges the features of an instance, which had those that they need switched on unless somebody switched them off.
pub(super) fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(features) = &s.spec.domain.features else { return };
    let Some(hyperv) = &features.hyperv else { return };
    let at = s.at.key("domain.features.hyperv");
    for (name, needs) in unmet(hyperv) {
        causes.push(Cause::invalid(at.key(name), format!("{name} needs {needs}, which is off; switch that on, or this off")));
    }
    if hyperv.evmcs.as_ref().is_some_and(|state| state.enabled != Some(false)) {
        vmx(s, causes);
    }
    if features.hyperv_passthrough.is_some() {
        causes.push(Cause::invalid(at, "hypervPassthrough takes every feature that the host has; leave it or the single features out"));
    }
}

fn on(state: Option<&FeatureState>) -> bool {
    state.is_some_and(|state| state.enabled == Some(true))
}

/// The features that are on, with what they need and lack.
fn unmet(hyperv: &FeatureHyperv) -> impl Iterator<Item = (&'static str, &'static str)> {
    let (vpindex, synic, vapic) = (on(hyperv.vpindex.as_ref()), on(hyperv.synic.as_ref()), on(hyperv.vapic.as_ref()));
    let tlbflush = hyperv.tlbflush.as_ref().is_some_and(|flush| flush.enabled == Some(true));
    let synictimer = hyperv.synictimer.as_ref().is_some_and(|timer| timer.enabled == Some(true));
    let needs = [
        ("evmcs", on(hyperv.evmcs.as_ref()), "vapic", vapic),
        ("ipi", on(hyperv.ipi.as_ref()), "vpindex", vpindex),
        ("tlbflush", tlbflush, "vpindex", vpindex),
        ("synictimer", synictimer, "synic", synic),
        ("synic", synic, "vpindex", vpindex),
    ];
    needs.into_iter().filter(|(_, wanted, _, met)| *wanted && !met).map(|(name, _, needs, _)| (name, needs))
}

fn vmx(s: &Subject, causes: &mut Vec<Cause>) {
    let at = s.at.key("domain.cpu.features");
    let features = s.spec.domain.cpu.as_ref().map_or(&[][..], |cpu| &cpu.features);
    if features.is_empty() {
        causes.push(Cause::required(at, format!("evmcs needs the CPU feature {VMX}; add it with the policy {REQUIRE}")));
    }
    for (i, feature) in features.iter().enumerate().filter(|(_, feature)| feature.name == VMX && feature.policy != REQUIRE) {
        let message = format!("evmcs needs the CPU feature {VMX} with the policy {REQUIRE}, not {:?}", feature.policy);
        causes.push(Cause::invalid(at.index(i).key("policy"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Path;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::config::ClusterConfig;
    use serde_json::{Value, json};

    fn fields(domain: Value) -> Vec<String> {
        let spec = serde_json::from_value(json!({"domain": domain})).unwrap();
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let mut causes = Vec::new();
        judge(&Subject { at: &Path::new("s"), spec: &spec, config: &config }, &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn features_have_what_they_need() {
        let (yes, no) = (json!({"enabled": true}), json!({"enabled": false}));
        for (domain, wanted) in [
            (json!({"features": {"hyperv": {"ipi": yes, "vpindex": yes}}}), &[][..]),
            (json!({"features": {"hyperv": {"ipi": yes, "vpindex": no}}}), &["s.domain.features.hyperv.ipi"]),
            (json!({"features": {"hyperv": {"synictimer": yes}}}), &["s.domain.features.hyperv.synictimer"]),
            (json!({"features": {"hyperv": {}, "hypervPassthrough": {}}}), &["s.domain.features.hyperv"]),
            (json!({"features": {"hyperv": {"evmcs": yes, "vapic": yes}}}), &["s.domain.cpu.features"]),
            (
                json!({"features": {"hyperv": {"evmcs": yes, "vapic": yes}}, "cpu": {"features": [{"name": "vmx", "policy": "optional"}]}}),
                &["s.domain.cpu.features[0].policy"],
            ),
        ] {
            assert_eq!(fields(domain.clone()), wanted, "{domain}");
        }
    }
}
