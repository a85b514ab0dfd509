//! The component on every node: it reaches into the pods of its node, so it may do there what root may.

use serde_json::{Value, json};

use super::{Installation, Object, Role, placement};
use crate::api::names::APP_LABEL;
use crate::install::object::set;

/// What it sees of its node: name, path there, path in the container, and how mounts travel.
const PATHS: &[(&str, &str, &str, Option<&str>)] = &[
    ("virt-share-dir", "/var/run/kubevirt", "/var/run/kubevirt", Some("Bidirectional")),
    ("virt-private-dir", "/var/run/kubevirt-private", "/var/run/kubevirt-private", None),
    ("kubelet", "/var/lib/kubelet", "/var/lib/kubelet", Some("Bidirectional")),
    // paths of sockets are short
    ("kubelet-pods", "/var/lib/kubelet/pods", "/pods", Some("Bidirectional")),
    ("node-labeller", "/var/lib/kubevirt-node-labeller", "/var/lib/kubevirt-node-labeller", None),
];

pub(super) fn daemon_set(installation: &Installation) -> Object {
    let role = Role {
        name: "virt-handler",
        role: "handler",
        account: "kubevirt-handler",
        image: installation.image.clone(),
        pull_policy: installation.pull_policy.clone(),
        arguments: Vec::new(),
        certificates: &[
            ("kubevirt-virt-handler-certs", "/etc/virt-handler/clientcertificates"),
            ("kubevirt-virt-handler-server-certs", "/etc/virt-handler/servercertificates"),
            ("kubevirt-virt-handler-migration-client-certs", "/etc/virt-handler/migrationservercertificates"),
            ("kubevirt-virt-handler-vsock-client-certs", "/etc/virt-handler/vsockclientcertificates"),
        ],
        cpu: "10m",
        memory: "48Mi",
    };
    let mut template = role.template(&installation.pull_secrets);
    set(&mut template, "annotations", "openshift.io/required-scc", "kubevirt-handler");
    if let Some(network) = &installation.migration_network {
        set(&mut template, "annotations", "k8s.v1.cni.cncf.io/networks", &format!("{network}@migration0"));
    }
    let pod = &mut template["spec"];
    pod["hostPID"] = json!(true);
    // libvirt is asked about the node before the handler begins, which then needs no libvirt
    pod["initContainers"] = json!([{
        "name": "virt-launcher",
        "image": installation.image,
        "imagePullPolicy": installation.pull_policy,
        "command": [super::PROGRAM, "handler", "--look-at-host"],
        "resources": {"requests": {"cpu": "10m", "memory": "48Mi"}},
        "securityContext": {"privileged": true},
        "terminationMessagePolicy": "FallbackToLogsOnError",
        "volumeMounts": [{"name": "node-labeller", "mountPath": "/var/lib/kubevirt-node-labeller"}],
    }]);
    let container = &mut pod["containers"][0];
    container["securityContext"] = json!({"privileged": true, "seLinuxOptions": {"level": "s0"}});
    extend(
        &mut container["volumeMounts"],
        PATHS.iter().map(|(name, _, path, propagation)| {
            let mut mount = json!({"name": name, "mountPath": path});
            if let Some(propagation) = propagation {
                mount["mountPropagation"] = json!(propagation);
            }
            mount
        }),
    );
    extend(&mut container["ports"], [json!({"name": "console", "containerPort": 8186, "protocol": "TCP"})]);
    extend(
        &mut pod["volumes"],
        PATHS.iter().map(|(name, path, ..)| json!({"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}})),
    );
    placement::place(pod, installation.workloads.as_ref());
    Object::new(json!({
        "apiVersion": "apps/v1",
        "kind": "DaemonSet",
        "metadata": {
            "name": "virt-handler",
            "namespace": installation.namespace,
            "labels": {APP_LABEL: "virt-handler", "kubevirt.io/supports-migration-cn-types": "true"},
        },
        "spec": {
            "selector": {"matchLabels": {APP_LABEL: "virt-handler"}},
            "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
            "template": template,
        },
    }))
}

fn extend(list: &mut Value, more: impl IntoIterator<Item = Value>) {
    if let Some(list) = list.as_array_mut() {
        list.extend(more);
    }
}
