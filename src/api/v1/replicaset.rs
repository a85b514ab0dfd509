//! Replica sets: as many like machines as are asked for.

use crate::{api, v1::VirtualMachineInstanceTemplateSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};

/// As many like machines as are asked for.
#[api]
pub struct VirtualMachineInstanceReplicaSet {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// How many, and what they are made of.
    #[api(required)]
    pub spec: VirtualMachineInstanceReplicaSetSpec,
    /// How many there are.
    #[api(always, nullable)]
    pub status: VirtualMachineInstanceReplicaSetStatus,
}

/// How many machines, and what they are made of.
#[api]
pub struct VirtualMachineInstanceReplicaSetSpec {
    /// How many there shall be. Default: 1.
    pub replicas: Option<i32>,
    /// The machines that count, by their labels; it must match the template's.
    #[api(required)]
    pub selector: Option<LabelSelector>,
    /// What they are made of.
    #[api(required)]
    pub template: Option<VirtualMachineInstanceTemplateSpec>,
    /// Whether nothing is done for now. Default: false.
    pub paused: bool,
}

/// How many machines there are.
#[api]
pub struct VirtualMachineInstanceReplicaSetStatus {
    /// How many there are that are not over.
    pub replicas: i32,
    /// How many of them are ready.
    pub ready_replicas: i32,
    /// Aspects of its state: ReplicaFailure, ReplicaPaused.
    pub conditions: Vec<VirtualMachineInstanceReplicaSetCondition>,
    /// The selector as text, for autoscalers.
    pub label_selector: String,
}

/// One aspect of the state of a replica set.
#[api]
pub struct VirtualMachineInstanceReplicaSetCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: VirtualMachineInstanceReplicaSetConditionType,
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

/// The aspects of a replica set.
#[api]
pub enum VirtualMachineInstanceReplicaSetConditionType {
    ReplicaFailure = "ReplicaFailure",
    ReplicaPaused = "ReplicaPaused",
}
