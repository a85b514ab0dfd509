//! The virtual hardware of a machine: processors, memory, and what holds the rest together.

use std::collections::BTreeMap;

use crate::{
    Quantity, api,
    v1::{Chassis, Clock, CpuFeature, Devices, DiskIoThreads, Features, Firmware, LaunchSecurity, Machine},
};

/// How disks share the threads that do their input and output.
#[api]
pub enum IoThreadsPolicy {
    Shared = "shared",
    Auto = "auto",
    SupplementalPool = "supplementalPool",
}

/// What happens when the guest restarts itself.
#[api(closed)]
pub enum RebootPolicy {
    Reboot = "Reboot",
    Terminate = "Terminate",
}

/// The virtual hardware of a machine.
#[api]
pub struct DomainSpec {
    /// What the machine asks of its node, and may at most use. The memory of the guest is taken from here when memory.guest is
    /// unset.
    #[api(always)]
    pub resources: ResourceRequirements,
    /// Number, model and placement of the virtual CPUs. Unset: as many sockets as the CPU request (rounded up), at least one.
    pub cpu: Option<Cpu>,
    /// How much memory the guest sees and what backs it.
    pub memory: Option<Memory>,
    /// The chipset that is emulated. Unset: what the cluster's configuration says for the architecture.
    pub machine: Option<Machine>,
    /// BIOS or EFI, and what identifies the machine.
    pub firmware: Option<Firmware>,
    /// The clock of the guest and its timers. Unset: UTC.
    #[api(preserve)]
    pub clock: Option<Clock>,
    /// Features of the hypervisor that the guest sees, such as ACPI or the Hyper-V enlightenments.
    pub features: Option<Features>,
    /// Disks, interfaces and every other device.
    #[api(required)]
    pub devices: Devices,
    /// How disks share threads: shared (one for all that do not ask for their own), auto (spread over a pool made to the number
    /// of CPUs) or supplementalPool (a pool that serves all disks together). Unset: the main loop does the work, except for
    /// disks with dedicatedIOThread.
    pub io_threads_policy: Option<IoThreadsPolicy>,
    /// The size of the pool of ioThreadsPolicy supplementalPool.
    pub io_threads: Option<DiskIoThreads>,
    /// What the SMBIOS tables say of the chassis.
    pub chassis: Option<Chassis>,
    /// Memory encryption and attestation by the processor: SEV, SEV-SNP or TDX.
    pub launch_security: Option<LaunchSecurity>,
    /// What happens when the guest restarts itself: Reboot (default) starts the same machine again, Terminate ends it so that a
    /// VirtualMachine starts a new one with what changed since.
    pub reboot_policy: Option<RebootPolicy>,
}

/// What a machine asks of its node, and may at most use.
#[api]
pub struct ResourceRequirements {
    /// What must be free on the node: cpu in cores, memory in bytes, and extended resources. Unset: what limits say, or follows
    /// from cpu and memory of the domain.
    pub requests: BTreeMap<String, Quantity>,
    /// What may at most be used. With limits equal to requests for cpu and memory, the pod has the class Guaranteed.
    pub limits: BTreeMap<String, Quantity>,
    /// Whether the memory that the emulation needs beside the guest is not requested, so that a node takes more machines at the
    /// risk of running out of memory. Default: false.
    pub overcommit_guest_overhead: bool,
}

/// The virtual CPUs of a machine: their number is cores times sockets times threads.
#[api]
pub struct Cpu {
    /// Cores of each socket; at least 1. Default: 1.
    pub cores: u32,
    /// Sockets; at least 1. Default: 1. A running machine gets more when this is raised, up to maxSockets.
    pub sockets: u32,
    /// The most sockets that the running machine can be given. Default: four times sockets, or what the cluster's configuration
    /// says.
    pub max_sockets: u32,
    /// Threads of each core; at least 1. Default: 1.
    pub threads: u32,
    /// The CPU that the guest sees: a model that libvirt knows (such as EPYC), host-model (like the node's, default) or
    /// host-passthrough (the node's own). The machine is placed on nodes that have it.
    pub model: String,
    /// CPU features that are forced, demanded or hidden, one by one.
    pub features: Vec<CpuFeature>,
    /// Whether each virtual CPU gets a physical one of its own; needs the static CPU manager on the node, and whole cores as
    /// request. Default: false.
    pub dedicated_cpu_placement: bool,
    /// How the guest sees the NUMA cells of the node; needs dedicatedCpuPlacement and huge pages.
    pub numa: Option<Numa>,
    /// Whether the emulator gets physical CPUs apart from those of the guest; needs dedicatedCpuPlacement. Default: false.
    pub isolate_emulator_thread: bool,
    /// Makes virtual CPUs real-time threads; needs dedicatedCpuPlacement and a NUMA mapping.
    pub realtime: Option<Realtime>,
}

/// Which virtual CPUs run with real-time priority.
#[api]
pub struct Realtime {
    /// The virtual CPUs as a list of numbers and ranges, of which ^ takes some out again: 0-3,^1. Unset: all.
    pub mask: String,
}

/// The guest sees the NUMA cells that its CPUs and memory come from.
#[api]
pub struct NumaGuestMappingPassthrough {}

/// How the guest sees the NUMA cells of the node.
#[api]
pub struct Numa {
    /// Gives the guest the cells that its CPUs and memory come from.
    pub guest_mapping_passthrough: Option<NumaGuestMappingPassthrough>,
}

/// The memory of the guest.
#[api]
pub struct Memory {
    /// Backs the memory with huge pages.
    pub hugepages: Option<Hugepages>,
    /// How much memory the guest sees, in bytes. Unset: what resources request or limit. May be raised while the machine runs,
    /// up to maxGuest.
    pub guest: Option<Quantity>,
    /// The most memory that the running machine can be given, in bytes. Default: four times guest, or what the cluster's
    /// configuration says.
    pub max_guest: Option<Quantity>,
    /// Memory that is requested beyond the guest's and the emulation's, and whether memory is locked.
    pub reserved_overhead: Option<ReservedOverhead>,
}

/// How much memory the guest has.
#[api]
pub struct MemoryStatus {
    /// What it started with, in bytes.
    pub guest_at_boot: Option<Quantity>,
    /// What it has now, in bytes.
    pub guest_current: Option<Quantity>,
    /// What it is being changed to, in bytes.
    pub guest_requested: Option<Quantity>,
    /// What the emulation was reckoned to need beside the guest, in bytes.
    pub memory_overhead: Option<Quantity>,
}

/// Which huge pages back the memory.
#[api]
pub struct Hugepages {
    /// The size of a page, as the node offers it: 2Mi or 1Gi on x86. The memory must be a multiple of it.
    pub page_size: String,
}

/// Memory beyond the guest's.
#[api]
pub struct ReservedOverhead {
    /// Memory to add to what is reckoned for the emulation, in bytes; for a device or a hook that needs more.
    pub added_overhead: Option<Quantity>,
    /// Whether the launcher may lock the memory of the guest: Required or NotRequired. Unset: as the devices need.
    #[api(one_of = &["NotRequired", "Required"])]
    pub mem_lock: Option<String>,
}

/// How virtual CPUs are arranged.
#[api]
pub struct CpuTopology {
    /// Cores of each socket.
    pub cores: u32,
    /// Sockets.
    pub sockets: u32,
    /// Threads of each core.
    pub threads: u32,
}
