//! Rules for `KubeVirt`, the object that installs and configures it all.
//!
//! Where its components may run is judged by the API server itself, which the operator's webhook asks to make a
//! deployment on trial.

mod certificates;
mod configuration;

use crate::admission::existing::all;
use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::v1::{
    KubeVirt, KubeVirtPhase, KubeVirtSpec, KubeVirtUninstallStrategy, VirtualMachine, VirtualMachineInstance,
    VirtualMachineInstanceReplicaSet,
};

/// Judges the installation.
pub fn judge(kubevirt: &KubeVirt, old: Option<&KubeVirt>, request: &Request, findings: &mut Findings) {
    match (request.operation, old) {
        (Operation::Create, _) => create(request, findings),
        (Operation::Update, Some(old)) => update(&kubevirt.spec, &old.spec, findings),
        // what is deleted comes as the old object
        (Operation::Delete, old) => delete(old.unwrap_or(kubevirt), request, findings),
        _ => {}
    }
}

fn create(request: &Request, findings: &mut Findings) {
    if let Some(other) = all::<KubeVirt>(request, None).next() {
        let (namespace, name) = (other.metadata.namespace.unwrap_or_default(), other.metadata.name.unwrap_or_default());
        findings.deny(Cause::forbidden("", format!("a cluster has one KubeVirt, and there is {namespace}/{name}; change that one")));
    }
}

fn update(spec: &KubeVirtSpec, old: &KubeVirtSpec, findings: &mut Findings) {
    let path = Path::new("spec");
    let patches = path.key("customizeComponents.patches");
    for (i, patch) in spec.customize_components.patches.iter().enumerate() {
        if serde_json::from_str::<serde::de::IgnoredAny>(&patch.patch).is_err() {
            findings.deny(Cause::not_supported(patches.index(i).key("patch"), format!("{:?} is no JSON", patch.patch)));
        }
    }
    if let Some(certificates) = &spec.certificate_rotate_strategy.self_signed {
        certificates::judge(certificates, &path.key("certificateRotateStrategy.selfSigned"), findings);
    }
    if spec.infra.as_ref().and_then(|infra| infra.replicas) == Some(0) {
        findings.deny(Cause::invalid(path.key("infra.replicas"), "at least one replica has to run"));
    }
    configuration::judge(&spec.configuration, &old.configuration, &path.key("configuration"), findings);
}

fn delete(kubevirt: &KubeVirt, request: &Request, findings: &mut Findings) {
    let blocks = kubevirt.spec.uninstall_strategy == KubeVirtUninstallStrategy::BlockUninstallIfWorkloadsExist;
    if !blocks || kubevirt.status.phase != KubeVirtPhase::Deployed {
        return;
    }
    let left = if all::<VirtualMachineInstance>(request, None).next().is_some() {
        "virtual machine instances"
    } else if all::<VirtualMachine>(request, None).next().is_some() {
        "virtual machines"
    } else if all::<VirtualMachineInstanceReplicaSet>(request, None).next().is_some() {
        "replica sets of virtual machine instances"
    } else {
        return;
    };
    let text = format!("there are {left}; delete them first, or set spec.uninstallStrategy to RemoveWorkloads");
    findings.deny(Cause::forbidden("spec.uninstallStrategy", text));
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_delete, denied_update};

    pub(super) fn updated(old: Value, new: Value) -> Vec<String> {
        let kubevirt = |spec: Value| json!({"metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": spec});
        let fields = denied_update("KubeVirt", &kubevirt(new), &kubevirt(old));
        fields.iter().map(|field| field.trim_start_matches("spec.").to_owned()).collect()
    }

    #[test]
    fn there_is_one() {
        let object = json!({"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt"}, "spec": {}});
        assert!(denied("KubeVirt", &object, &json!({}), &json!([])).is_empty());
        assert_eq!(denied("KubeVirt", &object, &json!({}), &json!([object])), [""]);
    }

    #[test]
    fn rules_for_an_installation() {
        let patch = |text: &str| json!({"customizeComponents": {"patches": [{"resourceName": "virt-api", "resourceType": "Deployment", "patch": text, "type": "json"}]}});
        for (spec, want) in [
            (json!({}), &[] as &[&str]),
            (patch("[]"), &[]),
            (patch("["), &["customizeComponents.patches[0].patch"]),
            (json!({"infra": {"replicas": 1}}), &[]),
            (json!({"infra": {"replicas": 0}}), &["infra.replicas"]),
        ] {
            assert_eq!(updated(json!({}), spec.clone()), want, "{spec}");
        }
    }

    #[test]
    fn it_goes_when_nothing_needs_it() {
        let kubevirt = |strategy: &str, phase: &str| json!({"metadata": {"name": "k"}, "spec": {"uninstallStrategy": strategy}, "status": {"phase": phase}});
        let vm =
            json!([{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a", "namespace": "b"}, "spec": {}}]);
        let blocks = "BlockUninstallIfWorkloadsExist";
        for (strategy, phase, cluster, want) in [
            ("", "Deployed", &vm, &[] as &[&str]),
            ("RemoveWorkloads", "Deployed", &vm, &[]),
            (blocks, "Deploying", &vm, &[]),
            (blocks, "Deployed", &json!([]), &[]),
            (blocks, "Deployed", &vm, &["spec.uninstallStrategy"]),
        ] {
            assert_eq!(denied_delete("KubeVirt", &kubevirt(strategy, phase), cluster), want, "{strategy} {phase}");
        }
    }
}
