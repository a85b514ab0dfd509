//! What is asked of machines through the aggregated API, and what it answers.

use std::collections::BTreeMap;

use crate::{
    Duration, Quantity, api,
    v1::{Disk, ExperimentalMigrationOptions, HotplugVolumeSource, VirtualMachineInstanceGuestOsInfo},
};
use k8s_openapi::api::core::v1::TypedObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// How a machine is restarted.
#[api]
pub struct RestartOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// How many seconds the guest has to shut down; only 0 is possible: at once. Unset: as the machine says.
    pub grace_period_seconds: Option<i64>,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a machine is started.
#[api]
pub struct StartOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Whether the guest stands still until it is unpaused.
    pub paused: bool,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a machine is paused.
#[api]
pub struct PauseOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a machine goes on.
#[api]
pub struct UnpauseOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a machine is stopped.
#[api]
pub struct StopOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// How many seconds the guest has to shut down. Unset: as the machine says.
    pub grace_period: Option<i64>,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a machine migrates.
#[api]
pub struct MigrateOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
    /// Labels that the target node must have beyond what the machine wants.
    pub added_node_selector: BTreeMap<String, String>,
}

/// Which evacuation is called off.
#[api]
pub struct EvacuateCancelOptions {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
    /// The node that the machine should leave. Empty: whichever it is.
    #[api(required)]
    pub evacuation_node_name: String,
}

/// What the guest agent says.
#[api]
pub struct VirtualMachineInstanceGuestAgentInfo {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The version of the agent.
    pub guest_agent_version: String,
    /// The commands that it knows.
    #[api(list = "atomic")]
    pub supported_commands: Vec<GuestAgentCommandInfo>,
    /// The name of the guest.
    pub hostname: String,
    /// The operating system.
    #[api(always)]
    pub os: VirtualMachineInstanceGuestOsInfo,
    /// The time zone.
    pub timezone: String,
    /// Who is logged in.
    pub user_list: Vec<VirtualMachineInstanceGuestOsUser>,
    /// The file systems.
    #[api(always)]
    pub fs_info: VirtualMachineInstanceFileSystemInfo,
    /// frozen while file systems stand still.
    pub fs_freeze_status: String,
}

/// A command of the guest agent.
#[api]
pub struct GuestAgentCommandInfo {
    /// Its name.
    #[api(required)]
    pub name: String,
    /// Whether it may be used.
    pub enabled: bool,
}

/// Someone who is logged in to the guest.
#[api]
pub struct VirtualMachineInstanceGuestOsUser {
    /// The name.
    #[api(required)]
    pub user_name: String,
    /// The domain, on Windows.
    pub domain: String,
    /// Since when, in seconds since 1970.
    pub login_time: f64,
}

/// The file systems of the guest.
#[api]
pub struct VirtualMachineInstanceFileSystemInfo {
    /// The file systems.
    #[api(required)]
    pub disks: Vec<VirtualMachineInstanceFileSystem>,
}

/// A disk that holds a file system.
#[api]
pub struct VirtualMachineInstanceFileSystemDisk {
    /// Its serial number.
    pub serial: String,
    /// What it is plugged into.
    #[api(required)]
    pub bus_type: String,
}

/// A file system of the guest.
#[api]
pub struct VirtualMachineInstanceFileSystem {
    /// The block device.
    #[api(required)]
    pub disk_name: String,
    /// Where it is mounted.
    #[api(required)]
    pub mount_point: String,
    /// Its type, such as ext4.
    #[api(required)]
    pub file_system_type: String,
    /// How much is used, in bytes.
    #[api(required)]
    pub used_bytes: i64,
    /// How large it is, in bytes.
    #[api(required)]
    pub total_bytes: i64,
    /// The disks that hold it.
    pub disk: Vec<VirtualMachineInstanceFileSystemDisk>,
}

/// How long file systems stand still.
#[api]
pub struct FreezeUnfreezeTimeout {
    /// After how long they go on by themselves; 0s: never.
    #[api(required)]
    pub unfreeze_timeout: Option<Duration>,
}

