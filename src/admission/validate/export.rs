//! Rules for `VirtualMachineExport`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::export::VirtualMachineExport;
use crate::config::Gate;

use super::reference::{self, Kind};

const KINDS: &[Kind] = &[
    Kind { kind: "PersistentVolumeClaim", group: "" },
    Kind { kind: "VirtualMachineSnapshot", group: "snapshot.kubevirt.io" },
    Kind { kind: "VirtualMachine", group: "kubevirt.io" },
    Kind { kind: "VirtualMachineBackup", group: "backup.kubevirt.io" },
    Kind { kind: TEMPLATE, group: "template.kubevirt.io" },
];
const TEMPLATE: &str = "VirtualMachineTemplate";

/// Judges an export.
pub fn judge(export: &VirtualMachineExport, old: Option<&VirtualMachineExport>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) => {
            let path = Path::new("spec.source");
            let source = &export.spec.source;
            if source.kind == TEMPLATE && !exports_templates(request) {
                let text = "templates can be exported only with the feature gate OCIExport and the deployment of virt-template enabled";
                findings.deny(Cause::invalid(path.key("kind"), text));
            } else {
                reference::judge(&path, source, KINDS, findings);
            }
        }
        (Operation::Update, Some(old)) => reference::unchanged(&export.spec, &old.spec, findings),
        _ => {}
    }
}

fn exports_templates(request: &Request) -> bool {
    let deployed = request.config.spec().virt_template_deployment.as_ref().and_then(|deployment| deployment.enabled);
    request.config.enabled(Gate::OciExport) && request.config.enabled(Gate::Template) && deployed != Some(false)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn export(source: Value) -> Value {
        json!({"metadata": {"name": "e", "namespace": "lab"}, "spec": {"source": source}})
    }

    #[test]
    fn what_is_exported_is_named_with_its_group() {
        let gate = json!({"developerConfiguration": {"featureGates": ["OCIExport"]}});
        let off = json!({"developerConfiguration": {"featureGates": ["OCIExport"]}, "virtTemplateDeployment": {"enabled": false}});
        for (kind, group, name, config, want) in [
            ("PersistentVolumeClaim", None, "x", json!({}), &[] as &[&str]),
            ("PersistentVolumeClaim", Some(""), "x", json!({}), &[]),
            ("PersistentVolumeClaim", Some("v1"), "x", json!({}), &["spec.source.apiGroup"]),
            ("VirtualMachine", Some("kubevirt.io"), "x", json!({}), &[]),
            ("VirtualMachine", None, "", json!({}), &["spec.source.name", "spec.source.apiGroup"]),
            ("VirtualMachineSnapshot", Some("snapshot.kubevirt.io"), "x", json!({}), &[]),
            ("VirtualMachineSnapshot", Some("kubevirt.io"), "x", json!({}), &["spec.source.apiGroup"]),
            ("VirtualMachineBackup", Some("backup.kubevirt.io"), "x", json!({}), &[]),
            ("VirtualMachineTemplate", Some("template.kubevirt.io"), "x", json!({}), &["spec.source.kind"]),
            ("VirtualMachineTemplate", Some("template.kubevirt.io"), "x", off, &["spec.source.kind"]),
            ("VirtualMachineTemplate", Some("template.kubevirt.io"), "x", gate.clone(), &[]),
            ("VirtualMachineTemplate", None, "x", gate, &["spec.source.apiGroup"]),
            ("Secret", Some(""), "", json!({}), &["spec.source.kind"]),
        ] {
            let object = export(json!({"kind": kind, "apiGroup": group, "name": name}));
            assert_eq!(denied("VirtualMachineExport", &object, &config, &json!([])), want, "{kind} {group:?}");
        }
    }

    #[test]
    fn an_export_stays_what_it_is() {
        let source = |name: &str| export(json!({"kind": "PersistentVolumeClaim", "name": name}));
        assert!(denied_update("VirtualMachineExport", &source("a"), &source("a")).is_empty());
        assert_eq!(denied_update("VirtualMachineExport", &source("b"), &source("a")), ["spec"]);
    }
}
