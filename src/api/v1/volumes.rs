//! Volumes: what disks and filesystems show.

use crate::{
    Quantity, api,
    v1::{ClaimRequest, HostDiskType, MultusNetwork, PodNetwork},
};
use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, LocalObjectReference, PersistentVolumeClaimVolumeSource as ClaimSource};

/// A disk image in a directory of the node.
#[api]
pub struct HostDisk {
    /// The path of the image on the node.
    #[api(required)]
    pub path: String,
    /// Disk: the image must be there; DiskOrCreate: it is made if it is not.
    #[api(required)]
    pub type_: HostDiskType,
    /// The size of an image that is made, in bytes.
    #[api(always)]
    pub capacity: Quantity,
    /// Whether several machines may use the image at the same time. Default: false.
    pub shared: Option<bool>,
}

/// The files of a ConfigMap, as an ISO image or a file system.
#[api(atomic)]
pub struct ConfigMapVolumeSource {
    /// The ConfigMap.
    #[api(default = "")]
    pub name: String,
    /// Whether the machine starts although the ConfigMap or its keys are missing. Default: false.
    pub optional: Option<bool>,
    /// The label of the image, at most 16 characters. Default: cfgdata.
    pub volume_label: String,
}

/// The files of a secret, as an ISO image or a file system.
#[api]
pub struct SecretVolumeSource {
    /// The secret.
    pub secret_name: String,
    /// Whether the machine starts although the secret or its keys are missing. Default: false.
    pub optional: Option<bool>,
    /// The label of the image, at most 16 characters. Default: cfgdata.
    pub volume_label: String,
}

/// Facts about the pod, as an ISO image or a file system.
#[api]
pub struct DownwardApiVolumeSource {
    /// The files, and the fact that each shows.
    pub fields: Vec<DownwardAPIVolumeFile>,
    /// The label of the image, at most 16 characters. Default: cfgdata.
    pub volume_label: String,
}

/// The token of a service account, as an ISO image or a file system.
#[api]
pub struct ServiceAccountVolumeSource {
    /// The service account. A machine has at most one.
    pub service_account_name: String,
}

/// A directory of the launcher's container, such as a token that the platform mounts there.
#[api]
pub struct ContainerPathVolumeSource {
    /// The path in the container: absolute and without "..".
    #[api(
        required,
        max_length = 4096,
        rule("self.startsWith('/')", "must begin with '/'"),
        rule("!self.contains('..')", "must not contain '..'")
    )]
    pub path: String,
    /// Whether it can only be read; nothing else is possible. Default: true.
    #[api(default = true, rule("self == true", "must be true: the files of a container can only be read"))]
    pub read_only: Option<bool>,
}

/// Figures of the node, on a small disk.
#[api]
pub struct DownwardMetricsVolumeSource {}

/// An answer file for the setup of Windows, as a CD-ROM; one of both.
#[api]
pub struct SysprepSource {
    /// The secret with the answer file.
    pub secret: Option<LocalObjectReference>,
    /// The ConfigMap with the answer file.
    pub config_map: Option<LocalObjectReference>,
}

/// Data for cloud-init in the form NoCloud, on a disk with the label cidata.
#[api]
pub struct CloudInitNoCloudSource {
    /// The secret with the user data, under the key userdata.
    pub secret_ref: Option<LocalObjectReference>,
    /// The user data in base64.
    pub user_data_base64: String,
    /// The user data as text, at most 2048 bytes. Give user data in one way only.
    pub user_data: String,
    /// The secret with the network data, under the key networkdata.
    pub network_data_secret_ref: Option<LocalObjectReference>,
    /// The network data in base64.
    pub network_data_base64: String,
    /// The network data as text, at most 2048 bytes. Give network data in one way only.
    pub network_data: String,
}

