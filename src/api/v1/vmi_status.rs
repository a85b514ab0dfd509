use std::collections::BTreeMap;

use crate::{
    Quantity, api,
    backup::BackupVolumeInfo,
    v1::{ChangedBlockTrackingStatus, CpuTopology, Machine, MemoryStatus, VmimConfigurationOptions},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

#[api]
pub struct VirtualMachineInstancePhaseTransitionTimestamp {
    pub phase: VirtualMachineInstancePhase,
    pub phase_transition_timestamp: Option<Time>,
}

#[api]
pub struct TopologyHints {
    pub tsc_frequency: Option<i64>,
}

#[api]
pub struct VirtualMachineInstanceStatus {
    pub node_name: String,
    pub reason: String,
    pub conditions: Vec<VirtualMachineInstanceCondition>,
    pub phase: VirtualMachineInstancePhase,
    #[api(list = "atomic")]
    pub phase_transition_timestamps: Vec<VirtualMachineInstancePhaseTransitionTimestamp>,
    pub interfaces: Vec<VirtualMachineInstanceNetworkInterface>,
    #[api(always, name = "guestOSInfo")]
    pub guest_os_info: VirtualMachineInstanceGuestOsInfo,
    pub migration_state: Option<VirtualMachineInstanceMigrationState>,
    pub migration_method: VirtualMachineInstanceMigrationMethod,
    pub migration_transport: VirtualMachineInstanceMigrationTransport,
    pub qos_class: Option<String>,
    pub launcher_container_image_version: String,
    pub evacuation_node_name: String,
    pub active_pods: BTreeMap<String, String>,
    #[api(list = "atomic")]
    pub volume_status: Vec<VolumeStatus>,
    pub kernel_boot_status: Option<KernelBootStatus>,
    pub fs_freeze_status: String,
    pub topology_hints: Option<TopologyHints>,
    pub virtual_machine_revision_name: String,
    #[api(always)]
    pub runtime_user: u64,
    #[api(name = "VSOCKCID", format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub vsockcid: Option<u32>,
    pub selinux_context: String,
    pub machine: Option<Machine>,
    #[api(name = "currentCPUTopology")]
    pub current_cpu_topology: Option<CpuTopology>,
    pub memory: Option<MemoryStatus>,
    #[api(list = "atomic")]
    pub migrated_volumes: Vec<StorageMigratedVolumeInfo>,
    #[api(nullable)]
    pub changed_block_tracking: Option<ChangedBlockTrackingStatus>,
}

#[api]
pub struct StorageMigratedVolumeInfo {
    #[api(required)]
    pub volume_name: String,
    #[api(name = "sourcePVCInfo")]
    pub source_pvc_info: Option<PersistentVolumeClaimInfo>,
    #[api(name = "destinationPVCInfo")]
    pub destination_pvc_info: Option<PersistentVolumeClaimInfo>,
}

#[api]
pub struct PersistentVolumeClaimInfo {
    pub claim_name: String,
    #[api(list = "atomic")]
    pub access_modes: Vec<String>,
    pub volume_mode: Option<String>,
    pub capacity: BTreeMap<String, Quantity>,
    pub requests: BTreeMap<String, Quantity>,
    pub preallocated: bool,
    #[api(pattern = r"^(0(?:\.\d{1,3})?|1)$")]
    pub filesystem_overhead: Option<String>,
}

#[api]
pub struct VolumeStatus {
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub target: String,
    pub phase: VolumePhase,
    pub reason: String,
    pub message: String,
    pub persistent_volume_claim_info: Option<PersistentVolumeClaimInfo>,
    pub hotplug_volume: Option<HotplugVolumeStatus>,
    pub size: i64,
    pub memory_dump_volume: Option<DomainMemoryDumpInfo>,
    pub container_disk_volume: Option<ContainerDiskInfo>,
}

#[api]
pub struct KernelInfo {
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

#[api]
pub struct InitrdInfo {
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

#[api]
pub struct KernelBootStatus {
    pub kernel_info: Option<KernelInfo>,
    pub initrd_info: Option<InitrdInfo>,
}

#[api]
pub struct DomainMemoryDumpInfo {
    pub start_timestamp: Option<Time>,
    pub end_timestamp: Option<Time>,
    pub claim_name: String,
    pub target_file_name: String,
}

#[api]
pub struct HotplugVolumeStatus {
    pub attach_pod_name: String,
    #[api(name = "attachPodUID")]
    pub attach_pod_uid: String,
}

#[api]
pub struct ContainerDiskInfo {
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

#[api]
pub enum VolumePhase {
    Pending = "Pending",
    Bound = "Bound",
    AttachedToNode = "AttachedToNode",
    MountedToPod = "MountedToPod",
    Ready = "Ready",
    Detaching = "Detaching",
    UnMountedFromPod = "UnMountedFromPod",
    MemoryDumpCompleted = "MemoryDumpCompleted",
    MemoryDumpInProgress = "MemoryDumpInProgress",
    MemoryDumpFailed = "MemoryDumpFailed",
}

#[api]
pub enum VirtualMachineInstanceConditionType {
    Provisioning = "Provisioning",
    Ready = "Ready",
    Synchronized = "Synchronized",
    Paused = "Paused",
    AgentConnected = "AgentConnected",
    AccessCredentialsSynchronized = "AccessCredentialsSynchronized",
    AgentVersionNotSupported = "AgentVersionNotSupported",
    LiveMigratable = "LiveMigratable",
    HotVcpuChange = "HotVCPUChange",
    HotMemoryChange = "HotMemoryChange",
    VolumesChange = "VolumesChange",
    DataVolumesReady = "DataVolumesReady",
    StorageLiveMigratable = "StorageLiveMigratable",
    DecentralizedLiveMigrationFailure = "DecentralizedLiveMigrationFailure",
    MigrationRequired = "MigrationRequired",
    EvictionRequested = "EvictionRequested",
    SoftwareEmulation = "SoftwareEmulation",
}

#[api]
pub struct VirtualMachineInstanceCondition {
    #[api(required)]
    pub type_: VirtualMachineInstanceConditionType,
    #[api(required)]
    pub status: String,
    #[api(nullable)]
    pub last_probe_time: Option<Time>,
    #[api(nullable)]
    pub last_transition_time: Option<Time>,
    pub reason: String,
    pub message: String,
}

#[api]
pub struct VirtualMachineInstanceNetworkInterface {
    pub ip_address: String,
    pub mac: String,
    pub name: String,
    pub ip_addresses: Vec<String>,
    pub pod_interface_name: String,
    pub interface_name: String,
    pub info_source: String,
    pub queue_count: i32,
    pub link_state: String,
}

#[api]
pub struct VirtualMachineInstanceGuestOsInfo {
    pub name: String,
    pub kernel_release: String,
    pub version: String,
    pub pretty_name: String,
    pub version_id: String,
    pub kernel_version: String,
    pub machine: String,
    pub id: String,
}

#[api]
pub enum MigrationNetworkType {
    Pod = "Pod",
    Migration = "Migration",
}

#[api]
pub struct VirtualMachineInstanceCommonMigrationState {
    pub node: String,
    pub pod: String,
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    pub domain_name: Option<String>,
    pub domain_namespace: Option<String>,
    pub sync_address: Option<String>,
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    pub selinux_context: String,
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
}

#[api]
pub struct VirtualMachineInstanceMigrationSourceState {
    pub node: String,
    pub pod: String,
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    pub domain_name: Option<String>,
    pub domain_namespace: Option<String>,
    pub sync_address: Option<String>,
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    pub selinux_context: String,
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
    pub node_selectors: BTreeMap<String, String>,
}

#[api]
pub struct VirtualMachineInstanceMigrationTargetState {
    pub node: String,
    pub pod: String,
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    pub domain_name: Option<String>,
    pub domain_namespace: Option<String>,
    pub sync_address: Option<String>,
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    pub selinux_context: String,
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
    pub domain_ready_timestamp: Option<Time>,
    pub domain_detected: bool,
    pub node_address: Option<String>,
    #[api(format = "")]
    pub direct_migration_node_ports: BTreeMap<String, i64>,
    #[api(name = "attachmentPodUID")]
    pub attachment_pod_uid: Option<String>,
    #[api(list = "atomic", format = "")]
    pub cpu_set: Vec<i64>,
    pub node_topology: Option<String>,
}

#[api]
pub struct VirtualMachineInstanceMigrationState {
    #[api(nullable)]
    pub start_timestamp: Option<Time>,
    #[api(nullable)]
    pub end_timestamp: Option<Time>,
    pub target_node_domain_ready_timestamp: Option<Time>,
    pub target_node_domain_detected: bool,
    pub target_node_address: String,
    #[api(format = "")]
    pub target_direct_migration_node_ports: BTreeMap<String, i64>,
    pub target_node: String,
    pub target_pod: String,
    #[api(name = "targetAttachmentPodUID")]
    pub target_attachment_pod_uid: String,
    pub source_node: String,
    pub source_pod: String,
    pub completed: bool,
    pub failed: bool,
    pub abort_requested: bool,
    pub abort_status: MigrationAbortStatus,
    pub failure_reason: String,
    pub migration_uid: String,
    pub mode: MigrationMode,
    pub migration_policy_name: Option<String>,
    pub migration_configuration: Option<VmimConfigurationOptions>,
    #[api(list = "atomic", name = "targetCPUSet", format = "")]
    pub target_cpu_set: Vec<i64>,
    pub target_node_topology: String,
    #[api(name = "sourcePersistentStatePVCName")]
    pub source_persistent_state_pvc_name: String,
    #[api(name = "targetPersistentStatePVCName")]
    pub target_persistent_state_pvc_name: String,
    pub source_state: Option<VirtualMachineInstanceMigrationSourceState>,
    pub target_state: Option<VirtualMachineInstanceMigrationTargetState>,
    pub migration_network_type: MigrationNetworkType,
    pub target_memory_overhead: Option<Quantity>,
}

#[api]
pub enum MigrationAbortStatus {
    Succeeded = "Succeeded",
    Failed = "Failed",
    Aborting = "Aborting",
}

#[api]
pub enum MigrationMode {
    PreCopy = "PreCopy",
    PostCopy = "PostCopy",
    Paused = "Paused",
}

#[api]
pub enum VirtualMachineInstanceMigrationTransport {
    Unix = "Unix",
}

#[api]
pub enum VirtualMachineInstanceMigrationMethod {
    BlockMigration = "BlockMigration",
    LiveMigration = "LiveMigration",
}

#[api]
pub enum VirtualMachineInstancePhase {
    Pending = "Pending",
    Scheduling = "Scheduling",
    Scheduled = "Scheduled",
    Running = "Running",
    Succeeded = "Succeeded",
    Failed = "Failed",
    WaitingForSync = "WaitingForSync",
    Unknown = "Unknown",
}

#[api]
pub struct VirtualMachineInstanceBackupStatus {
    pub backup_name: String,
    pub start_timestamp: Option<Time>,
    pub end_timestamp: Option<Time>,
    pub completed: bool,
    pub failed: bool,
    pub backup_msg: Option<String>,
    pub checkpoint_name: Option<String>,
    #[api(list = "atomic")]
    pub volumes: Vec<BackupVolumeInfo>,
    pub quiesce_status: String,
}
