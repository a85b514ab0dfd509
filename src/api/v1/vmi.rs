//! Instances of virtual machines: what runs.

use std::collections::BTreeMap;

use crate::{
    api,
    v1::{AccessCredential, DomainSpec, GuestAgentPing, Network, UtilityVolume, VirtualMachineInstanceStatus, Volume},
};
use k8s_openapi::api::core::v1::{
    Affinity, ExecAction, HTTPGetAction, PodDNSConfig, TCPSocketAction, Toleration, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// A machine that runs, or is about to, or has run. It lives once: from its making to the end of the guest.
#[api]
pub struct VirtualMachineInstance {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What the machine is made of. Once made, only what can be changed while it runs may be changed.
    #[api(required)]
    pub spec: VirtualMachineInstanceSpec,
    /// What is known of the machine.
    #[api(always)]
    pub status: VirtualMachineInstanceStatus,
}

/// What happens to a machine when its node is drained.
#[api]
pub enum EvictionStrategy {
    None = "None",
    LiveMigrate = "LiveMigrate",
    LiveMigrateIfPossible = "LiveMigrateIfPossible",
    External = "External",
}

/// In which state a machine starts.
#[api]
pub enum StartStrategy {
    Paused = "Paused",
}

/// What a machine is made of, and where it may run.
#[api]
pub struct VirtualMachineInstanceSpec {
    /// The priority class of the launcher pod.
    pub priority_class_name: String,
    /// The virtual hardware.
    #[api(required)]
    pub domain: DomainSpec,
    /// Labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Nodes and neighbours that the machine wants or avoids.
    pub affinity: Option<Affinity>,
    /// The scheduler that places the launcher pod. Unset: the cluster's default.
    pub scheduler_name: String,
    /// The service account of the launcher pod.
    pub service_account_name: String,
    /// Taints of nodes that the machine puts up with.
    pub tolerations: Vec<Toleration>,
    /// How evenly machines are spread over zones or nodes.
    #[api(list = "map", key = "topologyKey", key = "whenUnsatisfiable")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// What happens when the node is drained: LiveMigrate, LiveMigrateIfPossible, External (someone else acts) or None. Unset:
    /// what the cluster's configuration says.
    pub eviction_strategy: Option<EvictionStrategy>,
    /// Paused: the guest stands still until it is unpaused. Unset: it runs.
    pub start_strategy: Option<StartStrategy>,
    /// How many seconds the guest has to shut down before it is cut off. Default: 30.
    pub termination_grace_period_seconds: Option<i64>,
    /// What disks and filesystems show. At most 256.
    #[api(max_items = 256)]
    pub volumes: Vec<Volume>,
    /// Ends the machine when it fails.
    pub liveness_probe: Option<Probe>,
    /// Whether services send traffic to the guest.
    pub readiness_probe: Option<Probe>,
    /// The name of the guest, a DNS label. Default: the name of the machine.
    pub hostname: String,
    /// The subdomain of the guest's name; with a headless service of that name it can be looked up.
    pub subdomain: String,
    /// The networks that interfaces are plugged into. At most 256.
    #[api(max_items = 256)]
    pub networks: Vec<Network>,
    /// How the guest resolves names: ClusterFirst (default), ClusterFirstWithHostNet, Default or None.
    pub dns_policy: String,
    /// How the guest resolves names, beyond what the policy gives.
    pub dns_config: Option<PodDNSConfig>,
    /// Who may log in to the guest. At most 256.
    #[api(list = "atomic", max_items = 256)]
    pub access_credentials: Vec<AccessCredential>,
    /// amd64, arm64 or s390x. Unset: what the cluster's configuration says.
    pub architecture: String,
    /// Claims for devices that GPUs, host devices and networks refer to.
    #[api(list = "map", key = "name")]
    pub resource_claims: Vec<VirtualMachineInstanceResourceClaim>,
    /// Volumes for the platform's own use, such as backups. At most 256.
    #[api(list = "map", key = "name", max_items = 256)]
    pub utility_volumes: Vec<UtilityVolume>,
}

/// A claim for devices; one of both.
#[api]
pub struct VirtualMachineInstanceResourceClaim {
    /// The name that devices refer to.
    #[api(required)]
    pub name: String,
    /// A claim that is there.
    pub resource_claim_name: Option<String>,
    /// A template that a claim is made from for each machine.
    pub resource_claim_template_name: Option<String>,
}

/// A machine.
#[api]
pub struct VmiSelector {
    /// Its name.
    #[api(required)]
    pub name: String,
}

/// What machines are made from.
#[api]
pub struct VirtualMachineInstanceTemplateSpec {
    /// Labels and annotations of the machine that is made.
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    /// What it is made of.
    #[api(always)]
    pub spec: VirtualMachineInstanceSpec,
}

/// Whether a disk image of the node is made.
#[api]
pub enum HostDiskType {
    DiskOrCreate = "DiskOrCreate",
    Disk = "Disk",
}

/// How an interface reaches the pod network when nothing is said.
#[api]
pub enum NetworkInterfaceType {
    Bridge = "bridge",
    Slirp = "slirp",
    Masquerade = "masquerade",
}

/// How writes to a disk are cached.
#[api]
pub enum DriverCache {
    None = "none",
    Writethrough = "writethrough",
    Writeback = "writeback",
}

/// How input and output of a disk is done.
#[api]
pub enum DriverIo {
    Threads = "threads",
    Native = "native",
}

/// What a probe does; exactly one.
#[api]
pub struct Handler {
    /// Runs a command in the guest, by the guest agent.
    pub exec: Option<ExecAction>,
    /// Pings the guest agent.
    pub guest_agent_ping: Option<GuestAgentPing>,
    /// Makes an HTTP request to the guest.
    pub http_get: Option<HTTPGetAction>,
    /// Opens a TCP connection to the guest.
    pub tcp_socket: Option<TCPSocketAction>,
}

/// Looks at the guest again and again; exactly one way.
#[api]
pub struct Probe {
    /// Runs a command in the guest, by the guest agent.
    pub exec: Option<ExecAction>,
    /// Pings the guest agent.
    pub guest_agent_ping: Option<GuestAgentPing>,
    /// Makes an HTTP request to the guest.
    pub http_get: Option<HTTPGetAction>,
    /// Opens a TCP connection to the guest.
    pub tcp_socket: Option<TCPSocketAction>,
    /// How many seconds after the start the first look is.
    pub initial_delay_seconds: i32,
    /// After how many seconds without an answer a look has failed; at least 1. Default: 1.
    pub timeout_seconds: i32,
    /// How many seconds are between looks; at least 1. Default: 10.
    pub period_seconds: i32,
    /// How many looks in a row must succeed after a failure; at least 1, for liveness exactly 1. Default: 1.
    pub success_threshold: i32,
    /// How many looks in a row must fail; at least 1. Default: 3.
    pub failure_threshold: i32,
}
