//! Devices of the host that the guest has for itself.

use super::super::xml::{Element, Xml};
use super::{PciAddress, alias};

/// A device of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostDevice {
    /// Which one.
    pub source: HostSource,
    /// Its name; the guest's side of it in the VMI with a prefix.
    pub alias: String,
    /// Its place in the boot order.
    pub boot: Option<u64>,
    /// Where it sits in the guest.
    pub address: Option<PciAddress>,
    /// Whether it is a display of the guest.
    pub display: bool,
    /// Whether it is a display before a driver is loaded.
    pub ram_fb: bool,
}

/// Which device of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostSource {
    /// A PCI device.
    Pci(PciAddress),
    /// A mediated device.
    Mdev {
        /// Its UUID.
        uuid: String,
        /// How it is passed on: `vfio-pci` or `vfio-ap`.
        model: &'static str,
    },
    /// A USB device.
    Usb {
        /// Its bus.
        bus: String,
        /// Its number on the bus.
        device: String,
    },
}

impl Element for HostDevice {
    fn write(&self, x: &mut Xml) {
        x.element("hostdev", |x| {
            let (kind, managed, model) = match &self.source {
                // the driver of a PCI device was bound before the pod got it
                HostSource::Pci(_) => ("pci", Some("no"), None),
                HostSource::Mdev { model, .. } => ("mdev", None, Some(*model)),
                HostSource::Usb { .. } => ("usb", None, None),
            };
            x.attribute("mode", "subsystem");
            x.attribute("type", kind);
            x.attribute("managed", &managed);
            x.attribute("model", &model);
            x.attribute("display", &self.display.then_some("on"));
            x.attribute("ramfb", &self.ram_fb.then_some("on"));
            x.element("source", |x| match &self.source {
                HostSource::Pci(address) => x.element("address", |x| address.attributes(x)),
                HostSource::Mdev { uuid, .. } => x.leaf("address", &[("uuid", uuid)]),
                HostSource::Usb { bus, device } => x.leaf("address", &[("bus", bus), ("device", device)]),
            });
            if self.boot.is_some() {
                x.leaf("boot", &[("order", &self.boot)]);
            }
            alias(x, Some(&self.alias));
            x.put(&self.address);
        });
    }
}
