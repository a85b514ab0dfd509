//! Defaults of an instance's specification that a virtual machine is judged with, too: architecture, machine, CPU,
//! memory, images, eviction, network and disks.

use std::collections::BTreeSet;

use super::network;
use crate::admission::Cause;
use crate::api::Quantity;
use crate::api::v1::{Cpu, Disk, Machine, VirtualMachineInstanceSpec};
use crate::config::ClusterConfig;

/// The CPU model of a guest when nobody names one.
const CPU_MODEL: &str = "host-model";
/// The CPU request that is left to the pod, thousandths.
const IMPLICIT_CPU_REQUEST: i128 = 100;

/// Fills in what a specification leaves open.
pub fn defaults(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) -> Result<(), Cause> {
    architecture(spec, config);
    machine(spec, config);
    cpu_request(spec, config);
    guest_memory(spec);
    cpu_topology(spec);
    pull_policies(spec);
    if spec.eviction_strategy.is_none() {
        spec.eviction_strategy = config.spec().eviction_strategy.clone();
    }
    attachments(spec, config)
}

/// Connects the guest to the network and to its volumes, where it does not say how itself.
pub fn attachments(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) -> Result<(), Cause> {
    network::default_interface(spec, config)?;
    disks(spec);
    Ok(())
}

/// Gives the guest the architecture of the cluster.
pub(crate) fn architecture(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    if spec.architecture.is_empty() {
        config.default_architecture().clone_into(&mut spec.architecture);
    }
}

/// Gives the guest the machine type of its architecture.
pub(crate) fn machine(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    let machine = spec.domain.machine.get_or_insert_with(Machine::default);
    if machine.type_.is_empty() {
        config.machine_type(&spec.architecture).clone_into(&mut machine.type_);
    }
}

fn cpu_request(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    let dedicated = spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement);
    let resources = &mut spec.domain.resources;
    if let Some(limit) = resources.limits.get("cpu").filter(|q| !q.is_zero())
        && resources.requests.get("cpu").is_none_or(Quantity::is_zero)
    {
        resources.requests.insert("cpu".to_owned(), limit.clone());
    }
    // The pod makes up its own request from the number of CPUs; only a cluster that sets another one overrides that.
    if let Some(request) = config.cpu_request()
        && request.millis() != IMPLICIT_CPU_REQUEST
        && !resources.requests.contains_key("cpu")
        && !dedicated
    {
        resources.requests.insert("cpu".to_owned(), request.clone());
    }
}

fn guest_memory(spec: &mut VirtualMachineInstanceSpec) {
    let resources = &spec.domain.resources;
    let asked = |list: &std::collections::BTreeMap<String, Quantity>| list.get("memory").filter(|q| !q.is_zero()).cloned();
    let memory = spec.domain.memory.get_or_insert_default();
    if memory.guest.is_none() {
        memory.guest = asked(&resources.requests)
            .or_else(|| asked(&resources.limits))
            .or_else(|| memory.hugepages.as_ref().and_then(|pages| pages.page_size.parse().ok()));
    }
}

fn cpu_topology(spec: &mut VirtualMachineInstanceSpec) {
    let resources = &spec.domain.resources;
    let cpu = spec.domain.cpu.get_or_insert_with(Cpu::default);
    if cpu.cores == 0 && cpu.sockets == 0 && cpu.threads == 0 {
        let asked = resources.limits.get("cpu").or_else(|| resources.requests.get("cpu"));
        // Sockets, not cores: guests schedule better on them, and only sockets can be added to a running guest.
        cpu.sockets = asked.map_or(1, |q| u32::try_from(q.value()).unwrap_or(0));
        cpu.cores = 1;
        cpu.threads = 1;
    }
}

fn pull_policies(spec: &mut VirtualMachineInstanceSpec) {
    for disk in spec.volumes.iter_mut().filter_map(|v| v.container_disk.as_mut()).filter(|d| d.image_pull_policy.is_empty()) {
        let latest = disk.image.ends_with(":latest") || !disk.image.contains([':', '@']);
        disk.image_pull_policy = if latest { "Always" } else { "IfNotPresent" }.to_owned();
    }
}

/// Every volume that nothing shows to the guest becomes a disk. One that takes a memory dump is not for the guest.
fn disks(spec: &mut VirtualMachineInstanceSpec) {
    let devices = &mut spec.domain.devices;
    let shown: BTreeSet<&str> =
        devices.disks.iter().map(|d| d.name.as_str()).chain(devices.filesystems.iter().map(|f| f.name.as_str())).collect();
    let hidden: Vec<Disk> = spec
        .volumes
        .iter()
        .filter(|volume| volume.memory_dump.is_none() && !shown.contains(volume.name.as_str()))
        .map(|volume| Disk { name: volume.name.clone(), ..Disk::default() })
        .collect();
    devices.disks.extend(hidden);
}

