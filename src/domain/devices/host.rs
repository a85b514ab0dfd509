//! Devices of the host that the guest has for itself.

use std::collections::BTreeMap;

use kubevirt_api::v1::{Gpu, InterfaceState, VgpuDisplayOptions};

use super::super::Architecture;
use super::super::error::{ConvertError, Fault, Result};
use super::super::facts::{ClaimedDevice, HostDevices};
use super::super::guest::Guest;
use super::super::interfaces::{self, pci_address};
use super::super::model::{HostDevice, HostSource};

/// What Multus reported about an interface is known by this mark in the VMI's status.
const FROM_MULTUS: &str = "multus-status";

/// The devices: plain ones, then GPUs, then SR-IOV functions. None while nothing is known of what was handed out.
pub(super) fn convert(guest: &Guest<'_>) -> Result<Vec<HostDevice>> {
    let Some(there) = &guest.facts.host_devices else { return Ok(Vec::new()) };
    let mut pool = Pool::new(there);
    let mut devices = plain(guest, &mut pool)?;
    devices.extend(gpus(guest, &mut pool)?);
    devices.extend(sriov(guest, there)?);
    Ok(devices)
}

fn plain(guest: &Guest<'_>, pool: &mut Pool<'_>) -> Result<Vec<HostDevice>> {
    let (mut plugged, mut claimed) = (Vec::new(), Vec::new());
    for (index, source) in guest.devices().host_devices.iter().enumerate() {
        let request = Request::new("hostDevices", index, &source.device_name, &source.claim_name, &source.request_name);
        if request.is_claim() {
            let model = if guest.architecture() == Architecture::S390x { "vfio-ap" } else { "vfio-pci" };
            claimed.push(device(request.claimed(pool, model)?, format!("dra-hostdevice-{}", source.name)));
        } else {
            let taken = request.plugged(pool)?;
            let prefix = if matches!(taken, HostSource::Usb { .. }) { "usb-host-" } else { "hostdevice-" };
            plugged.push(device(taken, format!("{prefix}{}", source.name)));
        }
    }
    plugged.sort_by_key(|device| rank(&device.source));
    plugged.extend(claimed);
    Ok(plugged)
}

fn gpus(guest: &Guest<'_>, pool: &mut Pool<'_>) -> Result<Vec<HostDevice>> {
    let sources = &guest.devices().gpus;
    let (mut plugged, mut claimed) = (Vec::new(), Vec::new());
    for (index, source) in sources.iter().enumerate() {
        let request = Request::new("gpus", index, &source.device_name, &source.claim_name, &source.request_name);
        if request.is_claim() {
            let mut gpu = device(request.claimed(pool, "vfio-pci")?, format!("dra-gpu-{}", source.name));
            if matches!(gpu.source, HostSource::Mdev { .. }) {
                show(&mut gpu, display(source));
            }
            claimed.push(gpu);
        } else {
            let mut gpu = device(request.plugged(pool)?, format!("gpu-{}", source.name));
            show(&mut gpu, display(source));
            plugged.push(gpu);
        }
    }
    plugged.sort_by_key(|device| rank(&device.source));
    plugged.extend(claimed);
    // where nobody says what is a display, the first virtual GPU is; QEMU has room for one before a driver is loaded
    if sources.iter().all(|source| display(source).is_none())
        && let Some(first) = plugged.iter_mut().find(|gpu| matches!(gpu.source, HostSource::Mdev { .. }))
    {
        (first.display, first.ram_fb) = (true, true);
    }
    Ok(plugged)
}

