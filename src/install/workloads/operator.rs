//! The operator itself, which a person installs.

use serde_json::json;

use super::{Object, Role, placement};

/// The deployment of the operator.
pub(in crate::install) fn deployment(namespace: &str, image: &str, pull_policy: &str) -> Object {
    let role = Role {
        name: "virt-operator",
        role: "operator",
        account: "kubevirt-operator",
        image: image.to_owned(),
        pull_policy: pull_policy.to_owned(),
        arguments: Vec::new(),
        certificates: &[],
        cpu: "10m",
        memory: "32Mi",
    };
    let mut deployment = role.deployment(namespace, 2, &json!([]));
    let template = &mut deployment.value_mut()["spec"]["template"];
    if let Some(ports) = template["spec"]["containers"][0]["ports"].as_array_mut() {
        ports.push(json!({"name": "webhooks", "containerPort": 8444, "protocol": "TCP"}));
    }
    // It writes its own certificate there: the one to begin with before there are secrets, and each new one at once.
    const KEYS: &str = "certificates";
    if let Some(volumes) = template["spec"]["volumes"].as_array_mut() {
        volumes.push(json!({"name": KEYS, "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}));
    }
    if let Some(mounts) = template["spec"]["containers"][0]["volumeMounts"].as_array_mut() {
        mounts.push(json!({"name": KEYS, "mountPath": "/etc/virt-operator/certificates"}));
    }
    placement::place(&mut template["spec"], Some(&placement::of_infra()));
    deployment
}
