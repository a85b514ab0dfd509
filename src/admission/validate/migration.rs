//! Rules for `VirtualMachineInstanceMigration`.

use crate::admission::existing::{all, namespace, one};
use crate::admission::{Cause, Findings, Operation, Request};
use crate::api::names::{MIGRATION_SELECTOR_LABEL, VMI_REASON_DISKS_NOT_MIGRATABLE};
use crate::api::v1::{
    VirtualMachineInstance, VirtualMachineInstanceConditionType, VirtualMachineInstanceMigration, VirtualMachineInstanceMigrationPhase,
    VirtualMachineInstancePhase,
};
use crate::config::Gate;

use super::naming::label_value;

const INSTANCE: &str = "spec.vmiName";

/// Judges a migration.
pub fn judge(
    migration: &VirtualMachineInstanceMigration,
    old: Option<&VirtualMachineInstanceMigration>,
    request: &Request,
    findings: &mut Findings,
) {
    let verdict = match (request.operation, old) {
        (Operation::Create, _) => create(migration, request),
        (Operation::Update, Some(old)) => update(migration, old),
        _ => Ok(()),
    };
    findings.causes.extend(verdict.err());
}

/// Each step needs the one before it, so that the first fault is the only one.
fn create(migration: &VirtualMachineInstanceMigration, request: &Request) -> Result<(), Cause> {
    let spec = &migration.spec;
    if spec.vmi_name.is_empty() {
        return Err(Cause::required(INSTANCE, "the name of the instance is missing"));
    }
    if spec.priority.is_some() && !request.is_account("kubevirt-controller") {
        let text = "only KubeVirt's controller decides how urgent a migration is; remove the priority";
        return Err(Cause::forbidden("spec.migrationPriority", text));
    }
    let home = namespace(&migration.metadata);
    let Some(instance) = one::<VirtualMachineInstance>(request, home, &spec.vmi_name) else {
        let text = format!("the instance {home}/{} does not exist; only a running instance can be migrated", spec.vmi_name);
        return Err(Cause::not_found(INSTANCE, text));
    };
    movable(&instance, migration)?;
    unique(migration, request)?;
    decentralized(migration, request)
}

/// Whether the instance can leave its node.
fn movable(instance: &VirtualMachineInstance, migration: &VirtualMachineInstanceMigration) -> Result<(), Cause> {
    let name = &migration.spec.vmi_name;
    if matches!(instance.status.phase, VirtualMachineInstancePhase::Succeeded | VirtualMachineInstancePhase::Failed) {
        return Err(Cause::invalid(
            INSTANCE,
            format!("the instance {name} has ended ({}); there is nothing to migrate", instance.status.phase),
        ));
    }
    let fixed = instance.status.conditions.iter().find(|condition| {
        // a migration to another cluster or namespace takes the disks along
        let disks_come_along = condition.reason == VMI_REASON_DISKS_NOT_MIGRATABLE && is_decentralized(migration);
        condition.type_ == VirtualMachineInstanceConditionType::LiveMigratable && condition.status == "False" && !disks_come_along
    });
    match fixed {
        None => Ok(()),
        Some(condition) => {
            let text = format!("the instance {name} cannot be migrated ({}): {}", condition.reason, condition.message);
            Err(Cause::invalid(INSTANCE, text))
        }
    }
}

fn is_decentralized(migration: &VirtualMachineInstanceMigration) -> bool {
    migration.spec.send_to.is_some() || migration.spec.receive.is_some()
}

/// Whether no other migration of the instance is under way.
fn unique(migration: &VirtualMachineInstanceMigration, request: &Request) -> Result<(), Cause> {
    use VirtualMachineInstanceMigrationPhase::{Failed, Succeeded};
    let name = &migration.spec.vmi_name;
    if let Err(right) = label_value(name) {
        let text = format!("{name:?} cannot be the value of a label, by which the migrations of an instance are found; {right}");
        return Err(Cause::invalid(INSTANCE, text));
    }
    let running = all::<VirtualMachineInstanceMigration>(request, Some(namespace(&migration.metadata))).find(|other| {
        let of = other.metadata.labels.as_ref().and_then(|labels| labels.get(MIGRATION_SELECTOR_LABEL));
        of == Some(name) && !matches!(other.status.phase, Succeeded | Failed)
    });
    match running {
        None => Ok(()),
        Some(other) => {
            let other = other.metadata.name.unwrap_or_default();
            Err(Cause::invalid(INSTANCE, format!("the migration {other} of the instance {name} is under way; wait for it or delete it")))
        }
    }
}

