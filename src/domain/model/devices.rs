//! The guest's devices, and the small ones among them.

use kubevirt_api::v1::{InputBus, InputType, PanicDeviceModel, WatchdogAction};

use super::super::xml::{Element, Xml};
use super::{Address, Controller, Disk, HostDevice, Interface, PciAddress, alias, on_off};

/// The guest's devices.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Devices {
    /// The emulator; `None` leaves the choice to libvirt.
    pub emulator: Option<String>,
    /// Disks.
    pub disks: Vec<Disk>,
    /// Controllers.
    pub controllers: Vec<Controller>,
    /// File systems shared with the host.
    pub filesystems: Vec<Filesystem>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// The serial port, which is the console.
    pub serial: Option<Serial>,
    /// Channels between host and guest.
    pub channels: Vec<Channel>,
    /// Tablets and keyboards.
    pub inputs: Vec<Input>,
    /// The TPM.
    pub tpm: Option<Tpm>,
    /// The screen as seen from outside.
    pub graphics: Option<Graphics>,
    /// The sound card.
    pub sound: Option<Sound>,
    /// The graphics card.
    pub video: Option<Video>,
    /// Devices of the host.
    pub host_devices: Vec<HostDevice>,
    /// USB devices of whoever looks at the screen.
    pub redirections: Vec<Redirection>,
    /// The watchdog.
    pub watchdog: Option<Watchdog>,
    /// The memory balloon.
    pub balloon: Balloon,
    /// The source of entropy.
    pub rng: Option<Rng>,
    /// Devices by which the guest tells that it panicked.
    pub panics: Vec<Panic>,
    /// Sockets between host and guest.
    pub vsock: Option<Vsock>,
}

/// A file system shared by virtiofs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filesystem {
    /// The name by which the guest mounts it.
    pub tag: String,
    /// The socket of virtiofsd.
    pub socket: String,
    /// Whether the access mode is spelled as KubeVirt does.
    pub kubevirt_spelling: bool,
}

/// A serial port whose other end is a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Serial {
    /// The socket.
    pub socket: String,
    /// A file that takes what the guest writes.
    pub log: Option<String>,
}

/// A channel between host and guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Channel {
    /// The name by which the guest finds it.
    pub name: &'static str,
    /// The socket on the host; `None` leaves the choice to libvirt.
    pub socket: Option<SocketSource>,
}

/// A socket that QEMU listens on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SocketSource {
    /// Its path.
    pub path: String,
}

/// A tablet or a keyboard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Input {
    /// Which of them.
    pub kind: InputType,
    /// The bus.
    pub bus: InputBus,
    /// The model of virtio.
    pub model: Option<&'static str>,
    /// The name of the VMI's input.
    pub alias: Option<String>,
    /// Where it sits.
    pub address: Option<PciAddress>,
}

/// An emulated TPM 2.0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tpm {
    /// Whether its state outlives the guest. The interface is then the newer one.
    pub persistent: bool,
}

/// The screen as seen from outside: VNC on a socket.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graphics {
    /// The socket.
    pub socket: String,
}

/// A sound card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sound {
    /// The model.
    pub model: String,
    /// The name of the VMI's device.
    pub alias: String,
}

/// A graphics card with one head.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Video {
    /// The model.
    pub model: String,
    /// The video memory in KiB.
    pub memory: Option<u32>,
}

/// A USB device of whoever looks at the screen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Redirection {
    /// The socket.
    pub socket: String,
}

/// A watchdog.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Watchdog {
    /// The model.
    pub model: &'static str,
    /// What it does when the guest does not answer.
    pub action: WatchdogAction,
    /// The name of the VMI's device.
    pub alias: String,
    /// Where it sits.
    pub address: Option<PciAddress>,
}

/// The memory balloon.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Balloon {
    /// The model; `None` for no balloon.
    pub model: Option<&'static str>,
    /// Whether free pages are given back to the host.
    pub free_page_reporting: bool,
    /// The interval of statistics in seconds.
    pub period: Option<u32>,
    /// Whether it goes through the guest's IOMMU.
    pub iommu: bool,
    /// Where it sits.
    pub address: Option<PciAddress>,
}

/// A source of entropy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rng {
    /// The model.
    pub model: &'static str,
    /// Whether it goes through the guest's IOMMU.
    pub iommu: bool,
    /// Where it sits.
    pub address: Option<PciAddress>,
}

/// A device by which the guest tells that it panicked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Panic {
    /// The model.
    pub model: Option<PanicDeviceModel>,
}

/// Sockets between host and guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vsock {
    /// The guest's number.
    pub cid: u32,
}

impl Element for Devices {
    fn write(&self, x: &mut Xml) {
        x.element("devices", |x| {
            x.text("emulator", &[], &self.emulator);
            x.put(&self.disks);
            x.put(&self.controllers);
            x.put(&self.filesystems);
            x.put(&self.interfaces);
            x.put(&self.serial);
            x.put(&self.channels);
            x.put(&self.inputs);
            x.put(&self.tpm);
            x.put(&self.graphics);
            x.put(&self.sound);
            x.put(&self.video);
            x.put(&self.host_devices);
            x.put(&self.redirections);
            x.put(&self.watchdog);
            self.balloon.write(x);
            x.put(&self.rng);
            x.put(&self.panics);
            x.put(&self.vsock);
        });
    }
}

