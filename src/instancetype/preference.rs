//! Writes a preference into the spec of a VMI: only what the VM leaves open.

mod devices;
mod disks;
mod features;
mod firmware;

use crate::api::instancetype::VirtualMachinePreferenceSpec;
use crate::api::v1::{Clock, Cpu, Machine, VirtualMachineInstanceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

pub use devices::apply_autoattach;

/// Applies a preference to the spec and the annotations of a VMI or of a VM's template.
pub fn apply_preference(preference: &VirtualMachinePreferenceSpec, spec: &mut VirtualMachineInstanceSpec, metadata: &mut ObjectMeta) {
    cpu_features(preference, spec);
    if let Some(devices) = &preference.devices {
        devices::apply(devices, spec);
    }
    if let Some(features) = &preference.features {
        features::apply(features, &mut spec.domain);
    }
    if let Some(firmware) = &preference.firmware {
        firmware::apply(firmware, &mut spec.domain);
    }
    machine(preference, spec);
    clock(preference, spec);
    if let Some(subdomain) = preference.preferred_subdomain.as_ref().filter(|_| spec.subdomain.is_empty()) {
        spec.subdomain.clone_from(subdomain);
    }
    prefer(&preference.preferred_termination_grace_period_seconds, &mut spec.termination_grace_period_seconds);
    architecture(preference, spec);
    for (key, value) in &preference.annotations {
        metadata.annotations.get_or_insert_default().entry(key.clone()).or_insert_with(|| value.clone());
    }
    prefer(&preference.preferred_launch_security, &mut spec.domain.launch_security);
}

/// Takes what is preferred where nothing is set.
fn prefer<T: Clone>(preferred: &Option<T>, field: &mut Option<T>) {
    if field.is_none() {
        field.clone_from(preferred);
    }
}

/// The same for values that have an empty form instead of none.
fn prefer_value<T: Clone + Default + PartialEq>(preferred: &T, field: &mut T) {
    let unset = T::default();
    if *field == unset && *preferred != unset {
        field.clone_from(preferred);
    }
}

/// The architecture decides the machine type, so a VM's webhook applies it before everything else.
pub(super) fn architecture(preference: &VirtualMachinePreferenceSpec, spec: &mut VirtualMachineInstanceSpec) {
    if let Some(architecture) = &preference.preferred_architecture {
        prefer_value(architecture, &mut spec.architecture);
    }
}

pub(super) fn machine(preference: &VirtualMachinePreferenceSpec, spec: &mut VirtualMachineInstanceSpec) {
    if let Some(machine) = preference.machine.as_ref().filter(|machine| !machine.preferred_machine_type.is_empty()) {
        prefer_value(&machine.preferred_machine_type, &mut spec.domain.machine.get_or_insert_with(Machine::default).type_);
    }
}

fn cpu_features(preference: &VirtualMachinePreferenceSpec, spec: &mut VirtualMachineInstanceSpec) {
    let Some(preferred) = preference.cpu.as_ref().map(|cpu| &cpu.preferred_cpu_features).filter(|features| !features.is_empty()) else {
        return;
    };
    let features = &mut spec.domain.cpu.get_or_insert_with(Cpu::default).features;
    let said = features.len();
    for feature in preferred {
        if !features.iter().take(said).any(|f| f.name == feature.name) {
            features.push(feature.clone());
        }
    }
}

fn clock(preference: &VirtualMachinePreferenceSpec, spec: &mut VirtualMachineInstanceSpec) {
    let Some(preferred) = &preference.clock else { return };
    let clock = spec.domain.clock.get_or_insert_with(Clock::default);
    // an offset is one of two things: half of the VM's and half of the preference's would be neither
    if let Some(offset) = preferred.preferred_clock_offset.as_ref().filter(|_| clock.utc.is_none() && clock.timezone.is_none()) {
        clock.utc.clone_from(&offset.utc);
        clock.timezone.clone_from(&offset.timezone);
    }
    prefer(&preferred.preferred_timer, &mut clock.timer);
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    pub(super) fn applied(preference: Value, spec: Value) -> Value {
        let preference = serde_json::from_value(preference).unwrap();
        let mut spec = serde_json::from_value(spec).unwrap();
        let mut metadata = ObjectMeta { annotations: Some([("a".to_owned(), "vm".to_owned())].into()), ..ObjectMeta::default() };
        apply_preference(&preference, &mut spec, &mut metadata);
        json!({"spec": spec, "annotations": metadata.annotations})
    }

    #[test]
    fn a_preference_fills_what_the_vm_leaves_open() {
        let preference = json!({
            "cpu": {"preferredCPUFeatures": [{"name": "x", "policy": "require"}, {"name": "y"}]},
            "machine": {"preferredMachineType": "q35"},
            "clock": {"preferredClockOffset": {"timezone": "Z"}, "preferredTimer": {"kvm": {}}},
            "preferredSubdomain": "sub", "preferredTerminationGracePeriodSeconds": 30, "preferredArchitecture": "arm64",
            "preferredLaunchSecurity": {"sev": {}}, "annotations": {"a": "preference", "b": "2"},
        });
        assert_eq!(
            applied(preference.clone(), json!({"domain": {"devices": {}}})),
            json!({
                "annotations": {"a": "vm", "b": "2"},
                "spec": {
                    "subdomain": "sub", "terminationGracePeriodSeconds": 30, "architecture": "arm64",
                    "domain": {
                        "clock": {"timezone": "Z", "timer": {"kvm": {}}},
                        "cpu": {"features": [{"name": "x", "policy": "require"}, {"name": "y"}]},
                        "devices": {}, "launchSecurity": {"sev": {}}, "machine": {"type": "q35"}, "resources": {},
                    },
                },
            })
        );
        let own = json!({
            "subdomain": "own", "terminationGracePeriodSeconds": 0, "architecture": "amd64",
            "domain": {
                "clock": {"utc": {}, "timer": {}}, "cpu": {"features": [{"name": "x"}, {"name": "y"}]}, "devices": {},
                "launchSecurity": {"snp": {}}, "machine": {"type": "pc-q35-9.0"}, "resources": {},
            },
        });
        assert_eq!(applied(preference, own.clone())["spec"], own, "the VM's own word wins");
    }
}
