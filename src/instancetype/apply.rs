//! Writes an instance type and a preference into the spec of a VMI.

mod cpu;
mod memory;

use std::collections::BTreeMap;

use crate::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::v1::{DiskIoThreads, VirtualMachineInstanceSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Conflict, Conflicts, apply_preference};

/// Applies an instance type, then a preference, to the spec and the annotations of a VMI or of a VM's template.
///
/// `base` is the path of the spec, which the conflicts begin with. Where there are conflicts, the spec is left
/// half-applied and is of no further use.
pub fn apply(
    base: &str,
    instancetype: Option<&VirtualMachineInstancetypeSpec>,
    preference: Option<&VirtualMachinePreferenceSpec>,
    spec: &mut VirtualMachineInstanceSpec,
    metadata: &mut ObjectMeta,
) -> Result<(), Conflicts> {
    if let Some(instancetype) = instancetype {
        let mut conflicts = Vec::new();
        let mut conflict = |field: &str| conflicts.push(Conflict::decided(base, field));
        placement(instancetype, spec, &mut conflict);
        cpu::apply(&instancetype.cpu, preference, spec, &mut conflict);
        memory::apply(&instancetype.memory, spec, &mut conflict);
        io_threads(instancetype, spec, &mut conflict);
        devices(instancetype, spec, &mut conflict);
        annotations(&instancetype.annotations, metadata, &mut conflicts);
        Conflicts::or(conflicts, ())?;
    }
    if let Some(preference) = preference {
        apply_preference(preference, spec, metadata);
    }
    Ok(())
}

/// Sets what is to be set, unless the VM has said it.
fn decide<T: Default + PartialEq>(wanted: T, field: &mut T, name: &str, conflict: &mut impl FnMut(&str)) {
    let unset = T::default();
    if wanted == unset {
        return;
    }
    if *field == unset {
        *field = wanted;
    } else {
        conflict(name);
    }
}

fn placement(from: &VirtualMachineInstancetypeSpec, spec: &mut VirtualMachineInstanceSpec, conflict: &mut impl FnMut(&str)) {
    decide(from.node_selector.clone(), &mut spec.node_selector, "nodeSelector", conflict);
    decide(from.scheduler_name.clone(), &mut spec.scheduler_name, "schedulerName", conflict);
}

fn io_threads(from: &VirtualMachineInstancetypeSpec, spec: &mut VirtualMachineInstanceSpec, conflict: &mut impl FnMut(&str)) {
    let count = from.io_threads.as_ref().and_then(|threads| threads.supplemental_pool_thread_count);
    if count.is_some() {
        let threads = spec.domain.io_threads.get_or_insert_with(DiskIoThreads::default);
        decide(count, &mut threads.supplemental_pool_thread_count, "domain.ioThreads.supplementalPoolThreadCount", conflict);
    }
    decide(from.io_threads_policy.clone(), &mut spec.domain.io_threads_policy, "domain.ioThreadsPolicy", conflict);
}

fn devices(from: &VirtualMachineInstancetypeSpec, spec: &mut VirtualMachineInstanceSpec, conflict: &mut impl FnMut(&str)) {
    let domain = &mut spec.domain;
    decide(from.launch_security.clone(), &mut domain.launch_security, "domain.launchSecurity", conflict);
    decide(from.gpus.clone(), &mut domain.devices.gpus, "domain.devices.gpus", conflict);
    decide(from.host_devices.clone(), &mut domain.devices.host_devices, "domain.devices.hostDevices", conflict);
}

