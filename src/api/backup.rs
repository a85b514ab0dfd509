//! The group `backup.kubevirt.io`: backups of disks, and the checkpoints that incremental ones start from.

use crate::{Duration, api};
use k8s_openapi::api::core::v1::TypedLocalObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta, Time};

/// Who moves the data of a backup.
#[api(closed)]
pub enum BackupMode {
    Push = "Push",
    Pull = "Pull",
}

/// A volume of a backup.
#[api]
pub struct BackupVolumeInfo {
    /// The volume.
    #[api(required)]
    pub volume_name: String,
    /// The device in the guest: vda.
    #[api(required)]
    pub disk_target: String,
    /// Where its data is read, in mode Pull.
    pub data_endpoint: String,
    /// Where the map of its changed blocks is read, in mode Pull.
    pub map_endpoint: String,
}

/// A point in time that the next incremental backup starts from.
#[api]
pub struct BackupCheckpoint {
    /// Its name.
    pub name: String,
    /// When it was made.
    pub creation_time: Option<Time>,
    /// The volumes that it covers.
    #[api(list = "atomic")]
    pub volumes: Vec<BackupVolumeInfo>,
}

/// Whether a backup has all blocks.
#[api]
pub enum BackupType {
    Full = "Full",
    Incremental = "Incremental",
}

/// What is asked of a launcher about a backup.
#[api]
pub enum BackupCmd {
    Start = "Start",
    Abort = "Abort",
    Export = "Export",
}

/// A backup, as a launcher is told.
#[api]
pub struct BackupOptions {
    /// The backup object.
    pub backup_name: String,
    /// Start, Abort or Export.
    pub cmd: BackupCmd,
    /// Push or Pull.
    pub mode: BackupMode,
    /// When it was asked for.
    pub backup_start_time: Option<Time>,
    /// The checkpoint that it starts from. Unset: all blocks are saved.
    pub incremental: Option<String>,
    /// The directory that it is written to, in mode Push.
    pub target_path: Option<String>,
    /// Whether the guest's file systems do not stand still when the state is taken.
    pub skip_quiesce: bool,
    /// Where the export server is reached, in mode Pull.
    pub export_server_addr: Option<String>,
    /// The name in the export server's certificate.
    pub export_server_name: Option<String>,
    /// The private key of the connection, PEM.
    pub backup_key: Option<String>,
    /// The certificate of the connection, PEM.
    pub backup_cert: Option<String>,
    /// The authority that the other side's certificate is from, PEM.
    pub ca_cert: Option<String>,
}

/// Remembers the last checkpoint of a machine, so that its next backup has only what changed.
#[api]
pub struct VirtualMachineBackupTracker {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which machine.
    #[api(required)]
    pub spec: VirtualMachineBackupTrackerSpec,
    /// The last checkpoint.
    pub status: Option<VirtualMachineBackupTrackerStatus>,
}

/// Which machine is tracked. It cannot be changed.
#[api(rule("self == oldSelf", "must not change once the tracker is made"))]
pub struct VirtualMachineBackupTrackerSpec {
    /// The machine: a VirtualMachine of kubevirt.io.
    #[api(
        required,
        rule("has(self.apiGroup) && self.apiGroup == 'kubevirt.io'", "apiGroup must be kubevirt.io"),
        rule("self.kind == 'VirtualMachine'", "kind must be VirtualMachine"),
        rule("self.name != ''", "name must be given")
    )]
    pub source: TypedLocalObjectReference,
}

/// The last checkpoint.
#[api]
pub struct VirtualMachineBackupTrackerStatus {
    /// The checkpoint that the next backup starts from.
    pub latest_checkpoint: Option<BackupCheckpoint>,
    /// Whether the checkpoint must be told to the machine again, as after a restart.
    pub checkpoint_redefinition_required: Option<bool>,
}

/// A backup of the disks of a running machine.
#[api]
pub struct VirtualMachineBackup {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// What is saved, and where to. It cannot be changed.
    #[api(required)]
    pub spec: VirtualMachineBackupSpec,
    /// How far it has come.
    pub status: Option<VirtualMachineBackupStatus>,
}

/// What is saved, and where to.
#[api(
    rule("self == oldSelf", "must not change once the backup is made"),
    rule("has(self.pvcName) && self.pvcName != \"\"", "pvcName must name a claim"),
    rule(
        "!has(self.mode) || self.mode != 'Pull' || (has(self.tokenSecretRef) && self.tokenSecretRef != \"\")",
        "tokenSecretRef must name a secret when the mode is Pull"
    )
)]
pub struct VirtualMachineBackupSpec {
    /// A VirtualMachine of kubevirt.io (all blocks), or a VirtualMachineBackupTracker of backup.kubevirt.io (what changed since
    /// its checkpoint).
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
    /// Push (default): the data is written to the claim; Pull: it is read from endpoints, the claim takes what the guest writes
    /// meanwhile.
    pub mode: Option<BackupMode>,
    /// The claim.
    pub pvc_name: Option<String>,
    /// Whether the guest's file systems do not stand still when the state is taken. Default: false.
    pub skip_quiesce: bool,
    /// Whether all blocks are saved although there is a checkpoint. Default: false.
    pub force_full_backup: bool,
    /// The secret with the token that readers show; must be given in mode Pull.
    pub token_secret_ref: String,
    /// How long the endpoints are there in mode Pull. Unset: a while that suits.
    pub ttl_duration: Option<Duration>,
}

/// Whether the guest's file systems stood still.
#[api]
pub enum QuiesceStatus {
    Succeeded = "Succeeded",
    Failed = "Failed",
    Skipped = "Skipped",
}

/// How far a backup has come.
#[api]
pub struct VirtualMachineBackupStatus {
    /// Full or Incremental.
    pub type_: BackupType,
    /// Aspects of its state: Progressing, Complete, Failed, Quiesced.
    #[api(list = "map", key = "type")]
    pub conditions: Vec<Condition>,
    /// The checkpoint that it made.
    pub checkpoint_name: Option<String>,
    /// The authority that the endpoints' certificate is from, PEM.
    pub endpoint_cert: Option<String>,
    /// The volumes that it has.
    #[api(list = "atomic")]
    pub included_volumes: Vec<BackupVolumeInfo>,
    /// The UID of the export that its endpoints belong to.
    #[api(name = "exportUID")]
    pub export_uid: Option<String>,
}

/// The aspects of a backup.
#[api]
pub enum ConditionType {
    Complete = "Complete",
    Failed = "Failed",
    Progressing = "Progressing",
    Quiesced = "Quiesced",
}
