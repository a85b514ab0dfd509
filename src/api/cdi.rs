//! The part of the group `cdi.kubevirt.io` that virtual machines use: DataVolumes, claims that are filled.

use crate::api;
use k8s_openapi::api::core::v1::{PersistentVolumeClaimSpec, TypedLocalObjectReference, TypedObjectReference, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, Time};

/// A claim that the Containerized Data Importer makes and fills.
#[api]
pub struct DataVolume {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What it is filled with, and how large it is.
    #[api(required)]
    pub spec: DataVolumeSpec,
    /// How far it has come.
    #[api(always)]
    pub status: DataVolumeStatus,
}

/// What a DataVolume is filled with, and how large it is.
#[api]
pub struct DataVolumeSpec {
    /// What it is filled with.
    pub source: Option<DataVolumeSource>,
    /// What it is filled with, by reference to a DataSource; instead of source.
    pub source_ref: Option<DataVolumeSourceRef>,
    /// The claim; pvc or storage must be given.
    pub pvc: Option<PersistentVolumeClaimSpec>,
    /// The claim, where what is left out is taken from what the storage class can do.
    pub storage: Option<StorageSpec>,
    /// The priority class of the pods that fill it.
    pub priority_class_name: String,
    /// kubevirt (default; a disk image) or archive (a file tree).
    pub content_type: DataVolumeContentType,
    /// The steps of an import that goes on while its source runs.
    pub checkpoints: Vec<DataVolumeCheckpoint>,
    /// Whether the last of them is the last one.
    pub final_checkpoint: bool,
    /// Whether the image fills the claim from the start.
    pub preallocation: Option<bool>,
}

/// A claim, where what is left out is taken from what the storage class can do.
#[api]
pub struct StorageSpec {
    /// How nodes may mount the volume. Unset: the best that the class can do.
    pub access_modes: Vec<String>,
    /// Which existing volumes will do, by their labels.
    pub selector: Option<LabelSelector>,
    /// How much storage is asked for. What the file system needs is added.
    #[api(always)]
    pub resources: VolumeResourceRequirements,
    /// The volume that the claim is bound to.
    pub volume_name: String,
    /// The class that makes the volume. Unset: the default class for machines, else the default class.
    pub storage_class_name: Option<String>,
    /// Filesystem or Block. Unset: the best that the class can do.
    pub volume_mode: Option<String>,
    /// What the volume starts with, of the same namespace.
    pub data_source: Option<TypedLocalObjectReference>,
    /// What the volume starts with, of any kind.
    pub data_source_ref: Option<TypedObjectReference>,
}

/// A step of an import that goes on while its source runs.
#[api]
pub struct DataVolumeCheckpoint {
    /// The snapshot that the step starts from. Empty: none.
    #[api(required)]
    pub previous: String,
    /// The snapshot that it goes to.
    #[api(required)]
    pub current: String,
}

/// What a DataVolume holds.
#[api(closed)]
pub enum DataVolumeContentType {
    Kubevirt = "kubevirt",
    Archive = "archive",
}

/// What a DataVolume is filled with; exactly one.
#[api]
pub struct DataVolumeSource {
    /// A file from a web server.
    pub http: Option<DataVolumeSourceHttp>,
    /// An object from S3.
    pub s3: Option<DataVolumeSourceS3>,
    /// An object from Google Cloud Storage.
    pub gcs: Option<DataVolumeSourceGcs>,
    /// A disk image in a container image.
    pub registry: Option<DataVolumeSourceRegistry>,
    /// A copy of another claim.
    pub pvc: Option<DataVolumeSourcePvc>,
    /// What a client uploads.
    pub upload: Option<DataVolumeSourceUpload>,
    /// An empty disk.
    pub blank: Option<DataVolumeBlankImage>,
    /// A disk from oVirt.
    pub imageio: Option<DataVolumeSourceImageIo>,
    /// A disk from VMware.
    pub vddk: Option<DataVolumeSourceVddk>,
    /// A copy of a VolumeSnapshot.
    pub snapshot: Option<DataVolumeSourceSnapshot>,
}

/// Another claim.
#[api]
pub struct DataVolumeSourcePvc {
    /// Its namespace.
    #[api(required)]
    pub namespace: String,
    /// Its name.
    #[api(required)]
    pub name: String,
}

/// A VolumeSnapshot.
#[api]
pub struct DataVolumeSourceSnapshot {
    /// Its namespace.
    #[api(required)]
    pub namespace: String,
    /// Its name.
    #[api(required)]
    pub name: String,
}

/// An empty disk.
#[api]
pub struct DataVolumeBlankImage {}

/// What a client uploads.
#[api]
pub struct DataVolumeSourceUpload {}

