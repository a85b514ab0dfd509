//! Rules for `VirtualMachineRestore`.

use crate::admission::existing::{all, namespace, one};
use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::snapshot::{VirtualMachineRestore, VirtualMachineSnapshot, VirtualMachineSnapshotContent};
use crate::api::v1::{VirtualMachine, VirtualMachineInstanceSpec};
use crate::config::Gate;
use serde_json::Value;

use super::reference::{gated, unchanged};
use super::snapshot::machine;

/// What a patch may change; the identity of the target is the restore's own.
const PATCHABLE: [&str; 3] = ["/spec/", "/metadata/labels/", "/metadata/annotations/"];

/// Judges a restore.
pub fn judge(restore: &VirtualMachineRestore, old: Option<&VirtualMachineRestore>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) if gated(request, Gate::Snapshot, findings) => create(restore, request, findings),
        (Operation::Update, Some(old)) => unchanged(&restore.spec, &old.spec, findings),
        _ => {}
    }
}

fn create(restore: &VirtualMachineRestore, request: &Request, findings: &mut Findings) {
    let target = Path::new("spec.target");
    machine(&target, &restore.spec.target, findings);
    if findings.causes.is_empty() {
        source(restore, request, findings);
        overrides(restore, findings);
        policies(restore, findings);
    }
    let under_way = all::<VirtualMachineRestore>(request, Some(namespace(&restore.metadata)))
        .filter(|other| other.spec.target == restore.spec.target && other.status.as_ref().and_then(|status| status.complete) != Some(true));
    for other in under_way {
        let name = other.metadata.name.unwrap_or_default();
        findings.deny(Cause::invalid(target, format!("the restore {name} of the same machine is under way; wait for it")));
    }
}

/// What the snapshot and its target say; a snapshot that does not exist (yet) says nothing.
fn source(restore: &VirtualMachineRestore, request: &Request, findings: &mut Findings) {
    let home = namespace(&restore.metadata);
    let Some(snapshot) = one::<VirtualMachineSnapshot>(request, home, &restore.spec.virtual_machine_snapshot_name) else { return };
    for (i, patch) in restore.spec.patches.iter().enumerate() {
        if let Err(text) = judge_patch(patch) {
            findings.deny(Cause::invalid(Path::new("spec.patches").index(i), text));
        }
    }
    let status = snapshot.status.unwrap_or_default();
    let target = one::<VirtualMachine>(request, home, &restore.spec.target.name);
    let same = target.is_some_and(|target| status.source_uid.is_none() || target.metadata.uid == status.source_uid);
    if same {
        return;
    }
    let content = status.virtual_machine_snapshot_content_name.unwrap_or_default();
    let content = one::<VirtualMachineSnapshotContent>(request, home, &content).and_then(|content| content.spec.source.virtual_machine);
    let Some(machine) = content else {
        let text = "the snapshot has no content (yet); a machine other than the snapshot's own needs it to be restored from";
        findings.deny(Cause::invalid("spec.virtualMachineSnapshotName", text));
        return;
    };
    if machine.spec.template.is_some_and(|template| keeps_state(&template.spec)) {
        let text = "the machine of the snapshot keeps the state of its TPM or EFI, which cannot be given to another machine; \
                    restore to the machine itself";
        findings.deny(Cause::invalid("spec", text));
    }
}

/// Whether the guest has state beside its disks: a persistent TPM or EFI variables.
fn keeps_state(spec: &VirtualMachineInstanceSpec) -> bool {
    let tpm = spec.domain.devices.tpm.as_ref().is_some_and(|tpm| tpm.enabled != Some(false) && tpm.persistent == Some(true));
    let boot = spec.domain.firmware.as_ref().and_then(|firmware| firmware.bootloader.as_ref());
    tpm || boot.and_then(|boot| boot.efi.as_ref()).is_some_and(|efi| efi.persistent == Some(true))
}

/// A patch is one operation of a JSON patch, on what may be changed.
fn judge_patch(patch: &str) -> Result<(), String> {
    let Ok(Value::Object(operation)) = serde_json::from_str(patch) else {
        return Err(format!("{patch:?} is no operation of a JSON patch, such as {{\"op\": \"remove\", \"path\": \"/spec/running\"}}"));
    };
    let path = operation.get("path").and_then(Value::as_str).unwrap_or_default();
    if PATCHABLE.iter().any(|start| path.starts_with(start)) {
        return Ok(());
    }
    Err(format!("the path {path:?} cannot be patched; it must begin with {}", PATCHABLE.join(" or ")))
}

fn overrides(restore: &VirtualMachineRestore, findings: &mut Findings) {
    let list = Path::new("spec.volumeRestoreOverrides");
    for (i, over) in restore.spec.volume_restore_overrides.iter().enumerate() {
        let path = list.index(i);
        if over.volume_name.is_empty() {
            findings.deny(Cause::required(path.key("volumeName"), "the name of the volume is missing"));
        }
        if over.restore_name.is_empty() && over.annotations.is_empty() && over.labels.is_empty() {
            findings.deny(Cause::required(path, "it changes nothing; give a restoreName, labels or annotations"));
        }
    }
}

