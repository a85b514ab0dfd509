//! The group `plugin.kubevirt.io`: code of others that takes part in the life of machines.

use crate::{Duration, api};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// Code of others that takes part in the life of machines.
#[api]
pub struct Plugin {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What takes part, and when.
    #[api(required)]
    pub spec: PluginSpec,
    /// Nothing yet.
    #[api(always)]
    pub status: PluginStatus,
}

/// What takes part in the life of machines, and when.
#[api]
pub struct PluginSpec {
    /// A CEL expression: the machines that the plugin is for. Unset: all.
    pub condition: String,
    /// What happens when a hook fails: Fail (default; the machine does) or Ignore.
    pub failure_strategy: FailureStrategy,
    /// Change the domain before it is defined.
    #[api(list = "atomic")]
    pub domain_hooks: Vec<DomainHook>,
    /// Run on the node.
    #[api(list = "atomic")]
    pub node_hooks: Vec<NodeHook>,
    /// Policies that belong to the plugin.
    #[api(list = "atomic")]
    pub mutating_admission_policies: Vec<AdmissionReference>,
    /// Policies that belong to the plugin.
    #[api(list = "atomic")]
    pub validating_admission_policies: Vec<AdmissionReference>,
    /// Webhooks that belong to the plugin.
    #[api(list = "atomic")]
    pub mutating_admission_webhooks: Vec<AdmissionReference>,
    /// Webhooks that belong to the plugin.
    #[api(list = "atomic")]
    pub validating_admission_webhooks: Vec<AdmissionReference>,
}

/// What happens when a hook fails.
#[api]
pub enum FailureStrategy {
    Fail = "Fail",
    Ignore = "Ignore",
}

/// Why a domain is defined.
#[api]
pub enum InvocationContext {
    Boot = "Boot",
    MigrationSource = "MigrationSource",
    MigrationTarget = "MigrationTarget",
}

/// Changes the domain before it is defined; exactly one way.
#[api]
pub struct DomainHook {
    /// By a CEL expression.
    pub cel: Option<CelDomainHook>,
    /// By a process beside the launcher.
    pub sidecar: Option<SidecarDomainHook>,
    /// A CEL expression: the machines that the hook is for. Unset: all that the plugin is for.
    pub condition: String,
    /// What happens when it fails: Fail or Ignore. Unset: as the plugin says.
    pub failure_strategy: FailureStrategy,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// Changes the domain by an expression.
#[api]
pub struct CelDomainHook {
    /// The CEL expression, which changes the domain.
    #[api(required, min_length = 1)]
    pub expression: String,
}

/// Changes the domain by a process beside the launcher.
#[api]
pub struct SidecarDomainHook {
    /// The socket that the process listens on.
    #[api(required, min_length = 1)]
    pub socket_path: String,
}

/// Runs on the node.
#[api]
pub struct NodeHook {
    /// The socket that it listens on.
    #[api(required, min_length = 1)]
    pub socket: String,
    /// When it is asked; at least one moment.
    #[api(required, list = "atomic", min_items = 1)]
    pub permitted_hooks: Vec<NodeHookPoint>,
    /// A CEL expression: the machines that the hook is for. Unset: all that the plugin is for.
    pub condition: String,
    /// What happens when it fails: Fail or Ignore. Unset: as the plugin says.
    pub failure_strategy: FailureStrategy,
    /// How long it may take.
    pub timeout: Option<Duration>,
}

/// When a hook on the node is asked.
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

/// A policy or webhook.
#[api]
pub struct AdmissionReference {
    /// Its name.
    #[api(required, min_length = 1)]
    pub name: String,
}

/// Nothing yet.
#[api]
pub struct PluginStatus {}
