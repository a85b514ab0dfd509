//! Controllers.

use kubevirt_api::names;
use kubevirt_api::v1::DiskBus;

use super::super::disks::bus;
use super::super::guest::Guest;
use super::super::io_threads::{self, IoThreads};
use super::super::model::{Controller, ControllerDriver, ControllerKind};
use super::needs_usb;

pub(super) fn convert(guest: &Guest<'_>, threads: Option<IoThreads>) -> Vec<Controller> {
    let iommu = guest.uses_iommu().then_some(ControllerDriver { iommu: true, ..ControllerDriver::default() });
    let usb = if needs_usb(guest) { "qemu-xhci" } else { "none" };
    let mut controllers = vec![Controller::new(ControllerKind::Usb, 0, usb)];
    let disks = &guest.devices().disks;
    // disks are plugged in on SCSI
    if !guest.devices().disable_hotplug || disks.iter().any(|disk| bus(disk) == Some(&DiskBus::Scsi)) {
        let model = guest.rules.scsi.unwrap_or(guest.virtio);
        let thread = threads.and_then(|threads| io_threads::of_scsi_controller(threads, disks));
        let served = |thread| ControllerDriver { io_thread: Some(thread), queues: Some(guest.vcpus), iommu: iommu.is_some() };
        let driver = thread.map(served).or(iommu);
        controllers.push(Controller { driver, ..Controller::new(ControllerKind::Scsi, 0, model) });
    }
    let no_hole = guest.annotation(names::DISABLE_PCI_HOLE_64).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if guest.rules.pci_hole && no_hole {
        controllers.push(Controller { pci_hole_kib: Some(0), ..Controller::new(ControllerKind::Pci, 0, "pcie-root") });
    }
    if guest.has_serial_console() {
        controllers.push(Controller { driver: iommu, ..Controller::new(ControllerKind::VirtioSerial, 0, guest.virtio) });
    }
    controllers
}
