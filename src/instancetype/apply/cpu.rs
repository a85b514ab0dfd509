//! The CPUs of an instance type.

use crate::api::instancetype::{CpuInstancetype, VirtualMachinePreferenceSpec};
use crate::api::v1::{Cpu, VirtualMachineInstanceSpec};

use super::super::topology::Topology;

/// Writes the CPUs into the spec, or names every field of the VM that speaks of them.
pub(super) fn apply(
    wanted: &CpuInstancetype,
    preference: Option<&VirtualMachinePreferenceSpec>,
    spec: &mut VirtualMachineInstanceSpec,
    conflict: &mut impl FnMut(&str),
) {
    let resources = &spec.domain.resources;
    let cpu = spec.domain.cpu.get_or_insert_with(Cpu::default);
    // the number of CPUs is always the instance type's; the rest only where it says something
    let said = [
        (resources.requests.contains_key("cpu"), "domain.resources.requests.cpu"),
        (resources.limits.contains_key("cpu"), "domain.resources.limits.cpu"),
        (cpu.sockets != 0, "domain.cpu.sockets"),
        (cpu.cores != 0, "domain.cpu.cores"),
        (cpu.threads != 0, "domain.cpu.threads"),
        (!cpu.model.is_empty() && wanted.model.is_some(), "domain.cpu.model"),
        (cpu.dedicated_cpu_placement && wanted.dedicated_cpu_placement.is_some(), "domain.cpu.dedicatedCPUPlacement"),
        (cpu.isolate_emulator_thread && wanted.isolate_emulator_thread.is_some(), "domain.cpu.isolateEmulatorThread"),
        (cpu.numa.is_some() && wanted.numa.is_some(), "domain.cpu.numa"),
        (cpu.realtime.is_some() && wanted.realtime.is_some(), "domain.cpu.realtime"),
    ];
    let mut conflicts = said.iter().filter(|(said, _)| *said).map(|(_, field)| *field).peekable();
    if conflicts.peek().is_some() {
        conflicts.for_each(conflict);
        return;
    }
    if let Some(model) = &wanted.model {
        cpu.model.clone_from(model);
    }
    if let Some(dedicated) = wanted.dedicated_cpu_placement {
        cpu.dedicated_cpu_placement = dedicated;
    }
    if let Some(isolate) = wanted.isolate_emulator_thread {
        cpu.isolate_emulator_thread = isolate;
    }
    if wanted.numa.is_some() {
        cpu.numa.clone_from(&wanted.numa);
    }
    if wanted.realtime.is_some() {
        cpu.realtime.clone_from(&wanted.realtime);
    }
    if let Some(sockets) = wanted.max_sockets {
        cpu.max_sockets = sockets;
    }
    let shape = Topology::of(preference).shape(wanted.guest);
    (cpu.sockets, cpu.cores, cpu.threads) = (shape.sockets, shape.cores, shape.threads);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_word_about_the_cpus_conflicts() {
        let wanted: CpuInstancetype = serde_json::from_value(json!({
            "guest": 2, "model": "m", "dedicatedCPUPlacement": false, "isolateEmulatorThread": true, "numa": {}, "realtime": {},
        }))
        .unwrap();
        for (domain, want) in [
            (json!({"resources": {"requests": {"cpu": "1"}}}), "domain.resources.requests.cpu"),
            (json!({"resources": {"limits": {"cpu": "0"}}}), "domain.resources.limits.cpu"),
            (json!({"cpu": {"sockets": 1}}), "domain.cpu.sockets"),
            (json!({"cpu": {"cores": 1}}), "domain.cpu.cores"),
            (json!({"cpu": {"threads": 1}}), "domain.cpu.threads"),
            (json!({"cpu": {"model": "x"}}), "domain.cpu.model"),
            (json!({"cpu": {"dedicatedCpuPlacement": true}}), "domain.cpu.dedicatedCPUPlacement"),
            (json!({"cpu": {"isolateEmulatorThread": true}}), "domain.cpu.isolateEmulatorThread"),
            (json!({"cpu": {"numa": {}}}), "domain.cpu.numa"),
            (json!({"cpu": {"realtime": {}}}), "domain.cpu.realtime"),
        ] {
            let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(json!({"domain": domain})).unwrap();
            let mut got = Vec::new();
            apply(&wanted, None, &mut spec, &mut |field| got.push(field.to_owned()));
            assert_eq!(got, [want], "{domain}");
        }
    }

    #[test]
    fn what_the_instance_type_leaves_open_is_the_vms() {
        let wanted: CpuInstancetype = serde_json::from_value(json!({"guest": 3, "maxSockets": 9})).unwrap();
        let cpu = json!({"model": "x", "dedicatedCpuPlacement": true, "numa": {}, "realtime": {}, "features": [{"name": "f"}]});
        let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(json!({"domain": {"cpu": cpu}})).unwrap();
        apply(&wanted, None, &mut spec, &mut |field| panic!("{field} is no conflict"));
        let cpu = spec.domain.cpu.unwrap();
        assert_eq!((cpu.model.as_str(), cpu.dedicated_cpu_placement, cpu.features.len()), ("x", true, 1));
        assert_eq!((cpu.sockets, cpu.max_sockets), (3, 9));
    }
}
