use std::collections::BTreeMap;

use crate::{Quantity, api, v1::EvictionStrategy};
use k8s_openapi::api::core::v1::{Affinity, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

#[api]
pub struct NodePlacement {
    pub node_selector: BTreeMap<String, String>,
    pub affinity: Option<Affinity>,
    pub tolerations: Vec<Toleration>,
}

#[api]
pub struct ComponentConfig {
    pub node_placement: Option<NodePlacement>,
    pub replicas: Option<u8>,
}

#[api]
pub struct TokenBucketRateLimiter {
    #[api(required)]
    pub qps: f32,
    #[api(required, format = "")]
    pub burst: i64,
}

#[api]
pub struct RateLimiter {
    pub token_bucket_rate_limiter: Option<TokenBucketRateLimiter>,
}

#[api]
pub struct RestClientConfiguration {
    pub rate_limiter: Option<RateLimiter>,
}

#[api]
pub struct ReloadableComponentConfiguration {
    pub rest_client: Option<RestClientConfiguration>,
}

#[api]
pub struct KubeVirtConfiguration {
    pub cpu_model: String,
    pub cpu_request: Option<Quantity>,
    pub developer_configuration: Option<DeveloperConfiguration>,
    pub emulated_machines: Vec<String>,
    pub image_pull_policy: String,
    pub migrations: Option<MigrationConfiguration>,
    pub machine_type: String,
    pub network: Option<NetworkConfiguration>,
    pub ovmf_path: String,
    pub selinux_launcher_type: String,
    pub default_runtime_class: String,
    pub smbios: Option<SmbiosConfiguration>,
    pub architecture_configuration: Option<ArchConfiguration>,
    pub eviction_strategy: Option<EvictionStrategy>,
    pub additional_guest_memory_overhead_ratio: Option<String>,
    #[api(list = "map", key = "type")]
    pub support_container_resources: Vec<SupportContainerResources>,
    pub supported_guest_agent_versions: Vec<String>,
    pub mem_balloon_stats_period: Option<u32>,
    pub permitted_host_devices: Option<PermittedHostDevices>,
    pub mediated_devices_configuration: Option<MediatedDevicesConfiguration>,
    #[api(name = "minCPUModel")]
    pub min_cpu_model: String,
    #[api(name = "obsoleteCPUModels")]
    pub obsolete_cpu_models: BTreeMap<String, bool>,
    #[api(format = "")]
    pub virtual_machine_instances_per_node: Option<i64>,
    pub api_configuration: Option<ReloadableComponentConfiguration>,
    pub webhook_configuration: Option<ReloadableComponentConfiguration>,
    pub controller_configuration: Option<ReloadableComponentConfiguration>,
    pub handler_configuration: Option<ReloadableComponentConfiguration>,
    pub tls_configuration: Option<TlsConfiguration>,
    pub seccomp_configuration: Option<SeccompConfiguration>,
    pub vm_state_storage_class: String,
    pub virtual_machine_options: Option<VirtualMachineOptions>,
    pub ksm_configuration: Option<KsmConfiguration>,
    #[api(name = "autoCPULimitNamespaceLabelSelector")]
    pub auto_cpu_limit_namespace_label_selector: Option<LabelSelector>,
    pub live_update_configuration: Option<LiveUpdateConfiguration>,
    #[api(nullable)]
    pub vm_rollout_strategy: Option<VmRolloutStrategy>,
    #[api(nullable)]
    pub common_instancetypes_deployment: Option<CommonInstancetypesDeployment>,
    #[api(nullable)]
    pub virt_template_deployment: Option<VirtTemplateDeployment>,
    #[api(nullable)]
    pub instancetype: Option<InstancetypeConfiguration>,
    #[api(list = "atomic", max_items = 1)]
    pub hypervisors: Vec<HypervisorConfiguration>,
    #[api(nullable)]
    pub changed_block_tracking_label_selectors: Option<ChangedBlockTrackingSelectors>,
    #[api(nullable)]
    pub persistent_reservation_configuration: Option<PersistentReservationConfiguration>,
    #[api(nullable)]
    pub confidential_compute: Option<ConfidentialComputeConfiguration>,
    pub role_aggregation_strategy: Option<RoleAggregationStrategy>,
}

#[api]
pub struct TdxAttestationConfiguration {
    #[api(default = false)]
    pub enforced: Option<bool>,
    #[api(default = "/var/run/tdx-qgs/qgs.socket")]
    pub qgs_socket_path: Option<String>,
}

#[api]
pub struct TdxConfiguration {
    pub attestation: Option<TdxAttestationConfiguration>,
}

#[api]
pub struct ConfidentialComputeConfiguration {
    #[api(nullable)]
    pub tdx: Option<TdxConfiguration>,
}

#[api]
pub struct HypervisorConfiguration {
    #[api(one_of = &["kvm", "hyperv-direct"])]
    pub name: String,
}

#[api]
pub struct ChangedBlockTrackingSelectors {
    pub namespace_label_selector: Option<LabelSelector>,
    pub virtual_machine_label_selector: Option<LabelSelector>,
}

#[api]
pub struct InstancetypeConfiguration {
    #[api(nullable)]
    pub reference_policy: Option<InstancetypeReferencePolicy>,
}

#[api(closed)]
pub enum InstancetypeReferencePolicy {
    Reference = "reference",
    Expand = "expand",
    ExpandAll = "expandAll",
}

#[api]
pub struct CommonInstancetypesDeployment {
    #[api(nullable)]
    pub enabled: Option<bool>,
}

#[api]
pub struct VirtTemplateDeployment {
    #[api(nullable)]
    pub enabled: Option<bool>,
}

#[api(closed)]
pub enum RoleAggregationStrategy {
    AggregateToDefault = "AggregateToDefault",
    Manual = "Manual",
}

#[api(closed)]
pub enum VmRolloutStrategy {
    Stage = "Stage",
    LiveUpdate = "LiveUpdate",
}

#[api]
pub struct ArchConfiguration {
    pub amd64: Option<ArchSpecificConfiguration>,
    pub arm64: Option<ArchSpecificConfiguration>,
    pub ppc64le: Option<ArchSpecificConfiguration>,
    pub s390x: Option<ArchSpecificConfiguration>,
    pub default_architecture: String,
}

#[api]
pub struct ArchSpecificConfiguration {
    pub ovmf_path: String,
    #[api(list = "atomic")]
    pub emulated_machines: Vec<String>,
    pub machine_type: String,
}

#[api]
pub struct SmbiosConfiguration {
    pub manufacturer: String,
    pub product: String,
    pub version: String,
    pub sku: String,
    pub family: String,
}

#[api]
pub enum SupportContainerType {
    HotplugDisk = "hotplug-disk",
    ContainerDisk = "container-disk",
    Virtiofs = "virtiofs",
    Sidecar = "sidecar",
    Vmexport = "vmexport",
    GuestConsoleLog = "guest-console-log",
}

#[api]
pub struct SupportContainerResources {
    #[api(required)]
    pub type_: SupportContainerType,
    #[api(required)]
    pub resources: ResourceRequirementsWithoutClaims,
}

#[api(closed)]
pub enum TlsProtocolVersion {
    VersionTls10 = "VersionTLS10",
    VersionTls11 = "VersionTLS11",
    VersionTls12 = "VersionTLS12",
    VersionTls13 = "VersionTLS13",
}

#[api]
pub struct CustomProfile {
    pub localhost_profile: Option<String>,
    pub runtime_default_profile: bool,
}

#[api]
pub struct VirtualMachineInstanceProfile {
    pub custom_profile: Option<CustomProfile>,
}

#[api]
pub struct SeccompConfiguration {
    pub virtual_machine_instance_profile: Option<VirtualMachineInstanceProfile>,
}

#[api]
pub struct VirtualMachineOptions {
    pub disable_free_page_reporting: Option<DisableFreePageReporting>,
    pub disable_serial_console_log: Option<DisableSerialConsoleLog>,
}

#[api]
pub struct DisableFreePageReporting {}

#[api]
pub struct DisableSerialConsoleLog {}

#[api]
pub struct TlsConfiguration {
    #[api(name = "minTLSVersion")]
    pub min_tls_version: TlsProtocolVersion,
    #[api(list = "set")]
    pub ciphers: Vec<String>,
}

#[api]
pub struct StallDetectorOptions {
    #[api(minimum = 0, maximum = 100)]
    pub stall_margin: Option<i64>,
    pub ewma_alpha: Option<String>,
    pub stall_progress_timeout: Option<u64>,
    pub switchover_timeout: Option<u64>,
    pub precopy_possible_factor: Option<String>,
    pub patience_window_decay_factor: Option<String>,
    pub search_local_minima: Option<bool>,
    pub completion_timeout_factor: Option<String>,
}

#[api(closed)]
pub enum MigrationCompression {
    None = "none",
    Zstd = "zstd",
}

#[api]
pub struct ExperimentalMigrationOptions {
    pub stall_detector: Option<StallDetectorOptions>,
    pub compression: Option<MigrationCompression>,
}

#[api]
pub struct MigrationConfiguration {
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
}

#[api]
pub struct DiskVerification {
    #[api(required)]
    pub memory_limit: Option<Quantity>,
}

#[api]
pub struct DeveloperConfiguration {
    #[api(list = "atomic")]
    pub feature_gates: Vec<String>,
    #[api(list = "atomic")]
    pub disabled_feature_gates: Vec<String>,
    #[api(format = "")]
    pub pvc_tolerate_less_space_up_to_percent: i64,
    #[api(name = "minimumReservePVCBytes")]
    pub minimum_reserve_pvc_bytes: u64,
    #[api(format = "", minimum = 10)]
    pub memory_overcommit: i64,
    pub node_selectors: BTreeMap<String, String>,
    pub use_emulation: bool,
    #[api(format = "")]
    pub cpu_allocation_ratio: i64,
    #[api(name = "minimumClusterTSCFrequency")]
    pub minimum_cluster_tsc_frequency: Option<i64>,
    pub disk_verification: Option<DiskVerification>,
    pub log_verbosity: Option<LogVerbosity>,
    pub cluster_profiler: bool,
}

#[api]
pub struct LogVerbosity {
    #[api(name = "virtAPI", format = "")]
    pub virt_api: u64,
    #[api(format = "")]
    pub virt_controller: u64,
    #[api(format = "")]
    pub virt_handler: u64,
    #[api(format = "")]
    pub virt_launcher: u64,
    #[api(format = "")]
    pub virt_operator: u64,
    #[api(format = "")]
    pub virt_synchronization_controller: u64,
    #[api(format = "")]
    pub node_verbosity: BTreeMap<String, u64>,
}

#[api]
pub struct PermittedHostDevices {
    #[api(list = "atomic")]
    pub pci_host_devices: Vec<PciHostDevice>,
    #[api(list = "atomic")]
    pub mediated_devices: Vec<MediatedHostDevice>,
    #[api(list = "atomic")]
    pub usb: Vec<UsbHostDevice>,
}

#[api]
pub struct UsbHostDevice {
    #[api(required)]
    pub resource_name: String,
    #[api(list = "atomic")]
    pub selectors: Vec<UsbSelector>,
    pub external_resource_provider: bool,
}

#[api]
pub struct UsbSelector {
    #[api(required)]
    pub vendor: String,
    #[api(required)]
    pub product: String,
}

#[api]
pub struct PciHostDevice {
    #[api(required)]
    pub pci_vendor_selector: String,
    #[api(required)]
    pub resource_name: String,
    pub external_resource_provider: bool,
}

#[api]
pub struct MediatedHostDevice {
    #[api(required)]
    pub mdev_name_selector: String,
    #[api(required)]
    pub resource_name: String,
    pub external_resource_provider: bool,
}

#[api]
pub struct MediatedDevicesConfiguration {
    #[api(list = "atomic")]
    pub mediated_devices_types: Vec<String>,
    #[api(list = "atomic")]
    pub mediated_device_types: Vec<String>,
    #[api(list = "atomic")]
    pub node_mediated_device_types: Vec<NodeMediatedDeviceTypesConfig>,
    pub enabled: Option<bool>,
}

#[api]
pub struct NodeMediatedDeviceTypesConfig {
    #[api(required)]
    pub node_selector: BTreeMap<String, String>,
    #[api(list = "atomic")]
    pub mediated_devices_types: Vec<String>,
    #[api(always, list = "atomic")]
    pub mediated_device_types: Vec<String>,
}

#[api]
pub struct KsmConfiguration {
    pub node_label_selector: Option<LabelSelector>,
}

#[api]
pub struct NetworkConfiguration {
    pub default_network_interface: String,
    pub permit_slirp_interface: Option<bool>,
    pub permit_bridge_interface_on_pod_network: Option<bool>,
    pub binding: BTreeMap<String, InterfaceBindingPlugin>,
}

#[api]
pub struct InterfaceBindingPlugin {
    pub sidecar_image: String,
    pub network_attachment_definition: String,
    pub domain_attachment_type: DomainAttachmentType,
    pub migration: Option<InterfaceBindingMigration>,
    #[api(name = "downwardAPI")]
    pub downward_api: NetworkBindingDownwardApiType,
    pub compute_resource_overhead: Option<ResourceRequirementsWithoutClaims>,
}

#[api]
pub struct ResourceRequirementsWithoutClaims {
    pub limits: BTreeMap<String, Quantity>,
    pub requests: BTreeMap<String, Quantity>,
}

#[api]
pub enum DomainAttachmentType {
    Tap = "tap",
    ManagedTap = "managedTap",
}

#[api]
pub enum NetworkBindingDownwardApiType {
    DeviceInfo = "device-info",
}

#[api]
pub struct InterfaceBindingMigration {
    pub method: MigrationMethod,
}

#[api]
pub enum MigrationMethod {
    LinkRefresh = "link-refresh",
}

#[api]
pub struct GuestAgentPing {}

#[api]
pub struct ProfilerResult {
    pub pprof_data: BTreeMap<String, crate::Bytes>,
}

#[api]
pub struct ClusterProfilerResults {
    #[api(required)]
    pub component_results: BTreeMap<String, ProfilerResult>,
    pub continue_: String,
}

#[api]
pub struct ClusterProfilerRequest {
    pub label_selector: String,
    pub continue_: String,
    #[api(required)]
    pub page_size: i64,
}

#[api]
pub enum InferFromVolumeFailurePolicy {
    Reject = "Reject",
    Ignore = "Ignore",
}

#[api]
pub struct InstancetypeMatcher {
    pub name: String,
    pub kind: String,
    pub revision_name: String,
    pub infer_from_volume: String,
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

#[api]
pub struct PreferenceMatcher {
    pub name: String,
    pub kind: String,
    pub revision_name: String,
    pub infer_from_volume: String,
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

#[api]
pub struct LiveUpdateConfiguration {
    pub max_hotplug_ratio: u32,
    pub max_cpu_sockets: Option<u32>,
    pub max_guest: Option<Quantity>,
}

#[api]
pub struct PersistentReservationConfiguration {
    #[api(nullable)]
    pub enabled: Option<bool>,
}
