//! The configuration of the platform.

use std::collections::BTreeMap;

use crate::{Quantity, api, v1::EvictionStrategy};
use k8s_openapi::api::core::v1::{Affinity, Toleration};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Where pods may run.
#[api]
pub struct NodePlacement {
    /// Labels that the node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Nodes and neighbours that are wanted or avoided.
    pub affinity: Option<Affinity>,
    /// Taints of nodes that are put up with.
    pub tolerations: Vec<Toleration>,
}

/// How many replicas components have, and where they run.
#[api]
pub struct ComponentConfig {
    /// Where they run.
    pub node_placement: Option<NodePlacement>,
    /// How many each has. Default: 2, on a single node 1. For infra only.
    pub replicas: Option<u8>,
}

/// Limits requests by a bucket of tokens.
#[api]
pub struct TokenBucketRateLimiter {
    /// How many tokens are added a second.
    #[api(required)]
    pub qps: f32,
    /// How many tokens the bucket holds.
    #[api(required, format = "")]
    pub burst: i64,
}

/// Limits requests to the API server.
#[api]
pub struct RateLimiter {
    /// By a bucket of tokens.
    pub token_bucket_rate_limiter: Option<TokenBucketRateLimiter>,
}

/// How the API server is asked.
#[api]
pub struct RestClientConfiguration {
    /// How often.
    pub rate_limiter: Option<RateLimiter>,
}

/// Settings of a component that need no restart.
#[api]
pub struct ReloadableComponentConfiguration {
    /// How it asks the API server.
    pub rest_client: Option<RestClientConfiguration>,
}

