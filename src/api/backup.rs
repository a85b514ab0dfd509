use crate::{Duration, api};
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};

#[api(closed)]
pub enum BackupMode {
    Push = "Push",
    Pull = "Pull",
}

#[api]
pub struct BackupVolumeInfo {
    #[api(required)]
    pub volume_name: String,
    #[api(required)]
    pub disk_target: String,
    pub data_endpoint: String,
    pub map_endpoint: String,
}

#[api]
pub struct BackupCheckpoint {
    pub name: String,
    pub creation_time: Option<Time>,
    #[api(list = "atomic")]
    pub volumes: Vec<BackupVolumeInfo>,
}

#[api]
pub enum BackupType {
    Full = "Full",
    Incremental = "Incremental",
}

#[api]
pub enum BackupCmd {
    Start = "Start",
    Abort = "Abort",
    Export = "Export",
}

#[api]
pub struct BackupOptions {
    pub backup_name: String,
    pub cmd: BackupCmd,
    pub mode: BackupMode,
    pub backup_start_time: Option<Time>,
    pub incremental: Option<String>,
    pub target_path: Option<String>,
    pub skip_quiesce: bool,
    pub export_server_addr: Option<String>,
    pub export_server_name: Option<String>,
    pub backup_key: Option<String>,
    pub backup_cert: Option<String>,
    pub ca_cert: Option<String>,
}

#[api]
pub struct VirtualMachineBackupTracker {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineBackupTrackerSpec,
    pub status: Option<VirtualMachineBackupTrackerStatus>,
}

#[api(rule("self == oldSelf", "must not change once the tracker is made"))]
pub struct VirtualMachineBackupTrackerSpec {
    #[api(
        required,
        rule("has(self.apiGroup) && self.apiGroup == 'kubevirt.io'", "apiGroup must be kubevirt.io"),
        rule("self.kind == 'VirtualMachine'", "kind must be VirtualMachine"),
        rule("self.name != ''", "name must be given")
    )]
    pub source: TypedLocalObjectReference,
}

#[api]
pub struct VirtualMachineBackupTrackerStatus {
    pub latest_checkpoint: Option<BackupCheckpoint>,
    pub checkpoint_redefinition_required: Option<bool>,
}

#[api]
pub struct VirtualMachineBackup {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineBackupSpec,
    pub status: Option<VirtualMachineBackupStatus>,
}

#[api(
    rule("self == oldSelf", "must not change once the backup is made"),
    rule("has(self.pvcName) && self.pvcName != \"\"", "pvcName must name a claim"),
    rule(
        "!has(self.mode) || self.mode != 'Pull' || (has(self.tokenSecretRef) && self.tokenSecretRef != \"\")",
        "tokenSecretRef must name a secret when the mode is Pull"
    )
)]
pub struct VirtualMachineBackupSpec {
    #[api(
        required,
        rule("has(self.apiGroup)", "apiGroup must be given"),
        rule(
            "!has(self.apiGroup) || self.apiGroup == 'kubevirt.io' || self.apiGroup == 'backup.kubevirt.io'",
            "apiGroup must be kubevirt.io or backup.kubevirt.io"
        ),
        rule(
            "!has(self.apiGroup) || (self.apiGroup == 'kubevirt.io' && self.kind == 'VirtualMachine') || (self.apiGroup == 'backup.kubevirt.io' && self.kind == 'VirtualMachineBackupTracker')",
            "kind must be VirtualMachine of kubevirt.io or VirtualMachineBackupTracker of backup.kubevirt.io"
        ),
        rule("self.name != ''", "name must be given")
    )]
    pub source: TypedLocalObjectReference,
    pub mode: Option<BackupMode>,
    pub pvc_name: Option<String>,
    pub skip_quiesce: bool,
    pub force_full_backup: bool,
    pub token_secret_ref: String,
    pub ttl_duration: Option<Duration>,
}

#[api]
pub enum QuiesceStatus {
    Succeeded = "Succeeded",
    Failed = "Failed",
    Skipped = "Skipped",
}

#[api]
pub struct VirtualMachineBackupStatus {
    pub type_: BackupType,
    #[api(list = "map", key = "type")]
    pub conditions: Vec<Condition>,
    pub checkpoint_name: Option<String>,
    pub endpoint_cert: Option<String>,
    #[api(list = "atomic")]
    pub included_volumes: Vec<BackupVolumeInfo>,
    #[api(name = "exportUID")]
    pub export_uid: Option<String>,
}

#[api]
pub enum ConditionType {
    Complete = "Complete",
    Failed = "Failed",
    Progressing = "Progressing",
    Quiesced = "Quiesced",
}