/// Names the CPU model, unless the architecture already did.
pub(super) fn cpu_model(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    let cpu = spec.domain.cpu.get_or_insert_default();
    if cpu.model.is_empty() {
        let configured = config.spec().cpu_model.as_str();
        cpu.model = if configured.is_empty() { CPU_MODEL } else { configured }.to_owned();
    }
}

/// Whether the guest's buses are PCI Express ones, to which devices can be added while it runs.
pub(crate) fn has_pcie_hotplug(spec: &VirtualMachineInstanceSpec) -> bool {
    let machine = spec.domain.machine.as_ref().map(|m| m.type_.as_str());
    matches!(spec.architecture.as_str(), "amd64" | "arm64" | "") && machine.is_none_or(|m| m.contains("q35") || m.starts_with("virt"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::KubeVirtConfiguration;
    use serde_json::{Value, json};

    fn defaulted(config: Value, spec: Value) -> Value {
        let config: KubeVirtConfiguration = serde_json::from_value(config).unwrap();
        let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(spec).unwrap();
        defaults(&mut spec, &ClusterConfig::new(&config)).unwrap();
        serde_json::to_value(spec).unwrap()
    }

    #[test]
    fn what_is_left_open_is_filled_in() {
        for (config, spec, pointer, wanted) in [
            (json!({}), json!({}), "/architecture", json!("amd64")),
            (json!({}), json!({}), "/domain/machine/type", json!("q35")),
            (json!({}), json!({"architecture": "s390x"}), "/domain/machine/type", json!("s390-ccw-virtio")),
            (json!({"machineType": "m"}), json!({"domain": {"machine": {"type": "own"}}}), "/domain/machine/type", json!("own")),
            (json!({"cpuRequest": "200m"}), json!({}), "/domain/resources/requests/cpu", json!("200m")),
            (json!({}), json!({"domain": {"resources": {"limits": {"cpu": "2"}}}}), "/domain/resources/requests/cpu", json!("2")),
            (json!({}), json!({"domain": {"resources": {"limits": {"cpu": "2"}}}}), "/domain/cpu/sockets", json!(2)),
            (json!({}), json!({"domain": {"resources": {"requests": {"memory": "1Gi"}}}}), "/domain/memory/guest", json!("1Gi")),
            (json!({}), json!({"domain": {"memory": {"hugepages": {"pageSize": "2Mi"}}}}), "/domain/memory/guest", json!("2Mi")),
            (json!({"evictionStrategy": "LiveMigrate"}), json!({}), "/evictionStrategy", json!("LiveMigrate")),
            (json!({}), json!({"volumes": [{"name": "a"}]}), "/domain/devices/disks/0/name", json!("a")),
            (
                json!({}),
                json!({"volumes": [{"name": "d", "memoryDump": {"claimName": "d"}}, {"name": "a"}]}),
                "/domain/devices/disks",
                json!([{"name": "a"}]),
            ),
        ] {
            let out = defaulted(config, spec.clone());
            assert_eq!(out.pointer(pointer), Some(&wanted), "{pointer} of {spec} in {out}");
        }
    }

    #[test]
    fn a_topology_that_is_partly_given_is_left_alone() {
        let out = defaulted(json!({}), json!({"domain": {"cpu": {"cores": 4}}}));
        assert_eq!(out.pointer("/domain/cpu"), Some(&json!({"cores": 4})));
    }

    #[test]
    fn an_image_without_a_version_is_pulled_anew() {
        for (image, policy) in [
            ("a", "Always"),
            ("a:latest", "Always"),
            ("a:v1", "IfNotPresent"),
            ("a@sha256:0", "IfNotPresent"),
            ("host:5/a", "IfNotPresent"),
        ] {
            let out = defaulted(json!({}), json!({"volumes": [{"name": "a", "containerDisk": {"image": image}}]}));
            assert_eq!(out.pointer("/volumes/0/containerDisk/imagePullPolicy"), Some(&json!(policy)), "{image}");
        }
    }

    #[test]
    fn only_pci_express_machines_take_devices_while_they_run() {
        for (architecture, machine, takes) in [
            ("amd64", "pc-q35-9.0", true),
            ("amd64", "pc-i440fx-9.0", false),
            ("arm64", "virt-9.0", true),
            ("s390x", "s390-ccw-virtio", false),
        ] {
            let spec = serde_json::from_value(json!({"architecture": architecture, "domain": {"machine": {"type": machine}}})).unwrap();
            assert_eq!(has_pcie_hotplug(&spec), takes, "{architecture} {machine}");
        }
    }
}