impl Element for Filesystem {
    fn write(&self, x: &mut Xml) {
        x.element("filesystem", |x| {
            x.attribute("type", "mount");
            x.attribute(if self.kubevirt_spelling { "accessMode" } else { "accessmode" }, "passthrough");
            x.leaf("driver", &[("type", &"virtiofs"), ("queue", &1024u32)]);
            x.leaf("source", &[("socket", &self.socket)]);
            x.leaf("target", &[("dir", &self.tag)]);
        });
    }
}

impl Element for Serial {
    fn write(&self, x: &mut Xml) {
        x.element("serial", |x| {
            x.attribute("type", "unix");
            x.leaf("source", &[("mode", &"bind"), ("path", &self.socket)]);
            if self.log.is_some() {
                x.leaf("log", &[("file", &self.log), ("append", &"on")]);
            }
            x.leaf("target", &[("port", &0u32)]);
        });
        x.element("console", |x| {
            x.attribute("type", "pty");
            x.leaf("target", &[("type", &"serial"), ("port", &0u32)]);
        });
    }
}

impl Element for Channel {
    fn write(&self, x: &mut Xml) {
        x.element("channel", |x| {
            x.attribute("type", "unix");
            if let Some(socket) = &self.socket {
                x.leaf("source", &[("mode", &"bind"), ("path", &socket.path)]);
            }
            x.leaf("target", &[("type", &"virtio"), ("name", &self.name)]);
        });
    }
}

impl Element for Input {
    fn write(&self, x: &mut Xml) {
        x.element("input", |x| {
            x.attribute("type", &self.kind);
            x.attribute("bus", &self.bus);
            x.attribute("model", &self.model);
            alias(x, self.alias.as_ref());
            x.put(&self.address);
        });
    }
}

impl Element for Tpm {
    fn write(&self, x: &mut Xml) {
        x.element("tpm", |x| {
            x.attribute("model", if self.persistent { "tpm-crb" } else { "tpm-tis" });
            let persistent = self.persistent.then_some("yes");
            x.leaf("backend", &[("type", &"emulator"), ("version", &"2.0"), ("persistent_state", &persistent)]);
        });
    }
}

impl Element for Graphics {
    fn write(&self, x: &mut Xml) {
        x.element("graphics", |x| {
            x.attribute("type", "vnc");
            x.leaf("listen", &[("type", &"socket"), ("socket", &self.socket)]);
        });
    }
}

impl Element for Sound {
    fn write(&self, x: &mut Xml) {
        x.element("sound", |x| {
            x.attribute("model", &self.model);
            alias(x, Some(&self.alias));
        });
    }
}

impl Element for Video {
    fn write(&self, x: &mut Xml) {
        x.element("video", |x| x.leaf("model", &[("type", &self.model), ("vram", &self.memory), ("heads", &1u32)]));
    }
}

impl Element for Redirection {
    fn write(&self, x: &mut Xml) {
        x.element("redirdev", |x| {
            x.attribute("bus", "usb");
            x.attribute("type", "unix");
            x.leaf("source", &[("mode", &"bind"), ("path", &self.socket)]);
        });
    }
}

impl Element for Watchdog {
    fn write(&self, x: &mut Xml) {
        x.element("watchdog", |x| {
            x.attribute("model", self.model);
            x.attribute("action", &self.action);
            alias(x, Some(&self.alias));
            x.put(&self.address);
        });
    }
}

impl Element for Balloon {
    fn write(&self, x: &mut Xml) {
        x.element("memballoon", |x| {
            let Some(model) = self.model else {
                x.attribute("model", "none");
                return;
            };
            x.attribute("model", model);
            x.attribute("freePageReporting", on_off(self.free_page_reporting));
            if self.period.is_some() {
                x.leaf("stats", &[("period", &self.period)]);
            }
            through_iommu(x, self.iommu);
            x.put(&self.address);
        });
    }
}

impl Element for Rng {
    fn write(&self, x: &mut Xml) {
        x.element("rng", |x| {
            x.attribute("model", self.model);
            x.text("backend", &[("model", &"random")], "/dev/urandom");
            through_iommu(x, self.iommu);
            x.put(&self.address);
        });
    }
}

impl Element for Panic {
    fn write(&self, x: &mut Xml) {
        x.leaf("panic", &[("model", &self.model)]);
    }
}

impl Element for Vsock {
    fn write(&self, x: &mut Xml) {
        x.element("vsock", |x| {
            x.attribute("model", "virtio-non-transitional");
            x.leaf("cid", &[("auto", &"no"), ("address", &self.cid)]);
        });
    }
}

fn through_iommu(x: &mut Xml, iommu: bool) {
    if iommu {
        x.leaf("driver", &[("iommu", &"on")]);
    }
}

/// An address in a list of places that take one.
impl From<PciAddress> for Address {
    fn from(address: PciAddress) -> Self {
        Self::Pci(address)
    }
}
