//! Defaults of a `VirtualMachineInstanceMigration`.

use crate::admission::{Findings, Operation, Request};
use crate::api::names::{MIGRATION_SELECTOR_LABEL, VIRTUAL_MACHINE_INSTANCE_MIGRATION_FINALIZER};
use crate::api::v1::VirtualMachineInstanceMigration;

/// Labels the migration with its instance, by which migrations of an instance are found, and keeps it until it has
/// been cleaned up after.
pub fn admit(
    migration: &mut VirtualMachineInstanceMigration,
    _: Option<&VirtualMachineInstanceMigration>,
    request: &Request,
    _: &mut Findings,
) {
    if request.operation != Operation::Create {
        return;
    }
    let labels = migration.metadata.labels.get_or_insert_default();
    labels.insert(MIGRATION_SELECTOR_LABEL.to_owned(), migration.spec.vmi_name.clone());
    migration.metadata.finalizers.get_or_insert_default().push(VIRTUAL_MACHINE_INSTANCE_MIGRATION_FINALIZER.to_owned());
}