/// How machines behave where they say nothing themselves, and what they may do.
#[api]
pub struct KubeVirtConfiguration {
    /// The CPU model. Default: host-model.
    pub cpu_model: String,
    /// How much CPU a machine without a request asks for. Default: 100m.
    pub cpu_request: Option<Quantity>,
    /// Feature gates, and settings for development and tests.
    pub developer_configuration: Option<DeveloperConfiguration>,
    /// Deprecated: patterns of machine types that are allowed. Use architectureConfiguration.
    pub emulated_machines: Vec<String>,
    /// Always, IfNotPresent or Never, for the launcher.
    pub image_pull_policy: String,
    /// How machines migrate.
    pub migrations: Option<MigrationConfiguration>,
    /// Deprecated: the machine type. Use architectureConfiguration.
    pub machine_type: String,
    /// How interfaces reach their networks.
    pub network: Option<NetworkConfiguration>,
    /// Deprecated: the directory with the EFI firmware. Use architectureConfiguration.
    pub ovmf_path: String,
    /// The SELinux type of launchers. Unset: that of containers.
    pub selinux_launcher_type: String,
    /// The runtime class of launcher pods.
    pub default_runtime_class: String,
    /// What the SMBIOS tables say of maker and product.
    pub smbios: Option<SmbiosConfiguration>,
    /// Settings for each architecture.
    pub architecture_configuration: Option<ArchConfiguration>,
    /// What happens to machines when their node is drained: LiveMigrate, LiveMigrateIfPossible, External or None. Unset: None.
    pub eviction_strategy: Option<EvictionStrategy>,
    /// A factor on what the emulation is reckoned to need beside the guest, such as 1.5.
    pub additional_guest_memory_overhead_ratio: Option<String>,
    /// Requests and limits of the containers that help a launcher, by kind.
    #[api(list = "map", key = "type")]
    pub support_container_resources: Vec<SupportContainerResources>,
    /// Deprecated: patterns of versions of the guest agent.
    pub supported_guest_agent_versions: Vec<String>,
    /// Every how many seconds the guest reports its memory; 0: never. Default: 10.
    pub mem_balloon_stats_period: Option<u32>,
    /// Devices of nodes that machines may have.
    pub permitted_host_devices: Option<PermittedHostDevices>,
    /// Mediated devices, such as virtual graphics processors, that are made on nodes.
    pub mediated_devices_configuration: Option<MediatedDevicesConfiguration>,
    /// The oldest CPU model that nodes are labelled for. Default: Penryn.
    #[api(name = "minCPUModel")]
    pub min_cpu_model: String,
    /// CPU models that nodes are not labelled for.
    #[api(name = "obsoleteCPUModels")]
    pub obsolete_cpu_models: BTreeMap<String, bool>,
    /// How many machines a node takes. Default: 1000.
    #[api(format = "")]
    pub virtual_machine_instances_per_node: Option<i64>,
    /// Settings of the API server.
    pub api_configuration: Option<ReloadableComponentConfiguration>,
    /// Settings of the API server's webhooks.
    pub webhook_configuration: Option<ReloadableComponentConfiguration>,
    /// Settings of the controller.
    pub controller_configuration: Option<ReloadableComponentConfiguration>,
    /// Settings of the component on each node.
    pub handler_configuration: Option<ReloadableComponentConfiguration>,
    /// TLS of the components.
    pub tls_configuration: Option<TlsConfiguration>,
    /// System calls that launchers may make.
    pub seccomp_configuration: Option<SeccompConfiguration>,
    /// The storage class of the claims with TPM and firmware state. Unset: the default class.
    pub vm_state_storage_class: String,
    /// What all machines do.
    pub virtual_machine_options: Option<VirtualMachineOptions>,
    /// The nodes whose kernel merges equal pages of memory.
    pub ksm_configuration: Option<KsmConfiguration>,
    /// The namespaces in which machines get a CPU limit equal to their number of virtual CPUs.
    #[api(name = "autoCPULimitNamespaceLabelSelector")]
    pub auto_cpu_limit_namespace_label_selector: Option<LabelSelector>,
    /// How much CPU and memory a running machine can be given.
    pub live_update_configuration: Option<LiveUpdateConfiguration>,
    /// How changes of a VirtualMachine reach its running instance: LiveUpdate (default, where possible) or Stage (at the next
    /// start).
    #[api(nullable)]
    pub vm_rollout_strategy: Option<VmRolloutStrategy>,
    /// Whether the common instance types and preferences are installed.
    #[api(nullable)]
    pub common_instancetypes_deployment: Option<CommonInstancetypesDeployment>,
    /// Whether templates for virtual machines are installed.
    #[api(nullable)]
    pub virt_template_deployment: Option<VirtTemplateDeployment>,
    /// How instance types are applied.
    #[api(nullable)]
    pub instancetype: Option<InstancetypeConfiguration>,
    /// The hypervisor; at most one.
    #[api(list = "atomic", max_items = 1)]
    pub hypervisors: Vec<HypervisorConfiguration>,
    /// The machines whose changed blocks are tracked.
    #[api(nullable)]
    pub changed_block_tracking_label_selectors: Option<ChangedBlockTrackingSelectors>,
    /// Whether LUNs may have persistent reservations.
    #[api(nullable)]
    pub persistent_reservation_configuration: Option<PersistentReservationConfiguration>,
    /// Settings for confidential machines.
    #[api(nullable)]
    pub confidential_compute: Option<ConfidentialComputeConfiguration>,
    /// Whether the roles for users become part of admin, edit and view: AggregateToDefault (default) or Manual.
    pub role_aggregation_strategy: Option<RoleAggregationStrategy>,
}

/// How a TDX machine proves what it is.
#[api]
pub struct TdxAttestationConfiguration {
    /// Whether machines start only where they can.
    #[api(default = false)]
    pub enforced: Option<bool>,
    /// The socket of the quote generation service on the node.
    #[api(default = "/var/run/tdx-qgs/qgs.socket")]
    pub qgs_socket_path: Option<String>,
}

/// Intel's Trust Domain Extensions.
#[api]
pub struct TdxConfiguration {
    /// How a machine proves what it is.
    pub attestation: Option<TdxAttestationConfiguration>,
}

/// Settings for confidential machines.
#[api]
pub struct ConfidentialComputeConfiguration {
    /// Intel's Trust Domain Extensions.
    #[api(nullable)]
    pub tdx: Option<TdxConfiguration>,
}

/// A hypervisor.
#[api]
pub struct HypervisorConfiguration {
    /// kvm or hyperv-direct.
    #[api(one_of = &["kvm", "hyperv-direct"])]
    pub name: String,
}

