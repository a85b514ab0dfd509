//! Where PCI devices sit, when that is not left to libvirt.

use std::collections::BTreeMap;

use kubevirt_api::v1::{DiskBus, InputBus};

use super::error::{ConvertError, Fault, Result};
use super::guest::Guest;
use super::model::{Address, Controller, ControllerKind, Devices, Domain, HostSource, PciAddress};

/// The slot of the machine's first sound card.
const SOUND_SLOT: u8 = 0x1b;
/// The slot of the machine's SATA controller, which is the last one.
const SATA_SLOT: u8 = 0x1f;
/// Buses are numbered from here downwards, so that those of the machine itself, which count upwards, have room.
const BUSES: u32 = 255;

/// Gives every PCI device without an address a slot of its own on the root bus.
pub(super) fn on_root_bus(domain: &mut Domain) -> Result<()> {
    let devices = &mut domain.devices;
    let mut next = Slots { last: 1, taken: explicit(devices) };
    for interface in &mut devices.interfaces {
        next.place(&mut interface.address)?;
    }
    for device in &mut devices.host_devices {
        if matches!(device.source, HostSource::Pci(_)) {
            next.place(&mut device.address)?;
        }
    }
    for controller in &mut devices.controllers {
        // these are the buses themselves
        if !matches!(controller.model, "pci-root" | "pcie-root" | "pcie-expander-bus") {
            next.place(&mut controller.address)?;
        }
    }
    for disk in devices.disks.iter_mut().filter(|disk| disk.bus == DiskBus::Virtio && disk.address.is_none()) {
        disk.address = Some(Address::Pci(next.slot()?));
    }
    for input in devices.inputs.iter_mut().filter(|input| input.bus == InputBus::Virtio) {
        next.place(&mut input.address)?;
    }
    if let Some(watchdog) = &mut devices.watchdog {
        next.place(&mut watchdog.address)?;
    }
    if let Some(rng) = &mut devices.rng {
        next.place(&mut rng.address)?;
    }
    next.place(&mut devices.balloon.address)
}

/// The slots of the root bus that the VMI itself gives to a device.
fn explicit(devices: &Devices) -> Vec<u8> {
    let disks = devices.disks.iter().filter_map(|disk| match disk.address {
        Some(Address::Pci(address)) => Some(address),
        _ => None,
    });
    let others =
        devices.interfaces.iter().map(|interface| interface.address).chain(devices.host_devices.iter().map(|device| device.address));
    disks.chain(others.flatten()).filter(|address| address.domain == 0 && address.bus == 0).map(|address| address.slot).collect()
}

/// Slots of the root bus.
struct Slots {
    last: u8,
    taken: Vec<u8>,
}

impl Slots {
    fn place(&mut self, address: &mut Option<PciAddress>) -> Result<()> {
        if address.is_none() {
            *address = Some(self.slot()?);
        }
        Ok(())
    }

    /// The next free slot; the first two belong to the root itself and the display.
    fn slot(&mut self) -> Result<PciAddress> {
        loop {
            self.last = self.last.saturating_add(1);
            if !matches!(self.last, SOUND_SLOT | SATA_SLOT) && !self.taken.contains(&self.last) {
                break;
            }
        }
        if self.last > SATA_SLOT {
            let what = "there are more devices than slots on the root bus".to_owned();
            let right = "use fewer devices, or take the annotation kubevirt.io/placePCIDevicesOnRootComplex away";
            return Err(ConvertError::new("metadata.annotations", Fault::Conflict { what, right }));
        }
        Ok(PciAddress { domain: 0, bus: 0, slot: self.last, function: 0 })
    }
}

/// Puts the host's PCI devices behind an expander bus of the NUMA cell at which they sit, each behind a port of its own.
/// A guest that has the host's cells must have its devices in them; for any other, what does not fit stays where it is.
pub(super) fn by_numa_cell(guest: &Guest<'_>, domain: &mut Domain) -> Result<()> {
    let mut plan: BTreeMap<u32, Vec<(PciAddress, usize)>> = BTreeMap::new();
    for (index, device) in domain.devices.host_devices.iter().enumerate() {
        let HostSource::Pci(source) = device.source else { continue };
        match cell(guest, domain, source).filter(|_| device.address.is_none()) {
            Some(cell) => plan.entry(cell).or_default().push((source, index)),
            None if guest.passes_numa() => {
                let lack = format!("device {source} belongs to no NUMA cell of the guest");
                let right = "take a guest PCI address away, or use a device at a cell of the guest's CPUs";
                return Err(ConvertError::new("spec.domain.cpu.numa.guestMappingPassthrough", Fault::host(lack, right)));
            }
            None => {}
        }
    }
    let first = domain.devices.controllers.iter().map(|controller| controller.index).max().unwrap_or(0) + 1;
    let needed = plan.values().map(|devices| devices.len() + 1).sum::<usize>();
    // controllers count upwards and the buses behind expanders downwards: they must not meet
    let Ok(needed) = u8::try_from(needed) else { return no_room(guest) };
    if first + 2 * u32::from(needed) > BUSES {
        return no_room(guest);
    }
    let mut index = u8::try_from(first).unwrap_or(u8::MAX);
    let mut made = 0;
    for (cell, mut devices) in plan {
        devices.sort_unstable();
        let bus = index;
        made += 1 + u32::try_from(devices.len()).unwrap_or(0);
        let mut expander = Controller::new(ControllerKind::Pci, bus.into(), "pcie-expander-bus");
        (expander.bus_number, expander.numa_cell) = (Some(BUSES - made + 1), Some(cell));
        domain.devices.controllers.push(expander);
        for ((_, place), slot) in devices.into_iter().zip(0..) {
            index += 1;
            let address = |bus, slot| Some(PciAddress { domain: 0, bus, slot, function: 0 });
            let mut port = Controller::new(ControllerKind::Pci, index.into(), "pcie-root-port");
            port.address = address(bus, slot);
            domain.devices.controllers.push(port);
            if let Some(device) = domain.devices.host_devices.get_mut(place) {
                device.address = address(index, 0);
            }
        }
        index += 1;
    }
    Ok(())
}

