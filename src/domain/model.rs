//! The libvirt domain: what this program uses of it, as plain values, and how it is written.
//!
//! The fields stand in the order in which libvirt prints them. A value that is not there is left to libvirt.

mod address;
mod clock;
mod controller;
mod cpu;
mod devices;
mod disk;
mod features;
mod host_device;
mod interface;
mod memory;
mod os;

use super::xml::{Element, Scalar, Xml};
use kubevirt_api::v1;

pub use address::{Address, NoPciAddress, PciAddress};
pub use clock::{Clock, ClockOffset, Timer};
pub use controller::{Controller, ControllerDriver, ControllerKind};
pub use cpu::{Cpu, CpuFeature, CpuTune, IoThreadPin, Numa, NumaCell, Topology, Vcpu, VcpuPin, Vcpus};
pub use devices::{
    Balloon, Channel, Devices, Filesystem, Graphics, Input, Panic, Redirection, Rng, Serial, SocketSource, Sound, Tpm, Video, Vsock,
    Watchdog,
};
pub use disk::{BackingStore, BlockIo, DataStore, Disk, DiskDriver, DiskKind, Reservation, Source};
pub use features::{Features, Flush, Hyperv, Spinlocks, State, SyntheticTimer, VendorId};
pub use host_device::{HostDevice, HostSource};
pub use interface::{Interface, InterfaceDriver, InterfaceKind, PortForward, PortRange};
pub use memory::{HugePage, MemoryBacking, MemoryNode, NumaTune};
pub use os::{AcpiTable, Loader, Nvram, Os, Sysinfo};

/// A libvirt domain.
#[derive(Clone, Debug, PartialEq)]
pub struct Domain {
    /// What runs it: `kvm`, `qemu` (emulation) or `hyperv`.
    pub kind: &'static str,
    /// Its name: `NAMESPACE_NAME` of the VMI.
    pub name: String,
    /// The UID of the VMI, kept in libvirt's metadata; the converter sets none.
    pub uid: Option<String>,
    /// The memory up to which the guest can grow, in bytes.
    pub max_memory: Option<u64>,
    /// The memory in bytes.
    pub memory: u64,
    /// Where the memory comes from.
    pub memory_backing: Option<MemoryBacking>,
    /// The number of virtual CPUs, those included that are not plugged in yet.
    pub vcpu_count: u32,
    /// The single virtual CPUs, where some can be plugged in later.
    pub vcpus: Option<Vcpus>,
    /// The number of I/O threads.
    pub io_threads: Option<u32>,
    /// On which CPUs of the host what runs.
    pub cpu_tune: Option<CpuTune>,
    /// In which NUMA cell of the host which memory is.
    pub numa_tune: Option<NumaTune>,
    /// What the SMBIOS tables say.
    pub sysinfo: Sysinfo,
    /// How it boots.
    pub os: Os,
    /// Features of the hypervisor.
    pub features: Features,
    /// The CPU.
    pub cpu: Cpu,
    /// The clock.
    pub clock: Option<Clock>,
    /// What a reboot does: `restart` or `destroy`.
    pub on_reboot: Option<&'static str>,
    /// The devices.
    pub devices: Devices,
    /// How the memory is protected from the host.
    pub launch_security: Option<LaunchSecurity>,
    /// Whether host devices use the IOMMUFD descriptor that is associated with the domain as `iommu`.
    pub iommufd: bool,
    /// Arguments for QEMU that libvirt has no element for.
    pub qemu_args: Vec<String>,
}

/// How the guest's memory is protected from the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LaunchSecurity {
    /// AMD SEV or SEV-ES.
    Sev {
        /// The policy's bits.
        policy: u32,
        /// The guest owner's key.
        dh_cert: Option<String>,
        /// The guest owner's session.
        session: Option<String>,
    },
    /// AMD SEV-SNP.
    Snp {
        /// The policy's bits.
        policy: u32,
    },
    /// Intel TDX.
    Tdx {
        /// The socket of the quote generation service.
        quotes: Option<String>,
    },
}

