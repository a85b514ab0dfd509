use std::collections::BTreeMap;

use crate::{
    Quantity, api,
    v1::{
        BlockSize, ClockOffset, CpuFeature, DiskBus, DiskIoThreads, DriverCache, DriverIo, Efi, FeatureApic, FeatureHyperv, FeatureKvm,
        FeatureState, Gpu, HostDevice, Hugepages, InputBus, InputType, InterfaceMasquerade, IoThreadsPolicy, LaunchSecurity, Numa,
        PanicDeviceModel, Realtime, Rng, Timer, TpmDevice, VgpuOptions,
    },
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[api]
pub struct VirtualMachineInstancetype {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineInstancetypeSpec,
}

#[api]
pub struct VirtualMachineClusterInstancetype {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineInstancetypeSpec,
}

#[api]
pub struct VirtualMachineInstancetypeSpec {
    pub node_selector: BTreeMap<String, String>,
    pub scheduler_name: String,
    #[api(required)]
    pub cpu: CpuInstancetype,
    #[api(required)]
    pub memory: MemoryInstancetype,
    #[api(list = "atomic")]
    pub gpus: Vec<Gpu>,
    #[api(list = "atomic")]
    pub host_devices: Vec<HostDevice>,
    pub io_threads_policy: Option<IoThreadsPolicy>,
    pub io_threads: Option<DiskIoThreads>,
    pub launch_security: Option<LaunchSecurity>,
    pub annotations: BTreeMap<String, String>,
}

#[api]
pub struct CpuInstancetype {
    #[api(required)]
    pub guest: u32,
    pub model: Option<String>,
    #[api(name = "dedicatedCPUPlacement")]
    pub dedicated_cpu_placement: Option<bool>,
    pub numa: Option<Numa>,
    pub isolate_emulator_thread: Option<bool>,
    pub realtime: Option<Realtime>,
    pub max_sockets: Option<u32>,
}

#[api]
pub struct MemoryInstancetype {
    #[api(required)]
    pub guest: Quantity,
    pub hugepages: Option<Hugepages>,
    #[api(format = "", minimum = 0, maximum = 100)]
    pub overcommit_percent: i64,
    pub max_guest: Option<Quantity>,
}

#[api]
pub struct VirtualMachinePreference {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachinePreferenceSpec,
}

#[api]
pub struct VirtualMachineClusterPreference {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachinePreferenceSpec,
}

#[api]
pub struct VirtualMachinePreferenceSpec {
    pub clock: Option<ClockPreferences>,
    pub cpu: Option<CpuPreferences>,
    pub devices: Option<DevicePreferences>,
    pub features: Option<FeaturePreferences>,
    pub firmware: Option<FirmwarePreferences>,
    pub machine: Option<MachinePreferences>,
    pub volumes: Option<VolumePreferences>,
    pub preferred_subdomain: Option<String>,
    pub preferred_termination_grace_period_seconds: Option<i64>,
    pub requirements: Option<PreferenceRequirements>,
    pub annotations: BTreeMap<String, String>,
    pub prefer_spread_socket_to_core_ratio: u32,
    pub preferred_architecture: Option<String>,
    pub preferred_launch_security: Option<LaunchSecurity>,
}

#[api]
pub struct VolumePreferences {
    pub preferred_storage_class_name: String,
}

#[api]
pub enum PreferredCpuTopology {
    PreferCores = "preferCores",
    PreferSockets = "preferSockets",
    PreferThreads = "preferThreads",
    PreferSpread = "preferSpread",
    PreferAny = "preferAny",
    Cores = "cores",
    Sockets = "sockets",
    Threads = "threads",
    Spread = "spread",
    Any = "any",
}

#[api]
pub struct CpuPreferences {
    #[api(name = "preferredCPUTopology")]
    pub preferred_cpu_topology: Option<PreferredCpuTopology>,
    pub spread_options: Option<SpreadOptions>,
    #[api(name = "preferredCPUFeatures")]
    pub preferred_cpu_features: Vec<CpuFeature>,
}

#[api]
pub enum SpreadAcross {
    SocketsCoresThreads = "SocketsCoresThreads",
    SocketsCores = "SocketsCores",
    CoresThreads = "CoresThreads",
}

#[api]
pub struct SpreadOptions {
    pub across: Option<SpreadAcross>,
    pub ratio: Option<u32>,
}

#[api]
pub struct DevicePreferences {
    pub preferred_autoattach_graphics_device: Option<bool>,
    pub preferred_autoattach_mem_balloon: Option<bool>,
    pub preferred_autoattach_pod_interface: Option<bool>,
    pub preferred_autoattach_serial_console: Option<bool>,
    pub preferred_autoattach_input_device: Option<bool>,
    pub preferred_disable_hotplug: Option<bool>,
    #[api(name = "preferredVirtualGPUOptions")]
    pub preferred_virtual_gpu_options: Option<VgpuOptions>,
    pub preferred_sound_model: String,
    pub preferred_use_virtio_transitional: Option<bool>,
    pub preferred_input_bus: InputBus,
    pub preferred_input_type: InputType,
    pub preferred_disk_bus: DiskBus,
    pub preferred_lun_bus: DiskBus,
    pub preferred_cdrom_bus: DiskBus,
    pub preferred_disk_dedicated_io_thread: Option<bool>,
    pub preferred_disk_cache: DriverCache,
    #[api(name = "preferredDiskIO")]
    pub preferred_disk_io: DriverIo,
    pub preferred_disk_block_size: Option<BlockSize>,
    pub preferred_interface_model: String,
    pub preferred_rng: Option<Rng>,
    pub preferred_block_multi_queue: Option<bool>,
    pub preferred_network_interface_multi_queue: Option<bool>,
    #[api(name = "preferredTPM")]
    pub preferred_tpm: Option<TpmDevice>,
    pub preferred_interface_masquerade: Option<InterfaceMasquerade>,
    pub preferred_panic_device_model: Option<PanicDeviceModel>,
    pub preferred_video_type: Option<String>,
}

#[api]
pub struct FeaturePreferences {
    pub preferred_acpi: Option<FeatureState>,
    pub preferred_apic: Option<FeatureApic>,
    pub preferred_hyperv: Option<FeatureHyperv>,
    pub preferred_kvm: Option<FeatureKvm>,
    pub preferred_pvspinlock: Option<FeatureState>,
    pub preferred_smm: Option<FeatureState>,
}

#[api]
pub struct FirmwarePreferences {
    pub preferred_use_bios: Option<bool>,
    pub preferred_use_bios_serial: Option<bool>,
    pub preferred_use_efi: Option<bool>,
    pub preferred_use_secure_boot: Option<bool>,
    pub preferred_efi: Option<Efi>,
}

#[api]
pub struct MachinePreferences {
    pub preferred_machine_type: String,
}

#[api]
pub struct ClockPreferences {
    pub preferred_clock_offset: Option<ClockOffset>,
    pub preferred_timer: Option<Timer>,
}

#[api]
pub struct PreferenceRequirements {
    pub cpu: Option<CpuPreferenceRequirement>,
    pub memory: Option<MemoryPreferenceRequirement>,
    pub architecture: Option<String>,
}

#[api]
pub struct CpuPreferenceRequirement {
    #[api(required)]
    pub guest: u32,
}

#[api]
pub struct MemoryPreferenceRequirement {
    #[api(required)]
    pub guest: Quantity,
}
