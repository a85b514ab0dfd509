//! The guest's CPU, its virtual CPUs and where they run.

use super::super::xml::{Element, Scalar, Xml};
use super::yes_no;

/// The CPU that the guest sees.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cpu {
    /// How it is chosen: `host-model`, `host-passthrough` or `custom`.
    pub mode: &'static str,
    /// The model, when chosen by name.
    pub model: Option<String>,
    /// Sockets, cores, threads.
    pub topology: Topology,
    /// Features that differ from the model's.
    pub features: Vec<CpuFeature>,
    /// The guest's NUMA cells.
    pub numa: Option<Numa>,
}

/// Sockets, cores of a socket, threads of a core.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    /// The sockets.
    pub sockets: u32,
    /// The cores of a socket.
    pub cores: u32,
    /// The threads of a core.
    pub threads: u32,
}

/// A feature of a CPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CpuFeature {
    /// Its name.
    pub name: String,
    /// What is done about it: `require`, `disable`, …
    pub policy: Option<String>,
}

/// The guest's NUMA cells.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Numa {
    /// The cells.
    pub cells: Vec<NumaCell>,
}

/// A NUMA cell of the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NumaCell {
    /// Its number.
    pub id: u32,
    /// Its virtual CPUs, as libvirt writes a set.
    pub cpus: String,
    /// Its memory.
    pub memory: u64,
    /// The unit of its memory: `b` or `KiB`.
    pub unit: &'static str,
}

/// The single virtual CPUs: the first `fixed` are always there, those up to `enabled` at the start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vcpus {
    /// All of them.
    pub count: u32,
    /// Those that are plugged in at the start.
    pub enabled: u32,
    /// Those that cannot be unplugged.
    pub fixed: u32,
}

/// A virtual CPU; see [`Vcpus::iter`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Vcpu {
    /// Its number.
    pub id: u32,
    /// Whether it is plugged in at the start.
    pub enabled: bool,
    /// Whether it can be unplugged.
    pub hotpluggable: bool,
}

/// On which CPUs of the host what runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuTune {
    /// The virtual CPUs.
    pub vcpus: Vec<VcpuPin>,
    /// The emulator.
    pub emulator: Option<String>,
    /// The I/O threads.
    pub io_threads: Vec<IoThreadPin>,
}

/// A virtual CPU that runs on one CPU of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VcpuPin {
    /// The virtual CPU.
    pub vcpu: u32,
    /// The CPU of the host.
    pub cpu: u32,
}

/// An I/O thread that runs on some CPUs of the host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoThreadPin {
    /// The thread.
    pub thread: u32,
    /// The CPUs of the host, as libvirt writes a set.
    pub cpus: String,
}

impl Vcpus {
    /// The virtual CPUs one by one.
    pub fn iter(self) -> impl Iterator<Item = Vcpu> {
        (0..self.count).map(move |id| Vcpu { id, enabled: id < self.enabled, hotpluggable: id >= self.fixed })
    }
}

impl Element for Cpu {
    fn write(&self, x: &mut Xml) {
        x.element("cpu", |x| {
            x.attribute("mode", self.mode);
            x.text("model", &[], &self.model);
            let t = self.topology;
            x.leaf("topology", &[("sockets", &t.sockets), ("cores", &t.cores), ("threads", &t.threads)]);
            for feature in &self.features {
                x.leaf("feature", &[("policy", &feature.policy), ("name", &feature.name)]);
            }
            if let Some(numa) = &self.numa {
                x.element("numa", |x| x.put(&numa.cells));
            }
        });
    }
}

impl Element for NumaCell {
    fn write(&self, x: &mut Xml) {
        x.leaf("cell", &[("id", &self.id), ("cpus", &self.cpus), ("memory", &self.memory), ("unit", &self.unit)]);
    }
}

impl Element for Vcpus {
    fn write(&self, x: &mut Xml) {
        x.element("vcpus", |x| {
            for vcpu in self.iter() {
                let (enabled, hotpluggable) = (yes_no(vcpu.enabled), yes_no(vcpu.hotpluggable));
                x.leaf("vcpu", &[("id", &vcpu.id), ("enabled", &enabled), ("hotpluggable", &hotpluggable)]);
            }
        });
    }
}

impl Element for CpuTune {
    fn write(&self, x: &mut Xml) {
        x.element("cputune", |x| {
            for pin in &self.vcpus {
                x.leaf("vcpupin", &[("vcpu", &pin.vcpu), ("cpuset", &pin.cpu)]);
            }
            if let Some(cpus) = &self.emulator {
                x.leaf("emulatorpin", &[("cpuset", cpus as &dyn Scalar)]);
            }
            for pin in &self.io_threads {
                x.leaf("iothreadpin", &[("iothread", &pin.thread), ("cpuset", &pin.cpus)]);
            }
        });
    }
}
