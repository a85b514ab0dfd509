//! The installation of the platform.

use std::collections::BTreeMap;

use crate::{
    Duration, api,
    v1::{ComponentConfig, KubeVirtConfiguration},
};
use k8s_openapi::api::core::v1::LocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The installation of the platform in a cluster, and its configuration. A cluster has one.
#[api]
pub struct KubeVirt {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What is installed, and how it behaves.
    #[api(required)]
    pub spec: KubeVirtSpec,
    /// What is installed now.
    #[api(always)]
    pub status: KubeVirtStatus,
}

/// Certificates that the operator signs itself.
#[api]
pub struct KubeVirtSelfSignConfiguration {
    /// Deprecated: how long a certificate authority lives. Use ca.duration.
    pub ca_rotate_interval: Option<Duration>,
    /// Deprecated: how long a certificate lives. Use server.duration.
    pub cert_rotate_interval: Option<Duration>,
    /// Deprecated: how long an old authority is trusted beside the new one. Use ca.renewBefore.
    pub ca_overlap_interval: Option<Duration>,
    /// The certificate authority.
    pub ca: Option<CertConfig>,
    /// The certificates that it signs.
    pub server: Option<CertConfig>,
}

/// How long a certificate lives.
#[api]
pub struct CertConfig {
    /// From its making to its end. Default: 168h for authorities, 24h for certificates.
    pub duration: Option<Duration>,
    /// How long before its end it is replaced. Default: a fifth of its life.
    pub renew_before: Option<Duration>,
}

/// Where certificates come from.
#[api]
pub struct KubeVirtCertificateRotateStrategy {
    /// The operator signs them itself.
    pub self_signed: Option<KubeVirtSelfSignConfiguration>,
}

/// How a running machine gets a new launcher.
#[api]
pub enum WorkloadUpdateMethod {
    LiveMigrate = "LiveMigrate",
    Evict = "Evict",
}

/// How running machines get a new launcher after an update of the platform.
#[api]
pub struct KubeVirtWorkloadUpdateStrategy {
    /// LiveMigrate where possible, Evict the others. Empty: they keep what they have.
    #[api(list = "atomic")]
    pub workload_update_methods: Vec<WorkloadUpdateMethod>,
    /// How many machines are evicted at once. Default: 10.
    #[api(format = "")]
    pub batch_eviction_size: Option<i64>,
    /// How long to wait between batches. Default: 1m.
    pub batch_eviction_interval: Option<Duration>,
}

/// What is installed, and how it behaves.
#[api]
pub struct KubeVirtSpec {
    /// The tag of the images. Unset: the operator's own.
    pub image_tag: String,
    /// The registry of the images. Unset: the operator's own.
    pub image_registry: String,
    /// Always, IfNotPresent or Never, for the components.
    pub image_pull_policy: String,
    /// Secrets to pull the images with.
    #[api(list = "atomic")]
    pub image_pull_secrets: Vec<LocalObjectReference>,
    /// The namespace that Prometheus lives in. Default: openshift-monitoring, else monitoring.
    pub monitor_namespace: String,
    /// The namespace that ServiceMonitors are put in. Unset: that of Prometheus.
    pub service_monitor_namespace: String,
    /// The service account of Prometheus. Default: prometheus-k8s.
    pub monitor_account: String,
    /// How running machines get a new launcher after an update of the platform.
    #[api(always)]
    pub workload_update_strategy: KubeVirtWorkloadUpdateStrategy,
    /// What deleting this object does while there are machines: RemoveWorkloads (default) or BlockUninstallIfWorkloadsExist.
    pub uninstall_strategy: KubeVirtUninstallStrategy,
    /// Where certificates come from.
    #[api(always)]
    pub certificate_rotate_strategy: KubeVirtCertificateRotateStrategy,
    /// The version that the labels of the components tell, for distributions.
    pub product_version: String,
    /// The product that the labels of the components tell, for distributions.
    pub product_name: String,
    /// The component that the labels of the components tell, for distributions.
    pub product_component: String,
    /// The port at which other clusters reach this one for migrations. Default: 9185.
    pub synchronization_port: String,
    /// How machines behave where they say nothing themselves, and what they may do.
    #[api(always)]
    pub configuration: KubeVirtConfiguration,
    /// How many replicas the components of the control plane have, and where they run.
    pub infra: Option<ComponentConfig>,
    /// Where machines may run, and the component on each of these nodes.
    pub workloads: Option<ComponentConfig>,
    /// Changes to what is installed.
    #[api(always)]
    pub customize_components: CustomizeComponents,
}

