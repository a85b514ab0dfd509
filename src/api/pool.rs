use crate::{Duration, api, v1::VirtualMachineSpec};
use k8s_openapi::api::core::v1::NodeSelectorRequirement;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

#[api]
pub struct VirtualMachinePool {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachinePoolSpec,
    #[api(always)]
    pub status: VirtualMachinePoolStatus,
}

#[api]
pub struct VirtualMachineTemplateSpec {
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    #[api(always)]
    pub spec: VirtualMachineSpec,
}

#[api]
pub enum VirtualMachinePoolConditionType {
    ReplicaFailure = "ReplicaFailure",
    ReplicaPaused = "ReplicaPaused",
}

#[api]
pub struct VirtualMachinePoolCondition {
    #[api(required)]
    pub type_: VirtualMachinePoolConditionType,
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
pub struct VirtualMachinePoolStatus {
    pub replicas: i32,
    pub ready_replicas: i32,
    #[api(list = "atomic")]
    pub conditions: Vec<VirtualMachinePoolCondition>,
    pub label_selector: String,
}

#[api]
pub struct VirtualMachinePoolSpec {
    #[api(minimum = 0)]
    pub replicas: Option<i32>,
    #[api(required)]
    pub selector: Option<LabelSelector>,
    #[api(required)]
    pub virtual_machine_template: Option<VirtualMachineTemplateSpec>,
    pub paused: bool,
    pub name_generation: Option<VirtualMachinePoolNameGeneration>,
    pub max_unavailable: Option<IntOrString>,
    pub scale_in_strategy: Option<VirtualMachinePoolScaleInStrategy>,
    pub update_strategy: Option<VirtualMachinePoolUpdateStrategy>,
    pub autohealing: Option<VirtualMachinePoolAutohealingStrategy>,
}

#[api]
pub struct VirtualMachinePoolAutohealingStrategy {
    #[api(minimum = 1)]
    pub start_up_failure_threshold: Option<u32>,
    pub min_failing_to_start_duration: Option<Duration>,
}

#[api]
pub struct VirtualMachinePoolNameGeneration {
    pub append_index_to_config_map_refs: Option<bool>,
    pub append_index_to_secret_refs: Option<bool>,
}

#[api]
pub struct VirtualMachinePoolScaleInStrategy {
    pub unmanaged: Option<VirtualMachinePoolUnmanagedStrategy>,
    pub opportunistic: Option<VirtualMachinePoolOpportunisticScaleInStrategy>,
    pub proactive: Option<VirtualMachinePoolProactiveScaleInStrategy>,
}

#[api]
pub struct VirtualMachinePoolOpportunisticScaleInStrategy {
    pub state_preservation: Option<StatePreservation>,
}

#[api]
pub struct VirtualMachinePoolProactiveScaleInStrategy {
    pub selection_policy: Option<VirtualMachinePoolSelectionPolicy>,
    pub state_preservation: Option<StatePreservation>,
}

#[api]
pub struct VirtualMachinePoolSelectionPolicy {
    pub sort_policy: Option<VirtualMachinePoolSortPolicy>,
    pub selectors: Option<VirtualMachinePoolSelectors>,
}

#[api]
pub struct VirtualMachinePoolSelectors {
    pub label_selector: Option<LabelSelector>,
    pub node_selector_requirement_matcher: Option<Vec<NodeSelectorRequirement>>,
}

#[api(closed)]
pub enum VirtualMachinePoolSortPolicy {
    AscendingOrder = "AscendingOrder",
    DescendingOrder = "DescendingOrder",
    Newest = "Newest",
    Oldest = "Oldest",
    Random = "Random",
}

#[api]
pub struct VirtualMachinePoolUpdateStrategy {
    pub unmanaged: Option<VirtualMachinePoolUnmanagedStrategy>,
    pub opportunistic: Option<VirtualMachineOpportunisticUpdateStrategy>,
    pub proactive: Option<VirtualMachinePoolProactiveUpdateStrategy>,
}

#[api]
pub struct VirtualMachinePoolUnmanagedStrategy {}

#[api]
pub struct VirtualMachineOpportunisticUpdateStrategy {}

#[api]
pub struct VirtualMachinePoolProactiveUpdateStrategy {
    pub selection_policy: Option<VirtualMachinePoolSelectionPolicy>,
}

#[api(closed)]
pub enum StatePreservation {
    Disabled = "Disabled",
    Offline = "Offline",
    Online = "Online",
}