fn policies(restore: &VirtualMachineRestore, findings: &mut Findings) {
    use crate::api::snapshot::{VolumeOwnershipPolicy, VolumeRestorePolicy};
    let spec = &restore.spec;
    if let Some(policy) = spec.volume_restore_policy.as_ref().filter(|policy| !policy.is_known()) {
        let text = format!("{:?} is unknown; it must be one of {}", policy.as_str(), VolumeRestorePolicy::VALUES.join(", "));
        findings.deny(Cause::invalid("spec.volumeRestorePolicy", text));
    }
    if let Some(policy) = spec.volume_ownership_policy.as_ref().filter(|policy| !policy.is_known()) {
        let text = format!("{:?} is unknown; it must be one of {}", policy.as_str(), VolumeOwnershipPolicy::VALUES.join(", "));
        findings.deny(Cause::invalid("spec.volumeOwnershipPolicy", text));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn cluster() -> Value {
        let snapshot = |name: &str, content: Option<&str>| {
            json!({"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": name, "namespace": "lab"},
                "spec": {"source": {"kind": "VirtualMachine", "name": "a"}}, "status": {"sourceUID": "u-a", "virtualMachineSnapshotContentName": content}})
        };
        let content = |name: &str, devices: Value| {
            json!({"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshotContent", "metadata": {"name": name, "namespace": "lab"},
                "spec": {"source": {"virtualMachine": {"spec": {"template": {"spec": {"domain": {"devices": devices}}}}}}}})
        };
        let restore = |name: &str, target: &str, complete: bool| {
            json!({"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineRestore", "metadata": {"name": name, "namespace": "lab"},
                "spec": {"target": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": target}, "virtualMachineSnapshotName": "s"},
                "status": {"complete": complete}})
        };
        json!([
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a", "namespace": "lab", "uid": "u-a"}, "spec": {}},
            {"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "b", "namespace": "lab", "uid": "u-b"}, "spec": {}},
            snapshot("s", Some("plain")), snapshot("tpm", Some("tpm")), snapshot("early", None),
            content("plain", json!({})), content("tpm", json!({"tpm": {"persistent": true}})),
            restore("r1", "done", true), restore("r2", "busy", false),
        ])
    }

    fn restore(target: &str, snapshot: &str, rest: Value) -> Value {
        let mut spec = json!({"target": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": target}, "virtualMachineSnapshotName": snapshot});
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"metadata": {"name": "r", "namespace": "lab"}, "spec": spec})
    }

    #[test]
    fn rules_for_restores() {
        for (target, snapshot, rest, want) in [
            ("a", "s", json!({}), &[] as &[&str]),
            ("b", "s", json!({}), &[]),
            ("new", "gone", json!({}), &[]),
            ("a", "tpm", json!({}), &[]),
            ("b", "tpm", json!({}), &["spec"]),
            ("new", "tpm", json!({}), &["spec"]),
            ("new", "early", json!({}), &["spec.virtualMachineSnapshotName"]),
            ("done", "s", json!({}), &[]),
            ("busy", "s", json!({}), &["spec.target"]),
            ("a", "s", json!({"target": {"kind": "VirtualMachine", "name": "a"}}), &["spec.target.apiGroup"]),
            ("a", "s", json!({"volumeRestorePolicy": "Somewhere"}), &["spec.volumeRestorePolicy"]),
            ("a", "s", json!({"volumeOwnershipPolicy": "Somebody"}), &["spec.volumeOwnershipPolicy"]),
            ("a", "s", json!({"volumeRestoreOverrides": [{"volumeName": "x", "labels": {"a": "b"}}]}), &[]),
            (
                "a",
                "s",
                json!({"volumeRestoreOverrides": [{"restoreName": "x"}, {"volumeName": "x"}]}),
                &["spec.volumeRestoreOverrides[0].volumeName", "spec.volumeRestoreOverrides[1]"],
            ),
        ] {
            let object = restore(target, snapshot, rest.clone());
            assert_eq!(denied("VirtualMachineRestore", &object, &json!({}), &cluster()), want, "{target} {snapshot} {rest}");
        }
        let old = restore("a", "s", json!({}));
        assert_eq!(denied_update("VirtualMachineRestore", &restore("b", "s", json!({})), &old), ["spec"]);
    }

    #[test]
    fn patches_change_the_machine_not_who_it_is() {
        for (patch, fits) in [
            (
                r#"{"op": "replace", "path": "/spec/template/spec/domain/devices/interfaces/0/macAddress", "value": "02:00:00:00:00:01"}"#,
                true,
            ),
            (r#"{"op": "add", "path": "/metadata/labels/x", "value": "y"}"#, true),
            (r#"{"op": "remove", "path": "/metadata/annotations/x"}"#, true),
            (r#"{"op": "replace", "path": "/metadata/name", "value": "y"}"#, false),
            (r#"{"op": "replace", "path": "/specs", "value": "y"}"#, false),
            (r#"{"op": "replace"}"#, false),
            (r#"[{"op": "remove", "path": "/spec/running"}]"#, false),
            ("x", false),
            ("", false),
        ] {
            let object = restore("a", "s", json!({"patches": [patch]}));
            let want: &[&str] = if fits { &[] } else { &["spec.patches[0]"] };
            assert_eq!(denied("VirtualMachineRestore", &object, &json!({}), &cluster()), want, "{patch}");
        }
    }
}
