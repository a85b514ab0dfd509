use std::collections::BTreeMap;

use crate::{
    Quantity, api,
    v1::{Chassis, Clock, CpuFeature, Devices, DiskIoThreads, Features, Firmware, LaunchSecurity, Machine},
};

#[api]
pub enum IoThreadsPolicy {
    Shared = "shared",
    Auto = "auto",
    SupplementalPool = "supplementalPool",
}

#[api(closed)]
pub enum RebootPolicy {
    Reboot = "Reboot",
    Terminate = "Terminate",
}

#[api]
pub struct DomainSpec {
    #[api(always)]
    pub resources: ResourceRequirements,
    pub cpu: Option<Cpu>,
    pub memory: Option<Memory>,
    pub machine: Option<Machine>,
    pub firmware: Option<Firmware>,
    #[api(preserve)]
    pub clock: Option<Clock>,
    pub features: Option<Features>,
    #[api(required)]
    pub devices: Devices,
    pub io_threads_policy: Option<IoThreadsPolicy>,
    pub io_threads: Option<DiskIoThreads>,
    pub chassis: Option<Chassis>,
    pub launch_security: Option<LaunchSecurity>,
    pub reboot_policy: Option<RebootPolicy>,
}

#[api]
pub struct ResourceRequirements {
    pub requests: BTreeMap<String, Quantity>,
    pub limits: BTreeMap<String, Quantity>,
    pub overcommit_guest_overhead: bool,
}

#[api]
pub struct Cpu {
    pub cores: u32,
    pub sockets: u32,
    pub max_sockets: u32,
    pub threads: u32,
    pub model: String,
    pub features: Vec<CpuFeature>,
    pub dedicated_cpu_placement: bool,
    pub numa: Option<Numa>,
    pub isolate_emulator_thread: bool,
    pub realtime: Option<Realtime>,
}

#[api]
pub struct Realtime {
    pub mask: String,
}

#[api]
pub struct NumaGuestMappingPassthrough {}

#[api]
pub struct Numa {
    pub guest_mapping_passthrough: Option<NumaGuestMappingPassthrough>,
}

#[api]
pub struct Memory {
    pub hugepages: Option<Hugepages>,
    pub guest: Option<Quantity>,
    pub max_guest: Option<Quantity>,
    pub reserved_overhead: Option<ReservedOverhead>,
}

#[api]
pub struct MemoryStatus {
    pub guest_at_boot: Option<Quantity>,
    pub guest_current: Option<Quantity>,
    pub guest_requested: Option<Quantity>,
    pub memory_overhead: Option<Quantity>,
}

#[api]
pub struct Hugepages {
    pub page_size: String,
}

#[api]
pub struct ReservedOverhead {
    pub added_overhead: Option<Quantity>,
    #[api(one_of = &["NotRequired", "Required"])]
    pub mem_lock: Option<String>,
}

#[api]
pub struct CpuTopology {
    pub cores: u32,
    pub sockets: u32,
    pub threads: u32,
}