/// The machines whose changed blocks are tracked; one selector is enough.
#[api]
pub struct ChangedBlockTrackingSelectors {
    /// The namespaces, by their labels.
    pub namespace_label_selector: Option<LabelSelector>,
    /// The machines, by their labels.
    pub virtual_machine_label_selector: Option<LabelSelector>,
}

/// How instance types are applied.
#[api]
pub struct InstancetypeConfiguration {
    /// reference (default; the machine keeps its reference), expand (it is written out, unless a revision was recorded already)
    /// or expandAll (always).
    #[api(nullable)]
    pub reference_policy: Option<InstancetypeReferencePolicy>,
}

/// What becomes of a machine's reference to an instance type.
#[api(closed)]
pub enum InstancetypeReferencePolicy {
    Reference = "reference",
    Expand = "expand",
    ExpandAll = "expandAll",
}

/// The common instance types and preferences.
#[api]
pub struct CommonInstancetypesDeployment {
    /// Whether they are installed. Default: true.
    #[api(nullable)]
    pub enabled: Option<bool>,
}

/// Templates for virtual machines.
#[api]
pub struct VirtTemplateDeployment {
    /// Whether they are installed. Default: true where the feature is on.
    #[api(nullable)]
    pub enabled: Option<bool>,
}

/// Whether roles become part of those of Kubernetes.
#[api(closed)]
pub enum RoleAggregationStrategy {
    AggregateToDefault = "AggregateToDefault",
    Manual = "Manual",
}

/// How changes of a machine reach its running instance.
#[api(closed)]
pub enum VmRolloutStrategy {
    Stage = "Stage",
    LiveUpdate = "LiveUpdate",
}

/// Settings for each architecture.
#[api]
pub struct ArchConfiguration {
    /// Those for x86.
    pub amd64: Option<ArchSpecificConfiguration>,
    /// Those for Arm.
    pub arm64: Option<ArchSpecificConfiguration>,
    /// Deprecated: those for POWER.
    pub ppc64le: Option<ArchSpecificConfiguration>,
    /// Those for IBM Z.
    pub s390x: Option<ArchSpecificConfiguration>,
    /// The architecture of machines that name none. Unset: that of the control plane.
    pub default_architecture: String,
}

/// Settings for an architecture.
#[api]
pub struct ArchSpecificConfiguration {
    /// The directory with the EFI firmware.
    pub ovmf_path: String,
    /// Patterns of machine types that are allowed, such as pc-q35*.
    #[api(list = "atomic")]
    pub emulated_machines: Vec<String>,
    /// The machine type of machines that name none.
    pub machine_type: String,
}

/// What the SMBIOS tables say.
#[api]
pub struct SmbiosConfiguration {
    /// The maker. Default: KubeVirt.
    pub manufacturer: String,
    /// The product. Default: None.
    pub product: String,
    /// Its version.
    pub version: String,
    /// Its stock number.
    pub sku: String,
    /// Its family. Default: KubeVirt.
    pub family: String,
}

/// The containers that help a launcher.
#[api]
pub enum SupportContainerType {
    HotplugDisk = "hotplug-disk",
    ContainerDisk = "container-disk",
    Virtiofs = "virtiofs",
    Sidecar = "sidecar",
    Vmexport = "vmexport",
    GuestConsoleLog = "guest-console-log",
}

/// Requests and limits of a kind of container.
#[api]
pub struct SupportContainerResources {
    /// hotplug-disk, container-disk, virtiofs, sidecar, vmexport or guest-console-log.
    #[api(required)]
    pub type_: SupportContainerType,
    /// Its requests and limits.
    #[api(required)]
    pub resources: ResourceRequirementsWithoutClaims,
}

/// The versions of TLS.
#[api(closed)]
pub enum TlsProtocolVersion {
    VersionTls10 = "VersionTLS10",
    VersionTls11 = "VersionTLS11",
    VersionTls12 = "VersionTLS12",
    VersionTls13 = "VersionTLS13",
}

/// A seccomp profile.
#[api]
pub struct CustomProfile {
    /// A profile on the node, by its path.
    pub localhost_profile: Option<String>,
    /// Whether it is the runtime's default.
    pub runtime_default_profile: bool,
}

