//! Migrations.

use std::collections::BTreeMap;

use crate::{api, v1::VirtualMachineInstanceMigrationState};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

/// The aspects of a migration.
#[api]
pub enum VirtualMachineInstanceMigrationConditionType {
    MigrationAbortRequested = "migrationAbortRequested",
    MigrationRejectedByResourceQuota = "migrationRejectedByResourceQuota",
    MigrationBlockedByUtilityVolumes = "migrationBlockedByUtilityVolumes",
    DecentralizedMigrationBlocked = "decentralizedMigrationBlocked",
    MigrationBlockedByBackup = "migrationBlockedByBackup",
}

/// One aspect of the state of a migration.
#[api]
pub struct VirtualMachineInstanceMigrationCondition {
    /// What aspect of the object this is about.
    #[api(required)]
    pub type_: VirtualMachineInstanceMigrationConditionType,
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

/// A running machine moves to another node, or to another cluster.
#[api]
pub struct VirtualMachineInstanceMigration {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which machine, and where to.
    #[api(required)]
    pub spec: VirtualMachineInstanceMigrationSpec,
    /// How far it has come.
    #[api(always)]
    pub status: VirtualMachineInstanceMigrationStatus,
}

/// Which migrations go first when too many wait.
#[api]
pub enum MigrationPriority {
    SystemCritical = "system-critical",
    UserTriggered = "user-triggered",
    SystemMaintenance = "system-maintenance",
}

/// Which machine moves, and where to.
#[api]
pub struct VirtualMachineInstanceMigrationSpec {
    /// The machine, of the same namespace.
    pub vmi_name: String,
    /// Labels that the target node must have beyond what the machine wants; they cannot loosen that.
    pub added_node_selector: BTreeMap<String, String>,
    /// The machine leaves for another cluster.
    pub send_to: Option<VirtualMachineInstanceMigrationSource>,
    /// The machine comes from another cluster.
    pub receive: Option<VirtualMachineInstanceMigrationTarget>,
    /// system-critical, user-triggered or system-maintenance: which goes first when too many wait.
    pub priority: Option<MigrationPriority>,
}

/// The side that a machine leaves for another cluster.
#[api]
pub struct VirtualMachineInstanceMigrationSource {
    /// What both sides know the migration by.
    #[api(required, name = "migrationID")]
    pub migration_id: String,
    /// Where the other side is reached: host and port.
    #[api(required, name = "connectURL")]
    pub connect_url: String,
}

/// The side that a machine comes to from another cluster.
#[api]
pub struct VirtualMachineInstanceMigrationTarget {
    /// What both sides know the migration by.
    #[api(required, name = "migrationID")]
    pub migration_id: String,
}

/// When a phase began.
#[api]
pub struct VirtualMachineInstanceMigrationPhaseTransitionTimestamp {
    /// The phase.
    pub phase: VirtualMachineInstanceMigrationPhase,
    /// When it began.
    pub phase_transition_timestamp: Option<Time>,
}

/// How far a migration has come.
#[api]
pub struct VirtualMachineInstanceMigrationStatus {
    /// Pending, Scheduling, Scheduled, PreparingTarget, TargetReady, Running, Succeeded or Failed; between clusters also
    /// WaitingForSync and Synchronizing.
    pub phase: VirtualMachineInstanceMigrationPhase,
    /// Aspects of its state: what holds it up, whether it is being aborted.
    pub conditions: Vec<VirtualMachineInstanceMigrationCondition>,
    /// When each phase began.
    #[api(list = "atomic")]
    pub phase_transition_timestamps: Vec<VirtualMachineInstanceMigrationPhaseTransitionTimestamp>,
    /// The state of the migration when it was over.
    pub migration_state: Option<VirtualMachineInstanceMigrationState>,
    /// Where this cluster is reached by the other one: host and port.
    #[api(list = "atomic")]
    pub synchronization_addresses: Vec<String>,
}

/// How far a migration has come.
#[api]
pub enum VirtualMachineInstanceMigrationPhase {
    Pending = "Pending",
    Scheduling = "Scheduling",
    Scheduled = "Scheduled",
    PreparingTarget = "PreparingTarget",
    TargetReady = "TargetReady",
    Running = "Running",
    Succeeded = "Succeeded",
    Failed = "Failed",
    WaitingForSync = "WaitingForSync",
    Synchronizing = "Synchronizing",
}
