use crate::{Duration, api};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[api]
pub struct Plugin {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: PluginSpec,
    #[api(always)]
    pub status: PluginStatus,
}

#[api]
pub struct PluginSpec {
    pub condition: String,
    pub failure_strategy: FailureStrategy,
    #[api(list = "atomic")]
    pub domain_hooks: Vec<DomainHook>,
    #[api(list = "atomic")]
    pub node_hooks: Vec<NodeHook>,
    #[api(list = "atomic")]
    pub mutating_admission_policies: Vec<AdmissionReference>,
    #[api(list = "atomic")]
    pub validating_admission_policies: Vec<AdmissionReference>,
    #[api(list = "atomic")]
    pub mutating_admission_webhooks: Vec<AdmissionReference>,
    #[api(list = "atomic")]
    pub validating_admission_webhooks: Vec<AdmissionReference>,
}

#[api]
pub enum FailureStrategy {
    Fail = "Fail",
    Ignore = "Ignore",
}

#[api]
pub enum InvocationContext {
    Boot = "Boot",
    MigrationSource = "MigrationSource",
    MigrationTarget = "MigrationTarget",
}

#[api]
pub struct DomainHook {
    pub cel: Option<CelDomainHook>,
    pub sidecar: Option<SidecarDomainHook>,
    pub condition: String,
    pub failure_strategy: FailureStrategy,
    pub timeout: Option<Duration>,
}

#[api]
pub struct CelDomainHook {
    #[api(required, min_length = 1)]
    pub expression: String,
}

#[api]
pub struct SidecarDomainHook {
    #[api(required, min_length = 1)]
    pub socket_path: String,
}

#[api]
pub struct NodeHook {
    #[api(required, min_length = 1)]
    pub socket: String,
    #[api(required, list = "atomic", min_items = 1)]
    pub permitted_hooks: Vec<NodeHookPoint>,
    pub condition: String,
    pub failure_strategy: FailureStrategy,
    pub timeout: Option<Duration>,
}

#[api]
pub enum NodeHookPoint {
    PreVmStart = "PreVMStart",
    PostVmStart = "PostVMStart",
    PreVmStop = "PreVMStop",
    PostVmStop = "PostVMStop",
    PreMigrationSource = "PreMigrationSource",
    PreMigrationTarget = "PreMigrationTarget",
    PostMigrationTarget = "PostMigrationTarget",
}

#[api]
pub struct AdmissionReference {
    #[api(required, min_length = 1)]
    pub name: String,
}

#[api]
pub struct PluginStatus {}
