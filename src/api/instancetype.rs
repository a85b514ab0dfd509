//! The group `instancetype.kubevirt.io`: instance types and preferences.

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

/// CPU, memory and performance of machines, for one namespace.
#[api]
pub struct VirtualMachineInstancetype {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What a machine gets.
    #[api(required)]
    pub spec: VirtualMachineInstancetypeSpec,
}

/// CPU, memory and performance of machines, for the whole cluster.
#[api]
pub struct VirtualMachineClusterInstancetype {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What a machine gets.
    #[api(required)]
    pub spec: VirtualMachineInstancetypeSpec,
}

/// What a machine gets. A machine that says something else is refused.
#[api]
pub struct VirtualMachineInstancetypeSpec {
    /// Labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// The scheduler that places the launcher pod.
    pub scheduler_name: String,
    /// The virtual CPUs.
    #[api(required)]
    pub cpu: CpuInstancetype,
    /// The memory of the guest.
    #[api(required)]
    pub memory: MemoryInstancetype,
    /// Graphics processors.
    #[api(list = "atomic")]
    pub gpus: Vec<Gpu>,
    /// Devices of the node.
    #[api(list = "atomic")]
    pub host_devices: Vec<HostDevice>,
    /// How disks share threads: shared, auto or supplementalPool.
    pub io_threads_policy: Option<IoThreadsPolicy>,
    /// The size of the pool of threads.
    pub io_threads: Option<DiskIoThreads>,
    /// Memory encryption by the processor.
    pub launch_security: Option<LaunchSecurity>,
    /// Annotations of the machine.
    pub annotations: BTreeMap<String, String>,
}

/// The virtual CPUs of a machine.
#[api]
pub struct CpuInstancetype {
    /// How many there are. The preference says how they are arranged.
    #[api(required)]
    pub guest: u32,
    /// The model that the guest sees.
    pub model: Option<String>,
    /// Whether each virtual CPU gets a physical one of its own.
    #[api(name = "dedicatedCPUPlacement")]
    pub dedicated_cpu_placement: Option<bool>,
    /// How the guest sees the NUMA cells of the node.
    pub numa: Option<Numa>,
    /// Whether the emulator gets physical CPUs apart from those of the guest.
    pub isolate_emulator_thread: Option<bool>,
    /// Makes virtual CPUs real-time threads.
    pub realtime: Option<Realtime>,
    /// The most sockets that the running machine can be given.
    pub max_sockets: Option<u32>,
}

/// The memory of a machine.
#[api]
pub struct MemoryInstancetype {
    /// How much memory the guest sees, in bytes.
    #[api(required)]
    pub guest: Quantity,
    /// Backs the memory with huge pages.
    pub hugepages: Option<Hugepages>,
    /// By how many percent less is requested than the guest sees, from 0 to 100. Default: 0. Not with hugepages.
    #[api(format = "", minimum = 0, maximum = 100)]
    pub overcommit_percent: i64,
    /// The most memory that the running machine can be given, in bytes.
    pub max_guest: Option<Quantity>,
}

/// What a guest's system likes, for one namespace.
#[api]
pub struct VirtualMachinePreference {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What a machine gets where it says nothing.
    #[api(required)]
    pub spec: VirtualMachinePreferenceSpec,
}

/// What a guest's system likes, for the whole cluster.
#[api]
pub struct VirtualMachineClusterPreference {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What a machine gets where it says nothing.
    #[api(required)]
    pub spec: VirtualMachinePreferenceSpec,
}

/// What a machine gets where it says nothing itself.
#[api]
pub struct VirtualMachinePreferenceSpec {
    /// The clock.
    pub clock: Option<ClockPreferences>,
    /// The virtual CPUs.
    pub cpu: Option<CpuPreferences>,
    /// The devices.
    pub devices: Option<DevicePreferences>,
    /// Features of the hypervisor.
    pub features: Option<FeaturePreferences>,
    /// BIOS or EFI.
    pub firmware: Option<FirmwarePreferences>,
    /// The machine type.
    pub machine: Option<MachinePreferences>,
    /// The volumes.
    pub volumes: Option<VolumePreferences>,
    /// The subdomain of the guest's name.
    pub preferred_subdomain: Option<String>,
    /// How many seconds the guest has to shut down.
    pub preferred_termination_grace_period_seconds: Option<i64>,
    /// What the instance type must give.
    pub requirements: Option<PreferenceRequirements>,
    /// Annotations of the machine.
    pub annotations: BTreeMap<String, String>,
    /// Deprecated: how many cores each socket has when CPUs are spread. Use cpu.spreadOptions.
    pub prefer_spread_socket_to_core_ratio: u32,
    /// The architecture.
    pub preferred_architecture: Option<String>,
    /// Memory encryption by the processor.
    pub preferred_launch_security: Option<LaunchSecurity>,
}

/// Preferred volumes.
#[api]
pub struct VolumePreferences {
    /// The storage class of DataVolumes that are made with the machine.
    pub preferred_storage_class_name: String,
}

/// How the CPUs of an instance type are arranged.
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

/// Preferred virtual CPUs.
#[api]
pub struct CpuPreferences {
    /// What the CPUs of the instance type are: sockets (default), cores, threads, spread or any (as sockets). The names with
    /// prefer in front are deprecated.
    #[api(name = "preferredCPUTopology")]
    pub preferred_cpu_topology: Option<PreferredCpuTopology>,
    /// How CPUs are spread.
    pub spread_options: Option<SpreadOptions>,
    /// CPU features that are forced, demanded or hidden.
    #[api(name = "preferredCPUFeatures")]
    pub preferred_cpu_features: Vec<CpuFeature>,
}

