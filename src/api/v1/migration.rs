use std::collections::BTreeMap;

use crate::{api, v1::VirtualMachineInstanceMigrationState};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};

#[api]
pub enum VirtualMachineInstanceMigrationConditionType {
    MigrationAbortRequested = "migrationAbortRequested",
    MigrationRejectedByResourceQuota = "migrationRejectedByResourceQuota",
    MigrationBlockedByUtilityVolumes = "migrationBlockedByUtilityVolumes",
    DecentralizedMigrationBlocked = "decentralizedMigrationBlocked",
    MigrationBlockedByBackup = "migrationBlockedByBackup",
}

#[api]
pub struct VirtualMachineInstanceMigrationCondition {
    #[api(required)]
    pub type_: VirtualMachineInstanceMigrationConditionType,
    #[api(required)]
    pub status: String,
    #[api(nullable)]
    pub last_probe_time: Option<Time>,
    #[api(nullable)]
    pub last_transition_time: Option<Time>,
    pub reason: String,
    pub message: String,
}

#[api]
pub struct VirtualMachineInstanceMigration {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(required)]
    pub spec: VirtualMachineInstanceMigrationSpec,
    #[api(always)]
    pub status: VirtualMachineInstanceMigrationStatus,
}

#[api]
pub enum MigrationPriority {
    SystemCritical = "system-critical",
    UserTriggered = "user-triggered",
    SystemMaintenance = "system-maintenance",
}

#[api]
pub struct VirtualMachineInstanceMigrationSpec {
    pub vmi_name: String,
    pub added_node_selector: BTreeMap<String, String>,
    pub send_to: Option<VirtualMachineInstanceMigrationSource>,
    pub receive: Option<VirtualMachineInstanceMigrationTarget>,
    pub priority: Option<MigrationPriority>,
}

#[api]
pub struct VirtualMachineInstanceMigrationSource {
    #[api(required, name = "migrationID")]
    pub migration_id: String,
    #[api(required, name = "connectURL")]
    pub connect_url: String,
}

#[api]
pub struct VirtualMachineInstanceMigrationTarget {
    #[api(required, name = "migrationID")]
    pub migration_id: String,
}

#[api]
pub struct VirtualMachineInstanceMigrationPhaseTransitionTimestamp {
    pub phase: VirtualMachineInstanceMigrationPhase,
    pub phase_transition_timestamp: Option<Time>,
}

#[api]
pub struct VirtualMachineInstanceMigrationStatus {
    pub phase: VirtualMachineInstanceMigrationPhase,
    pub conditions: Vec<VirtualMachineInstanceMigrationCondition>,
    #[api(list = "atomic")]
    pub phase_transition_timestamps: Vec<VirtualMachineInstanceMigrationPhaseTransitionTimestamp>,
    pub migration_state: Option<VirtualMachineInstanceMigrationState>,
    #[api(list = "atomic")]
    pub synchronization_addresses: Vec<String>,
}

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