/// A volume that is attached.
#[api]
pub struct AddVolumeOptions {
    /// The name of volume and disk.
    #[api(required)]
    pub name: String,
    /// The disk.
    #[api(required)]
    pub disk: Option<Disk>,
    /// Where the volume comes from.
    #[api(required)]
    pub volume_source: Option<HotplugVolumeSource>,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// How a picture of the screen is taken.
#[api]
pub struct ScreenshotOptions {
    /// Whether the pointer is moved first, to wake the screen.
    #[api(required)]
    pub move_cursor: bool,
}

/// What a VSOCK connection goes to.
#[api]
pub struct VsockOptions {
    /// The port in the guest.
    #[api(required)]
    pub target_port: u32,
    /// Whether the connection is encrypted. Default: true.
    #[api(name = "useTLS")]
    pub use_tls: Option<bool>,
}

/// A volume that is detached.
#[api]
pub struct RemoveVolumeOptions {
    /// The name of the volume.
    #[api(required)]
    pub name: String,
    /// All, to check the request without carrying it out.
    #[api(list = "atomic")]
    pub dry_run: Vec<String>,
}

/// The settings of a migration: those of the cluster, changed by a policy.
#[api]
pub struct VmimConfigurationOptions {
    /// The taint that drains a node.
    pub node_drain_taint_key: Option<String>,
    /// How many machines leave a node at once.
    pub parallel_outbound_migrations_per_node: Option<u32>,
    /// How many migrations run at once.
    pub parallel_migrations_per_cluster: Option<u32>,
    /// Whether a guest is slowed down that writes faster than is copied.
    pub allow_auto_converge: Option<bool>,
    /// How much it may send, in bytes a second. 0: no limit.
    pub bandwidth_per_migration: Option<Quantity>,
    /// How many seconds it may take for each GiB of memory.
    #[api(name = "completionTimeoutPerGiB")]
    pub completion_timeout_per_gib: Option<i64>,
    /// How many milliseconds the guest may stand still at the switch; from 1 to 2000000.
    #[api(minimum = 1, maximum = 2_000_000)]
    pub max_downtime_ms: Option<u64>,
    /// After how many seconds without progress it is aborted.
    pub progress_timeout: Option<i64>,
    /// How many seconds it waits for utility volumes to be detached.
    pub utility_volumes_timeout: Option<i64>,
    /// Whether it runs although a disk's cache makes it unsafe.
    pub unsafe_migration_override: Option<bool>,
    /// Whether the guest may go on at the target while its memory follows.
    pub allow_post_copy: Option<bool>,
    /// Whether the guest may be paused or slowed down for it to come to an end.
    pub allow_workload_disruption: Option<bool>,
    /// Whether memory travels without encryption.
    #[api(name = "disableTLS")]
    pub disable_tls: Option<bool>,
    /// The NetworkAttachmentDefinition that it travels.
    pub network: Option<String>,
    /// Whether the target's launcher has the SELinux level of the source's.
    #[api(name = "matchSELinuxLevelOnMigration")]
    pub match_selinux_level_on_migration: Option<bool>,
    /// Settings that may change or go.
    pub experimental: Option<ExperimentalMigrationOptions>,
}

/// What the processor says of itself, for SEV.
#[api]
pub struct SevPlatformInfo {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The platform's Diffie-Hellman key, base64.
    pub pdh: String,
    /// The certificates of the platform, base64.
    pub cert_chain: String,
}

/// What the processor measured, for SEV.
#[api]
pub struct SevMeasurementInfo {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The measurement, base64.
    pub measurement: String,
    /// The version of the firmware's interface.
    pub api_major: u32,
    /// The version of the firmware's interface, after the dot.
    pub api_minor: u32,
    /// The build of the firmware.
    #[api(name = "buildID")]
    pub build_id: u32,
    /// What the processor enforces, as bits.
    pub policy: u32,
    /// The SHA-256 of the loader.
    #[api(name = "loaderSHA")]
    pub loader_sha: String,
}

/// What the owner of a SEV machine starts the session with.
#[api]
pub struct SevSessionOptions {
    /// The session blob, base64.
    pub session: String,
    /// The Diffie-Hellman certificate, base64.
    pub dh_cert: String,
}

/// A secret that is injected into a SEV machine.
#[api]
pub struct SevSecretOptions {
    /// Its header, base64.
    pub header: String,
    /// The secret, encrypted, base64.
    pub secret: String,
}

/// An object that a machine depends on, with what that depends on.
#[api]
pub struct ObjectGraphNode {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// The object.
    #[api(required)]
    pub object_reference: TypedObjectReference,
    /// What kind of dependency it is.
    pub labels: BTreeMap<String, String>,
    /// Whether the machine can do without it.
    pub optional: Option<bool>,
    /// What it depends on: nodes again.
    #[api(recursive)]
    pub children: Vec<ObjectGraphNode>,
}

/// What the graph of a machine's objects shows.
#[api]
pub struct ObjectGraphOptions {
    /// Whether objects that it can do without are shown. Default: true.
    pub include_optional_nodes: Option<bool>,
    /// Objects by their labels.
    pub label_selector: Option<LabelSelector>,
}
