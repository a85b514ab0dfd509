//! Where the webhooks are served: the same constant for the configuration and for the server.

/// Defaults of virtual machines.
pub const VM_MUTATE: &str = "/virtualmachines-mutate";
/// Defaults of instances.
pub const VMI_MUTATE: &str = "/virtualmachineinstances-mutate";
/// Defaults of migrations.
pub const MIGRATION_MUTATE: &str = "/migration-mutate-create";
/// Defaults of clones.
pub const CLONE_MUTATE: &str = "/vm-clone-mutate-create";
/// What launcher pods need from their containers.
pub const LAUNCHER_POD_MUTATE: &str = "/virt-launcher-pod-mutate";

/// Virtual machines.
pub const VM_VALIDATE: &str = "/virtualmachines-validate";
/// New instances.
pub const VMI_VALIDATE_CREATE: &str = "/virtualmachineinstances-validate-create";
/// Changed instances.
pub const VMI_VALIDATE_UPDATE: &str = "/virtualmachineinstances-validate-update";
/// Replica sets.
pub const REPLICASET_VALIDATE: &str = "/virtualmachinereplicaset-validate";
/// Pools.
pub const POOL_VALIDATE: &str = "/virtualmachinepool-validate";
/// Presets.
pub const PRESET_VALIDATE: &str = "/vmipreset-validate";
/// New migrations.
pub const MIGRATION_VALIDATE_CREATE: &str = "/migration-validate-create";
/// Changed migrations.
pub const MIGRATION_VALIDATE_UPDATE: &str = "/migration-validate-update";
/// Snapshots.
pub const SNAPSHOT_VALIDATE: &str = "/virtualmachinesnapshots-validate";
/// Restores.
pub const RESTORE_VALIDATE: &str = "/virtualmachinerestores-validate";
/// Backups.
pub const BACKUP_VALIDATE: &str = "/virtualmachinebackups-validate";
/// Trackers of backups.
pub const BACKUP_TRACKER_VALIDATE: &str = "/virtualmachinebackuptrackers-validate";
/// Exports.
pub const EXPORT_VALIDATE: &str = "/virtualmachineexports-validate";
/// Instance types of a namespace.
pub const INSTANCETYPE_VALIDATE: &str = "/virtualmachineinstancetypes-validate";
/// Instance types of the cluster.
pub const CLUSTER_INSTANCETYPE_VALIDATE: &str = "/virtualmachineclusterinstancetypes-validate";
/// Preferences of a namespace.
pub const PREFERENCE_VALIDATE: &str = "/virtualmachinepreferences-validate";
/// Preferences of the cluster.
pub const CLUSTER_PREFERENCE_VALIDATE: &str = "/virtualmachineclusterpreferences-validate";
/// What is written to the status of an object.
pub const STATUS_VALIDATE: &str = "/status-validate";
/// Migration policies.
pub const MIGRATION_POLICY_VALIDATE: &str = "/migration-policy-validate-create";
/// Clones.
pub const CLONE_VALIDATE: &str = "/vm-clone-validate-create";
/// Plugins.
pub const PLUGIN_VALIDATE: &str = "/plugin-validate";
/// Evictions of launcher pods, and of pods that hold a plugged-in volume.
pub const POD_EVICTION_VALIDATE: &str = "/pod-eviction-validate";

/// Whether the installation may go.
pub const KUBEVIRT_VALIDATE_DELETE: &str = "/kubevirt-validate-delete";
/// Changes of the installation.
pub const KUBEVIRT_VALIDATE_UPDATE: &str = "/kubevirt-validate-update";
/// A new installation.
pub const KUBEVIRT_VALIDATE_CREATE: &str = "/kubevirt-validate-create";
