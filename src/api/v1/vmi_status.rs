//! What is known of an instance.

use std::collections::BTreeMap;

use crate::{
    Quantity, api,
    backup::BackupVolumeInfo,
    v1::{ChangedBlockTrackingStatus, CpuTopology, Machine, MemoryStatus, VmimConfigurationOptions},
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// When a phase began.
#[api]
pub struct VirtualMachineInstancePhaseTransitionTimestamp {
    /// The phase.
    pub phase: VirtualMachineInstancePhase,
    /// When it began.
    pub phase_transition_timestamp: Option<Time>,
}

/// What the machine wants of its node beyond its spec.
#[api]
pub struct TopologyHints {
    /// The frequency of the time stamp counter in hertz.
    pub tsc_frequency: Option<i64>,
}

/// What is known of a machine.
#[api]
pub struct VirtualMachineInstanceStatus {
    /// The node that it runs on.
    pub node_name: String,
    /// Why the machine is in its state, as one word, if something is wrong.
    pub reason: String,
    /// Aspects of its state: Ready, LiveMigratable, Paused, AgentConnected and others.
    pub conditions: Vec<VirtualMachineInstanceCondition>,
    /// How far it has come: Pending, Scheduling, Scheduled, Running, Succeeded, Failed, WaitingForSync or Unknown.
    pub phase: VirtualMachineInstancePhase,
    /// When each phase began.
    #[api(list = "atomic")]
    pub phase_transition_timestamps: Vec<VirtualMachineInstancePhaseTransitionTimestamp>,
    /// Its network interfaces with their addresses.
    pub interfaces: Vec<VirtualMachineInstanceNetworkInterface>,
    /// What the guest agent says of the operating system.
    #[api(always, name = "guestOSInfo")]
    pub guest_os_info: VirtualMachineInstanceGuestOsInfo,
    /// The migration that runs, or ran last.
    pub migration_state: Option<VirtualMachineInstanceMigrationState>,
    /// How it would migrate: BlockMigration (disks are copied too) or LiveMigration.
    pub migration_method: VirtualMachineInstanceMigrationMethod,
    /// How migrations travel: Unix.
    pub migration_transport: VirtualMachineInstanceMigrationTransport,
    /// The quality-of-service class of the launcher pod.
    pub qos_class: Option<String>,
    /// The image that its launcher runs.
    pub launcher_container_image_version: String,
    /// The node that it shall leave.
    pub evacuation_node_name: String,
    /// The launcher pods by UID, each with its node. Two while it migrates.
    pub active_pods: BTreeMap<String, String>,
    /// Its volumes and where they are in the guest.
    #[api(list = "atomic")]
    pub volume_status: Vec<VolumeStatus>,
    /// Checksums of a kernel that was started directly.
    pub kernel_boot_status: Option<KernelBootStatus>,
    /// frozen while the guest's file systems stand still.
    pub fs_freeze_status: String,
    /// What it wants of its node beyond its spec.
    pub topology_hints: Option<TopologyHints>,
    /// The ControllerRevision of the VirtualMachine that it was started from.
    pub virtual_machine_revision_name: String,
    /// The numeric user of the launcher's processes.
    #[api(always)]
    pub runtime_user: u64,
    /// The number of its VSOCK device; from 3.
    #[api(name = "VSOCKCID", format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub vsock_cid: Option<u32>,
    /// The SELinux context of its launcher.
    pub selinux_context: String,
    /// The machine type that it got.
    pub machine: Option<Machine>,
    /// How its virtual CPUs are arranged now.
    #[api(name = "currentCPUTopology")]
    pub current_cpu_topology: Option<CpuTopology>,
    /// How much memory it has.
    pub memory: Option<MemoryStatus>,
    /// The volumes that are being moved to other claims.
    #[api(list = "atomic")]
    pub migrated_volumes: Vec<StorageMigratedVolumeInfo>,
    /// Whether its changed blocks are tracked, and the backup that runs.
    #[api(nullable)]
    pub changed_block_tracking: Option<ChangedBlockTrackingStatus>,
}

/// A volume that is moved to another claim.
#[api]
pub struct StorageMigratedVolumeInfo {
    /// The volume.
    #[api(required)]
    pub volume_name: String,
    /// The claim that it leaves.
    #[api(name = "sourcePVCInfo")]
    pub source_pvc_info: Option<PersistentVolumeClaimInfo>,
    /// The claim that it moves to.
    #[api(name = "destinationPVCInfo")]
    pub destination_pvc_info: Option<PersistentVolumeClaimInfo>,
}

/// What is known of a claim.
#[api]
pub struct PersistentVolumeClaimInfo {
    /// The claim.
    pub claim_name: String,
    /// How nodes may mount it.
    #[api(list = "atomic")]
    pub access_modes: Vec<String>,
    /// Filesystem or Block.
    pub volume_mode: Option<String>,
    /// How large it is.
    pub capacity: BTreeMap<String, Quantity>,
    /// How large it was asked for.
    pub requests: BTreeMap<String, Quantity>,
    /// Whether the image fills it from the start.
    pub preallocated: bool,
    /// The share of it, from 0 to 1, that the file system needs for itself.
    #[api(pattern = r"^(0(?:\.\d{1,3})?|1)$")]
    pub filesystem_overhead: Option<String>,
}

/// What is known of a volume of a machine.
#[api]
pub struct VolumeStatus {
    /// The volume.
    #[api(required)]
    pub name: String,
    /// The device in the guest: vda.
    #[api(required)]
    pub target: String,
    /// How far a volume has come that is attached to the running machine.
    pub phase: VolumePhase,
    /// Why it is in its phase, as one word.
    pub reason: String,
    /// Why it is in its phase, for people.
    pub message: String,
    /// The claim that it comes from.
    pub persistent_volume_claim_info: Option<PersistentVolumeClaimInfo>,
    /// The pod that brings it, if it is attached to the running machine.
    pub hotplug_volume: Option<HotplugVolumeStatus>,
    /// How large it is, in bytes.
    pub size: i64,
    /// The memory dump that it takes.
    pub memory_dump_volume: Option<DomainMemoryDumpInfo>,
    /// The image that it comes from.
    pub container_disk_volume: Option<ContainerDiskInfo>,
}

/// A kernel.
#[api]
pub struct KernelInfo {
    /// The CRC-32 of the file.
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

/// An initial RAM disk.
#[api]
pub struct InitrdInfo {
    /// The CRC-32 of the file.
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

/// Checksums of a kernel that was started directly; a migration starts the same.
#[api]
pub struct KernelBootStatus {
    /// The kernel.
    pub kernel_info: Option<KernelInfo>,
    /// The initial RAM disk.
    pub initrd_info: Option<InitrdInfo>,
}

/// A memory dump.
#[api]
pub struct DomainMemoryDumpInfo {
    /// When it began.
    pub start_timestamp: Option<Time>,
    /// When it ended.
    pub end_timestamp: Option<Time>,
    /// The claim that it is written to.
    pub claim_name: String,
    /// The file that it is written to.
    pub target_file_name: String,
}

/// The pod that brings a volume to a running machine.
#[api]
pub struct HotplugVolumeStatus {
    /// Its name.
    pub attach_pod_name: String,
    /// Its UID.
    #[api(name = "attachPodUID")]
    pub attach_pod_uid: String,
}

/// A disk from a container image.
#[api]
pub struct ContainerDiskInfo {
    /// The CRC-32 of the disk image; a migration starts with the same.
    #[api(format = "int64", minimum = 0, maximum = 4_294_967_295)]
    pub checksum: u32,
}

/// How far a volume has come.
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

/// The aspects of a machine.
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

/// One aspect of the state of a machine.
#[api]
pub struct VirtualMachineInstanceCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: VirtualMachineInstanceConditionType,
    /// Whether it holds: True, False or Unknown.
    #[api(required)]
    pub status: String,
    /// When it was last looked at.
    #[api(nullable)]
    pub last_probe_time: Option<Time>,
    /// When the status last changed.
    #[api(nullable)]
    pub last_transition_time: Option<Time>,
    /// Why, as one word in CamelCase for programs.
    pub reason: String,
    /// What is the matter, for people.
    pub message: String,
}

/// A network interface, as spec, pod, domain and guest know it.
#[api]
pub struct VirtualMachineInstanceNetworkInterface {
    /// Its first address.
    pub ip_address: String,
    /// Its MAC address.
    pub mac: String,
    /// The network that it is plugged into.
    pub name: String,
    /// All its addresses.
    pub ip_addresses: Vec<String>,
    /// Its name in the pod.
    pub pod_interface_name: String,
    /// Its name in the guest.
    pub interface_name: String,
    /// Who knows it: domain, guest-agent, multus-status, in a list.
    pub info_source: String,
    /// How many queues it has.
    pub queue_count: i32,
    /// up or down.
    pub link_state: String,
}

/// What the guest agent says of the operating system.
#[api]
pub struct VirtualMachineInstanceGuestOsInfo {
    /// Its name.
    pub name: String,
    /// The release of the kernel.
    pub kernel_release: String,
    /// Its version, in words.
    pub version: String,
    /// Its name with its version.
    pub pretty_name: String,
    /// Its version, as a number.
    pub version_id: String,
    /// The build of the kernel.
    pub kernel_version: String,
    /// The architecture of the guest.
    pub machine: String,
    /// Its name for programs, such as fedora.
    pub id: String,
}

/// Which network a migration travels.
#[api]
pub enum MigrationNetworkType {
    Pod = "Pod",
    Migration = "Migration",
}

/// What both sides of a migration have.
#[api]
pub struct VirtualMachineInstanceCommonMigrationState {
    /// The node.
    pub node: String,
    /// The launcher pod.
    pub pod: String,
    /// The UID of the migration object on this side.
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    /// The name of the domain.
    pub domain_name: Option<String>,
    /// The namespace of the domain.
    pub domain_namespace: Option<String>,
    /// Where the other side's controller is reached.
    pub sync_address: Option<String>,
    /// The claim with TPM and firmware state.
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    /// The SELinux context of the launcher.
    pub selinux_context: String,
    /// The UID of the machine on this side.
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
}

/// The side that a migration leaves.
#[api]
pub struct VirtualMachineInstanceMigrationSourceState {
    /// The node.
    pub node: String,
    /// The launcher pod.
    pub pod: String,
    /// The UID of the migration object on this side.
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    /// The name of the domain.
    pub domain_name: Option<String>,
    /// The namespace of the domain.
    pub domain_namespace: Option<String>,
    /// Where the target's controller is reached.
    pub sync_address: Option<String>,
    /// The claim with TPM and firmware state.
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    /// The SELinux context of the launcher.
    pub selinux_context: String,
    /// The UID of the machine on this side.
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
    /// Labels that the source demands of the target's node.
    pub node_selectors: BTreeMap<String, String>,
}

/// The side that a migration goes to.
#[api]
pub struct VirtualMachineInstanceMigrationTargetState {
    /// The node.
    pub node: String,
    /// The launcher pod.
    pub pod: String,
    /// The UID of the migration object on this side.
    #[api(name = "migrationUID")]
    pub migration_uid: String,
    /// The name of the domain.
    pub domain_name: Option<String>,
    /// The namespace of the domain.
    pub domain_namespace: Option<String>,
    /// Where the source's controller is reached.
    pub sync_address: Option<String>,
    /// The claim with TPM and firmware state.
    #[api(name = "persistentStatePVCName")]
    pub persistent_state_pvc_name: Option<String>,
    /// The SELinux context of the launcher.
    pub selinux_context: String,
    /// The UID of the machine on this side.
    #[api(name = "virtualMachineInstanceUID")]
    pub virtual_machine_instance_uid: Option<String>,
    /// When the domain was seen to run here.
    pub domain_ready_timestamp: Option<Time>,
    /// Whether the domain was seen here.
    pub domain_detected: bool,
    /// The address that the node takes migrations at.
    pub node_address: Option<String>,
    /// The ports that the node listens at, each with what it is for.
    #[api(format = "")]
    pub direct_migration_node_ports: BTreeMap<String, i64>,
    /// The pod that brings attached volumes.
    #[api(name = "attachmentPodUID")]
    pub attachment_pod_uid: Option<String>,
    /// The physical CPUs that the machine gets here.
    #[api(list = "atomic", format = "")]
    pub cpu_set: Vec<i64>,
    /// The CPUs and memory of the node, as JSON.
    pub node_topology: Option<String>,
}

/// A migration, as the machine sees it.
#[api]
pub struct VirtualMachineInstanceMigrationState {
    /// When it began.
    #[api(nullable)]
    pub start_timestamp: Option<Time>,
    /// When it ended.
    #[api(nullable)]
    pub end_timestamp: Option<Time>,
    /// When the domain was seen to run on the target.
    pub target_node_domain_ready_timestamp: Option<Time>,
    /// Whether the domain was seen on the target.
    pub target_node_domain_detected: bool,
    /// The address that the target takes it at.
    pub target_node_address: String,
    /// The ports that the target listens at, each with what it is for.
    #[api(format = "")]
    pub target_direct_migration_node_ports: BTreeMap<String, i64>,
    /// The node that it goes to.
    pub target_node: String,
    /// The launcher pod that it goes to.
    pub target_pod: String,
    /// The pod that brings attached volumes on the target.
    #[api(name = "targetAttachmentPodUID")]
    pub target_attachment_pod_uid: String,
    /// The node that it leaves.
    pub source_node: String,
    /// The launcher pod that it leaves.
    pub source_pod: String,
    /// Whether it is over, for good or bad.
    pub completed: bool,
    /// Whether it failed.
    pub failed: bool,
    /// Whether someone asked to abort it.
    pub abort_requested: bool,
    /// How far the abort has come: Aborting, Succeeded or Failed.
    pub abort_status: MigrationAbortStatus,
    /// Why it failed, for people.
    pub failure_reason: String,
    /// The UID of the migration object.
    pub migration_uid: String,
    /// PreCopy, PostCopy (the guest runs on the target while memory follows) or Paused.
    pub mode: MigrationMode,
    /// The policy that applies.
    pub migration_policy_name: Option<String>,
    /// The settings that apply.
    pub migration_configuration: Option<VmimConfigurationOptions>,
    /// The physical CPUs that the machine gets on the target.
    #[api(list = "atomic", name = "targetCPUSet", format = "")]
    pub target_cpu_set: Vec<i64>,
    /// The CPUs and memory of the target, as JSON.
    pub target_node_topology: String,
    /// The claim with TPM and firmware state that it leaves.
    #[api(name = "sourcePersistentStatePVCName")]
    pub source_persistent_state_pvc_name: String,
    /// The claim with TPM and firmware state that it goes to.
    #[api(name = "targetPersistentStatePVCName")]
    pub target_persistent_state_pvc_name: String,
    /// The side that it leaves.
    pub source_state: Option<VirtualMachineInstanceMigrationSourceState>,
    /// The side that it goes to.
    pub target_state: Option<VirtualMachineInstanceMigrationTargetState>,
    /// The network that it travels: Pod or Migration.
    pub migration_network_type: MigrationNetworkType,
    /// What the emulation is reckoned to need beside the guest on the target, in bytes.
    pub target_memory_overhead: Option<Quantity>,
}

/// How far the abort of a migration has come.
#[api]
pub enum MigrationAbortStatus {
    Succeeded = "Succeeded",
    Failed = "Failed",
    Aborting = "Aborting",
}

/// How the memory of a migrating guest gets to the target.
#[api]
pub enum MigrationMode {
    PreCopy = "PreCopy",
    PostCopy = "PostCopy",
    Paused = "Paused",
}

/// How migrations travel.
#[api]
pub enum VirtualMachineInstanceMigrationTransport {
    Unix = "Unix",
}

/// What a migration copies.
#[api]
pub enum VirtualMachineInstanceMigrationMethod {
    BlockMigration = "BlockMigration",
    LiveMigration = "LiveMigration",
}

/// How far a machine has come.
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

/// A backup, as the machine sees it.
#[api]
pub struct VirtualMachineInstanceBackupStatus {
    /// The backup object.
    pub backup_name: String,
    /// When it began.
    pub start_timestamp: Option<Time>,
    /// When it ended.
    pub end_timestamp: Option<Time>,
    /// Whether it is over, for good or bad.
    pub completed: bool,
    /// Whether it failed.
    pub failed: bool,
    /// What is the matter, for people.
    pub backup_msg: Option<String>,
    /// The checkpoint that it makes.
    pub checkpoint_name: Option<String>,
    /// The volumes that are saved.
    #[api(list = "atomic")]
    pub volumes: Vec<BackupVolumeInfo>,
    /// Whether the guest's file systems stood still when the state was taken: Succeeded, Failed or Skipped.
    pub quiesce_status: String,
}
