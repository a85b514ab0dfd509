//! Rules for `VirtualMachineSnapshot`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::names::GROUP;
use crate::api::snapshot::VirtualMachineSnapshot;
use crate::config::Gate;
use k8s_openapi::api::core::v1::TypedLocalObjectReference;

use super::reference::{gated, unchanged};

/// Judges a snapshot.
pub fn judge(snapshot: &VirtualMachineSnapshot, old: Option<&VirtualMachineSnapshot>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) if gated(request, Gate::Snapshot, findings) => {
            machine(&Path::new("spec.source"), &snapshot.spec.source, findings);
        }
        (Operation::Update, Some(old)) => unchanged(&snapshot.spec, &old.spec, findings),
        _ => {}
    }
}

/// The reference is to a virtual machine. It may not exist (yet): the controller waits for it.
pub(super) fn machine(path: &Path, reference: &TypedLocalObjectReference, findings: &mut Findings) {
    match reference.api_group.as_deref() {
        None => findings.deny(Cause::not_found(path.key("apiGroup"), format!("the group is missing; it must be {GROUP}"))),
        Some(GROUP) if reference.kind == "VirtualMachine" => {}
        Some(GROUP) => findings.deny(Cause::invalid(path.key("kind"), format!("{:?} must be VirtualMachine", reference.kind))),
        Some(group) => findings.deny(Cause::invalid(path.key("apiGroup"), format!("{group:?} must be {GROUP}"))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn snapshot(source: Value) -> Value {
        json!({"metadata": {"name": "s", "namespace": "lab"}, "spec": {"source": source}})
    }

    #[test]
    fn a_snapshot_is_of_a_virtual_machine() {
        let off = json!({"developerConfiguration": {"disabledFeatureGates": ["Snapshot"]}});
        let source = |group: Option<&str>, kind: &str| json!({"apiGroup": group, "kind": kind, "name": "a"});
        for (source, config, want) in [
            (source(Some("kubevirt.io"), "VirtualMachine"), json!({}), &[] as &[&str]),
            (source(None, "VirtualMachine"), json!({}), &["spec.source.apiGroup"]),
            (source(Some("x"), "Pod"), json!({}), &["spec.source.apiGroup"]),
            (source(Some("kubevirt.io"), "VirtualMachineInstance"), json!({}), &["spec.source.kind"]),
            (source(Some("kubevirt.io"), "VirtualMachine"), off, &[""]),
        ] {
            assert_eq!(denied("VirtualMachineSnapshot", &snapshot(source.clone()), &config, &json!([])), want, "{source}");
        }
        let (a, b) = (source(Some("kubevirt.io"), "VirtualMachine"), source(None, "VirtualMachine"));
        assert_eq!(denied_update("VirtualMachineSnapshot", &snapshot(a.clone()), &snapshot(b)), ["spec"]);
        assert!(denied_update("VirtualMachineSnapshot", &snapshot(a.clone()), &snapshot(a)).is_empty());
    }
}
