//! `migrate`: a new migration of the guest.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Answer, Case, Success, Write, is_running};
use crate::api::v1::{MigrateOptions, VirtualMachineInstanceMigration, VirtualMachineInstanceMigrationSpec};

const GENERATED_NAME: &str = "kubevirt-migrate-vm-";

pub(super) fn migrate(case: &mut Case<'_>) -> Answer {
    let options: MigrateOptions = case.options()?;
    case.machine()?;
    if !is_running(case.instance()?) {
        return Err(case.machine_conflict("it is not running; only a running guest can migrate"));
    }
    let migration = VirtualMachineInstanceMigration {
        metadata: ObjectMeta { generate_name: Some(GENERATED_NAME.to_owned()), ..ObjectMeta::default() },
        spec: VirtualMachineInstanceMigrationSpec {
            vmi_name: case.request.name.to_owned(),
            added_node_selector: options.added_node_selector,
            ..VirtualMachineInstanceMigrationSpec::default()
        },
        ..VirtualMachineInstanceMigration::default()
    };
    case.writes.push(Write::Migrate { migration: Box::new(migration), dry_run: options.dry_run });
    Ok(Success::Accepted)
}
