//! With no api there is no judge of what comes in; what needs no judgement works on.

use crate::cluster::{BOOT, Cluster, Namespace, SOON, text};
use crate::containers::until_role_is_ready;
use crate::guest;

/// Scales a role's Deployment; the operator would undo it, so it goes first and comes back last.
fn scale(cluster: &Cluster, role: &str, replicas: &str) {
    let deployment = format!("deployment/virt-{role}");
    cluster.ok(&["scale", &deployment, "--replicas", replicas, "--namespace", "kubevirt"]);
}

fn until_away(cluster: &Cluster, role: &str) {
    let selector = format!("kubevirt.io=virt-{role}");
    cluster.until(&format!("{role} has no pod"), SOON, || {
        let pods = cluster.kubectl(&["get", "pods", "--namespace", "kubevirt", "--selector", &selector, "--output", "name"]);
        (pods.status.success() && pods.stdout.is_empty()).then_some(())
    });
}

/// Brings the roles back, whatever happened.
struct Away<'a>(&'a Cluster);

impl Drop for Away<'_> {
    fn drop(&mut self) {
        let _ = self.0.kubectl(&["scale", "deployment/virt-operator", "--replicas", "2", "--namespace", "kubevirt"]);
        let _ = self.0.kubectl(&["scale", "deployment/virt-api", "--replicas", "2", "--namespace", "kubevirt"]);
    }
}

/// What is refused by a policy of the API server, and the field that is named. Machines are refused as well, but by their
/// mutation, which comes first and cannot be asked.
const REFUSED: [(&str, &str); 3] = [
    (
        r#"{"apiVersion": "export.kubevirt.io/v1", "kind": "VirtualMachineExport", "metadata": {"name": "e"},
            "spec": {"source": {"apiGroup": "", "kind": "Pod", "name": "p"}}}"#,
        "spec.source.kind",
    ),
    (
        r#"{"apiVersion": "snapshot.kubevirt.io/v1beta1", "kind": "VirtualMachineSnapshot", "metadata": {"name": "s"},
            "spec": {"source": {"apiGroup": "apps", "kind": "VirtualMachine", "name": "m"}}}"#,
        "spec.source.apiGroup",
    ),
    (
        r#"{"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "metadata": {"name": "r"},
            "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": {"metadata": {"labels": {"a": "b"}}, "spec": {"domain":
            {"devices": {"disks": [{"name": "root"}]}, "memory": {"guest": "64Mi"}}}}}}"#,
        "spec.template.spec.domain.devices.disks[0].name",
    ),
];

fn what_policies_can_judge_is_refused(cluster: &Cluster, namespace: &Namespace) {
    let file = std::env::temp_dir().join(format!("kubevirt-rs-refused-{}", std::process::id()));
    for (manifest, field) in REFUSED {
        std::fs::write(&file, manifest).expect("a file");
        // the Deployment may tell a moment later that none of its pods is ready
        cluster.until(&format!("a policy names {field}"), SOON, || {
            let output = namespace.kubectl(&["create", "--filename", &file.display().to_string()]);
            assert!(!output.status.success(), "taken without an api: {manifest}");
            let said = text(&output.stderr);
            (said.contains("ValidatingAdmissionPolicy") && said.contains(field)).then_some(())
        });
    }
    let _ = std::fs::remove_file(&file);
}

pub(crate) fn machines_stop_start_and_go_without_the_api(cluster: &Cluster) {
    let namespace = cluster.namespace("no-api");
    let vmi = guest::running(&namespace);
    let first = guest::boot_id(&namespace, &vmi);

    let away = Away(cluster);
    for role in ["operator", "api"] {
        scale(cluster, role, "0");
        until_away(cluster, role);
    }
    what_policies_can_judge_is_refused(cluster, &namespace);
    let strategy = |value: &str| {
        let patch = format!(r#"{{"spec": {{"runStrategy": "{value}"}}}}"#);
        namespace.ok(&["patch", "vm", "vm-tiny", "--type", "merge", "--patch", &patch]);
    };
    strategy("Halted");
    namespace.until_gone("vmi/vm-tiny", BOOT);
    namespace.until("vm/vm-tiny", "Stopped", SOON, |vm| vm["status"]["printableStatus"] == "Stopped");
    strategy("Always");
    let vmi = guest::until_running(&namespace);
    assert_ne!(guest::boot_id(&namespace, &vmi), first, "it was started anew");
    // what admission would have written
    assert!(vmi["spec"]["domain"]["machine"]["type"].is_string(), "the instance is defaulted: {}", vmi["spec"]["domain"]);
    namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
    namespace.until_gone("vm/vm-tiny", BOOT);
    namespace.until_gone("vmi/vm-tiny", SOON);

    drop(away);
    until_role_is_ready(cluster, "operator");
    until_role_is_ready(cluster, "api");
}
