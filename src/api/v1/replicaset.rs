use crate::{api, v1::VirtualMachineInstanceTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};

#[api]
pub struct VirtualMachineInstanceReplicaSet {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineInstanceReplicaSetSpec,
    #[api(always, nullable)]
    pub status: VirtualMachineInstanceReplicaSetStatus,
}

#[api]
pub struct VirtualMachineInstanceReplicaSetSpec {
    pub replicas: Option<i32>,
    #[api(required)]
    pub selector: Option<LabelSelector>,
    #[api(required)]
    pub template: Option<VirtualMachineInstanceTemplateSpec>,
    pub paused: bool,
}

#[api]
pub struct VirtualMachineInstanceReplicaSetStatus {
    pub replicas: i32,
    pub ready_replicas: i32,
    pub conditions: Vec<VirtualMachineInstanceReplicaSetCondition>,
    pub label_selector: String,
}

#[api]
pub struct VirtualMachineInstanceReplicaSetCondition {
    #[api(required)]
    pub type_: VirtualMachineInstanceReplicaSetConditionType,
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
pub enum VirtualMachineInstanceReplicaSetConditionType {
    ReplicaFailure = "ReplicaFailure",
    ReplicaPaused = "ReplicaPaused",
}