/// An object from S3.
#[api]
pub struct DataVolumeSourceS3 {
    /// The URL of the object.
    #[api(required)]
    pub url: String,
    /// The secret with accessKeyId and secretKey.
    pub secret_ref: String,
    /// The ConfigMap with the authorities to trust.
    pub cert_config_map: String,
}

/// An object from Google Cloud Storage.
#[api]
pub struct DataVolumeSourceGcs {
    /// The URL of the object.
    #[api(required)]
    pub url: String,
    /// The secret with the credentials.
    pub secret_ref: String,
}

/// A disk image in a container image.
#[api]
pub struct DataVolumeSourceRegistry {
    /// The image: docker://…, or oci-archive://….
    pub url: Option<String>,
    /// The image stream, on OpenShift; instead of url.
    pub image_stream: Option<String>,
    /// Who pulls it: pod (default) or node.
    pub pull_method: Option<RegistryPullMethod>,
    /// The secret with accessKeyId and secretKey.
    pub secret_ref: Option<String>,
    /// The ConfigMap with the authorities to trust.
    pub cert_config_map: Option<String>,
    /// Which variant of the image.
    pub platform: Option<PlatformOptions>,
}

/// Which variant of an image.
#[api]
pub struct PlatformOptions {
    /// The architecture.
    pub architecture: String,
}

/// Who pulls an image.
#[api]
pub enum RegistryPullMethod {
    Pod = "pod",
    Node = "node",
}

/// A file from a web server.
#[api]
pub struct DataVolumeSourceHttp {
    /// The URL of the file.
    #[api(required)]
    pub url: String,
    /// The secret with accessKeyId (user) and secretKey (password).
    pub secret_ref: String,
    /// The ConfigMap with the authorities to trust.
    pub cert_config_map: String,
    /// Further headers of the request.
    pub extra_headers: Vec<String>,
    /// Secrets with further headers of the request.
    pub secret_extra_headers: Vec<String>,
}

/// A disk from oVirt.
#[api]
pub struct DataVolumeSourceImageIo {
    /// The URL of the engine.
    #[api(required)]
    pub url: String,
    /// The disk.
    #[api(required)]
    pub disk_id: String,
    /// The secret with accessKeyId (user) and secretKey (password).
    pub secret_ref: String,
    /// The ConfigMap with the authority to trust.
    pub cert_config_map: String,
    /// Whether the certificate is not verified. Default: false.
    pub insecure_skip_verify: Option<bool>,
}

/// A disk from VMware.
#[api]
pub struct DataVolumeSourceVddk {
    /// The URL of the host.
    pub url: String,
    /// The UUID of the machine.
    pub uuid: String,
    /// The file of the disk, in its data store.
    pub backing_file: String,
    /// The fingerprint of the host's certificate.
    pub thumbprint: String,
    /// The secret with accessKeyId (user) and secretKey (password).
    pub secret_ref: String,
    /// The image with VMware's library.
    #[api(name = "initImageURL")]
    pub init_image_url: String,
    /// The ConfigMap with settings of the library.
    pub extra_args: String,
}

/// Where to find what a DataVolume is filled with.
#[api]
pub struct DataVolumeSourceRef {
    /// The kind; only DataSource.
    #[api(required)]
    pub kind: String,
    /// Its namespace. Unset: the same.
    pub namespace: Option<String>,
    /// Its name.
    #[api(required)]
    pub name: String,
}

/// How far a DataVolume has come.
#[api]
pub struct DataVolumeStatus {
    /// The claim that it made.
    pub claim_name: String,
    /// The phase, such as ImportInProgress or Succeeded.
    pub phase: DataVolumePhase,
    /// How many percent are done, as text. N/A: not known.
    pub progress: String,
    /// How often the pod that fills it was started again.
    pub restart_count: i32,
    /// Aspects of its state: Ready, Bound, Running.
    pub conditions: Vec<DataVolumeCondition>,
}

/// One aspect of the state of a DataVolume.
#[api]
pub struct DataVolumeCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: DataVolumeConditionType,
    /// Whether it holds: True, False or Unknown.
    #[api(required)]
    pub status: String,
    /// When the status last changed.
    pub last_transition_time: Option<Time>,
    /// When it was last looked at.
    pub last_heartbeat_time: Option<Time>,
    /// Why, as one word in CamelCase for programs.
    pub reason: String,
    /// What is the matter, for people.
    pub message: String,
}

/// How far a DataVolume has come.
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

/// The aspects of a DataVolume.
#[api]
pub enum DataVolumeConditionType {
    Ready = "Ready",
    Bound = "Bound",
    Running = "Running",
}