/// System calls that launchers may make.
#[api]
pub struct VirtualMachineInstanceProfile {
    /// A profile that takes the place of the one that is installed.
    pub custom_profile: Option<CustomProfile>,
}

/// System calls that components may make.
#[api]
pub struct SeccompConfiguration {
    /// Those of launchers.
    pub virtual_machine_instance_profile: Option<VirtualMachineInstanceProfile>,
}

/// What all machines do.
#[api]
pub struct VirtualMachineOptions {
    /// Guests do not give back memory that they do not use.
    pub disable_free_page_reporting: Option<DisableFreePageReporting>,
    /// What serial consoles print is no log of the pod.
    pub disable_serial_console_log: Option<DisableSerialConsoleLog>,
}

/// Guests do not give back memory that they do not use.
#[api]
pub struct DisableFreePageReporting {}

/// What serial consoles print is no log of the pod.
#[api]
pub struct DisableSerialConsoleLog {}

/// TLS of the components.
#[api]
pub struct TlsConfiguration {
    /// The oldest version: VersionTLS10 to VersionTLS13. Default: VersionTLS12.
    #[api(name = "minTLSVersion")]
    pub min_tls_version: TlsProtocolVersion,
    /// The ciphers, by their names in IANA's list; not for VersionTLS13. Unset: all that are safe.
    #[api(list = "set")]
    pub ciphers: Vec<String>,
}

/// How a migration is noticed that gets nowhere. Ratios are decimal numbers as text.
#[api]
pub struct StallDetectorOptions {
    /// By how many percent what is left may be above the best figure so far before that counts as standing still, from 0 to
    /// 100. Default: 4.
    #[api(minimum = 0, maximum = 100)]
    pub stall_margin: Option<i64>,
    /// How much the newest figure counts in the average bandwidth; above 0, at most 1. Default: 0.4.
    pub ewma_alpha: Option<String>,
    /// For how many seconds there may be no progress. Default: 40.
    pub stall_progress_timeout: Option<u64>,
    /// How many seconds the switch to the target may take. Default: 60.
    pub switchover_timeout: Option<u64>,
    /// How many times the allowed downtime the reckoned one may be for the switch to be tried nevertheless. Default: 1.5.
    pub precopy_possible_factor: Option<String>,
    /// By what factor patience shrinks each time that the goal is eased. Default: 0.5.
    pub patience_window_decay_factor: Option<String>,
    /// Whether the switch waits until as little is left as there ever was. Default: true.
    pub search_local_minima: Option<bool>,
    /// A factor on the time for the whole migration: within it a forced switch must be done. Default: 2.
    pub completion_timeout_factor: Option<String>,
}

/// How the memory of a migrating guest is compressed.
#[api(closed)]
pub enum MigrationCompression {
    None = "none",
    Zstd = "zstd",
}

/// Settings of migrations that may change or go.
#[api]
pub struct ExperimentalMigrationOptions {
    /// How a migration is noticed that gets nowhere.
    pub stall_detector: Option<StallDetectorOptions>,
    /// How memory is compressed on its way: none (default) or zstd.
    pub compression: Option<MigrationCompression>,
}

