//! Controllers: what devices are plugged into.

use super::super::xml::{Element, Xml};
use super::PciAddress;

/// A controller.
#[derive(Clone, Debug, PartialEq)]
pub struct Controller {
    /// What it is.
    pub kind: ControllerKind,
    /// Its number among those of its kind.
    pub index: u32,
    /// Its model.
    pub model: &'static str,
    /// How QEMU drives it.
    pub driver: Option<ControllerDriver>,
    /// Where it sits.
    pub address: Option<PciAddress>,
    /// The size of the 64-bit PCI window in KiB.
    pub pci_hole_kib: Option<u64>,
    /// The number of the first bus behind an expander.
    pub bus_number: Option<u32>,
    /// The guest's NUMA cell of an expander.
    pub numa_cell: Option<u32>,
}

/// A kind of controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ControllerKind {
    /// USB.
    Usb,
    /// SCSI.
    Scsi,
    /// PCI.
    Pci,
    /// Ports and consoles of virtio.
    VirtioSerial,
}

/// How QEMU drives a controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ControllerDriver {
    /// The I/O thread.
    pub io_thread: Option<u32>,
    /// The number of queues.
    pub queues: Option<u32>,
    /// Whether it goes through the guest's IOMMU.
    pub iommu: bool,
}

impl Controller {
    /// A controller of a kind, with nothing special about it.
    pub fn new(kind: ControllerKind, index: u32, model: &'static str) -> Self {
        Self { kind, index, model, driver: None, address: None, pci_hole_kib: None, bus_number: None, numa_cell: None }
    }
}

impl Element for Controller {
    fn write(&self, x: &mut Xml) {
        x.element("controller", |x| {
            let kind = match self.kind {
                ControllerKind::Usb => "usb",
                ControllerKind::Scsi => "scsi",
                ControllerKind::Pci => "pci",
                ControllerKind::VirtioSerial => "virtio-serial",
            };
            x.attribute("type", kind);
            x.attribute("index", &self.index);
            x.attribute("model", self.model);
            if self.bus_number.is_some() || self.numa_cell.is_some() {
                x.element("target", |x| {
                    x.attribute("busNr", &self.bus_number);
                    x.text("node", &[], self.numa_cell);
                });
            }
            x.put(&self.driver);
            x.text("pcihole64", &[("unit", &"KiB")], self.pci_hole_kib);
            x.put(&self.address);
        });
    }
}

impl Element for ControllerDriver {
    fn write(&self, x: &mut Xml) {
        let iommu = self.iommu.then_some("on");
        x.leaf("driver", &[("queues", &self.queues), ("iothread", &self.io_thread), ("iommu", &iommu)]);
    }
}