/// Annotations are no part of the spec: their conflicts are named from the object's own root.
fn annotations(wanted: &BTreeMap<String, String>, metadata: &mut ObjectMeta, conflicts: &mut Vec<Conflict>) {
    if wanted.is_empty() {
        return;
    }
    let present = metadata.annotations.get_or_insert_default();
    for (key, value) in wanted {
        match present.get(key) {
            None => {
                present.insert(key.clone(), value.clone());
            }
            Some(other) if other != value => conflicts.push(Conflict::Decided { field: format!("annotations.{key}") }),
            Some(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn instancetype() -> VirtualMachineInstancetypeSpec {
        serde_json::from_value(json!({
            "nodeSelector": {"disk": "fast"}, "schedulerName": "bin-packer", "cpu": {"guest": 4, "model": "Nehalem"},
            "memory": {"guest": "2Gi", "hugepages": {"pageSize": "2Mi"}}, "gpus": [{"name": "g", "deviceName": "v/g"}],
            "hostDevices": [{"name": "h", "deviceName": "v/h"}], "ioThreadsPolicy": "supplementalPool",
            "ioThreads": {"supplementalPoolThreadCount": 2}, "launchSecurity": {"sev": {}}, "annotations": {"a": "1"},
        }))
        .unwrap()
    }

    fn applied(spec: Value, annotations: Value) -> Result<Value, Vec<String>> {
        let mut spec = serde_json::from_value(spec).unwrap();
        let mut metadata: ObjectMeta = serde_json::from_value(json!({"annotations": annotations})).unwrap();
        match apply("spec", Some(&instancetype()), None, &mut spec, &mut metadata) {
            Ok(()) => Ok(json!({"spec": spec, "annotations": metadata.annotations})),
            Err(conflicts) => Err(conflicts.0.iter().map(|c| c.field().to_owned()).collect()),
        }
    }

    #[test]
    fn an_instance_type_fills_what_the_vm_leaves_open() {
        let got = applied(json!({"domain": {"devices": {}}}), json!({"b": "2"})).unwrap();
        assert_eq!(
            got,
            json!({
                "annotations": {"a": "1", "b": "2"},
                "spec": {
                    "nodeSelector": {"disk": "fast"}, "schedulerName": "bin-packer",
                    "domain": {
                        "cpu": {"cores": 1, "sockets": 4, "threads": 1, "model": "Nehalem"},
                        "memory": {"guest": "2Gi", "hugepages": {"pageSize": "2Mi"}},
                        "devices": {"gpus": [{"name": "g", "deviceName": "v/g"}], "hostDevices": [{"name": "h", "deviceName": "v/h"}]},
                        "ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 2},
                        "launchSecurity": {"sev": {}}, "resources": {},
                    },
                },
            })
        );
    }

    #[test]
    fn what_both_say_conflicts() {
        for (spec, annotations, want) in [
            (json!({"nodeSelector": {"x": "y"}}), json!({}), "spec.nodeSelector"),
            (json!({"schedulerName": "x"}), json!({}), "spec.schedulerName"),
            (json!({"domain": {"ioThreadsPolicy": "shared"}}), json!({}), "spec.domain.ioThreadsPolicy"),
            (
                json!({"domain": {"ioThreads": {"supplementalPoolThreadCount": 2}}}),
                json!({}),
                "spec.domain.ioThreads.supplementalPoolThreadCount",
            ),
            (json!({"domain": {"launchSecurity": {}}}), json!({}), "spec.domain.launchSecurity"),
            (json!({"domain": {"devices": {"gpus": [{"name": "x"}]}}}), json!({}), "spec.domain.devices.gpus"),
            (json!({"domain": {"devices": {"hostDevices": [{"name": "x"}]}}}), json!({}), "spec.domain.devices.hostDevices"),
            (json!({}), json!({"a": "2"}), "annotations.a"),
        ] {
            assert_eq!(applied(spec.clone(), annotations), Err(vec![want.to_owned()]), "{spec}");
        }
        assert!(applied(json!({}), json!({"a": "1"})).is_ok(), "the same annotation is no conflict");
        let both = applied(json!({"schedulerName": "x", "domain": {"cpu": {"cores": 1}}}), json!({}));
        assert_eq!(both, Err(vec!["spec.schedulerName".to_owned(), "spec.domain.cpu.cores".to_owned()]), "all are named, in order");
    }
}
