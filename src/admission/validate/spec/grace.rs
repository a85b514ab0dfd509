//! GPUs of NVIDIA Grace, which need more of a guest than other devices.

use std::collections::BTreeMap;

use super::{Rule, Subject, closed};
use crate::admission::{Cause, Path};
use crate::api::names;
use crate::api::v1::VirtualMachineInstanceSpec;
use crate::config::{ClusterConfig, Gate};

pub(super) const RULES: &[Rule] = &[judge];

const NVIDIA: &str = "10DE";
/// The GPUs that share memory coherently with an Arm host.
const GRACE: [&str; 3] = ["2342", "2348", "2941"];

/// What the selector of a permitted device says about it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Selected {
    Grace,
    /// Any NVIDIA device, one of Grace maybe.
    AnyNvidia,
    Other,
}

fn selected(selector: &str) -> Selected {
    let normal = |id: &str| {
        let id = id.trim().to_uppercase();
        id.strip_prefix("0X").map(str::to_owned).unwrap_or(id)
    };
    let Some((vendor, device)) = selector.split_once(':') else { return Selected::Other };
    match (normal(vendor).as_str(), normal(device).as_str()) {
        (NVIDIA, "*") => Selected::AnyNvidia,
        (NVIDIA, device) if GRACE.contains(&device) => Selected::Grace,
        _ => Selected::Other,
    }
}

/// The devices that the guest asks for by name, with their places.
fn requested(spec: &VirtualMachineInstanceSpec) -> impl Iterator<Item = (&'static str, usize, &str)> {
    let gpus = spec.domain.devices.gpus.iter().enumerate().map(|(i, d)| ("domain.devices.gpus", i, d.device_name.as_str()));
    let hosts = spec.domain.devices.host_devices.iter().enumerate().map(|(i, d)| ("domain.devices.hostDevices", i, d.device_name.as_str()));
    gpus.chain(hosts).filter(|(_, _, name)| !name.is_empty())
}

fn kind(config: &ClusterConfig, resource: &str) -> Selected {
    let permitted = config.permitted_host_devices().map_or(&[][..], |permitted| &permitted.pci_host_devices);
    let device = permitted.iter().rfind(|device| device.resource_name == resource && !device.pci_vendor_selector.is_empty());
    device.map_or(Selected::Other, |device| selected(&device.pci_vendor_selector))
}

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let gate = s.enabled(Gate::GraceIoVirtualization);
    let mut any = false;
    for (key, i, resource) in requested(s.spec) {
        let list = s.at.key(key);
        let element = list.index(i);
        let at = element.key("deviceName");
        match kind(s.config, resource) {
            Selected::Grace if !gate => {
                causes.push(Cause::invalid(at, format!("{resource:?} is a GPU of NVIDIA Grace: {}", closed(Gate::GraceIoVirtualization))));
            }
            Selected::Grace => any = true,
            Selected::AnyNvidia if gate => {
                let message = format!(
                    "{resource:?} may be a GPU of NVIDIA Grace or not; its pciVendorSelector in permittedHostDevices must name the device"
                );
                causes.push(Cause::invalid(at, message));
            }
            Selected::AnyNvidia | Selected::Other => {}
        }
    }
    if any {
        guest(s, causes);
    }
}

fn guest(s: &Subject, causes: &mut Vec<Cause>) {
    let (architecture, machine) = (s.architecture(), s.machine_type());
    if architecture != "arm64" {
        causes.push(Cause::invalid(s.at.key("architecture"), format!("a GPU of NVIDIA Grace needs arm64, not {architecture:?}")));
    }
    if !machine.starts_with("virt") {
        causes
            .push(Cause::invalid(s.at.key("domain.machine.type"), format!("a GPU of NVIDIA Grace needs a machine virt, not {machine:?}")));
    }
    if s.cpu().is_none_or(|cpu| !cpu.dedicated_cpu_placement) {
        causes.push(Cause::required(
            s.at.key("domain.cpu.dedicatedCpuPlacement"),
            "a GPU of NVIDIA Grace needs dedicated CPUs; set this to true",
        ));
    }
    for gate in [Gate::PciNumaAwareTopology, Gate::Iommufd] {
        if !s.enabled(gate) {
            causes.push(Cause::invalid(s.at.key("domain.devices"), format!("a GPU of NVIDIA Grace is asked for: {}", closed(gate))));
        }
    }
}

/// What annotations may not say beside such a GPU; `at` is the metadata.
pub(in super::super) fn annotations(
    at: &Path,
    spec: &VirtualMachineInstanceSpec,
    annotations: Option<&BTreeMap<String, String>>,
    config: &ClusterConfig,
    causes: &mut Vec<Cause>,
) {
    if !requested(spec).any(|(_, _, resource)| kind(config, resource) == Selected::Grace) {
        return;
    }
    let list = at.key("annotations");
    for (name, why) in [
        (names::PLACE_PCI_DEVICES_ON_ROOT_COMPLEX, "a GPU of NVIDIA Grace cannot be on the root complex"),
        (names::DISABLE_PCI_HOLE_64, "a GPU of NVIDIA Grace needs the 64-bit PCI hole"),
    ] {
        if annotations.and_then(|all| all.get(name)).is_some_and(|value| value == "true") {
            causes.push(Cause::invalid(format!("{list}[{name}]"), format!("{why}; leave this out")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check_with;
    use super::*;
    use serde_json::{Value, json};

    fn settings(selector: &str, gates: &[&str]) -> Value {
        json!({
            "developerConfiguration": {"featureGates": gates},
            "permittedHostDevices": {"pciHostDevices": [{"pciVendorSelector": selector, "resourceName": "nvidia.com/gpu"}]}
        })
    }

    #[test]
    fn a_grace_gpu_needs_its_gates_and_guest() {
        let on_amd64 = json!({"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/gpu"}]}}});
        let mut right = on_amd64.clone();
        right["architecture"] = json!("arm64");
        right["domain"]["cpu"] = json!({"dedicatedCpuPlacement": true});
        let gates = ["GraceIOVirtualization", "PCINUMAAwareTopology", "IOMMUFD"];
        const DEVICE: &str = "s.domain.devices.gpus[0].deviceName";
        check_with(RULES, settings("10de:2342", &gates), &[(right, &[])]);
        check_with(RULES, settings("10DE:2342", &[]), &[(on_amd64.clone(), &[DEVICE])]);
        check_with(RULES, settings("10DE:*", &gates), &[(on_amd64.clone(), &[DEVICE])]);
        check_with(RULES, settings("8086:2342", &gates), &[(on_amd64.clone(), &[])]);
        let wanted =
            ["s.architecture", "s.domain.machine.type", "s.domain.cpu.dedicatedCpuPlacement", "s.domain.devices", "s.domain.devices"];
        check_with(RULES, settings("10DE:2342", &gates[..1]), &[(on_amd64, &wanted)]);
    }

    #[test]
    fn annotations_do_not_contradict_it() {
        let spec =
            serde_json::from_value(json!({"domain": {"devices": {"gpus": [{"name": "g", "deviceName": "nvidia.com/gpu"}]}}})).unwrap();
        let config = ClusterConfig::new(&serde_json::from_value(settings("10DE:2342", &[])).unwrap());
        let set = BTreeMap::from([(names::DISABLE_PCI_HOLE_64.to_owned(), "true".to_owned())]);
        let mut causes = Vec::new();
        annotations(&Path::new("metadata"), &spec, Some(&set), &config, &mut causes);
        assert_eq!(causes.len(), 1);
        assert_eq!(causes[0].field, "metadata.annotations[kubevirt.io/disablePCIHole64]");
    }
}
