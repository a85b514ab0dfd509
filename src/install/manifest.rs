//! What a person applies: the operator with all that it needs, and the object that tells it to install the rest.

use serde_json::{Value, json};

use super::{Object, rbac, workloads};
use crate::api::names::{APP_LABEL, OPERATOR_LABEL};
use crate::schema;

/// The operator's objects, for its namespace and image.
pub fn operator(namespace: &str, image: &str) -> Vec<Value> {
    let mut objects = vec![
        Object::new(json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": namespace, "labels": {APP_LABEL: "", "pod-security.kubernetes.io/enforce": "privileged"}},
        })),
        Object::new(definition()),
        Object::new(json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": workloads::PRIORITY_CLASS},
            "value": 1_000_000_000,
            "description": "For the components that virtual machines need, and nothing else.",
        })),
    ];
    objects.extend(rbac::operator(namespace));
    objects.push(workloads::operator(namespace, image, "IfNotPresent"));
    objects.into_iter().map(Object::into_value).collect()
}

/// The definition of the KubeVirt object.
fn definition() -> Value {
    let text = schema::crds().iter().find(|crd| crd.kind == "KubeVirt").map_or("null", |crd| crd.json);
    let mut definition: Value = serde_json::from_str(text).unwrap_or_default();
    definition["metadata"]["labels"] = json!({OPERATOR_LABEL: ""});
    definition
}

/// The object by which everything is installed, with nothing but defaults.
pub fn kubevirt(namespace: &str) -> Value {
    json!({
        "apiVersion": "kubevirt.io/v1",
        "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": namespace},
        "spec": {
            "certificateRotateStrategy": {},
            "configuration": {"developerConfiguration": {"featureGates": []}},
            "customizeComponents": {},
            "imagePullPolicy": "IfNotPresent",
            "workloadUpdateStrategy": {},
        },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_manifest_is_complete() {
        let objects = operator("virt", "registry.example/kubevirt-rs:1");
        let kinds: Vec<&str> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
        assert_eq!(kinds[..3], ["Namespace", "CustomResourceDefinition", "PriorityClass"]);
        assert_eq!(kinds.last(), Some(&"Deployment"));
        let deployment = objects.last().unwrap();
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "registry.example/kubevirt-rs:1");
        assert!(objects[1]["spec"]["versions"].is_array());
    }
}
