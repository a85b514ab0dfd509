//! Network interfaces.

use super::super::xml::{Element, Xml};
use super::{PciAddress, alias, yes_no};

/// A network interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Interface {
    /// How it reaches its network.
    pub kind: InterfaceKind,
    /// The name of the VMI's interface.
    pub alias: String,
    /// The MAC address.
    pub mac: Option<String>,
    /// The model of the card.
    pub model: String,
    /// How QEMU drives it.
    pub driver: Option<InterfaceDriver>,
    /// The MTU that the guest is told.
    pub mtu: Option<u32>,
    /// Whether its cable is pulled.
    pub link_down: bool,
    /// Whether its option ROM is switched off.
    pub rom_disabled: bool,
    /// Its number in ACPI, from which the guest can make its name.
    pub acpi_index: Option<u32>,
    /// Its place in the boot order.
    pub boot: Option<u64>,
    /// Where it sits.
    pub address: Option<PciAddress>,
}

/// How an interface reaches its network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum InterfaceKind {
    /// By a tap device that exists already.
    Tap {
        /// Its name.
        device: Option<String>,
    },
    /// By the network stack inside QEMU.
    User,
    /// By a passt process that libvirt starts.
    Passt {
        /// The interface of the pod whose addresses the guest takes over.
        interface: String,
        /// The log of the process.
        log: String,
        /// The ports that reach the guest.
        forwards: Vec<PortForward>,
    },
}

/// Ports that reach the guest; without ranges, all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PortForward {
    /// `tcp` or `udp`.
    pub protocol: &'static str,
    /// The ports.
    pub ranges: Vec<PortRange>,
}

/// A port that reaches the guest, or that does not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PortRange {
    /// The port.
    pub start: u32,
    /// Whether it is kept from the guest.
    pub exclude: bool,
}

/// How QEMU drives an interface of virtio: in the kernel of the host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InterfaceDriver {
    /// The number of queues.
    pub queues: Option<u32>,
    /// Whether it goes through the guest's IOMMU.
    pub iommu: bool,
}

impl Element for Interface {
    fn write(&self, x: &mut Xml) {
        x.element("interface", |x| {
            let kind = match self.kind {
                InterfaceKind::Tap { .. } => "ethernet",
                InterfaceKind::User => "user",
                InterfaceKind::Passt { .. } => "vhostuser",
            };
            x.attribute("type", kind);
            if self.mac.is_some() {
                x.leaf("mac", &[("address", &self.mac)]);
            }
            match &self.kind {
                InterfaceKind::Tap { device: Some(device) } => x.leaf("target", &[("dev", device), ("managed", &"no")]),
                InterfaceKind::Passt { interface, .. } => x.leaf("source", &[("dev", interface)]),
                InterfaceKind::Tap { device: None } | InterfaceKind::User => {}
            }
            x.leaf("model", &[("type", &self.model)]);
            x.put(&self.driver);
            if let InterfaceKind::Passt { log, forwards, .. } = &self.kind {
                x.leaf("backend", &[("type", &"passt"), ("logFile", log)]);
                x.put(forwards);
            }
            if self.link_down {
                x.leaf("link", &[("state", &"down")]);
            }
            if self.mtu.is_some() {
                x.leaf("mtu", &[("size", &self.mtu)]);
            }
            if self.boot.is_some() {
                x.leaf("boot", &[("order", &self.boot)]);
            }
            if self.rom_disabled {
                x.leaf("rom", &[("enabled", &yes_no(false))]);
            }
            if self.acpi_index.is_some() {
                x.leaf("acpi", &[("index", &self.acpi_index)]);
            }
            alias(x, Some(&self.alias));
            x.put(&self.address);
        });
    }
}

impl Element for InterfaceDriver {
    fn write(&self, x: &mut Xml) {
        x.leaf("driver", &[("name", &"vhost"), ("queues", &self.queues), ("iommu", &self.iommu.then_some("on"))]);
    }
}

impl Element for PortForward {
    fn write(&self, x: &mut Xml) {
        x.element("portForward", |x| {
            x.attribute("proto", self.protocol);
            for range in &self.ranges {
                x.leaf("range", &[("start", &range.start), ("exclude", &range.exclude.then_some("yes"))]);
            }
        });
    }
}