/// How machines migrate.
#[api]
pub struct MigrationConfiguration {
    /// The taint that drains a node. Default: kubevirt.io/drain.
    pub node_drain_taint_key: Option<String>,
    /// How many machines leave a node at once. Default: 2.
    pub parallel_outbound_migrations_per_node: Option<u32>,
    /// How many migrations run at once. Default: 5.
    pub parallel_migrations_per_cluster: Option<u32>,
    /// Whether a guest is slowed down that writes faster than is copied. Default: false.
    pub allow_auto_converge: Option<bool>,
    /// How much a migration may send, in bytes a second. 0 (default): no limit.
    pub bandwidth_per_migration: Option<Quantity>,
    /// How many seconds a migration may take for each GiB of memory. Default: 150.
    #[api(name = "completionTimeoutPerGiB")]
    pub completion_timeout_per_gib: Option<i64>,
    /// How many milliseconds the guest may stand still at the switch; from 1 to 2000000. Default: 900.
    #[api(minimum = 1, maximum = 2_000_000)]
    pub max_downtime_ms: Option<u64>,
    /// After how many seconds without progress a migration is aborted. Default: 150.
    pub progress_timeout: Option<i64>,
    /// How many seconds a migration waits for utility volumes to be detached. Default: 150.
    pub utility_volumes_timeout: Option<i64>,
    /// Whether to migrate although a disk's cache makes it unsafe. Default: false.
    pub unsafe_migration_override: Option<bool>,
    /// Whether the guest may go on at the target while its memory follows; if the network fails then, the guest is lost.
    /// Default: false.
    pub allow_post_copy: Option<bool>,
    /// Whether the guest may be paused or slowed down for a migration to come to an end. Default: as allowPostCopy.
    pub allow_workload_disruption: Option<bool>,
    /// Whether memory travels without encryption. Default: false.
    #[api(name = "disableTLS")]
    pub disable_tls: Option<bool>,
    /// The NetworkAttachmentDefinition, in the platform's namespace, that migrations travel. Unset: the pod network.
    pub network: Option<String>,
    /// Whether the target's launcher has the SELinux level of the source's. Default: true.
    #[api(name = "matchSELinuxLevelOnMigration")]
    pub match_selinux_level_on_migration: Option<bool>,
}

/// How the images of container disks are looked at.
#[api]
pub struct DiskVerification {
    /// How much memory that may take, in bytes. Default: 2000Mi.
    #[api(required)]
    pub memory_limit: Option<Quantity>,
}

/// Feature gates, and settings for development and tests.
#[api]
pub struct DeveloperConfiguration {
    /// Features that are switched on.
    #[api(list = "atomic")]
    pub feature_gates: Vec<String>,
    /// Features that are switched off although they are on by default.
    #[api(list = "atomic")]
    pub disabled_feature_gates: Vec<String>,
    /// By how many percent a host disk may be smaller than its claim. Default: 10.
    #[api(format = "")]
    pub pvc_tolerate_less_space_up_to_percent: i64,
    /// How many bytes a host disk leaves free on its file system. Default: 131072.
    #[api(name = "minimumReservePVCBytes")]
    pub minimum_reserve_pvc_bytes: u64,
    /// How many percent of the requested memory the guest gets; more than 100 packs nodes tighter. At least 10; default: 100.
    #[api(format = "", minimum = 10)]
    pub memory_overcommit: i64,
    /// Labels that nodes must have to run machines.
    pub node_selectors: BTreeMap<String, String>,
    /// Whether machines run without hardware virtualization where there is none; slow. Default: false.
    pub use_emulation: bool,
    /// How many virtual CPUs share a physical one. Default: 10.
    #[api(format = "")]
    pub cpu_allocation_ratio: i64,
    /// The frequency of the time stamp counter, in hertz, that machines are given which need one. Unset: the lowest of the
    /// nodes.
    #[api(name = "minimumClusterTSCFrequency")]
    pub minimum_cluster_tsc_frequency: Option<i64>,
    /// How the images of container disks are looked at.
    pub disk_verification: Option<DiskVerification>,
    /// How much components log.
    pub log_verbosity: Option<LogVerbosity>,
    /// Whether the profiler can be started. Default: false.
    pub cluster_profiler: bool,
}

/// How much components log, from 1 to 9. Default: 2.
#[api]
pub struct LogVerbosity {
    /// The API server.
    #[api(name = "virtAPI", format = "")]
    pub virt_api: u64,
    /// The controller.
    #[api(format = "")]
    pub virt_controller: u64,
    /// The component on each node.
    #[api(format = "")]
    pub virt_handler: u64,
    /// Launchers.
    #[api(format = "")]
    pub virt_launcher: u64,
    /// The operator.
    #[api(format = "")]
    pub virt_operator: u64,
    /// The component for migrations between clusters.
    #[api(format = "")]
    pub virt_synchronization_controller: u64,
    /// The component on single nodes, by their names.
    #[api(format = "")]
    pub node_verbosity: BTreeMap<String, u64>,
}

