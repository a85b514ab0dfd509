//! The group `pool.kubevirt.io`: as many like virtual machines as are asked for.

use crate::{Duration, api, v1::VirtualMachineSpec};
use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

/// As many like virtual machines as are asked for, each with its own disks.
#[api]
pub struct VirtualMachinePool {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// How many, and what they are made of.
    #[api(required)]
    pub spec: VirtualMachinePoolSpec,
    /// How many there are.
    #[api(always)]
    pub status: VirtualMachinePoolStatus,
}

/// What the machines of a pool are made from.
#[api]
pub struct VirtualMachineTemplateSpec {
    /// Labels and annotations of the machine that is made.
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    /// What it is made of.
    #[api(always)]
    pub spec: VirtualMachineSpec,
}

/// The aspects of a pool.
#[api]
pub enum VirtualMachinePoolConditionType {
    ReplicaFailure = "ReplicaFailure",
    ReplicaPaused = "ReplicaPaused",
}

/// One aspect of the state of a pool.
#[api]
pub struct VirtualMachinePoolCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: VirtualMachinePoolConditionType,
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

/// How many machines a pool has.
#[api]
pub struct VirtualMachinePoolStatus {
    /// How many there are.
    pub replicas: i32,
    /// How many of them are ready.
    pub ready_replicas: i32,
    /// Aspects of its state: ReplicaFailure, ReplicaPaused.
    #[api(list = "atomic")]
    pub conditions: Vec<VirtualMachinePoolCondition>,
    /// The selector as text, for autoscalers.
    pub label_selector: String,
}

/// How many machines a pool has, and what they are made of.
#[api]
pub struct VirtualMachinePoolSpec {
    /// How many there shall be; not negative. Default: 1.
    #[api(minimum = 0)]
    pub replicas: Option<i32>,
    /// The machines that count, by their labels; it must match the template's.
    #[api(required)]
    pub selector: Option<LabelSelector>,
    /// What they are made of.
    #[api(required)]
    pub virtual_machine_template: Option<VirtualMachineTemplateSpec>,
    /// Whether nothing is done for now. Default: false.
    pub paused: bool,
    /// Whether the machine's number is added to the names of what it refers to.
    pub name_generation: Option<VirtualMachinePoolNameGeneration>,
    /// How many machines may be down at once for an update, as a number or in percent. Default: 100%.
    pub max_unavailable: Option<IntOrString>,
    /// Which machines go when there are too many. Default: proactive, at random.
    pub scale_in_strategy: Option<VirtualMachinePoolScaleInStrategy>,
    /// How machines are brought up to date. Default: proactive.
    pub update_strategy: Option<VirtualMachinePoolUpdateStrategy>,
    /// Replaces machines that do not start.
    pub autohealing: Option<VirtualMachinePoolAutohealingStrategy>,
}

/// Replaces machines that do not start.
#[api]
pub struct VirtualMachinePoolAutohealingStrategy {
    /// After how many failures in a row; at least 1. Default: 3.
    #[api(minimum = 1)]
    pub start_up_failure_threshold: Option<u32>,
    /// How long they must have failed. Default: 5m.
    pub min_failing_to_start_duration: Option<Duration>,
}

/// Whether the machine's number is added to the names of what it refers to.
#[api]
pub struct VirtualMachinePoolNameGeneration {
    /// To the names of ConfigMaps. Default: false.
    pub append_index_to_config_map_refs: Option<bool>,
    /// To the names of secrets. Default: false.
    pub append_index_to_secret_refs: Option<bool>,
}

/// Which machines go when there are too many; one way.
#[api]
pub struct VirtualMachinePoolScaleInStrategy {
    /// None: someone else deletes them.
    pub unmanaged: Option<VirtualMachinePoolUnmanagedStrategy>,
    /// Those that are stopped anyway.
    pub opportunistic: Option<VirtualMachinePoolOpportunisticScaleInStrategy>,
    /// Running ones too.
    pub proactive: Option<VirtualMachinePoolProactiveScaleInStrategy>,
}

/// Machines go that are stopped anyway.
#[api]
pub struct VirtualMachinePoolOpportunisticScaleInStrategy {
    /// What is kept of a machine that goes. Default: Disabled.
    pub state_preservation: Option<StatePreservation>,
}

/// Running machines go too.
#[api]
pub struct VirtualMachinePoolProactiveScaleInStrategy {
    /// Which go first.
    pub selection_policy: Option<VirtualMachinePoolSelectionPolicy>,
    /// What is kept of a machine that goes. Default: Disabled.
    pub state_preservation: Option<StatePreservation>,
}

/// Which machines come first.
#[api]
pub struct VirtualMachinePoolSelectionPolicy {
    /// AscendingOrder or DescendingOrder (of their numbers), Newest, Oldest or Random (default).
    pub sort_policy: Option<VirtualMachinePoolSortPolicy>,
    /// Machines that come before all others.
    pub selectors: Option<VirtualMachinePoolSelectors>,
}

/// Machines that come before all others.
#[api]
pub struct VirtualMachinePoolSelectors {
    /// By their labels.
    pub label_selector: Option<LabelSelector>,
    /// By the labels of their nodes.
    pub node_selector_requirement_matcher: Option<Vec<NodeSelectorRequirement>>,
}

/// Which machines come first.
#[api(closed)]
pub enum VirtualMachinePoolSortPolicy {
    AscendingOrder = "AscendingOrder",
    DescendingOrder = "DescendingOrder",
    Newest = "Newest",
    Oldest = "Oldest",
    Random = "Random",
}

/// How machines are brought up to date; one way.
#[api]
pub struct VirtualMachinePoolUpdateStrategy {
    /// Someone else does.
    pub unmanaged: Option<VirtualMachinePoolUnmanagedStrategy>,
    /// When they are stopped anyway.
    pub opportunistic: Option<VirtualMachineOpportunisticUpdateStrategy>,
    /// By a restart.
    pub proactive: Option<VirtualMachinePoolProactiveUpdateStrategy>,
}

/// Someone else does.
#[api]
pub struct VirtualMachinePoolUnmanagedStrategy {}

/// When machines are stopped anyway.
#[api]
pub struct VirtualMachineOpportunisticUpdateStrategy {}

/// By a restart.
#[api]
pub struct VirtualMachinePoolProactiveUpdateStrategy {
    /// Which come first.
    pub selection_policy: Option<VirtualMachinePoolSelectionPolicy>,
}

/// What is kept of a machine that goes.
#[api(closed)]
pub enum StatePreservation {
    Disabled = "Disabled",
    Offline = "Offline",
    Online = "Online",
}
