//! The group `snapshot.kubevirt.io`: snapshots of virtual machines, and their restoration.

use std::collections::BTreeMap;

use crate::{
    Duration, api,
    v1::{VirtualMachineSpec, VirtualMachineStatus},
};
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, TypedLocalObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The state of a machine at one time: its spec and its disks.
#[api]
pub struct VirtualMachineSnapshot {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which machine.
    #[api(required)]
    pub spec: VirtualMachineSnapshotSpec,
    /// How far it has come.
    pub status: Option<VirtualMachineSnapshotStatus>,
}

/// What becomes of the content of a snapshot that is deleted.
#[api]
pub enum DeletionPolicy {
    Delete = "Delete",
    Retain = "Retain",
}

/// Of which machine a snapshot is taken. It cannot be changed.
#[api]
pub struct VirtualMachineSnapshotSpec {
    /// The VirtualMachine, of the same namespace.
    #[api(required)]
    pub source: TypedLocalObjectReference,
    /// What becomes of the content when the snapshot is deleted: Delete (default) or Retain.
    pub deletion_policy: Option<DeletionPolicy>,
    /// After how long the snapshot has failed. Default: 5m. 0s: never.
    pub failure_deadline: Option<Duration>,
}

/// Something to know of a snapshot.
#[api]
pub enum Indication {
    Online = "Online",
    NoGuestAgent = "NoGuestAgent",
    GuestAgent = "GuestAgent",
    QuiesceTimeout = "QuiesceTimeout",
    Paused = "Paused",
    PartialSnapshot = "PartialSnapshot",
}

/// Something to know of a snapshot, in words.
#[api]
pub struct SourceIndication {
    /// What it is.
    #[api(required)]
    pub indication: Indication,
    /// What it means.
    #[api(required)]
    pub message: String,
}

/// How far a snapshot has come.
#[api]
pub enum VirtualMachineSnapshotPhase {
    InProgress = "InProgress",
    Succeeded = "Succeeded",
    Failed = "Failed",
    Deleting = "Deleting",
    Unknown = "Unknown",
}

/// How far a snapshot has come.
#[api]
pub struct VirtualMachineSnapshotStatus {
    /// The UID of the machine.
    #[api(name = "sourceUID")]
    pub source_uid: Option<String>,
    /// The object that holds the content.
    pub virtual_machine_snapshot_content_name: Option<String>,
    /// When the state was taken.
    #[api(nullable)]
    pub creation_time: Option<Time>,
    /// InProgress, Succeeded, Failed, Deleting or Unknown.
    pub phase: VirtualMachineSnapshotPhase,
    /// Whether it can be restored from.
    pub ready_to_use: Option<bool>,
    /// What went wrong last.
    pub error: Option<Error>,
    /// Aspects of its state: Ready, Progressing, Failure.
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
    /// What there is to know: Online (the machine ran), GuestAgent (its file systems stood still), NoGuestAgent,
    /// QuiesceTimeout, Paused, PartialSnapshot.
    #[api(list = "set")]
    pub indications: Vec<Indication>,
    /// What there is to know, in words.
    #[api(list = "atomic")]
    pub source_indications: Vec<SourceIndication>,
    /// Which volumes it has.
    pub snapshot_volumes: Option<SnapshotVolumesLists>,
}

/// Which volumes a snapshot has.
#[api]
pub struct SnapshotVolumesLists {
    /// Those that it has.
    #[api(list = "set")]
    pub included_volumes: Vec<String>,
    /// Those that it has not.
    #[api(list = "set")]
    pub excluded_volumes: Vec<String>,
}

/// Something that went wrong.
#[api]
pub struct Error {
    /// When.
    pub time: Option<Time>,
    /// What, for people.
    pub message: Option<String>,
}

/// The aspects of a snapshot or restore.
#[api]
pub enum ConditionType {
    Ready = "Ready",
    Progressing = "Progressing",
    Failure = "Failure",
}

/// One aspect of the state of a snapshot or restore.
#[api]
pub struct Condition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: ConditionType,
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

/// What a snapshot holds. Made by the platform.
#[api]
pub struct VirtualMachineSnapshotContent {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// The machine and its volumes, as they were.
    #[api(required)]
    pub spec: VirtualMachineSnapshotContentSpec,
    /// How far it has come.
    pub status: Option<VirtualMachineSnapshotContentStatus>,
}

/// The machine and its volumes, as they were.
#[api]
pub struct VirtualMachineSnapshotContentSpec {
    /// The snapshot that it belongs to.
    pub virtual_machine_snapshot_name: Option<String>,
    /// The machine.
    #[api(required)]
    pub source: SourceSpec,
    /// The volumes.
    #[api(list = "atomic")]
    pub volume_backups: Vec<VolumeBackup>,
}

/// A machine, as it was.
#[api]
pub struct VirtualMachine {
    /// Its name, labels and annotations.
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    /// What it was made of.
    #[api(always)]
    pub spec: VirtualMachineSpec,
    /// What was known of it.
    #[api(always)]
    pub status: VirtualMachineStatus,
}

/// What a snapshot is of.
#[api]
pub struct SourceSpec {
    /// The machine.
    pub virtual_machine: Option<VirtualMachine>,
}