/// Devices of nodes that machines may have.
#[api]
pub struct PermittedHostDevices {
    /// PCI devices.
    #[api(list = "atomic")]
    pub pci_host_devices: Vec<PciHostDevice>,
    /// Mediated devices.
    #[api(list = "atomic")]
    pub mediated_devices: Vec<MediatedHostDevice>,
    /// USB devices.
    #[api(list = "atomic")]
    pub usb: Vec<UsbHostDevice>,
}

/// A group of USB devices.
#[api]
pub struct UsbHostDevice {
    /// The resource that machines ask for, such as vendor.com/name.
    #[api(required)]
    pub resource_name: String,
    /// The devices that are given together.
    #[api(list = "atomic")]
    pub selectors: Vec<UsbSelector>,
    /// Whether another device plugin offers the resource. Default: false.
    pub external_resource_provider: bool,
}

/// A USB device.
#[api]
pub struct UsbSelector {
    /// Its vendor, in hexadecimal.
    #[api(required)]
    pub vendor: String,
    /// Its product, in hexadecimal.
    #[api(required)]
    pub product: String,
}

/// A kind of PCI device.
#[api]
pub struct PciHostDevice {
    /// Vendor and product, in hexadecimal: 10DE:1EB8.
    #[api(required)]
    pub pci_vendor_selector: String,
    /// The resource that machines ask for, such as vendor.com/name.
    #[api(required)]
    pub resource_name: String,
    /// Whether another device plugin offers the resource. Default: false.
    pub external_resource_provider: bool,
}

/// A kind of mediated device.
#[api]
pub struct MediatedHostDevice {
    /// The name of its type: GRID T4-1Q.
    #[api(required)]
    pub mdev_name_selector: String,
    /// The resource that machines ask for, such as vendor.com/name.
    #[api(required)]
    pub resource_name: String,
    /// Whether another device plugin offers the resource. Default: false.
    pub external_resource_provider: bool,
}

/// Mediated devices that are made on nodes.
#[api]
pub struct MediatedDevicesConfiguration {
    /// Deprecated: the same as mediatedDeviceTypes.
    #[api(list = "atomic")]
    pub mediated_devices_types: Vec<String>,
    /// The types that are made, such as nvidia-222.
    #[api(list = "atomic")]
    pub mediated_device_types: Vec<String>,
    /// Other types for some nodes.
    #[api(list = "atomic")]
    pub node_mediated_device_types: Vec<NodeMediatedDeviceTypesConfig>,
    /// Whether devices are made and removed. Default: true.
    pub enabled: Option<bool>,
}

/// Types of mediated devices for some nodes.
#[api]
pub struct NodeMediatedDeviceTypesConfig {
    /// The nodes, by their labels.
    #[api(required)]
    pub node_selector: BTreeMap<String, String>,
    /// Deprecated: the same as mediatedDeviceTypes.
    #[api(list = "atomic")]
    pub mediated_devices_types: Vec<String>,
    /// The types that are made.
    #[api(always, list = "atomic")]
    pub mediated_device_types: Vec<String>,
}

/// Merging of equal pages of memory.
#[api]
pub struct KsmConfiguration {
    /// The nodes, by their labels. Empty: all.
    pub node_label_selector: Option<LabelSelector>,
}

/// How interfaces reach their networks.
#[api]
pub struct NetworkConfiguration {
    /// The binding of an interface that names none: bridge (default) or masquerade.
    pub default_network_interface: String,
    /// Gone; has no effect.
    pub permit_slirp_interface: Option<bool>,
    /// Whether an interface may be bridged to the pod network. Default: true.
    pub permit_bridge_interface_on_pod_network: Option<bool>,
    /// Bindings that others bring, by name.
    pub binding: BTreeMap<String, InterfaceBindingPlugin>,
}