/// SR-IOV functions; one that is plugged in later is not in the status yet.
fn sriov(guest: &Guest<'_>, there: &HostDevices) -> Result<Vec<HostDevice>> {
    let mut devices = Vec::new();
    for (index, source) in guest.devices().interfaces.iter().enumerate() {
        if source.sriov.is_none() || source.state == InterfaceState::Absent {
            continue;
        }
        let field = interfaces::Field { index };
        let network = guest.vmi.spec.networks.iter().find(|network| network.name == source.name);
        let claim = network.and_then(|network| network.resource_claim.as_ref());
        let address = match claim {
            Some(claim) => claimed(there, &claim.claim_name, &claim.request_name).and_then(|device| device.pci.as_ref()),
            None => there.sriov.get(&source.name),
        };
        let Some(address) = address else {
            let reported = |name: &str| {
                guest.vmi.status.interfaces.iter().any(|status| status.name == name && status.info_source.contains(FROM_MULTUS))
            };
            if claim.is_some() || reported(&source.name) {
                let lack = format!("no SR-IOV function was handed out for network {}", source.name);
                return Err(field.error("sriov", Fault::host(lack, "check the network's resource and the node's device plugin")));
            }
            continue;
        };
        let mut function =
            device(HostSource::Pci(pci_address(address).map_err(|fault| field.error("sriov", fault))?), format!("sriov-{}", source.name));
        if !source.pci_address.is_empty() {
            function.address = Some(pci_address(&source.pci_address).map_err(|fault| field.error("pciAddress", fault))?);
        }
        function.boot = source.boot_order;
        devices.push(function);
    }
    Ok(devices)
}

fn device(source: HostSource, alias: String) -> HostDevice {
    HostDevice { source, alias, boot: None, address: None, display: false, ram_fb: false }
}

/// PCI devices come first, then mediated ones, then USB.
fn rank(source: &HostSource) -> u8 {
    match source {
        HostSource::Pci(_) => 0,
        HostSource::Mdev { .. } => 1,
        HostSource::Usb { .. } => 2,
    }
}

fn display(gpu: &Gpu) -> Option<&VgpuDisplayOptions> {
    gpu.virtual_gpu_options.as_ref()?.display.as_ref()
}

/// A virtual GPU that is a display is so unless it says otherwise; a whole one only when it says so.
fn show(gpu: &mut HostDevice, options: Option<&VgpuDisplayOptions>) {
    let Some(options) = options else { return };
    let by_default = matches!(gpu.source, HostSource::Mdev { .. });
    gpu.display = options.enabled.unwrap_or(by_default);
    let ram_fb = match &options.ram_fb {
        Some(state) => state.enabled.unwrap_or(by_default),
        None => by_default,
    };
    gpu.ram_fb = gpu.display && ram_fb;
}

fn claimed<'a>(there: &'a HostDevices, claim: &str, request: &str) -> Option<&'a ClaimedDevice> {
    there.claims.get(claim)?.get(request)
}

/// What a host device or a GPU asks for.
struct Request<'a> {
    list: &'static str,
    index: usize,
    resource: &'a str,
    claim: &'a str,
    request: &'a str,
}

impl<'a> Request<'a> {
    fn new(list: &'static str, index: usize, resource: &'a str, claim: &'a str, request: &'a str) -> Self {
        Self { list, index, resource, claim, request }
    }

    fn is_claim(&self) -> bool {
        self.resource.is_empty() && !(self.claim.is_empty() && self.request.is_empty())
    }

    fn error(&self, part: &str, fault: Fault) -> ConvertError {
        ConvertError::new(format!("spec.domain.devices.{}[{}].{part}", self.list, self.index), fault)
    }

    /// A device that a device plugin handed out.
    fn plugged(&self, pool: &mut Pool<'_>) -> Result<HostSource> {
        let there = pool.there;
        if let Some(address) = pool.take(&there.pci, self.resource) {
            return Ok(HostSource::Pci(pci_address(address).map_err(|fault| self.error("deviceName", fault))?));
        }
        if let Some(uuid) = pool.take(&there.mdev, self.resource) {
            return Ok(HostSource::Mdev { uuid: uuid.to_owned(), model: "vfio-pci" });
        }
        if let Some(address) = pool.take(&there.usb, self.resource) {
            return match address.split_once(':') {
                Some((bus, device)) if !device.contains(':') => Ok(HostSource::Usb { bus: bus.to_owned(), device: device.to_owned() }),
                _ => Err(self.error("deviceName", Fault::value(address, "a USB device is handed out as BUS:DEVICE"))),
            };
        }
        let lack = format!("no device of resource {} was handed out", self.resource);
        Err(self.error("deviceName", Fault::host(lack, "ask for no more devices than the node has to give")))
    }