/// Changes to what is installed.
#[api]
pub struct CustomizeComponents {
    /// Patches, in this order.
    #[api(list = "atomic")]
    pub patches: Vec<CustomizeComponentsPatch>,
    /// Command line flags of the components.
    pub flags: Option<Flags>,
}

/// Command line flags of the components, by name and without dashes.
#[api]
pub struct Flags {
    /// Those of the API server.
    pub api: BTreeMap<String, String>,
    /// Those of the controller.
    pub controller: BTreeMap<String, String>,
    /// Those of the component on each node.
    pub handler: BTreeMap<String, String>,
}

/// A patch of one object.
#[api]
pub struct CustomizeComponentsPatch {
    /// The name of the object.
    #[api(required, min_length = 1)]
    pub resource_name: String,
    /// The kind of the object, such as Deployment.
    #[api(required, min_length = 1)]
    pub resource_type: String,
    /// The patch, as JSON.
    #[api(required)]
    pub patch: String,
    /// json, merge or strategic.
    #[api(required)]
    pub type_: PatchType,
}

/// The forms of a patch.
#[api]
pub enum PatchType {
    Json = "json",
    Merge = "merge",
    Strategic = "strategic",
}

/// What deleting the installation does while there are machines.
#[api]
pub enum KubeVirtUninstallStrategy {
    RemoveWorkloads = "RemoveWorkloads",
    BlockUninstallIfWorkloadsExist = "BlockUninstallIfWorkloadsExist",
}

/// The generation at which an installed object was last written.
#[api]
pub struct GenerationStatus {
    /// The API group of the object.
    #[api(required)]
    pub group: String,
    /// The resource of the object.
    #[api(required)]
    pub resource: String,
    /// The namespace of the object.
    pub namespace: String,
    /// The name of the object.
    #[api(required)]
    pub name: String,
    /// The generation.
    #[api(required)]
    pub last_generation: i64,
    /// A checksum of what was written, for objects without generation.
    pub hash: String,
}

/// What is installed now.
#[api]
pub struct KubeVirtStatus {
    /// Deploying, Deployed, Deleting or Deleted.
    pub phase: KubeVirtPhase,
    /// Aspects of its state: Available, Progressing, Degraded, Created, Synchronized.
    pub conditions: Vec<KubeVirtCondition>,
    /// The version of the operator.
    pub operator_version: String,
    /// The registry that is being installed from.
    #[api(name = "targetKubeVirtRegistry")]
    pub target_kubevirt_registry: String,
    /// The version that is being installed.
    #[api(name = "targetKubeVirtVersion")]
    pub target_kubevirt_version: String,
    /// The settings that are being installed, as JSON.
    pub target_deployment_config: String,
    /// A checksum of what is being installed.
    #[api(name = "targetDeploymentID")]
    pub target_deployment_id: String,
    /// The registry that all is installed from.
    #[api(name = "observedKubeVirtRegistry")]
    pub observed_kubevirt_registry: String,
    /// The version that is installed.
    #[api(name = "observedKubeVirtVersion")]
    pub observed_kubevirt_version: String,
    /// The settings that are installed, as JSON.
    pub observed_deployment_config: String,
    /// A checksum of what is installed.
    #[api(name = "observedDeploymentID")]
    pub observed_deployment_id: String,
    /// How many machines run an older launcher.
    #[api(format = "")]
    pub outdated_virtual_machine_instance_workloads: Option<i64>,
    /// The generation of the spec that was acted on last.
    pub observed_generation: Option<i64>,
    /// The architecture of machines that name none.
    pub default_architecture: String,
    /// The generations at which installed objects were last written.
    #[api(list = "atomic")]
    pub generations: Vec<GenerationStatus>,
    /// Where other clusters reach this one for migrations: host and port.
    #[api(list = "atomic")]
    pub synchronization_addresses: Vec<String>,
}

/// How far an installation has come.
#[api]
pub enum KubeVirtPhase {
    Deploying = "Deploying",
    Deployed = "Deployed",
    Deleting = "Deleting",
    Deleted = "Deleted",
}

/// One aspect of the state of the installation.
#[api]
pub struct KubeVirtCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: KubeVirtConditionType,
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

/// The aspects of an installation.
#[api]
pub enum KubeVirtConditionType {
    Synchronized = "Synchronized",
    Created = "Created",
    Available = "Available",
    Progressing = "Progressing",
    Degraded = "Degraded",
}