/// Over what CPUs are spread.
#[api]
pub enum SpreadAcross {
    SocketsCoresThreads = "SocketsCoresThreads",
    SocketsCores = "SocketsCores",
    CoresThreads = "CoresThreads",
}

/// How CPUs are spread.
#[api]
pub struct SpreadOptions {
    /// SocketsCores (default), CoresThreads or SocketsCoresThreads.
    pub across: Option<SpreadAcross>,
    /// How many cores each socket has. Default: 2. Not for CoresThreads, where each core has two threads.
    pub ratio: Option<u32>,
}

/// Preferred devices.
#[api]
pub struct DevicePreferences {
    /// Whether there is a graphics adapter.
    pub preferred_autoattach_graphics_device: Option<bool>,
    /// Whether there is a memory balloon.
    pub preferred_autoattach_mem_balloon: Option<bool>,
    /// Whether a machine without interfaces gets one.
    pub preferred_autoattach_pod_interface: Option<bool>,
    /// Whether there is a serial console.
    pub preferred_autoattach_serial_console: Option<bool>,
    /// Whether a tablet is added.
    pub preferred_autoattach_input_device: Option<bool>,
    /// Whether volumes cannot be attached while the machine runs.
    pub preferred_disable_hotplug: Option<bool>,
    /// How a virtual graphics processor shows its picture.
    #[api(name = "preferredVirtualGPUOptions")]
    pub preferred_virtual_gpu_options: Option<VgpuOptions>,
    /// The model of sound cards that name none.
    pub preferred_sound_model: String,
    /// Whether virtio devices speak the old protocol too.
    pub preferred_use_virtio_transitional: Option<bool>,
    /// The bus of input devices that name none.
    pub preferred_input_bus: InputBus,
    /// The type of input devices that name none.
    pub preferred_input_type: InputType,
    /// The bus of hard disks that name none.
    pub preferred_disk_bus: DiskBus,
    /// The bus of LUNs that name none.
    pub preferred_lun_bus: DiskBus,
    /// The bus of CD-ROM drives that name none.
    pub preferred_cdrom_bus: DiskBus,
    /// Whether virtio disks have threads of their own.
    pub preferred_disk_dedicated_io_thread: Option<bool>,
    /// How writes to disks are cached.
    pub preferred_disk_cache: DriverCache,
    /// How input and output of disks is done.
    #[api(name = "preferredDiskIO")]
    pub preferred_disk_io: DriverIo,
    /// The block sizes of disks.
    pub preferred_disk_block_size: Option<BlockSize>,
    /// The model of interfaces that name none.
    pub preferred_interface_model: String,
    /// Gives the guest randomness of the node.
    pub preferred_rng: Option<Rng>,
    /// Whether disks have as many queues as there are virtual CPUs.
    pub preferred_block_multi_queue: Option<bool>,
    /// Whether interfaces have as many queues as there are virtual CPUs.
    pub preferred_network_interface_multi_queue: Option<bool>,
    /// A trusted platform module.
    #[api(name = "preferredTPM")]
    pub preferred_tpm: Option<TpmDevice>,
    /// Binds the interface on the pod network by address translation.
    pub preferred_interface_masquerade: Option<InterfaceMasquerade>,
    /// The model of panic devices that name none.
    pub preferred_panic_device_model: Option<PanicDeviceModel>,
    /// The graphics adapter.
    pub preferred_video_type: Option<String>,
}

/// Preferred features of the hypervisor.
#[api]
pub struct FeaturePreferences {
    /// ACPI.
    pub preferred_acpi: Option<FeatureState>,
    /// The advanced interrupt controller.
    pub preferred_apic: Option<FeatureApic>,
    /// The enlightenments for Windows.
    pub preferred_hyperv: Option<FeatureHyperv>,
    /// What the guest can see of KVM.
    pub preferred_kvm: Option<FeatureKvm>,
    /// Paravirtual locks.
    pub preferred_pvspinlock: Option<FeatureState>,
    /// System management mode.
    pub preferred_smm: Option<FeatureState>,
}

/// Preferred firmware.
#[api]
pub struct FirmwarePreferences {
    /// Whether it is BIOS.
    pub preferred_use_bios: Option<bool>,
    /// Whether the BIOS prints to the serial console.
    pub preferred_use_bios_serial: Option<bool>,
    /// Deprecated: whether it is EFI. Use preferredEfi.
    pub preferred_use_efi: Option<bool>,
    /// Deprecated: whether only signed loaders start. Use preferredEfi.
    pub preferred_use_secure_boot: Option<bool>,
    /// EFI.
    pub preferred_efi: Option<Efi>,
}

/// Preferred machine type.
#[api]
pub struct MachinePreferences {
    /// The machine type.
    pub preferred_machine_type: String,
}

/// Preferred clock.
#[api]
pub struct ClockPreferences {
    /// What the clock shows at boot.
    pub preferred_clock_offset: Option<ClockOffset>,
    /// The timers.
    pub preferred_timer: Option<Timer>,
}

/// What the instance type, or the machine itself, must give. Otherwise the machine is refused.
#[api]
pub struct PreferenceRequirements {
    /// How many virtual CPUs.
    pub cpu: Option<CpuPreferenceRequirement>,
    /// How much memory.
    pub memory: Option<MemoryPreferenceRequirement>,
    /// Which architecture.
    pub architecture: Option<String>,
}

/// How many virtual CPUs there must be.
#[api]
pub struct CpuPreferenceRequirement {
    /// At least so many.
    #[api(required)]
    pub guest: u32,
}

/// How much memory there must be.
#[api]
pub struct MemoryPreferenceRequirement {
    /// At least so much, in bytes.
    #[api(required)]
    pub guest: Quantity,
}
