//! Preferences about features of the machine.

use crate::api::instancetype::FeaturePreferences;
use crate::api::v1::{DomainSpec, FeatureHyperv, Features};

use super::prefer;

/// Applies the preferences about features.
pub(super) fn apply(preferred: &FeaturePreferences, domain: &mut DomainSpec) {
    let features = domain.features.get_or_insert_with(Features::default);
    // ACPI is always there in a VM's features, so that its own word cannot be told from none
    if let Some(acpi) = &preferred.preferred_acpi {
        features.acpi.clone_from(acpi);
    }
    prefer(&preferred.preferred_apic, &mut features.apic);
    if let Some(hyperv) = &preferred.preferred_hyperv {
        apply_hyperv(hyperv, features.hyperv.get_or_insert_with(FeatureHyperv::default));
    }
    prefer(&preferred.preferred_kvm, &mut features.kvm);
    prefer(&preferred.preferred_pvspinlock, &mut features.pvspinlock);
    prefer(&preferred.preferred_smm, &mut features.smm);
}

/// The enlightenments are taken one by one.
fn apply_hyperv(preferred: &FeatureHyperv, hyperv: &mut FeatureHyperv) {
    prefer(&preferred.evmcs, &mut hyperv.evmcs);
    prefer(&preferred.frequencies, &mut hyperv.frequencies);
    prefer(&preferred.ipi, &mut hyperv.ipi);
    prefer(&preferred.reenlightenment, &mut hyperv.reenlightenment);
    prefer(&preferred.relaxed, &mut hyperv.relaxed);
    prefer(&preferred.reset, &mut hyperv.reset);
    prefer(&preferred.runtime, &mut hyperv.runtime);
    prefer(&preferred.spinlocks, &mut hyperv.spinlocks);
    prefer(&preferred.synic, &mut hyperv.synic);
    prefer(&preferred.synictimer, &mut hyperv.synictimer);
    prefer(&preferred.tlbflush, &mut hyperv.tlbflush);
    prefer(&preferred.vapic, &mut hyperv.vapic);
    prefer(&preferred.vpindex, &mut hyperv.vpindex);
    prefer(&preferred.vendorid, &mut hyperv.vendorid);
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn preferences_about_features() {
        let every_hyperv = json!({
            "relaxed": {"enabled": false}, "vapic": {"enabled": false}, "spinlocks": {"spinlocks": 8191}, "vpindex": {"enabled": false},
            "runtime": {"enabled": false}, "synic": {"enabled": false}, "synictimer": {"direct": {}}, "reset": {"enabled": false},
            "vendorid": {"vendorid": "x"}, "frequencies": {"enabled": false}, "reenlightenment": {"enabled": false},
            "tlbflush": {"enabled": false}, "ipi": {"enabled": false}, "evmcs": {"enabled": false},
        });
        for (preferred, domain, want) in [
            (json!({}), json!({}), json!({"acpi": {}})),
            (json!({"preferredHyperv": every_hyperv}), json!({}), json!({"acpi": {}, "hyperv": every_hyperv})),
            (
                json!({"preferredHyperv": {"relaxed": {"enabled": false}, "vapic": {}}}),
                json!({"features": {"hyperv": {"relaxed": {}}}}),
                json!({"acpi": {}, "hyperv": {"relaxed": {}, "vapic": {}}}),
            ),
            (
                json!({"preferredAcpi": {"enabled": false}, "preferredApic": {}, "preferredKvm": {"hidden": true}, "preferredPvspinlock": {}, "preferredSmm": {}}),
                json!({"features": {"acpi": {"enabled": true}, "smm": {"enabled": false}}}),
                json!({"acpi": {"enabled": false}, "apic": {}, "kvm": {"hidden": true}, "pvspinlock": {}, "smm": {"enabled": false}}),
            ),
        ] {
            let mut got: DomainSpec = from_value(domain).unwrap();
            apply(&from_value(preferred.clone()).unwrap(), &mut got);
            assert_eq!(to_value(got.features).unwrap(), want, "{preferred}");
        }
    }
}
