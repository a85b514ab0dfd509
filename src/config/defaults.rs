//! The settings of a cluster that sets nothing.

use crate::api::Quantity;
use crate::api::v1::{
    ArchConfiguration, ArchSpecificConfiguration, DeveloperConfiguration, DiskVerification, EvictionStrategy, HypervisorConfiguration,
    KubeVirtConfiguration, LiveUpdateConfiguration, LogVerbosity, MigrationConfiguration, NetworkConfiguration, RateLimiter,
    ReloadableComponentConfiguration, RestClientConfiguration, SmbiosConfiguration, TokenBucketRateLimiter, VmRolloutStrategy,
};

use super::{DEFAULT_ARCHITECTURE, KVM};

pub(super) const MEMORY_OVERCOMMIT: i64 = 100;
pub(super) const CPU_ALLOCATION_RATIO: i64 = 10;
pub(super) const NETWORK_INTERFACE: &str = "bridge";
/// Seconds, for a whole migration, one GiB of it and the detaching of utility volumes alike.
const MIGRATION_PATIENCE: i64 = 150;
const LOG_VERBOSITY: u64 = 2;
const MEBIBYTE: i128 = 1024 * 1024;

fn rate(qps: f32, burst: i64) -> Option<ReloadableComponentConfiguration> {
    let bucket = TokenBucketRateLimiter { qps, burst };
    let limiter = RateLimiter { token_bucket_rate_limiter: Some(bucket) };
    Some(ReloadableComponentConfiguration { rest_client: Some(RestClientConfiguration { rate_limiter: Some(limiter) }) })
}

fn architecture(machine_type: &str, emulated: &[&str], ovmf_path: &str) -> Option<ArchSpecificConfiguration> {
    Some(ArchSpecificConfiguration {
        ovmf_path: ovmf_path.to_owned(),
        emulated_machines: emulated.iter().map(|m| (*m).to_owned()).collect(),
        machine_type: machine_type.to_owned(),
    })
}

pub(super) fn configuration() -> KubeVirtConfiguration {
    KubeVirtConfiguration {
        image_pull_policy: "IfNotPresent".to_owned(),
        developer_configuration: Some(DeveloperConfiguration {
            memory_overcommit: MEMORY_OVERCOMMIT,
            pvc_tolerate_less_space_up_to_percent: 10,
            minimum_reserve_pvc_bytes: 131_072,
            cpu_allocation_ratio: CPU_ALLOCATION_RATIO,
            disk_verification: Some(DiskVerification { memory_limit: Some(Quantity::from_bytes(2000 * MEBIBYTE)) }),
            log_verbosity: Some(LogVerbosity {
                virt_api: LOG_VERBOSITY,
                virt_controller: LOG_VERBOSITY,
                virt_handler: LOG_VERBOSITY,
                virt_launcher: LOG_VERBOSITY,
                virt_operator: LOG_VERBOSITY,
                ..LogVerbosity::default()
            }),
            ..DeveloperConfiguration::default()
        }),
        eviction_strategy: Some(EvictionStrategy::None),
        migrations: Some(MigrationConfiguration {
            parallel_migrations_per_cluster: Some(5),
            parallel_outbound_migrations_per_node: Some(2),
            node_drain_taint_key: Some("kubevirt.io/drain".to_owned()),
            bandwidth_per_migration: Some(Quantity::from_bytes(0)),
            progress_timeout: Some(MIGRATION_PATIENCE),
            completion_timeout_per_gib: Some(MIGRATION_PATIENCE),
            utility_volumes_timeout: Some(MIGRATION_PATIENCE),
            max_downtime_ms: Some(900),
            unsafe_migration_override: Some(false),
            allow_auto_converge: Some(false),
            allow_post_copy: Some(false),
            ..MigrationConfiguration::default()
        }),
        cpu_request: Some(Quantity::from_millis(100)),
        network: Some(NetworkConfiguration {
            default_network_interface: NETWORK_INTERFACE.to_owned(),
            permit_slirp_interface: Some(false),
            permit_bridge_interface_on_pod_network: Some(true),
            ..NetworkConfiguration::default()
        }),
        smbios: Some(SmbiosConfiguration {
            family: "KubeVirt".to_owned(),
            manufacturer: "KubeVirt".to_owned(),
            product: "None".to_owned(),
            ..SmbiosConfiguration::default()
        }),
        supported_guest_agent_versions: ["2.*", "3.*", "4.*", "5.*"].map(str::to_owned).to_vec(),
        mem_balloon_stats_period: Some(10),
        api_configuration: rate(200.0, 400),
        controller_configuration: rate(200.0, 400),
        handler_configuration: rate(50.0, 100),
        webhook_configuration: rate(200.0, 400),
        architecture_configuration: Some(ArchConfiguration {
            amd64: architecture("q35", &["q35*", "pc-q35*"], "/usr/share/edk2/ovmf"),
            arm64: architecture("virt", &["virt*"], "/usr/share/AAVMF"),
            s390x: architecture("s390-ccw-virtio", &["s390-ccw-virtio*"], ""),
            default_architecture: DEFAULT_ARCHITECTURE.to_owned(),
            ..ArchConfiguration::default()
        }),
        live_update_configuration: Some(LiveUpdateConfiguration { max_hotplug_ratio: 4, ..LiveUpdateConfiguration::default() }),
        vm_rollout_strategy: Some(VmRolloutStrategy::LiveUpdate),
        hypervisors: vec![HypervisorConfiguration { name: KVM.to_owned() }],
        ..KubeVirtConfiguration::default()
    }
}