impl Domain {
    /// The domain as libvirt reads it.
    pub fn to_xml(&self) -> String {
        let mut xml = Xml::with_capacity(6144);
        self.write(&mut xml);
        xml.finish()
    }
}

impl Element for Domain {
    fn write(&self, x: &mut Xml) {
        x.element("domain", |x| {
            x.attribute("type", self.kind);
            if !self.qemu_args.is_empty() {
                x.attribute("xmlns:qemu", "http://libvirt.org/schemas/domain/qemu/1.0");
            }
            x.text("name", &[], &self.name);
            if let Some(uid) = &self.uid {
                x.element("metadata", |x| {
                    x.element("kubevirt", |x| {
                        x.attribute("xmlns", "http://kubevirt.io");
                        x.text("uid", &[], uid);
                    });
                });
            }
            x.text("maxMemory", &[("unit", &"b"), ("slots", &0u32)], self.max_memory);
            x.text("memory", &[("unit", &"b")], self.memory);
            x.put(&self.memory_backing);
            x.text("vcpu", &[("placement", &"static")], self.vcpu_count);
            x.put(&self.vcpus);
            x.text("iothreads", &[], self.io_threads);
            x.put(&self.cpu_tune);
            x.put(&self.numa_tune);
            self.sysinfo.write(x);
            self.os.write(x);
            self.features.write(x);
            self.cpu.write(x);
            x.put(&self.clock);
            x.text("on_reboot", &[], self.on_reboot);
            self.devices.write(x);
            x.put(&self.launch_security);
            if self.iommufd {
                x.leaf("iommufd", &[("enabled", &"yes"), ("fdgroup", &"iommu")]);
            }
            if !self.qemu_args.is_empty() {
                x.element("qemu:commandline", |x| {
                    for argument in &self.qemu_args {
                        x.leaf("qemu:arg", &[("value", argument)]);
                    }
                });
            }
        });
    }
}

impl Element for LaunchSecurity {
    fn write(&self, x: &mut Xml) {
        x.element("launchSecurity", |x| match self {
            Self::Sev { policy, dh_cert, session } => {
                x.attribute("type", "sev");
                x.text("policy", &[], format!("{policy:#x}"));
                x.text("dhCert", &[], dh_cert);
                x.text("session", &[], session);
            }
            Self::Snp { policy } => {
                x.attribute("type", "sev-snp");
                x.text("policy", &[], format!("{policy:#x}"));
            }
            Self::Tdx { quotes } => {
                x.attribute("type", "tdx");
                x.leaf("quoteGenerationService", &[("path", quotes)]);
            }
        });
    }
}

/// A switch as libvirt writes most of them.
pub(super) fn on_off(value: bool) -> &'static str {
    if value { "on" } else { "off" }
}

/// A switch as libvirt writes the others.
pub(super) fn yes_no(value: bool) -> &'static str {
    if value { "yes" } else { "no" }
}

/// The alias of a device that a user named: libvirt keeps only those that begin like this.
fn alias(x: &mut Xml, name: Option<&String>) {
    if let Some(name) = name {
        x.leaf("alias", &[("name", &UserAlias(name))]);
    }
}

struct UserAlias<'a>(&'a str);

impl Scalar for UserAlias<'_> {
    fn append(&self, to: &mut String) -> bool {
        to.push_str("ua-");
        self.0.append(to)
    }
}

macro_rules! api_scalars {
    ($($name:ident)*) => {$(
        /// A value of the API that libvirt knows by the same name; unset, it is left out.
        impl Scalar for v1::$name {
            fn append(&self, to: &mut String) -> bool {
                !self.is_unset() && self.as_str().append(to)
            }
        }
    )*};
}

api_scalars!(
    DiskBus TrayState DriverCache DriverIo DiskErrorPolicy InputBus InputType WatchdogAction PanicDeviceModel
    HpetTickPolicy PitTickPolicy RtcTickPolicy RtcTimerTrack
);
