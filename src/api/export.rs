//! The group `export.kubevirt.io`: disks for download.

use crate::{Duration, api};
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// Disks of a machine that stands still, a snapshot or a claim, for download.
#[api]
pub struct VirtualMachineExport {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What is exported, and for how long.
    #[api(required)]
    pub spec: VirtualMachineExportSpec,
    /// Where it can be downloaded.
    pub status: Option<VirtualMachineExportStatus>,
}

/// What is exported, and for how long. It cannot be changed.
#[api]
pub struct VirtualMachineExportSpec {
    /// A VirtualMachine, a VirtualMachineSnapshot, a PersistentVolumeClaim or a VirtualMachineBackup.
    #[api(required)]
    pub source: TypedLocalObjectReference,
    /// The secret with the token that clients show. Unset: one is made.
    pub token_secret_ref: Option<String>,
    /// How long the export is there. Default: 2h.
    pub ttl_duration: Option<Duration>,
}

/// How far an export has come.
#[api]
pub enum VirtualMachineExportPhase {
    Pending = "Pending",
    Ready = "Ready",
    Terminated = "Terminated",
    Skipped = "Skipped",
}

/// Where an export can be downloaded.
#[api]
pub struct VirtualMachineExportStatus {
    /// Pending, Ready, Terminated or Skipped.
    pub phase: VirtualMachineExportPhase,
    /// The addresses.
    pub links: Option<VirtualMachineExportLinks>,
    /// The secret with the token.
    pub token_secret_ref: Option<String>,
    /// When the export goes.
    pub ttl_expiration_time: Option<Time>,
    /// The service that it is reached by.
    pub service_name: String,
    /// The machine that is exported.
    pub virtual_machine_name: Option<String>,
    /// Aspects of its state: Ready, PVCReady, VolumesCreated, OCIReady.
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
}

/// The addresses of an export.
#[api]
pub struct VirtualMachineExportLinks {
    /// Those within the cluster.
    pub internal: Option<VirtualMachineExportLink>,
    /// Those from without.
    pub external: Option<VirtualMachineExportLink>,
}

/// The addresses of an export for one way.
#[api]
pub struct VirtualMachineExportLink {
    /// The authority that the certificate is from, PEM.
    #[api(required)]
    pub cert: String,
    /// Where each volume is.
    #[api(list = "map", key = "name")]
    pub volumes: Vec<VirtualMachineExportVolume>,
    /// Where each volume of a backup is read.
    #[api(list = "map", key = "name")]
    pub backups: Vec<VirtualMachineExportBackup>,
    /// Where the manifests are that make the machine elsewhere.
    #[api(list = "map", key = "type")]
    pub manifests: Vec<VirtualMachineExportManifest>,
}

/// Where manifests are.
#[api]
pub struct VirtualMachineExportManifest {
    /// all, auth-header-secret or oci.
    #[api(required)]
    pub type_: ExportManifestType,
    /// The URL.
    #[api(required)]
    pub url: String,
}

/// What manifests are for.
#[api]
pub enum ExportManifestType {
    All = "all",
    AuthHeaderSecret = "auth-header-secret",
    Oci = "oci",
}

/// Where a volume is.
#[api]
pub struct VirtualMachineExportVolume {
    /// The volume.
    #[api(required)]
    pub name: String,
    /// The forms that it can be downloaded in.
    #[api(list = "map", key = "format")]
    pub formats: Vec<VirtualMachineExportVolumeFormat>,
}

/// The forms of a volume.
#[api]
pub enum ExportVolumeFormat {
    Raw = "raw",
    Gzip = "gzip",
    Dir = "dir",
    ArchiveGz = "tar.gz",
}

/// A form of a volume.
#[api]
pub struct VirtualMachineExportVolumeFormat {
    /// raw, gzip, dir or tar.gz.
    #[api(required)]
    pub format: ExportVolumeFormat,
    /// The URL.
    #[api(required)]
    pub url: String,
}

/// Where a volume of a backup is read.
#[api]
pub struct VirtualMachineExportBackup {
    /// The volume.
    #[api(required)]
    pub name: String,
    /// What can be read.
    #[api(list = "map", key = "endpoint")]
    pub endpoints: Vec<VirtualMachineExportBackupEndpoint>,
}

/// What can be read of a backup.
#[api]
pub enum ExportBackupEndpoint {
    Map = "map",
    Data = "data",
}

/// Something that can be read of a backup.
#[api]
pub struct VirtualMachineExportBackupEndpoint {
    /// map (which blocks changed) or data.
    #[api(required)]
    pub endpoint: ExportBackupEndpoint,
    /// The URL.
    #[api(required)]
    pub url: String,
}

/// The aspects of an export.
#[api]
pub enum ConditionType {
    Ready = "Ready",
    PvcReady = "PVCReady",
    VolumesCreated = "VolumesCreated",
    OciReady = "OCIReady",
}

/// One aspect of the state of an export.
#[api]
pub struct Condition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: ConditionType,
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