/// A binding that others bring.
#[api]
pub struct InterfaceBindingPlugin {
    /// The image that runs beside the launcher and changes the domain.
    pub sidecar_image: String,
    /// The NetworkAttachmentDefinition that prepares the pod: name, or namespace/name.
    pub network_attachment_definition: String,
    /// How the domain is plugged in: tap or managedTap. Unset: the sidecar sees to it.
    pub domain_attachment_type: DomainAttachmentType,
    /// How the interface migrates. Unset: the machine cannot.
    pub migration: Option<InterfaceBindingMigration>,
    /// What the sidecar is told of its devices: device-info.
    #[api(name = "downwardAPI")]
    pub downward_api: NetworkBindingDownwardApiType,
    /// What the binding needs beside the guest.
    pub compute_resource_overhead: Option<ResourceRequirementsWithoutClaims>,
}

/// Requests and limits of a container.
#[api]
pub struct ResourceRequirementsWithoutClaims {
    /// What it may at most use.
    pub limits: BTreeMap<String, Quantity>,
    /// What must be free on the node.
    pub requests: BTreeMap<String, Quantity>,
}

/// How a domain is plugged into its pod's network.
#[api]
pub enum DomainAttachmentType {
    Tap = "tap",
    ManagedTap = "managedTap",
}

/// What a binding is told.
#[api]
pub enum NetworkBindingDownwardApiType {
    DeviceInfo = "device-info",
}

/// How an interface migrates.
#[api]
pub struct InterfaceBindingMigration {
    /// link-refresh: the link goes down and up, so that the guest asks for its address again. Unset: nothing is done.
    pub method: MigrationMethod,
}

/// How an interface migrates.
#[api]
pub enum MigrationMethod {
    LinkRefresh = "link-refresh",
}

/// The guest agent is asked whether it is there.
#[api]
pub struct GuestAgentPing {}

/// What a profiler recorded.
#[api]
pub struct ProfilerResult {
    /// The profiles by name, in the form of pprof.
    pub pprof_data: BTreeMap<String, crate::Bytes>,
}

/// What the profilers of the components recorded.
#[api]
pub struct ClusterProfilerResults {
    /// The records by pod.
    #[api(required)]
    pub component_results: BTreeMap<String, ProfilerResult>,
    /// What to ask for the next page with.
    pub continue_: String,
}

/// Which records of profilers are asked for.
#[api]
pub struct ClusterProfilerRequest {
    /// The pods, by their labels.
    pub label_selector: String,
    /// What the last page said.
    pub continue_: String,
    /// How many pods a page has.
    #[api(required)]
    pub page_size: i64,
}

/// What happens when the labels of a volume name nothing.
#[api]
pub enum InferFromVolumeFailurePolicy {
    Reject = "Reject",
    Ignore = "Ignore",
}

/// The instance type of a machine: by name, or by the labels of a volume.
#[api]
pub struct InstancetypeMatcher {
    /// Its name.
    pub name: String,
    /// VirtualMachineClusterInstancetype (default) or VirtualMachineInstancetype.
    pub kind: String,
    /// The ControllerRevision that keeps it as it was. Set by the platform.
    pub revision_name: String,
    /// The volume whose labels name it.
    pub infer_from_volume: String,
    /// What happens when the labels name none: Reject (default) or Ignore.
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

/// The preference of a machine: by name, or by the labels of a volume.
#[api]
pub struct PreferenceMatcher {
    /// Its name.
    pub name: String,
    /// VirtualMachineClusterPreference (default) or VirtualMachinePreference.
    pub kind: String,
    /// The ControllerRevision that keeps it as it was. Set by the platform.
    pub revision_name: String,
    /// The volume whose labels name it.
    pub infer_from_volume: String,
    /// What happens when the labels name none: Reject (default) or Ignore.
    pub infer_from_volume_failure_policy: Option<InferFromVolumeFailurePolicy>,
}

/// How much CPU and memory a running machine can be given.
#[api]
pub struct LiveUpdateConfiguration {
    /// How many times what it started with. Default: 4.
    pub max_hotplug_ratio: u32,
    /// The most sockets. Unset: the ratio decides.
    pub max_cpu_sockets: Option<u32>,
    /// The most memory, in bytes. Unset: the ratio decides.
    pub max_guest: Option<Quantity>,
}

/// Persistent reservations of LUNs.
#[api]
pub struct PersistentReservationConfiguration {
    /// Whether machines may make them; a helper runs on each node then. Default: false.
    #[api(nullable)]
    pub enabled: Option<bool>,
}
