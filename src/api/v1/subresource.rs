use std::collections::BTreeMap;

use crate::{
    Duration, Quantity, api,
    v1::{Disk, ExperimentalMigrationOptions, HotplugVolumeSource, VirtualMachineInstanceGuestOsInfo},
};
use k8s_openapi::api::core::v1::TypedObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

#[api]
pub struct RestartOptions {
    pub api_version: String,
    pub kind: String,
    pub grace_period_seconds: Option<i64>,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct StartOptions {
    pub api_version: String,
    pub kind: String,
    pub paused: bool,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct PauseOptions {
    pub api_version: String,
    pub kind: String,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct UnpauseOptions {
    pub api_version: String,
    pub kind: String,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct StopOptions {
    pub api_version: String,
    pub kind: String,
    pub grace_period: Option<i64>,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct MigrateOptions {
    pub api_version: String,
    pub kind: String,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
    pub added_node_selector: BTreeMap<String, String>,
}

#[api]
pub struct EvacuateCancelOptions {
    pub api_version: String,
    pub kind: String,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
    #[api(required)]
    pub evacuation_node_name: String,
}

#[api]
pub struct VirtualMachineInstanceGuestAgentInfo {
    pub api_version: String,
    pub kind: String,
    pub guest_agent_version: String,
    #[api(list = "atomic")]
    pub supported_commands: Vec<GuestAgentCommandInfo>,
    pub hostname: String,
    #[api(always)]
    pub os: VirtualMachineInstanceGuestOsInfo,
    pub timezone: String,
    pub user_list: Vec<VirtualMachineInstanceGuestOsUser>,
    #[api(always)]
    pub fs_info: VirtualMachineInstanceFileSystemInfo,
    pub fs_freeze_status: String,
}

#[api]
pub struct GuestAgentCommandInfo {
    #[api(required)]
    pub name: String,
    pub enabled: bool,
}

#[api]
pub struct VirtualMachineInstanceGuestOsUser {
    #[api(required)]
    pub user_name: String,
    pub domain: String,
    pub login_time: f64,
}

#[api]
pub struct VirtualMachineInstanceFileSystemInfo {
    #[api(required)]
    pub disks: Vec<VirtualMachineInstanceFileSystem>,
}

#[api]
pub struct VirtualMachineInstanceFileSystemDisk {
    pub serial: String,
    #[api(required)]
    pub bus_type: String,
}

#[api]
pub struct VirtualMachineInstanceFileSystem {
    #[api(required)]
    pub disk_name: String,
    #[api(required)]
    pub mount_point: String,
    #[api(required)]
    pub file_system_type: String,
    #[api(required)]
    pub used_bytes: i64,
    #[api(required)]
    pub total_bytes: i64,
    pub disk: Vec<VirtualMachineInstanceFileSystemDisk>,
}

#[api]
pub struct FreezeUnfreezeTimeout {
    #[api(required)]
    pub unfreeze_timeout: Option<Duration>,
}

#[api]
pub struct AddVolumeOptions {
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub disk: Option<Disk>,
    #[api(required)]
    pub volume_source: Option<HotplugVolumeSource>,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct ScreenshotOptions {
    #[api(required)]
    pub move_cursor: bool,
}

#[api]
pub struct VsockOptions {
    #[api(required)]
    pub target_port: u32,
    #[api(name = "useTLS")]
    pub use_tls: Option<bool>,
}

#[api]
pub struct RemoveVolumeOptions {
    #[api(required)]
    pub name: String,
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

#[api]
pub struct VmimConfigurationOptions {
    pub node_drain_taint_key: Option<String>,
    pub parallel_outbound_migrations_per_node: Option<u32>,
    pub parallel_migrations_per_cluster: Option<u32>,
    pub allow_auto_converge: Option<bool>,
    pub bandwidth_per_migration: Option<Quantity>,
    pub completion_timeout_per_gi_b: Option<i64>,
    #[api(minimum = 1, maximum = 2_000_000)]
    pub max_downtime_ms: Option<u64>,
    pub progress_timeout: Option<i64>,
    pub utility_volumes_timeout: Option<i64>,
    pub unsafe_migration_override: Option<bool>,
    pub allow_post_copy: Option<bool>,
    pub allow_workload_disruption: Option<bool>,
    #[api(name = "disableTLS")]
    pub disable_tls: Option<bool>,
    pub network: Option<String>,
    #[api(name = "matchSELinuxLevelOnMigration")]
    pub match_se_linux_level_on_migration: Option<bool>,
    pub experimental: Option<ExperimentalMigrationOptions>,
}

#[api]
pub struct SevPlatformInfo {
    pub api_version: String,
    pub kind: String,
    pub pdh: String,
    pub cert_chain: String,
}

#[api]
pub struct SevMeasurementInfo {
    pub api_version: String,
    pub kind: String,
    pub measurement: String,
    pub api_major: u32,
    pub api_minor: u32,
    #[api(name = "buildID")]
    pub build_id: u32,
    pub policy: u32,
    #[api(name = "loaderSHA")]
    pub loader_sha: String,
}

#[api]
pub struct SevSessionOptions {
    pub session: String,
    pub dh_cert: String,
}

#[api]
pub struct SevSecretOptions {
    pub header: String,
    pub secret: String,
}

#[api]
pub struct ObjectGraphNode {
    pub api_version: String,
    pub kind: String,
    #[api(required)]
    pub object_reference: TypedObjectReference,
    pub labels: BTreeMap<String, String>,
    pub optional: Option<bool>,
    #[api(list = "atomic")]
    pub children: Vec<ObjectGraphNode>,
}

#[api]
pub struct ObjectGraphOptions {
    pub include_optional_nodes: Option<bool>,
    pub label_selector: Option<LabelSelector>,
}
