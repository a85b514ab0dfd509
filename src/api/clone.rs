//! The group `clone.kubevirt.io`: clones of virtual machines.

use std::collections::BTreeMap;

use crate::api;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// A machine is cloned, disks and all.
#[api]
pub struct VirtualMachineClone {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What is cloned, and how the clone differs.
    #[api(required)]
    pub spec: VirtualMachineCloneSpec,
    /// How far it has come.
    #[api(always)]
    pub status: VirtualMachineCloneStatus,
}

/// Which labels and annotations of the template are taken over.
#[api]
pub struct VirtualMachineCloneTemplateFilters {
    /// Patterns of annotations: with * as wildcard, with ! in front for those that are not. Unset: all.
    #[api(list = "atomic")]
    pub annotation_filters: Vec<String>,
    /// Patterns of labels: with * as wildcard, with ! in front for those that are not. Unset: all.
    #[api(list = "atomic")]
    pub label_filters: Vec<String>,
}

/// What is cloned, and how the clone differs. It cannot be changed.
#[api]
pub struct VirtualMachineCloneSpec {
    /// A VirtualMachine or a VirtualMachineSnapshot.
    #[api(required)]
    pub source: Option<TypedLocalObjectReference>,
    /// The VirtualMachine that is made. Unset: one with a name that is made up.
    pub target: Option<TypedLocalObjectReference>,
    /// Patterns of annotations that are taken over: with * as wildcard, with ! in front for those that are not. Unset: all.
    #[api(list = "atomic")]
    pub annotation_filters: Vec<String>,
    /// Patterns of labels that are taken over: with * as wildcard, with ! in front for those that are not. Unset: all.
    #[api(list = "atomic")]
    pub label_filters: Vec<String>,
    /// Which labels and annotations of the template are taken over.
    #[api(always)]
    pub template: VirtualMachineCloneTemplateFilters,
    /// MAC addresses by interface. The others get any.
    pub new_mac_addresses: BTreeMap<String, String>,
    /// The serial number that the SMBIOS tables report. Unset: made up, if the source has one.
    #[api(name = "newSMBiosSerial")]
    pub new_smbios_serial: Option<String>,
    /// Further changes: operations of a JSON patch, each as JSON.
    #[api(list = "atomic")]
    pub patches: Vec<String>,
    /// What the volumes of the clone are called: RandomizeNames or PrefixTargetName.
    pub volume_name_policy: Option<VolumeNamePolicy>,
}

/// What the volumes of a clone are called.
#[api(closed)]
pub enum VolumeNamePolicy {
    RandomizeNames = "RandomizeNames",
    PrefixTargetName = "PrefixTargetName",
}

/// How far a clone has come.
#[api]
pub enum VirtualMachineClonePhase {
    SnapshotInProgress = "SnapshotInProgress",
    CreatingTargetVm = "CreatingTargetVM",
    RestoreInProgress = "RestoreInProgress",
    Succeeded = "Succeeded",
    Failed = "Failed",
    Unknown = "Unknown",
}

/// How far a clone has come.
#[api]
pub struct VirtualMachineCloneStatus {
    /// When the target was made.
    #[api(nullable)]
    pub creation_time: Option<Time>,
    /// SnapshotInProgress, CreatingTargetVM, RestoreInProgress, Succeeded, Failed or Unknown.
    pub phase: VirtualMachineClonePhase,
    /// Aspects of its state: Ready, Progressing.
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
    /// The snapshot that is taken on the way.
    #[api(nullable)]
    pub snapshot_name: Option<String>,
    /// The restore that is made on the way.
    #[api(nullable)]
    pub restore_name: Option<String>,
    /// The machine that is made.
    #[api(nullable)]
    pub target_name: Option<String>,
}

/// The aspects of a clone.
#[api]
pub enum ConditionType {
    Ready = "Ready",
    Progressing = "Progressing",
}

/// One aspect of the state of a clone.
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
