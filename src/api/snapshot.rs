use std::collections::BTreeMap;

use crate::{
    Duration, api,
    v1::{VirtualMachineSpec, VirtualMachineStatus},
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, TypedLocalObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

#[api]
pub struct VirtualMachineSnapshot {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineSnapshotSpec,
    pub status: Option<VirtualMachineSnapshotStatus>,
}

#[api]
pub enum DeletionPolicy {
    Delete = "Delete",
    Retain = "Retain",
}

#[api]
pub struct VirtualMachineSnapshotSpec {
    #[api(required)]
    pub source: TypedLocalObjectReference,
    pub deletion_policy: Option<DeletionPolicy>,
    pub failure_deadline: Option<Duration>,
}

#[api]
pub enum Indication {
    Online = "Online",
    NoGuestAgent = "NoGuestAgent",
    GuestAgent = "GuestAgent",
    QuiesceTimeout = "QuiesceTimeout",
    Paused = "Paused",
    PartialSnapshot = "PartialSnapshot",
}

#[api]
pub struct SourceIndication {
    #[api(required)]
    pub indication: Indication,
    #[api(required)]
    pub message: String,
}

#[api]
pub enum VirtualMachineSnapshotPhase {
    InProgress = "InProgress",
    Succeeded = "Succeeded",
    Failed = "Failed",
    Deleting = "Deleting",
    Unknown = "Unknown",
}

#[api]
pub struct VirtualMachineSnapshotStatus {
    #[api(name = "sourceUID")]
    pub source_uid: Option<String>,
    pub virtual_machine_snapshot_content_name: Option<String>,
    #[api(nullable)]
    pub creation_time: Option<Time>,
    pub phase: VirtualMachineSnapshotPhase,
    pub ready_to_use: Option<bool>,
    pub error: Option<Error>,
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
    #[api(list = "set")]
    pub indications: Vec<Indication>,
    #[api(list = "atomic")]
    pub source_indications: Vec<SourceIndication>,
    pub snapshot_volumes: Option<SnapshotVolumesLists>,
}

#[api]
pub struct SnapshotVolumesLists {
    #[api(list = "set")]
    pub included_volumes: Vec<String>,
    #[api(list = "set")]
    pub excluded_volumes: Vec<String>,
}

#[api]
pub struct Error {
    pub time: Option<Time>,
    pub message: Option<String>,
}

#[api]
pub enum ConditionType {
    Ready = "Ready",
    Progressing = "Progressing",
    Failure = "Failure",
}

#[api]
pub struct Condition {
    #[api(required)]
    pub type_: ConditionType,
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
pub struct VirtualMachineSnapshotContent {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineSnapshotContentSpec,
    pub status: Option<VirtualMachineSnapshotContentStatus>,
}

#[api]
pub struct VirtualMachineSnapshotContentSpec {
    pub virtual_machine_snapshot_name: Option<String>,
    #[api(required)]
    pub source: SourceSpec,
    #[api(list = "atomic")]
    pub volume_backups: Vec<VolumeBackup>,
}

#[api]
pub struct VirtualMachine {
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    #[api(always)]
    pub spec: VirtualMachineSpec,
    #[api(always)]
    pub status: VirtualMachineStatus,
}

#[api]
pub struct SourceSpec {
    pub virtual_machine: Option<VirtualMachine>,
}

#[api]
pub struct PersistentVolumeClaim {
    #[api(always, preserve)]
    pub metadata: ObjectMeta,
    #[api(always)]
    pub spec: PersistentVolumeClaimSpec,
}

#[api]
pub struct VolumeBackup {
    #[api(required)]
    pub volume_name: String,
    #[api(required)]
    pub persistent_volume_claim: PersistentVolumeClaim,
    pub volume_snapshot_name: Option<String>,
}

#[api]
pub struct VirtualMachineSnapshotContentStatus {
    #[api(nullable)]
    pub creation_time: Option<Time>,
    pub ready_to_use: Option<bool>,
    pub error: Option<Error>,
    #[api(list = "atomic")]
    pub volume_snapshot_status: Vec<VolumeSnapshotStatus>,
}

#[api]
pub struct VolumeSnapshotStatus {
    #[api(required)]
    pub volume_snapshot_name: String,
    #[api(nullable)]
    pub creation_time: Option<Time>,
    pub ready_to_use: Option<bool>,
    pub error: Option<Error>,
}

#[api]
pub struct VirtualMachineRestore {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineRestoreSpec,
    pub status: Option<VirtualMachineRestoreStatus>,
}

#[api(closed)]
pub enum TargetReadinessPolicy {
    StopTarget = "StopTarget",
    WaitGracePeriod = "WaitGracePeriod",
    FailImmediate = "FailImmediate",
    WaitEventually = "WaitEventually",
}

#[api]
pub enum VolumeRestorePolicy {
    RandomizeNames = "RandomizeNames",
    InPlace = "InPlace",
    PrefixTargetName = "PrefixTargetName",
}

#[api]
pub enum VolumeOwnershipPolicy {
    Vm = "Vm",
    None = "None",
}

#[api]
pub struct VirtualMachineRestoreSpec {
    #[api(required)]
    pub target: TypedLocalObjectReference,
    #[api(required)]
    pub virtual_machine_snapshot_name: String,
    #[api(default = "WaitGracePeriod")]
    pub target_readiness_policy: Option<TargetReadinessPolicy>,
    pub volume_restore_policy: Option<VolumeRestorePolicy>,
    pub volume_ownership_policy: Option<VolumeOwnershipPolicy>,
    #[api(list = "atomic")]
    pub volume_restore_overrides: Vec<VolumeRestoreOverride>,
    #[api(list = "atomic")]
    pub patches: Vec<String>,
}

#[api]
pub struct VirtualMachineRestoreStatus {
    #[api(list = "atomic")]
    pub restores: Vec<VolumeRestore>,
    pub restore_time: Option<Time>,
    #[api(list = "set")]
    pub deleted_data_volumes: Vec<String>,
    pub complete: Option<bool>,
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
}

#[api]
pub struct VolumeRestore {
    #[api(required)]
    pub volume_name: String,
    #[api(required)]
    pub persistent_volume_claim: String,
    #[api(required)]
    pub volume_snapshot_name: String,
    pub data_volume_name: Option<String>,
}

#[api]
pub struct VolumeRestoreOverride {
    pub volume_name: String,
    pub restore_name: String,
    pub labels: BTreeMap<String, String>,
    pub annotations: BTreeMap<String, String>,
}