/// Data for cloud-init in the form of a config drive, on a disk with the label config-2.
#[api]
pub struct CloudInitConfigDriveSource {
    /// The secret with the user data, under the key userdata.
    pub secret_ref: Option<LocalObjectReference>,
    /// The user data in base64.
    pub user_data_base64: String,
    /// The user data as text, at most 2048 bytes. Give user data in one way only.
    pub user_data: String,
    /// The secret with the network data, under the key networkdata.
    pub network_data_secret_ref: Option<LocalObjectReference>,
    /// The network data in base64.
    pub network_data_base64: String,
    /// The network data as text, at most 2048 bytes. Give network data in one way only.
    pub network_data: String,
}

/// What a disk or a filesystem shows; exactly one source.
#[api]
pub struct Volume {
    /// The name that the disk or the filesystem refers to: a DNS label.
    #[api(required)]
    pub name: String,
    /// A disk image in a directory of the node.
    pub host_disk: Option<HostDisk>,
    /// A claim: a block device, or a file system with a disk.img in it.
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    /// Data for cloud-init in the form NoCloud.
    pub cloud_init_no_cloud: Option<CloudInitNoCloudSource>,
    /// Data for cloud-init in the form of a config drive.
    pub cloud_init_config_drive: Option<CloudInitConfigDriveSource>,
    /// An answer file for the setup of Windows.
    pub sysprep: Option<SysprepSource>,
    /// A disk image in a container image; what the guest writes is lost when the machine ends.
    pub container_disk: Option<ContainerDiskSource>,
    /// A claim that is only read; what the guest writes is lost when the machine ends.
    pub ephemeral: Option<EphemeralVolumeSource>,
    /// An empty disk that lives as long as the machine.
    pub empty_disk: Option<EmptyDiskSource>,
    /// A DataVolume: the machine waits until it is filled.
    pub data_volume: Option<DataVolumeSource>,
    /// The files of a ConfigMap.
    pub config_map: Option<ConfigMapVolumeSource>,
    /// The files of a secret.
    pub secret: Option<SecretVolumeSource>,
    /// Facts about the pod.
    #[api(name = "downwardAPI")]
    pub downward_api: Option<DownwardApiVolumeSource>,
    /// The token of a service account.
    pub service_account: Option<ServiceAccountVolumeSource>,
    /// Figures of the node.
    pub downward_metrics: Option<DownwardMetricsVolumeSource>,
    /// A claim that the memory of the guest is dumped to. Set by the platform.
    pub memory_dump: Option<MemoryDumpVolumeSource>,
    /// A directory of the launcher's container; for filesystems.
    pub container_path: Option<ContainerPathVolumeSource>,
}

/// Where a volume comes from; exactly one source.
#[api]
pub struct VolumeSource {
    /// A disk image in a directory of the node.
    pub host_disk: Option<HostDisk>,
    /// A claim.
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    /// Data for cloud-init in the form NoCloud.
    pub cloud_init_no_cloud: Option<CloudInitNoCloudSource>,
    /// Data for cloud-init in the form of a config drive.
    pub cloud_init_config_drive: Option<CloudInitConfigDriveSource>,
    /// An answer file for the setup of Windows.
    pub sysprep: Option<SysprepSource>,
    /// A disk image in a container image.
    pub container_disk: Option<ContainerDiskSource>,
    /// A claim that is only read.
    pub ephemeral: Option<EphemeralVolumeSource>,
    /// An empty disk.
    pub empty_disk: Option<EmptyDiskSource>,
    /// A DataVolume.
    pub data_volume: Option<DataVolumeSource>,
    /// The files of a ConfigMap.
    pub config_map: Option<ConfigMapVolumeSource>,
    /// The files of a secret.
    pub secret: Option<SecretVolumeSource>,
    /// Facts about the pod.
    #[api(name = "downwardAPI")]
    pub downward_api: Option<DownwardApiVolumeSource>,
    /// The token of a service account.
    pub service_account: Option<ServiceAccountVolumeSource>,
    /// Figures of the node.
    pub downward_metrics: Option<DownwardMetricsVolumeSource>,
    /// A claim that the memory of the guest is dumped to.
    pub memory_dump: Option<MemoryDumpVolumeSource>,
    /// A directory of the launcher's container.
    pub container_path: Option<ContainerPathVolumeSource>,
}

