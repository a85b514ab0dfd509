use crate::api;
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, TypedLocalObjectReference, TypedObjectReference, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};

#[api]
pub struct DataVolume {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: DataVolumeSpec,
    #[api(always)]
    pub status: DataVolumeStatus,
}

#[api]
pub struct DataVolumeSpec {
    pub source: Option<DataVolumeSource>,
    pub source_ref: Option<DataVolumeSourceRef>,
    pub pvc: Option<PersistentVolumeClaimSpec>,
    pub storage: Option<StorageSpec>,
    pub priority_class_name: String,
    pub content_type: DataVolumeContentType,
    pub checkpoints: Vec<DataVolumeCheckpoint>,
    pub final_checkpoint: bool,
    pub preallocation: Option<bool>,
}

#[api]
pub struct StorageSpec {
    pub access_modes: Vec<String>,
    pub selector: Option<LabelSelector>,
    #[api(always)]
    pub resources: VolumeResourceRequirements,
    pub volume_name: String,
    pub storage_class_name: Option<String>,
    pub volume_mode: Option<String>,
    pub data_source: Option<TypedLocalObjectReference>,
    pub data_source_ref: Option<TypedObjectReference>,
}

#[api]
pub struct DataVolumeCheckpoint {
    #[api(required)]
    pub previous: String,
    #[api(required)]
    pub current: String,
}

#[api(closed)]
pub enum DataVolumeContentType {
    Kubevirt = "kubevirt",
    Archive = "archive",
}

#[api]
pub struct DataVolumeSource {
    pub http: Option<DataVolumeSourceHttp>,
    pub s3: Option<DataVolumeSourceS3>,
    pub gcs: Option<DataVolumeSourceGcs>,
    pub registry: Option<DataVolumeSourceRegistry>,
    pub pvc: Option<DataVolumeSourcePvc>,
    pub upload: Option<DataVolumeSourceUpload>,
    pub blank: Option<DataVolumeBlankImage>,
    pub imageio: Option<DataVolumeSourceImageIo>,
    pub vddk: Option<DataVolumeSourceVddk>,
    pub snapshot: Option<DataVolumeSourceSnapshot>,
}

#[api]
pub struct DataVolumeSourcePvc {
    #[api(required)]
    pub namespace: String,
    #[api(required)]
    pub name: String,
}

#[api]
pub struct DataVolumeSourceSnapshot {
    #[api(required)]
    pub namespace: String,
    #[api(required)]
    pub name: String,
}

#[api]
pub struct DataVolumeBlankImage {}

#[api]
pub struct DataVolumeSourceUpload {}

#[api]
pub struct DataVolumeSourceS3 {
    #[api(required)]
    pub url: String,
    pub secret_ref: String,
    pub cert_config_map: String,
}

#[api]
pub struct DataVolumeSourceGcs {
    #[api(required)]
    pub url: String,
    pub secret_ref: String,
}

#[api]
pub struct DataVolumeSourceRegistry {
    pub url: Option<String>,
    pub image_stream: Option<String>,
    pub pull_method: Option<RegistryPullMethod>,
    pub secret_ref: Option<String>,
    pub cert_config_map: Option<String>,
    pub platform: Option<PlatformOptions>,
}

#[api]
pub struct PlatformOptions {
    pub architecture: String,
}

#[api]
pub enum RegistryPullMethod {
    Pod = "pod",
    Node = "node",
}

#[api]
pub struct DataVolumeSourceHttp {
    #[api(required)]
    pub url: String,
    pub secret_ref: String,
    pub cert_config_map: String,
    pub extra_headers: Vec<String>,
    pub secret_extra_headers: Vec<String>,
}

#[api]
pub struct DataVolumeSourceImageIo {
    #[api(required)]
    pub url: String,
    #[api(required)]
    pub disk_id: String,
    pub secret_ref: String,
    pub cert_config_map: String,
    pub insecure_skip_verify: Option<bool>,
}

#[api]
pub struct DataVolumeSourceVddk {
    pub url: String,
    pub uuid: String,
    pub backing_file: String,
    pub thumbprint: String,
    pub secret_ref: String,
    #[api(name = "initImageURL")]
    pub init_image_url: String,
    pub extra_args: String,
}

#[api]
pub struct DataVolumeSourceRef {
    #[api(required)]
    pub kind: String,
    pub namespace: Option<String>,
    #[api(required)]
    pub name: String,
}

#[api]
pub struct DataVolumeStatus {
    pub claim_name: String,
    pub phase: DataVolumePhase,
    pub progress: String,
    pub restart_count: i32,
    pub conditions: Vec<DataVolumeCondition>,
}

#[api]
pub struct DataVolumeCondition {
    #[api(required)]
    pub type_: DataVolumeConditionType,
    #[api(required)]
    pub status: String,
    pub last_transition_time: Option<Time>,
    pub last_heartbeat_time: Option<Time>,
    pub reason: String,
    pub message: String,
}

#[api]
pub enum DataVolumePhase {
    Pending = "Pending",
    PvcBound = "PVCBound",
    ImportScheduled = "ImportScheduled",
    ImportInProgress = "ImportInProgress",
    CloneScheduled = "CloneScheduled",
    CloneInProgress = "CloneInProgress",
    SnapshotForSmartCloneInProgress = "SnapshotForSmartCloneInProgress",
    CloneFromSnapshotSourceInProgress = "CloneFromSnapshotSourceInProgress",
    SmartClonePvcInProgress = "SmartClonePVCInProgress",
    CsiCloneInProgress = "CSICloneInProgress",
    ExpansionInProgress = "ExpansionInProgress",
    NamespaceTransferInProgress = "NamespaceTransferInProgress",
    UploadScheduled = "UploadScheduled",
    UploadReady = "UploadReady",
    WaitForFirstConsumer = "WaitForFirstConsumer",
    PendingPopulation = "PendingPopulation",
    Succeeded = "Succeeded",
    Failed = "Failed",
    Unknown = "Unknown",
    Paused = "Paused",
    PrepClaimInProgress = "PrepClaimInProgress",
    RebindInProgress = "RebindInProgress",
}

#[api]
pub enum DataVolumeConditionType {
    Ready = "Ready",
    Bound = "Bound",
    Running = "Running",
}