    /// A device of a resource claim. A mediated device shows the address of its parent too, so that one is looked for first.
    fn claimed(&self, pool: &Pool<'_>, model: &'static str) -> Result<HostSource> {
        let device = claimed(pool.there, self.claim, self.request);
        match device.map(|device| (&device.mdev, &device.pci)) {
            Some((Some(uuid), _)) => Ok(HostSource::Mdev { uuid: uuid.clone(), model }),
            Some((None, Some(address))) => Ok(HostSource::Pci(pci_address(address).map_err(|fault| self.error("claimName", fault))?)),
            _ => {
                let lack = format!("claim {} gave no device for request {}", self.claim, self.request);
                Err(self.error("requestName", Fault::host(lack, "check the claim and the driver that allocated it")))
            }
        }
    }
}

/// Devices that were handed out, and those of them that are taken: one may be listed under several resources.
struct Pool<'a> {
    there: &'a HostDevices,
    taken: Vec<&'a str>,
}

impl<'a> Pool<'a> {
    fn new(there: &'a HostDevices) -> Self {
        Self { there, taken: Vec::new() }
    }

    fn take(&mut self, kind: &'a BTreeMap<String, Vec<String>>, resource: &str) -> Option<&'a str> {
        let next = kind.get(resource)?.iter().find(|address| !self.taken.contains(&address.as_str()))?;
        self.taken.push(next);
        Some(next)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::super::testing::{facts, vmi};
    use super::super::super::{Facts, convert};
    use super::*;

    fn devices(there: &HostDevices, list: &str, asked: &Value) -> Result<Vec<HostDevice>> {
        let facts = Facts { host_devices: Some(there.clone()), ..facts(&[]) };
        convert(&vmi(json!({ "devices": { list: asked } })), &facts).map(|domain| domain.devices.host_devices)
    }

    #[test]
    fn one_device_is_handed_out_once() {
        let address = || vec!["0000:01:00.0".to_owned()];
        let there = HostDevices { pci: [("a".to_owned(), address()), ("b".to_owned(), address())].into(), ..HostDevices::default() };
        let one = json!([{ "name": "x", "deviceName": "a" }]);
        assert_eq!(devices(&there, "hostDevices", &one).unwrap().len(), 1);
        let two = json!([{ "name": "x", "deviceName": "a" }, { "name": "y", "deviceName": "b" }]);
        for list in ["hostDevices", "gpus"] {
            let error = devices(&there, list, &two).unwrap_err();
            assert_eq!(
                (error.field, error.fault.to_string().contains("resource b")),
                (format!("spec.domain.devices.{list}[1].deviceName"), true)
            );
        }
    }

    #[test]
    fn an_address_that_is_none_is_named() {
        let text = |text: &str| [("r".to_owned(), vec![text.to_owned()])].into();
        for there in [
            HostDevices { pci: text("x"), ..HostDevices::default() },
            HostDevices { usb: text("1-4"), ..HostDevices::default() },
            HostDevices { usb: text("1:2:3"), ..HostDevices::default() },
        ] {
            let error = devices(&there, "hostDevices", &json!([{ "name": "x", "deviceName": "r" }])).unwrap_err();
            assert_eq!(error.field, "spec.domain.devices.hostDevices[0].deviceName");
        }
    }

    #[test]
    fn a_claim_that_gave_nothing_is_named() {
        let asked = json!([{ "name": "x", "claimName": "c", "requestName": "r" }]);
        for list in ["hostDevices", "gpus"] {
            let error = devices(&HostDevices::default(), list, &asked).unwrap_err();
            assert_eq!(error.field, format!("spec.domain.devices.{list}[0].requestName"));
        }
    }
}