/// Where a volume comes from that is attached to a running machine; one of both.
#[api]
pub struct HotplugVolumeSource {
    /// A claim.
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    /// A DataVolume.
    pub data_volume: Option<DataVolumeSource>,
}

/// A DataVolume.
#[api]
pub struct DataVolumeSource {
    /// The DataVolume, of the same namespace. The claim that it makes has the same name.
    #[api(required)]
    pub name: String,
    /// Whether it can be detached while the machine runs. Default: false.
    pub hotpluggable: bool,
}

/// A claim.
#[api]
pub struct PersistentVolumeClaimVolumeSource {
    /// The claim, of the same namespace.
    #[api(required)]
    pub claim_name: String,
    /// Whether it is mounted for reading only. Default: false.
    pub read_only: bool,
    /// Whether it can be detached while the machine runs. Default: false.
    pub hotpluggable: bool,
}

/// A claim that the memory of the guest is dumped to.
#[api]
pub struct MemoryDumpVolumeSource {
    /// The claim, of the same namespace.
    #[api(required)]
    pub claim_name: String,
    /// Whether it is mounted for reading only. Default: false.
    pub read_only: bool,
    /// Whether it can be detached while the machine runs. Default: false.
    pub hotpluggable: bool,
}

/// A claim that is only read, under a layer that takes what the guest writes.
#[api]
pub struct EphemeralVolumeSource {
    /// The claim.
    pub persistent_volume_claim: Option<ClaimSource>,
}

/// An empty disk.
#[api]
pub struct EmptyDiskSource {
    /// Its size in bytes.
    #[api(required)]
    pub capacity: Quantity,
}

/// A disk image in a container image.
#[api]
pub struct ContainerDiskSource {
    /// The container image.
    #[api(required)]
    pub image: String,
    /// The secret to pull it with.
    pub image_pull_secret: String,
    /// The path of the disk image in it. Default: the only file in /disk.
    pub path: String,
    /// Always, IfNotPresent or Never. Default: Always for the tag latest and none, else IfNotPresent.
    pub image_pull_policy: String,
}

/// What a utility volume is for.
#[api]
pub enum UtilityVolumeType {
    MemoryDump = "MemoryDump",
    Backup = "Backup",
}

/// A volume for the platform's own use, which the guest does not see.
#[api]
pub struct UtilityVolume {
    /// The name of the volume.
    #[api(required)]
    pub name: String,
    /// The claim, of the same namespace.
    #[api(required)]
    pub claim_name: String,
    /// Whether it is mounted for reading only. Default: false.
    pub read_only: bool,
    /// What it is for: MemoryDump or Backup.
    pub type_: Option<UtilityVolumeType>,
}

/// A secret with keys or passwords.
#[api]
pub struct AccessCredentialSecretSource {
    /// The secret, of the same namespace.
    #[api(required)]
    pub secret_name: String,
}

/// Where SSH keys are.
#[api]
pub struct SshPublicKeyAccessCredentialSource {
    /// A secret, each of whose values is a public key.
    pub secret: Option<AccessCredentialSecretSource>,
}

/// Where passwords are.
#[api]
pub struct UserPasswordAccessCredentialSource {
    /// A secret, whose keys are users and whose values are their passwords.
    pub secret: Option<AccessCredentialSecretSource>,
}

/// Where a network comes from; exactly one.
#[api]
pub struct NetworkSource {
    /// The network that every pod has.
    pub pod: Option<PodNetwork>,
    /// A network that Multus attaches.
    pub multus: Option<MultusNetwork>,
    /// A network device that is allocated by a claim.
    pub resource_claim: Option<ClaimRequest>,
}
