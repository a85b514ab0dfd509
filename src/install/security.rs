//! What OpenShift lets pods do that do more than others.

use serde_json::{Value, json};

use super::Object;

fn constraints_of(name: &str, namespace: &str, may: &Value) -> Object {
    let mut object = json!({
        "apiVersion": "security.openshift.io/v1",
        "kind": "SecurityContextConstraints",
        "metadata": {"name": name},
        "allowHostDirVolumePlugin": true,
        "allowHostNetwork": false,
        "readOnlyRootFilesystem": false,
        "runAsUser": {"type": "RunAsAny"},
        "seLinuxContext": {"type": "RunAsAny"},
        "users": [format!("system:serviceaccount:{namespace}:{name}")],
    });
    if let (Some(object), Some(may)) = (object.as_object_mut(), may.as_object()) {
        object.extend(may.clone());
    }
    Object::new(object)
}

/// For handlers, which reach into their node, and for the controller, whose launchers need a little more than nothing.
pub(super) fn constraints(namespace: &str) -> [Object; 2] {
    let handler = json!({
        "allowHostIPC": true,
        "allowHostPID": true,
        "allowHostPorts": true,
        "allowPrivilegedContainer": true,
        "volumes": ["*"],
    });
    let controller = json!({
        "allowHostIPC": false,
        "allowHostPID": false,
        "allowHostPorts": false,
        "allowPrivilegedContainer": false,
        "allowedCapabilities": ["SYS_NICE", "NET_BIND_SERVICE"],
        "seccompProfiles": ["runtime/default", "unconfined", "localhost/kubevirt/kubevirt.json"],
    });
    [constraints_of("kubevirt-handler", namespace, &handler), constraints_of("kubevirt-controller", namespace, &controller)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::settings::testing;
    use crate::install::{Cluster, objects};

    #[test]
    fn only_a_cluster_that_knows_them_gets_them() {
        for known in [false, true] {
            let installation = testing(json!({}), Cluster { nodes: 2, security_constraints: known }).unwrap();
            let all = objects(&installation, "");
            let users: Vec<&Value> =
                all.iter().filter(|o| o.kind() == "SecurityContextConstraints").map(|o| &o.value()["users"][0]).collect();
            assert_eq!(users.len(), if known { 2 } else { 0 });
            assert!(users.iter().all(|user| user.as_str().unwrap().starts_with("system:serviceaccount:kubevirt:kubevirt-")));
        }
    }
}
