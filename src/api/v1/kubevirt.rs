use std::collections::BTreeMap;

use crate::{
    Duration, api,
    v1::{ComponentConfig, KubeVirtConfiguration},
};
use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

#[api]
pub struct KubeVirt {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: KubeVirtSpec,
    #[api(always)]
    pub status: KubeVirtStatus,
}

#[api]
pub struct KubeVirtSelfSignConfiguration {
    pub ca_rotate_interval: Option<Duration>,
    pub cert_rotate_interval: Option<Duration>,
    pub ca_overlap_interval: Option<Duration>,
    pub ca: Option<CertConfig>,
    pub server: Option<CertConfig>,
}

#[api]
pub struct CertConfig {
    pub duration: Option<Duration>,
    pub renew_before: Option<Duration>,
}

#[api]
pub struct KubeVirtCertificateRotateStrategy {
    pub self_signed: Option<KubeVirtSelfSignConfiguration>,
}

#[api]
pub enum WorkloadUpdateMethod {
    LiveMigrate = "LiveMigrate",
    Evict = "Evict",
}

#[api]
pub struct KubeVirtWorkloadUpdateStrategy {
    #[api(list = "atomic")]
    pub workload_update_methods: Vec<WorkloadUpdateMethod>,
    #[api(format = "")]
    pub batch_eviction_size: Option<i64>,
    pub batch_eviction_interval: Option<Duration>,
}

#[api]
pub struct KubeVirtSpec {
    pub image_tag: String,
    pub image_registry: String,
    pub image_pull_policy: String,
    #[api(list = "atomic")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    pub monitor_namespace: String,
    pub service_monitor_namespace: String,
    pub monitor_account: String,
    #[api(always)]
    pub workload_update_strategy: KubeVirtWorkloadUpdateStrategy,
    pub uninstall_strategy: KubeVirtUninstallStrategy,
    #[api(always)]
    pub certificate_rotate_strategy: KubeVirtCertificateRotateStrategy,
    pub product_version: String,
    pub product_name: String,
    pub product_component: String,
    pub synchronization_port: String,
    #[api(always)]
    pub configuration: KubeVirtConfiguration,
    pub infra: Option<ComponentConfig>,
    pub workloads: Option<ComponentConfig>,
    #[api(always)]
    pub customize_components: CustomizeComponents,
}

#[api]
pub struct CustomizeComponents {
    #[api(list = "atomic")]
    pub patches: Vec<CustomizeComponentsPatch>,
    pub flags: Option<Flags>,
}

#[api]
pub struct Flags {
    pub api: BTreeMap<String, String>,
    pub controller: BTreeMap<String, String>,
    pub handler: BTreeMap<String, String>,
}

#[api]
pub struct CustomizeComponentsPatch {
    #[api(required, min_length = 1)]
    pub resource_name: String,
    #[api(required, min_length = 1)]
    pub resource_type: String,
    #[api(required)]
    pub patch: String,
    #[api(required)]
    pub type_: PatchType,
}

#[api]
pub enum PatchType {
    Json = "json",
    Merge = "merge",
    Strategic = "strategic",
}

#[api]
pub enum KubeVirtUninstallStrategy {
    RemoveWorkloads = "RemoveWorkloads",
    BlockUninstallIfWorkloadsExist = "BlockUninstallIfWorkloadsExist",
}

#[api]
pub struct GenerationStatus {
    #[api(required)]
    pub group: String,
    #[api(required)]
    pub resource: String,
    pub namespace: String,
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub last_generation: i64,
    pub hash: String,
}

#[api]
pub struct KubeVirtStatus {
    pub phase: KubeVirtPhase,
    pub conditions: Vec<KubeVirtCondition>,
    pub operator_version: String,
    pub target_kube_virt_registry: String,
    pub target_kube_virt_version: String,
    pub target_deployment_config: String,
    #[api(name = "targetDeploymentID")]
    pub target_deployment_id: String,
    pub observed_kube_virt_registry: String,
    pub observed_kube_virt_version: String,
    pub observed_deployment_config: String,
    #[api(name = "observedDeploymentID")]
    pub observed_deployment_id: String,
    #[api(format = "")]
    pub outdated_virtual_machine_instance_workloads: Option<i64>,
    pub observed_generation: Option<i64>,
    pub default_architecture: String,
    #[api(list = "atomic")]
    pub generations: Vec<GenerationStatus>,
    #[api(list = "atomic")]
    pub synchronization_addresses: Vec<String>,
}

#[api]
pub enum KubeVirtPhase {
    Deploying = "Deploying",
    Deployed = "Deployed",
    Deleting = "Deleting",
    Deleted = "Deleted",
}

#[api]
pub struct KubeVirtCondition {
    #[api(required)]
    pub type_: KubeVirtConditionType,
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
pub enum KubeVirtConditionType {
    Synchronized = "Synchronized",
    Created = "Created",
    Available = "Available",
    Progressing = "Progressing",
    Degraded = "Degraded",
}
