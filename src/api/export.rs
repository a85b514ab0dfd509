use crate::{Duration, api};
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

#[api]
pub struct VirtualMachineExport {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineExportSpec,
    pub status: Option<VirtualMachineExportStatus>,
}

#[api]
pub struct VirtualMachineExportSpec {
    #[api(required)]
    pub source: TypedLocalObjectReference,
    pub token_secret_ref: Option<String>,
    pub ttl_duration: Option<Duration>,
}

#[api]
pub enum VirtualMachineExportPhase {
    Pending = "Pending",
    Ready = "Ready",
    Terminated = "Terminated",
    Skipped = "Skipped",
}

#[api]
pub struct VirtualMachineExportStatus {
    pub phase: VirtualMachineExportPhase,
    pub links: Option<VirtualMachineExportLinks>,
    pub token_secret_ref: Option<String>,
    pub ttl_expiration_time: Option<Time>,
    pub service_name: String,
    pub virtual_machine_name: Option<String>,
    #[api(list = "atomic")]
    pub conditions: Vec<Condition>,
}

#[api]
pub struct VirtualMachineExportLinks {
    pub internal: Option<VirtualMachineExportLink>,
    pub external: Option<VirtualMachineExportLink>,
}

#[api]
pub struct VirtualMachineExportLink {
    #[api(required)]
    pub cert: String,
    #[api(list = "map", key = "name")]
    pub volumes: Vec<VirtualMachineExportVolume>,
    #[api(list = "map", key = "name")]
    pub backups: Vec<VirtualMachineExportBackup>,
    #[api(list = "map", key = "type")]
    pub manifests: Vec<VirtualMachineExportManifest>,
}

#[api]
pub struct VirtualMachineExportManifest {
    #[api(required)]
    pub type_: ExportManifestType,
    #[api(required)]
    pub url: String,
}

#[api]
pub enum ExportManifestType {
    All = "all",
    AuthHeaderSecret = "auth-header-secret",
    Oci = "oci",
}

#[api]
pub struct VirtualMachineExportVolume {
    #[api(required)]
    pub name: String,
    #[api(list = "map", key = "format")]
    pub formats: Vec<VirtualMachineExportVolumeFormat>,
}

#[api]
pub enum ExportVolumeFormat {
    Raw = "raw",
    Gzip = "gzip",
    Dir = "dir",
    ArchiveGz = "tar.gz",
}

#[api]
pub struct VirtualMachineExportVolumeFormat {
    #[api(required)]
    pub format: ExportVolumeFormat,
    #[api(required)]
    pub url: String,
}

#[api]
pub struct VirtualMachineExportBackup {
    #[api(required)]
    pub name: String,
    #[api(list = "map", key = "endpoint")]
    pub endpoints: Vec<VirtualMachineExportBackupEndpoint>,
}

#[api]
pub enum ExportBackupEndpoint {
    Map = "map",
    Data = "data",
}

#[api]
pub struct VirtualMachineExportBackupEndpoint {
    #[api(required)]
    pub endpoint: ExportBackupEndpoint,
    #[api(required)]
    pub url: String,
}

#[api]
pub enum ConditionType {
    Ready = "Ready",
    PvcReady = "PVCReady",
    VolumesCreated = "VolumesCreated",
    OciReady = "OCIReady",
}

#[api]
pub struct Condition {
    #[api(required)]
    pub type_: ConditionType,
    #[api(required)]
    pub status: String,
    #[api(nullable)]
    pub last_probe_time: Option<Time>,
    #[api(nullable)]
    pub last_transition_time: Option<Time>,
    pub reason: String,
    pub message: String,
}