fn no_room(guest: &Guest<'_>) -> Result<()> {
    if !guest.passes_numa() {
        return Ok(());
    }
    let what = "there are more host devices than PCI buses".to_owned();
    Err(ConvertError::new("spec.domain.devices.hostDevices", Fault::Conflict { what, right: "use fewer host devices" }))
}

/// The guest's NUMA cell of a device: that whose memory lies where the device is, or, in a guest of one cell, that one
/// if a virtual CPU runs there.
fn cell(guest: &Guest<'_>, domain: &Domain, device: PciAddress) -> Option<u32> {
    let numa = domain.cpu.numa.as_ref()?;
    let host = *guest.facts.host_devices.as_ref()?.numa_cells.get(&device.to_string())?;
    let nodes = domain.numa_tune.iter().flat_map(|tune| &tune.nodes);
    if let Some(node) = nodes.clone().find(|node| node.host == host) {
        return Some(node.guest);
    }
    let [only] = numa.cells.as_slice() else { return None };
    let there = guest.facts.numa_cells.iter().find(|cell| cell.id == host)?;
    let runs_there = |cpu| there.cpus.iter().any(|other| other.id == cpu);
    domain.cpu_tune.as_ref()?.vcpus.iter().any(|pin| runs_there(pin.cpu)).then_some(only.id)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{facts, with};
    use super::super::{ConvertError, convert, facts::HostDevices};
    use super::*;

    fn on_root_bus(interfaces: usize, address: &str) -> Result<Vec<String>> {
        let names: Vec<_> = (0..interfaces).map(|n| format!("n{n}")).collect();
        let one = |name: &String| json!({ "name": name, "bridge": {}, "pciAddress": if name == "n1" { address } else { "" } });
        let vmi = with(json!({
            "metadata": { "annotations": { "kubevirt.io/placePCIDevicesOnRootComplex": "true" } },
            "spec": {
                "networks": names.iter().map(|name| json!({ "name": name, "pod": {} })).collect::<Vec<_>>(),
                "domain": { "devices": { "interfaces": names.iter().map(one).collect::<Vec<_>>() } },
            },
        }));
        let domain = convert(&vmi, &facts(&[]))?;
        Ok(domain.devices.interfaces.iter().filter_map(|interface| interface.address).map(|address| address.to_string()).collect())
    }

    #[test]
    fn slots_of_the_root_bus_are_given_once() {
        assert_eq!(
            on_root_bus(4, "0000:00:03.0"),
            Ok(["0000:00:02.0", "0000:00:03.0", "0000:00:04.0", "0000:00:05.0"].map(str::to_owned).to_vec())
        );
        let many = on_root_bus(24, "").unwrap();
        assert!(!many.iter().any(|address| address.contains(":1b.") || address.contains(":1f.")), "{many:?}");
        assert_eq!(on_root_bus(30, "").map_err(|error: ConvertError| error.field), Err("metadata.annotations".to_owned()));
    }

    #[test]
    fn a_device_outside_the_guests_cells_is_an_error_only_where_cells_are_passed_on() {
        let place = |cell: Option<u32>, numa: serde_json::Value| {
            let vmi = with(json!({ "spec": { "domain": {
                "cpu": { "cores": 1, "dedicatedCpuPlacement": true, "numa": numa },
                "memory": { "guest": "1Gi", "hugepages": { "pageSize": "2Mi" } },
                "devices": { "hostDevices": [{ "name": "d", "deviceName": "r" }] },
            } } }));
            let devices = HostDevices {
                pci: [("r".to_owned(), vec!["0000:65:00.0".to_owned()])].into(),
                numa_cells: cell.map(|cell| ("0000:65:00.0".to_owned(), cell)).into_iter().collect(),
                ..HostDevices::default()
            };
            let facts = super::super::Facts { pci_numa_aware: true, host_devices: Some(devices), ..facts(&[0]) };
            convert(&vmi, &facts).map(|domain| domain.devices.host_devices[0].address)
        };
        let passed = json!({ "guestMappingPassthrough": {} });
        let behind_port = Some(PciAddress { domain: 0, bus: 2, slot: 0, function: 0 });
        assert_eq!(place(Some(0), passed.clone()), Ok(behind_port));
        assert_eq!(place(Some(0), json!(null)), Ok(behind_port));
        assert_eq!(place(Some(1), json!(null)), Ok(None));
        assert_eq!(place(None, json!(null)), Ok(None));
        for cell in [Some(1), None] {
            assert_eq!(place(cell, passed.clone()).unwrap_err().field, "spec.domain.cpu.numa.guestMappingPassthrough");
        }
    }
}
