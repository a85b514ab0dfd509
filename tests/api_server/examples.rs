//! The examples, as `kubectl apply` hands them over.

use std::fs;

use serde_json::{Value, json};

use crate::server::{Server, printed, repository, text, until};

/// Applies every example without keeping any, and returns for how many objects the API server answered yes.
fn apply(server: &Server) -> usize {
    let folder = repository("examples").display().to_string();
    server.ok(&["apply", "--dry-run=server", "--filename", &folder], "").lines().filter(|line| line.ends_with(" (server dry run)")).count()
}

/// The number of objects in the examples.
fn count() -> usize {
    let files = fs::read_dir(repository("examples")).expect("a folder").map(|file| file.expect("an entry").path());
    let texts = files.filter(|file| file.extension().is_some_and(|e| e == "yaml")).map(|file| fs::read(file).expect("a text"));
    texts.map(|text| kubevirt_rs::manifest::read(&text).expect("an example").len()).sum()
}

pub(crate) fn every_example_is_taken(server: &Server) {
    assert_eq!(apply(server), count());
}

pub(crate) fn every_example_is_taken_by_the_policies(server: &Server) {
    // whoever serves the webhooks: as long as none of its pods is ready, policies judge
    let deployment = |name: &str| {
        let labels = json!({"kubevirt.io": name});
        json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": name, "namespace": "kubevirt"},
            "spec": {"replicas": 0, "selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels},
                "spec": {"containers": [{"name": "none", "image": "none"}]}}}})
    };
    let configuration = repository("examples/kubevirt.yaml").display().to_string();
    let policies: Value =
        serde_json::from_str(&printed(&["install", "--policies", "--kubevirt", &configuration, "-o", "json"])).expect("JSON");
    let mut items = vec![deployment("virt-api"), deployment("virt-operator")];
    items.extend(policies["items"].as_array().expect("policies").iter().cloned());
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    server.ok(&["apply", "--server-side", "--filename", "-"], &list.to_string());
    // The last policy that is made judges last. It is of no kind that the examples have.
    let canary = json!({"apiVersion": "v1", "kind": "List", "items": [
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": {"name": "canary"},
            "spec": {"matchConstraints": {"resourceRules": [
                {"apiGroups": [""], "apiVersions": ["v1"], "resources": ["endpoints"], "operations": ["CREATE"]}]},
                "validations": [{"expression": "false", "message": "the canary sings"}]}},
        {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": {"name": "canary"},
            "spec": {"policyName": "canary", "validationActions": ["Deny"]}},
    ]});
    server.ok(&["apply", "--server-side", "--filename", "-"], &canary.to_string());
    let probe = json!({"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": "canary", "namespace": "default"}}).to_string();
    until("the policies judge", || {
        let refused = server.kubectl_with(&["create", "--dry-run=server", "--filename", "-"], &probe);
        text(&refused.stderr).contains("the canary sings").then_some(())
    });
    let refused = server.kubectl_with(&["create", "--dry-run=server", "--filename", "-"], REFUSED);
    let said = text(&refused.stderr);
    assert!(said.contains("ValidatingAdmissionPolicy") && said.contains("spec.domain.devices.disks[0].name"), "{said}");
    assert_eq!(apply(server), count());
}

/// What a policy refuses: nothing gives the disk.
const REFUSED: &str = r#"{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "r"},
    "spec": {"domain": {"devices": {"disks": [{"name": "root"}]}, "memory": {"guest": "64Mi"}}}}"#;