fn decentralized(migration: &VirtualMachineInstanceMigration, request: &Request) -> Result<(), Cause> {
    let (send, receive) = (&migration.spec.send_to, &migration.spec.receive);
    if !is_decentralized(migration) {
        return Ok(());
    }
    let gate = Gate::DecentralizedLiveMigration;
    if !request.config.enabled(gate) {
        let field = if send.is_some() { "spec.sendTo" } else { "spec.receive" };
        return Err(Cause::not_supported(field, format!("the feature gate {} is not enabled", gate.name())));
    }
    match (send, receive) {
        (Some(send), Some(receive)) if send.migration_id != receive.migration_id => {
            let text =
                format!("both ends need the same identifier; this is {:?}, sendTo has {:?}", receive.migration_id, send.migration_id);
            Err(Cause::invalid("spec.receive.migrationID", text))
        }
        _ => Ok(()),
    }
}

fn update(migration: &VirtualMachineInstanceMigration, old: &VirtualMachineInstanceMigration) -> Result<(), Cause> {
    use VirtualMachineInstanceMigrationPhase::{Failed, Succeeded};
    if migration.spec != old.spec {
        return Err(Cause::not_supported("spec", "a migration cannot be changed; delete it and create another"));
    }
    let label = |of: &VirtualMachineInstanceMigration| of.metadata.labels.as_ref().and_then(|l| l.get(MIGRATION_SELECTOR_LABEL)).cloned();
    let before = label(old);
    if before.is_some() && before != label(migration) && !matches!(migration.status.phase, Succeeded | Failed) {
        let text = format!("the label {MIGRATION_SELECTOR_LABEL} must stay while the migration is under way");
        return Err(Cause::not_supported("metadata.labels", text));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn cluster() -> Value {
        let instance = |name: &str, phase: &str, conditions: Value| {
            json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": name, "namespace": "lab"},
                "spec": {"domain": {"devices": {}}}, "status": {"phase": phase, "conditions": conditions}})
        };
        let fixed = |reason: &str| json!([{"type": "LiveMigratable", "status": "False", "reason": reason}]);
        let migration = |name: &str, of: &str, phase: &str| {
            json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceMigration", "spec": {"vmiName": of},
                "metadata": {"name": name, "namespace": "lab", "labels": {"kubevirt.io/vmi-name": of}}, "status": {"phase": phase}})
        };
        json!([
            instance("free", "Running", json!([])),
            instance("fixed", "Running", fixed("InterfaceNotLiveMigratable")),
            instance("disks", "Running", fixed("DisksNotLiveMigratable")),
            instance("done", "Succeeded", json!([])),
            instance("busy", "Running", json!([])),
            instance(&"x".repeat(64), "Running", json!([])),
            migration("old", "free", "Succeeded"),
            migration("new", "busy", "Running"),
        ])
    }

    #[test]
    fn only_what_can_move_is_migrated_once() {
        let gate = json!({"developerConfiguration": {"featureGates": ["DecentralizedLiveMigration"]}});
        let send = |id: &str| json!({"migrationID": id, "connectURL": "x:1"});
        for (spec, config, want) in [
            (json!({"vmiName": "free"}), json!({}), &[] as &[&str]),
            (json!({}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "gone"}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "done"}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "fixed"}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "busy"}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "x".repeat(64)}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "free", "priority": "system-critical"}), json!({}), &["spec.migrationPriority"]),
            (json!({"vmiName": "disks"}), json!({}), &["spec.vmiName"]),
            (json!({"vmiName": "disks", "sendTo": send("a")}), gate.clone(), &[]),
            (json!({"vmiName": "free", "sendTo": send("a")}), json!({}), &["spec.sendTo"]),
            (json!({"vmiName": "free", "receive": {"migrationID": "a"}}), json!({}), &["spec.receive"]),
            (json!({"vmiName": "free", "sendTo": send("a"), "receive": {"migrationID": "a"}}), gate.clone(), &[]),
            (json!({"vmiName": "free", "sendTo": send("a"), "receive": {"migrationID": "b"}}), gate.clone(), &["spec.receive.migrationID"]),
        ] {
            let object = json!({"metadata": {"name": "m", "namespace": "lab"}, "spec": spec});
            assert_eq!(denied("VirtualMachineInstanceMigration", &object, &config, &cluster()), want, "{spec}");
        }
    }

    #[test]
    fn a_migration_stays_what_it_is() {
        let migration = |name: &str, labels: Value, phase: &str| json!({"metadata": {"name": "m", "namespace": "lab", "labels": labels}, "spec": {"vmiName": name}, "status": {"phase": phase}});
        let label = json!({"kubevirt.io/vmi-name": "a"});
        let old = migration("a", label.clone(), "Running");
        for (new, want) in [
            (migration("a", json!({"kubevirt.io/vmi-name": "a", "x": "y"}), "Running"), &[] as &[&str]),
            (migration("b", label.clone(), "Running"), &["spec"]),
            (migration("a", json!({"kubevirt.io/vmi-name": "b"}), "Running"), &["metadata.labels"]),
            (migration("a", json!({}), "Running"), &["metadata.labels"]),
            (migration("a", json!({}), "Failed"), &[]),
        ] {
            assert_eq!(denied_update("VirtualMachineInstanceMigration", &new, &old), want, "{new}");
        }
    }
}
