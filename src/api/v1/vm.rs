//! Virtual machines: what can be started and stopped.

use std::collections::BTreeMap;

use crate::{
    api,
    cdi::DataVolumeSpec,
    v1::{
        AddVolumeOptions, InferFromVolumeFailurePolicy, InstancetypeMatcher, PreferenceMatcher, RemoveVolumeOptions,
        StorageMigratedVolumeInfo, VirtualMachineInstanceBackupStatus, VirtualMachineInstanceTemplateSpec,
    },
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// Nothing; the status of a DataVolume is on the DataVolume.
#[api]
pub struct DataVolumeTemplateDummyStatus {}

/// A DataVolume that is made with the machine and deleted with it.
#[api(nullable)]
pub struct DataVolumeTemplateSpec {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The name of the DataVolume, its labels and annotations.
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    /// What it is filled with, and how large it is.
    #[api(required)]
    pub spec: DataVolumeSpec,
    /// Nothing.
    #[api(nullable)]
    pub status: Option<DataVolumeTemplateDummyStatus>,
}

/// A virtual machine that can be started and stopped, and keeps its disks.
#[api]
pub struct VirtualMachine {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What the machine is made of, and whether it shall run.
    #[api(required)]
    pub spec: VirtualMachineSpec,
    /// What is known of the machine.
    #[api(always)]
    pub status: VirtualMachineStatus,
}

/// Whether a machine shall run.
#[api]
pub enum VirtualMachineRunStrategy {
    Always = "Always",
    Halted = "Halted",
    Manual = "Manual",
    RerunOnFailure = "RerunOnFailure",
    Once = "Once",
    WaitAsReceiver = "WaitAsReceiver",
}

/// What happens when the volumes of a running machine change.
#[api]
pub enum UpdateVolumesStrategy {
    Migration = "Migration",
    Replacement = "Replacement",
}

/// What a machine is made of, and whether it shall run.
#[api]
pub struct VirtualMachineSpec {
    /// Whether it shall run. Deprecated: runStrategy says more. Give one of both.
    pub running: Option<bool>,
    /// Whether it shall run: Always, RerunOnFailure (until the guest shuts down by itself), Once (no restart), Manual (as start
    /// and stop ask), Halted, or WaitAsReceiver (as the target of a migration from another cluster).
    pub run_strategy: Option<VirtualMachineRunStrategy>,
    /// The instance type: CPU, memory and performance from a catalogue. Excludes what it sets.
    pub instancetype: Option<InstancetypeMatcher>,
    /// What the guest's system likes: defaults for devices and firmware where nothing is given.
    pub preference: Option<PreferenceMatcher>,
    /// What instances of the machine are made from.
    #[api(required)]
    pub template: Option<VirtualMachineInstanceTemplateSpec>,
    /// DataVolumes that are made with the machine and deleted with it.
    pub data_volume_templates: Vec<DataVolumeTemplateSpec>,
    /// What happens when volumes change while it runs: Migration copies them over, Replacement waits for a restart. Unset: as
    /// Replacement.
    pub update_volumes_strategy: Option<UpdateVolumesStrategy>,
}

/// What is asked of a machine.
#[api]
pub enum StateChangeRequestAction {
    Start = "Start",
    Stop = "Stop",
}

/// What a machine is doing, in a word.
#[api]
pub enum VirtualMachinePrintableStatus {
    Stopped = "Stopped",
    Provisioning = "Provisioning",
    Starting = "Starting",
    Running = "Running",
    Paused = "Paused",
    Stopping = "Stopping",
    Terminating = "Terminating",
    CrashLoopBackOff = "CrashLoopBackOff",
    Migrating = "Migrating",
    Unknown = "Unknown",
    ErrorUnschedulable = "ErrorUnschedulable",
    ErrImagePull = "ErrImagePull",
    ImagePullBackOff = "ImagePullBackOff",
    ErrorPvcNotFound = "ErrorPvcNotFound",
    DataVolumeError = "DataVolumeError",
    WaitingForVolumeBinding = "WaitingForVolumeBinding",
    WaitingForReceiver = "WaitingForReceiver",
}

/// How often a machine failed to start.
#[api]
pub struct VirtualMachineStartFailure {
    /// How often in a row.
    #[api(format = "")]
    pub consecutive_fail_count: i64,
    /// The UID of the instance that failed last.
    #[api(name = "lastFailedVMIUID")]
    pub last_failed_vmi_uid: String,
    /// When it is tried again.
    pub retry_after_timestamp: Option<Time>,
}

/// What is known of a machine.
#[api]
pub struct VirtualMachineStatus {
    /// The snapshot that is being taken.
    pub snapshot_in_progress: Option<String>,
    /// The restore that is under way.
    pub restore_in_progress: Option<String>,
    /// Whether it has an instance.
    pub created: bool,
    /// Whether its instance is ready.
    pub ready: bool,
    /// What it is doing, in a word: Running, Stopped, Starting, Migrating, CrashLoopBackOff, …
    #[api(default = "Stopped")]
    pub printable_status: VirtualMachinePrintableStatus,
    /// Aspects of its state: Ready, Failure, Paused, RestartRequired and those of its instance.
    pub conditions: Vec<VirtualMachineCondition>,
    /// What was asked of it and is not yet done: Start, Stop, in this order.
    pub state_change_requests: Vec<VirtualMachineStateChangeRequest>,
    /// Volumes that shall be attached or detached while it runs.
    #[api(list = "atomic")]
    pub volume_requests: Vec<VirtualMachineVolumeRequest>,
    /// Whether each volume can be part of a snapshot.
    pub volume_snapshot_statuses: Vec<VolumeSnapshotStatus>,
    /// How often it failed to start.
    #[api(nullable)]
    pub start_failure: Option<VirtualMachineStartFailure>,
    /// The memory dump that was asked for.
    #[api(nullable)]
    pub memory_dump_request: Option<VirtualMachineMemoryDumpRequest>,
    /// The generation that the running instance was started from.
    pub observed_generation: i64,
    /// The generation that the spec has now.
    pub desired_generation: i64,
    /// The run strategy that was acted on last.
    pub run_strategy: VirtualMachineRunStrategy,
    /// The volumes that are being moved to other claims.
    pub volume_update_state: Option<VolumeUpdateState>,
    /// Whether its changed blocks are tracked.
    #[api(nullable)]
    pub changed_block_tracking: Option<ChangedBlockTrackingStatus>,
    /// The instance type and the revision of it that is used.
    #[api(nullable)]
    pub instancetype_ref: Option<InstancetypeStatusRef>,
    /// The preference and the revision of it that is used.
    #[api(nullable)]
    pub preference_ref: Option<InstancetypeStatusRef>,
}

/// A ControllerRevision.
#[api]
pub struct ControllerRevisionRef {
    /// Its name.
    pub name: String,
}

/// An instance type or preference that is used.
#[api]
pub struct InstancetypeStatusRef {
    /// Its name.
    pub name: String,
    /// Its kind.
    pub kind: String,
    /// The ControllerRevision that keeps it as it was.
    pub controller_revision_ref: Option<ControllerRevisionRef>,
    /// The volume whose labels named it.
    pub infer_from_volume: String,
    /// What happens when the labels name none: Reject or Ignore.
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

/// Whether changed blocks are tracked.
#[api]
pub enum ChangedBlockTrackingState {
    PendingRestart = "PendingRestart",
    Initializing = "Initializing",
    Enabled = "Enabled",
    Disabled = "Disabled",
    IncrementalBackupFeatureGateDisabled = "IncrementalBackupFeatureGateDisabled",
}

/// Whether changed blocks are tracked, and the backup that runs.
#[api]
pub struct ChangedBlockTrackingStatus {
    /// PendingRestart, Initializing, Enabled, Disabled or IncrementalBackupFeatureGateDisabled.
    #[api(required)]
    pub state: ChangedBlockTrackingState,
    /// The backup that runs, or ran last.
    #[api(nullable)]
    pub backup_status: Option<VirtualMachineInstanceBackupStatus>,
}

/// How far a change of volumes has come.
#[api]
pub struct VolumeUpdateState {
    /// The volumes that are being moved to other claims.
    pub volume_migration_state: Option<VolumeMigrationState>,
}

/// The volumes that are being moved to other claims.
#[api]
pub struct VolumeMigrationState {
    /// The volumes with the claims that they leave and move to.
    #[api(list = "atomic")]
    pub migrated_volumes: Vec<StorageMigratedVolumeInfo>,
}

/// Whether a volume can be part of a snapshot.
#[api]
pub struct VolumeSnapshotStatus {
    /// The volume.
    #[api(required)]
    pub name: String,
    /// Whether it can.
    #[api(required)]
    pub enabled: bool,
    /// Why not.
    pub reason: String,
}

/// A volume that shall be attached or detached; one of both.
#[api]
pub struct VirtualMachineVolumeRequest {
    /// The volume to attach.
    pub add_volume_options: Option<AddVolumeOptions>,
    /// The volume to detach.
    pub remove_volume_options: Option<RemoveVolumeOptions>,
}

/// Something that was asked of a machine.
#[api]
pub struct VirtualMachineStateChangeRequest {
    /// Start or Stop.
    #[api(required)]
    pub action: StateChangeRequestAction,
    /// Further values, such as paused for a start.
    pub data: BTreeMap<String, String>,
    /// The UID of the instance that shall stop.
    pub uid: Option<String>,
}

/// One aspect of the state of a machine.
#[api]
pub struct VirtualMachineCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: VirtualMachineConditionType,
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

/// The aspects of a machine.
#[api]
pub enum VirtualMachineConditionType {
    Failure = "Failure",
    Ready = "Ready",
    Paused = "Paused",
    RestartRequired = "RestartRequired",
    ManualRecoveryRequired = "ManualRecoveryRequired",
}

/// A memory dump.
#[api]
pub struct VirtualMachineMemoryDumpRequest {
    /// The claim that it is written to.
    #[api(required)]
    pub claim_name: String,
    /// How far it has come.
    #[api(required)]
    pub phase: MemoryDumpPhase,
    /// Whether the claim shall be detached again.
    pub remove: bool,
    /// When it began.
    pub start_timestamp: Option<Time>,
    /// When it ended.
    pub end_timestamp: Option<Time>,
    /// The file that it is in.
    pub file_name: Option<String>,
    /// Why it failed, for people.
    pub message: String,
}

/// How far a memory dump has come.
#[api]
pub enum MemoryDumpPhase {
    Associating = "Associating",
    InProgress = "InProgress",
    Unmounting = "Unmounting",
    Completed = "Completed",
    Dissociating = "Dissociating",
    Failed = "Failed",
}
