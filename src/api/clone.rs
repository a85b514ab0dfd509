use std::collections::BTreeMap;

use crate::api;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

#[api]
pub struct VirtualMachineClone {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineCloneSpec,
    #[api(always)]
    pub status: VirtualMachineCloneStatus,
}

#[api]
pub struct VirtualMachineCloneTemplateFilters {
    #[api(list = "atomic")]
    pub annotation_filters: Vec<String>,
    #[api(list = "atomic")]
    pub label_filters: Vec<String>,
}

#[api]
pub struct VirtualMachineCloneSpec {
    #[api(required)]
    pub source: Option<TypedLocalObjectReference>,
    pub target: Option<TypedLocalObjectReference>,
    #[api(list = "atomic")]
    pub annotation_filters: Vec<String>,
    #[api(list = "atomic")]
    pub label_filters: Vec<String>,
    #[api(always)]
    pub template: VirtualMachineCloneTemplateFilters,
    pub new_mac_addresses: BTreeMap<String, String>,
    #[api(name = "newSMBiosSerial")]
    pub new_sm_bios_serial: Option<String>,
    #[api(list = "atomic")]
    pub patches: Vec<String>,
    pub volume_name_policy: Option<VolumeNamePolicy>,
}

#[api(closed)]
pub enum VolumeNamePolicy {
    RandomizeNames = "RandomizeNames",
    PrefixTargetName = "PrefixTargetName",
}

#[api]
pub enum VirtualMachineClonePhase {
    SnapshotInProgress = "SnapshotInProgress",
    CreatingTargetVm = "CreatingTargetVM",
    RestoreInProgress = "RestoreInProgress",
    Succeeded = "Succeeded",
    Failed = "Failed",
    Unknown = "Unknown",
}

#[api]
pub struct VirtualMachineCloneStatus {
    #[api(nullable)]
    pub creation_time: Option<Time>,
    pub phase: VirtualMachineClonePhase,
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
    #[api(nullable)]
    pub snapshot_name: Option<String>,
    #[api(nullable)]
    pub restore_name: Option<String>,
    #[api(nullable)]
    pub target_name: Option<String>,
}

#[api]
pub enum ConditionType {
    Ready = "Ready",
    Progressing = "Progressing",
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
