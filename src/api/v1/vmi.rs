use std::collections::BTreeMap;

use crate::{
    api,
    v1::{AccessCredential, DomainSpec, GuestAgentPing, Network, UtilityVolume, VirtualMachineInstanceStatus, Volume},
};
use k8s_openapi::api::core::v1::{
    Affinity, ExecAction, HTTPGetAction, PodDNSConfig, TCPSocketAction, Toleration, TopologySpreadConstraint,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

#[api]
pub struct VirtualMachineInstance {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineInstanceSpec,
    #[api(always)]
    pub status: VirtualMachineInstanceStatus,
}

#[api]
pub enum EvictionStrategy {
    None = "None",
    LiveMigrate = "LiveMigrate",
    LiveMigrateIfPossible = "LiveMigrateIfPossible",
    External = "External",
}

#[api]
pub enum StartStrategy {
    Paused = "Paused",
}

#[api]
pub struct VirtualMachineInstanceSpec {
    pub priority_class_name: String,
    #[api(required)]
    pub domain: DomainSpec,
    pub node_selector: BTreeMap<String, String>,
    pub affinity: Option<Affinity>,
    pub scheduler_name: String,
    pub service_account_name: String,
    pub tolerations: Vec<Toleration>,
    #[api(list = "map", key = "topologyKey", key = "whenUnsatisfiable")]
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    pub eviction_strategy: Option<EvictionStrategy>,
    pub start_strategy: Option<StartStrategy>,
    pub termination_grace_period_seconds: Option<i64>,
    #[api(max_items = 256)]
    pub volumes: Vec<Volume>,
    pub liveness_probe: Option<Probe>,
    pub readiness_probe: Option<Probe>,
    pub hostname: String,
    pub subdomain: String,
    #[api(max_items = 256)]
    pub networks: Vec<Network>,
    pub dns_policy: String,
    pub dns_config: Option<PodDNSConfig>,
    #[api(list = "atomic", max_items = 256)]
    pub access_credentials: Vec<AccessCredential>,
    pub architecture: String,
    #[api(list = "map", key = "name")]
    pub resource_claims: Vec<VirtualMachineInstanceResourceClaim>,
    #[api(list = "map", key = "name", max_items = 256)]
    pub utility_volumes: Vec<UtilityVolume>,
}

#[api]
pub struct VirtualMachineInstanceResourceClaim {
    #[api(required)]
    pub name: String,
    pub resource_claim_name: Option<String>,
    pub resource_claim_template_name: Option<String>,
}

#[api]
pub struct VmiSelector {
    #[api(required)]
    pub name: String,
}

#[api]
pub struct VirtualMachineInstanceTemplateSpec {
    #[api(always, nullable, preserve)]
    pub metadata: ObjectMeta,
    #[api(always)]
    pub spec: VirtualMachineInstanceSpec,
}

#[api]
pub enum HostDiskType {
    DiskOrCreate = "DiskOrCreate",
    Disk = "Disk",
}

#[api]
pub enum NetworkInterfaceType {
    Bridge = "bridge",
    Slirp = "slirp",
    Masquerade = "masquerade",
}

#[api]
pub enum DriverCache {
    None = "none",
    Writethrough = "writethrough",
    Writeback = "writeback",
}

#[api]
pub enum DriverIo {
    Threads = "threads",
    Native = "native",
}

#[api]
pub struct Handler {
    pub exec: Option<ExecAction>,
    pub guest_agent_ping: Option<GuestAgentPing>,
    pub http_get: Option<HTTPGetAction>,
    pub tcp_socket: Option<TCPSocketAction>,
}

#[api]
pub struct Probe {
    pub exec: Option<ExecAction>,
    pub guest_agent_ping: Option<GuestAgentPing>,
    pub http_get: Option<HTTPGetAction>,
    pub tcp_socket: Option<TCPSocketAction>,
    pub initial_delay_seconds: i32,
    pub timeout_seconds: i32,
    pub period_seconds: i32,
    pub success_threshold: i32,
    pub failure_threshold: i32,
}
