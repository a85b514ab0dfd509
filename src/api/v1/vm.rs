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

#[api]
pub struct DataVolumeTemplateDummyStatus {}

#[api(nullable)]
pub struct DataVolumeTemplateSpec {
    pub api_version: String,
    pub kind: String,
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: DataVolumeSpec,
    #[api(nullable)]
    pub status: Option<DataVolumeTemplateDummyStatus>,
}

#[api]
pub struct VirtualMachine {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineSpec,
    #[api(always)]
    pub status: VirtualMachineStatus,
}

#[api]
pub enum VirtualMachineRunStrategy {
    Always = "Always",
    Halted = "Halted",
    Manual = "Manual",
    RerunOnFailure = "RerunOnFailure",
    Once = "Once",
    WaitAsReceiver = "WaitAsReceiver",
}

#[api]
pub enum UpdateVolumesStrategy {
    Migration = "Migration",
    Replacement = "Replacement",
}

#[api]
pub struct VirtualMachineSpec {
    pub running: Option<bool>,
    pub run_strategy: Option<VirtualMachineRunStrategy>,
    pub instancetype: Option<InstancetypeMatcher>,
    pub preference: Option<PreferenceMatcher>,
    #[api(required)]
    pub template: Option<VirtualMachineInstanceTemplateSpec>,
    pub data_volume_templates: Vec<DataVolumeTemplateSpec>,
    pub update_volumes_strategy: Option<UpdateVolumesStrategy>,
}

#[api]
pub enum StateChangeRequestAction {
    Start = "Start",
    Stop = "Stop",
}

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

#[api]
pub struct VirtualMachineStartFailure {
    #[api(format = "")]
    pub consecutive_fail_count: i64,
    #[api(name = "lastFailedVMIUID")]
    pub last_failed_vmiuid: String,
    pub retry_after_timestamp: Option<Time>,
}

#[api]
pub struct VirtualMachineStatus {
    pub snapshot_in_progress: Option<String>,
    pub restore_in_progress: Option<String>,
    pub created: bool,
    pub ready: bool,
    #[api(default = "Stopped")]
    pub printable_status: VirtualMachinePrintableStatus,
    pub conditions: Vec<VirtualMachineCondition>,
    pub state_change_requests: Vec<VirtualMachineStateChangeRequest>,
    #[api(list = "atomic")]
    pub volume_requests: Vec<VirtualMachineVolumeRequest>,
    pub volume_snapshot_statuses: Vec<VolumeSnapshotStatus>,
    #[api(nullable)]
    pub start_failure: Option<VirtualMachineStartFailure>,
    #[api(nullable)]
    pub memory_dump_request: Option<VirtualMachineMemoryDumpRequest>,
    pub observed_generation: i64,
    pub desired_generation: i64,
    pub run_strategy: VirtualMachineRunStrategy,
    pub volume_update_state: Option<VolumeUpdateState>,
    #[api(nullable)]
    pub changed_block_tracking: Option<ChangedBlockTrackingStatus>,
    #[api(nullable)]
    pub instancetype_ref: Option<InstancetypeStatusRef>,
    #[api(nullable)]
    pub preference_ref: Option<InstancetypeStatusRef>,
}

#[api]
pub struct ControllerRevisionRef {
    pub name: String,
}

#[api]
pub struct InstancetypeStatusRef {
    pub name: String,
    pub kind: String,
    pub controller_revision_ref: Option<ControllerRevisionRef>,
    pub infer_from_volume: String,
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

#[api]
pub enum ChangedBlockTrackingState {
    PendingRestart = "PendingRestart",
    Initializing = "Initializing",
    Enabled = "Enabled",
    Disabled = "Disabled",
    IncrementalBackupFeatureGateDisabled = "IncrementalBackupFeatureGateDisabled",
}

#[api]
pub struct ChangedBlockTrackingStatus {
    #[api(required)]
    pub state: ChangedBlockTrackingState,
    #[api(nullable)]
    pub backup_status: Option<VirtualMachineInstanceBackupStatus>,
}

#[api]
pub struct VolumeUpdateState {
    pub volume_migration_state: Option<VolumeMigrationState>,
}

#[api]
pub struct VolumeMigrationState {
    #[api(list = "atomic")]
    pub migrated_volumes: Vec<StorageMigratedVolumeInfo>,
}

#[api]
pub struct VolumeSnapshotStatus {
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub enabled: bool,
    pub reason: String,
}

#[api]
pub struct VirtualMachineVolumeRequest {
    pub add_volume_options: Option<AddVolumeOptions>,
    pub remove_volume_options: Option<RemoveVolumeOptions>,
}

#[api]
pub struct VirtualMachineStateChangeRequest {
    #[api(required)]
    pub action: StateChangeRequestAction,
    pub data: BTreeMap<String, String>,
    pub uid: Option<String>,
}

#[api]
pub struct VirtualMachineCondition {
    #[api(required)]
    pub type_: VirtualMachineConditionType,
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
pub enum VirtualMachineConditionType {
    Failure = "Failure",
    Ready = "Ready",
    Paused = "Paused",
    RestartRequired = "RestartRequired",
    ManualRecoveryRequired = "ManualRecoveryRequired",
}

#[api]
pub struct VirtualMachineMemoryDumpRequest {
    #[api(required)]
    pub claim_name: String,
    #[api(required)]
    pub phase: MemoryDumpPhase,
    pub remove: bool,
    pub start_timestamp: Option<Time>,
    pub end_timestamp: Option<Time>,
    pub file_name: Option<String>,
    pub message: String,
}

#[api]
pub enum MemoryDumpPhase {
    Associating = "Associating",
    InProgress = "InProgress",
    Unmounting = "Unmounting",
    Completed = "Completed",
    Dissociating = "Dissociating",
    Failed = "Failed",
}
