//! Rules for `VirtualMachineBackup` and `VirtualMachineBackupTracker`.

use crate::admission::existing::{all, namespace};
use crate::admission::{Cause, Findings, Operation, Request};
use crate::api::backup::{VirtualMachineBackup, VirtualMachineBackupTracker};
use crate::config::Gate;

use super::reference::gated;

/// Judges a backup.
pub fn judge(backup: &VirtualMachineBackup, _: Option<&VirtualMachineBackup>, request: &Request, findings: &mut Findings) {
    if request.operation != Operation::Create || !gated(request, Gate::IncrementalBackup, findings) {
        return;
    }
    for other in all::<VirtualMachineBackup>(request, Some(namespace(&backup.metadata))) {
        let name = other.metadata.name.as_deref().unwrap_or_default();
        if other.metadata.name == backup.metadata.name {
            findings.deny(Cause::invalid("metadata.name", format!("the backup {name} exists; choose another name")));
            return;
        }
        if other.spec.source == backup.spec.source && !has_ended(&other) {
            findings.deny(Cause::invalid("spec.source", format!("the backup {name} of the same source is under way; wait for it")));
            return;
        }
    }
}

fn has_ended(backup: &VirtualMachineBackup) -> bool {
    let conditions = backup.status.iter().flat_map(|status| &status.conditions);
    conditions.filter(|condition| condition.status == "True").any(|condition| matches!(condition.type_.as_str(), "Complete" | "Failed"))
}

/// Judges a tracker.
pub fn judge_tracker(_: &VirtualMachineBackupTracker, _: Option<&VirtualMachineBackupTracker>, request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Create {
        gated(request, Gate::IncrementalBackup, findings);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::denied;

    fn backup(name: &str, of: &str, conditions: Value) -> Value {
        json!({"apiVersion": "backup.kubevirt.io/v1alpha1", "kind": "VirtualMachineBackup", "metadata": {"name": name, "namespace": "lab"},
            "spec": {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": of}, "pvcName": "p"}, "status": {"conditions": conditions}})
    }

    #[test]
    fn one_backup_of_a_source_at_a_time() {
        let on = json!({"developerConfiguration": {"featureGates": ["IncrementalBackup"]}});
        let condition = |kind: &str, status: &str| json!([{"type": kind, "status": status, "reason": "x", "message": "", "lastTransitionTime": "2026-12-01T00:00:00Z"}]);
        let cluster = json!([
            backup("b1", "done", condition("Complete", "True")),
            backup("b2", "failed", condition("Failed", "True")),
            backup("b3", "busy", condition("Progressing", "True")),
            backup("b4", "unfinished", condition("Complete", "False")),
        ]);
        for (name, of, config, want) in [
            ("new", "fresh", &on, &[] as &[&str]),
            ("new", "done", &on, &[]),
            ("new", "failed", &on, &[]),
            ("new", "busy", &on, &["spec.source"]),
            ("new", "unfinished", &on, &["spec.source"]),
            ("b1", "fresh", &on, &["metadata.name"]),
            ("new", "fresh", &json!({}), &[""]),
        ] {
            assert_eq!(denied("VirtualMachineBackup", &backup(name, of, json!([])), config, &cluster), want, "{name} {of}");
        }
        let tracker =
            json!({"metadata": {"name": "t"}, "spec": {"source": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "a"}}});
        assert_eq!(denied("VirtualMachineBackupTracker", &tracker, &json!({}), &json!([])), [""]);
        assert!(denied("VirtualMachineBackupTracker", &tracker, &on, &json!([])).is_empty());
    }
}
