use crate::{
    Quantity, api,
    v1::{ClaimRequest, HostDiskType, MultusNetwork, PodNetwork},
};
use k8s_openapi::api::core::v1::{DownwardAPIVolumeFile, LocalObjectReference, PersistentVolumeClaimVolumeSource as ClaimSource};

#[api]
pub struct HostDisk {
    #[api(required)]
    pub path: String,
    #[api(required)]
    pub type_: HostDiskType,
    #[api(always)]
    pub capacity: Quantity,
    pub shared: Option<bool>,
}

#[api(atomic)]
pub struct ConfigMapVolumeSource {
    #[api(default = "")]
    pub name: String,
    pub optional: Option<bool>,
    pub volume_label: String,
}

#[api]
pub struct SecretVolumeSource {
    pub secret_name: String,
    pub optional: Option<bool>,
    pub volume_label: String,
}

#[api]
pub struct DownwardApiVolumeSource {
    pub fields: Vec<DownwardAPIVolumeFile>,
    pub volume_label: String,
}

#[api]
pub struct ServiceAccountVolumeSource {
    pub service_account_name: String,
}

#[api]
pub struct ContainerPathVolumeSource {
    #[api(
        required,
        max_length = 4096,
        rule("self.startsWith('/')", "must begin with '/'"),
        rule("!self.contains('..')", "must not contain '..'")
    )]
    pub path: String,
    #[api(default = true, rule("self == true", "must be true: the files of a container can only be read"))]
    pub read_only: Option<bool>,
}

#[api]
pub struct DownwardMetricsVolumeSource {}

#[api]
pub struct SysprepSource {
    pub secret: Option<LocalObjectReference>,
    pub config_map: Option<LocalObjectReference>,
}

#[api]
pub struct CloudInitNoCloudSource {
    pub secret_ref: Option<LocalObjectReference>,
    pub user_data_base64: String,
    pub user_data: String,
    pub network_data_secret_ref: Option<LocalObjectReference>,
    pub network_data_base64: String,
    pub network_data: String,
}

#[api]
pub struct CloudInitConfigDriveSource {
    pub secret_ref: Option<LocalObjectReference>,
    pub user_data_base64: String,
    pub user_data: String,
    pub network_data_secret_ref: Option<LocalObjectReference>,
    pub network_data_base64: String,
    pub network_data: String,
}

#[api]
pub struct Volume {
    #[api(required)]
    pub name: String,
    pub host_disk: Option<HostDisk>,
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    pub cloud_init_no_cloud: Option<CloudInitNoCloudSource>,
    pub cloud_init_config_drive: Option<CloudInitConfigDriveSource>,
    pub sysprep: Option<SysprepSource>,
    pub container_disk: Option<ContainerDiskSource>,
    pub ephemeral: Option<EphemeralVolumeSource>,
    pub empty_disk: Option<EmptyDiskSource>,
    pub data_volume: Option<DataVolumeSource>,
    pub config_map: Option<ConfigMapVolumeSource>,
    pub secret: Option<SecretVolumeSource>,
    #[api(name = "downwardAPI")]
    pub downward_api: Option<DownwardApiVolumeSource>,
    pub service_account: Option<ServiceAccountVolumeSource>,
    pub downward_metrics: Option<DownwardMetricsVolumeSource>,
    pub memory_dump: Option<MemoryDumpVolumeSource>,
    pub container_path: Option<ContainerPathVolumeSource>,
}

#[api]
pub struct VolumeSource {
    pub host_disk: Option<HostDisk>,
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    pub cloud_init_no_cloud: Option<CloudInitNoCloudSource>,
    pub cloud_init_config_drive: Option<CloudInitConfigDriveSource>,
    pub sysprep: Option<SysprepSource>,
    pub container_disk: Option<ContainerDiskSource>,
    pub ephemeral: Option<EphemeralVolumeSource>,
    pub empty_disk: Option<EmptyDiskSource>,
    pub data_volume: Option<DataVolumeSource>,
    pub config_map: Option<ConfigMapVolumeSource>,
    pub secret: Option<SecretVolumeSource>,
    #[api(name = "downwardAPI")]
    pub downward_api: Option<DownwardApiVolumeSource>,
    pub service_account: Option<ServiceAccountVolumeSource>,
    pub downward_metrics: Option<DownwardMetricsVolumeSource>,
    pub memory_dump: Option<MemoryDumpVolumeSource>,
    pub container_path: Option<ContainerPathVolumeSource>,
}

#[api]
pub struct HotplugVolumeSource {
    pub persistent_volume_claim: Option<PersistentVolumeClaimVolumeSource>,
    pub data_volume: Option<DataVolumeSource>,
}

#[api]
pub struct DataVolumeSource {
    #[api(required)]
    pub name: String,
    pub hotpluggable: bool,
}

#[api]
pub struct PersistentVolumeClaimVolumeSource {
    #[api(required)]
    pub claim_name: String,
    pub read_only: bool,
    pub hotpluggable: bool,
}

#[api]
pub struct MemoryDumpVolumeSource {
    #[api(required)]
    pub claim_name: String,
    pub read_only: bool,
    pub hotpluggable: bool,
}

#[api]
pub struct EphemeralVolumeSource {
    pub persistent_volume_claim: Option<ClaimSource>,
}

#[api]
pub struct EmptyDiskSource {
    #[api(required)]
    pub capacity: Quantity,
}

#[api]
pub struct ContainerDiskSource {
    #[api(required)]
    pub image: String,
    pub image_pull_secret: String,
    pub path: String,
    pub image_pull_policy: String,
}

#[api]
pub enum UtilityVolumeType {
    MemoryDump = "MemoryDump",
    Backup = "Backup",
}

#[api]
pub struct UtilityVolume {
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub claim_name: String,
    pub read_only: bool,
    pub type_: Option<UtilityVolumeType>,
}

#[api]
pub struct AccessCredentialSecretSource {
    #[api(required)]
    pub secret_name: String,
}

#[api]
pub struct SshPublicKeyAccessCredentialSource {
    pub secret: Option<AccessCredentialSecretSource>,
}

#[api]
pub struct UserPasswordAccessCredentialSource {
    pub secret: Option<AccessCredentialSecretSource>,
}

#[api]
pub struct NetworkSource {
    pub pod: Option<PodNetwork>,
    pub multus: Option<MultusNetwork>,
    pub resource_claim: Option<ClaimRequest>,
}