/// A claim, as it was.
#[api]
pub struct PersistentVolumeClaim {
    /// Its name, labels and annotations.
    #[api(always, preserve)]
    pub metadata: ObjectMeta,
    /// What storage it asked for.
    #[api(always)]
    pub spec: PersistentVolumeClaimSpec,
}

/// A volume, as it was.
#[api]
pub struct VolumeBackup {
    /// The volume.
    #[api(required)]
    pub volume_name: String,
    /// The claim.
    #[api(required)]
    pub persistent_volume_claim: PersistentVolumeClaim,
    /// The VolumeSnapshot that holds its data.
    pub volume_snapshot_name: Option<String>,
}

/// How far the content of a snapshot has come.
#[api]
pub struct VirtualMachineSnapshotContentStatus {
    /// When the state was taken.
    #[api(nullable)]
    pub creation_time: Option<Time>,
    /// Whether it can be restored from.
    pub ready_to_use: Option<bool>,
    /// What went wrong last.
    pub error: Option<Error>,
    /// How far each volume has come.
    #[api(list = "atomic")]
    pub volume_snapshot_status: Vec<VolumeSnapshotStatus>,
}

/// How far the snapshot of a volume has come.
#[api]
pub struct VolumeSnapshotStatus {
    /// The VolumeSnapshot.
    #[api(required)]
    pub volume_snapshot_name: String,
    /// When its state was taken.
    #[api(nullable)]
    pub creation_time: Option<Time>,
    /// Whether it can be restored from.
    pub ready_to_use: Option<bool>,
    /// What went wrong last.
    pub error: Option<Error>,
}

/// A machine is put back to a snapshot, or a new one is made of it.
#[api]
pub struct VirtualMachineRestore {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which snapshot, and into which machine.
    #[api(required)]
    pub spec: VirtualMachineRestoreSpec,
    /// How far it has come.
    pub status: Option<VirtualMachineRestoreStatus>,
}

/// What happens when the machine to restore runs.
#[api(closed)]
pub enum TargetReadinessPolicy {
    StopTarget = "StopTarget",
    WaitGracePeriod = "WaitGracePeriod",
    FailImmediate = "FailImmediate",
    WaitEventually = "WaitEventually",
}

/// Which claims volumes are restored to.
#[api]
pub enum VolumeRestorePolicy {
    RandomizeNames = "RandomizeNames",
    InPlace = "InPlace",
    PrefixTargetName = "PrefixTargetName",
}

/// Who owns the claims that are made.
#[api]
pub enum VolumeOwnershipPolicy {
    Vm = "Vm",
    None = "None",
}

/// Which snapshot is restored, and into which machine. It cannot be changed.
#[api]
pub struct VirtualMachineRestoreSpec {
    /// The VirtualMachine, of the same namespace. One that is not there is made.
    #[api(required)]
    pub target: TypedLocalObjectReference,
    /// The snapshot.
    #[api(required)]
    pub virtual_machine_snapshot_name: String,
    /// What happens when the machine runs: WaitGracePeriod (default; wait five minutes, then fail), StopTarget, FailImmediate
    /// or WaitEventually.
    #[api(default = "WaitGracePeriod")]
    pub target_readiness_policy: Option<TargetReadinessPolicy>,
    /// Which claims volumes are restored to: RandomizeNames (default; new ones), InPlace (those with the old names are
    /// replaced) or PrefixTargetName (new ones, named after machine and volume).
    pub volume_restore_policy: Option<VolumeRestorePolicy>,
    /// Who owns the claims that are made: Vm (default; they go with the machine) or None.
    pub volume_ownership_policy: Option<VolumeOwnershipPolicy>,
    /// Names, labels and annotations for single claims.
    #[api(list = "atomic")]
    pub volume_restore_overrides: Vec<VolumeRestoreOverride>,
    /// Further changes of the machine: operations of a JSON patch, each as JSON.
    #[api(list = "atomic")]
    pub patches: Vec<String>,
}

/// How far a restore has come.
#[api]
pub struct VirtualMachineRestoreStatus {
    /// The volumes that are restored.
    #[api(list = "atomic")]
    pub restores: Vec<VolumeRestore>,
    /// When all was restored.
    pub restore_time: Option<Time>,
    /// DataVolumes of the machine that were deleted.
    #[api(list = "set")]
    pub deleted_data_volumes: Vec<String>,
    /// Whether all is restored.
    pub complete: Option<bool>,
    /// Aspects of its state: Ready, Progressing.
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
}

/// A volume that is restored.
#[api]
pub struct VolumeRestore {
    /// The volume.
    #[api(required)]
    pub volume_name: String,
    /// The claim that it is restored to.
    #[api(required)]
    pub persistent_volume_claim: String,
    /// The VolumeSnapshot that holds its data.
    #[api(required)]
    pub volume_snapshot_name: String,
    /// The DataVolume that owns the claim.
    pub data_volume_name: Option<String>,
}

/// Name, labels and annotations for a claim that is made.
#[api]
pub struct VolumeRestoreOverride {
    /// The volume.
    pub volume_name: String,
    /// The name of the claim.
    pub restore_name: String,
    /// Labels of the claim.
    pub labels: BTreeMap<String, String>,
    /// Annotations of the claim.
    pub annotations: BTreeMap<String, String>,
}
