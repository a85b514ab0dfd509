//! What deleting leaves behind, on the nodes and in the API: nothing.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::cluster::{BOOT, Cluster, SOON, condition, text};
use crate::containers::launcher_pod;
use crate::guest;

/// What tells on a node of one instance and its pod: files, sockets and mounts by their identities, taps by the pod's network.
fn left_on(cluster: &Cluster, node: &str, pod: &str, vmi: &str) -> Vec<String> {
    let script = format!(
        "grep -E '{pod}|{vmi}' /proc/self/mounts; \
         find /var/lib/kubelet/pods /run/kubevirt /run/kubevirt-private /var/lib/kubevirt /run/libvirt /var/run/kubevirt \
         \\( -name '*{pod}*' -o -name '*{vmi}*' \\) 2>/dev/null; ip -oneline link show type tun"
    );
    let output = cluster.on_node(node, &["sh", "-c", &script]);
    text(&output.stdout).lines().map(str::to_owned).collect()
}

/// The cgroups of a pod, on the machine.
fn cgroups(pod: &str) -> Vec<String> {
    fn walk(folder: &Path, needle: &str, found: &mut Vec<String>) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.is_dir() && !path.is_symlink() {
                if entry.file_name().to_string_lossy().contains(needle) {
                    found.push(path.display().to_string());
                }
                walk(&path, needle, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(Path::new("/sys/fs/cgroup"), pod, &mut found);
    found
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().expect("an identity").to_owned()
}

fn until_nothing_is_left(cluster: &Cluster, node: &str, pod: &str, vmi: &str) {
    let mut left = Vec::new();
    cluster.until(&format!("nothing is left on {node} of pod {pod} and instance {vmi}"), SOON + SOON, || {
        left = left_on(cluster, node, pod, vmi);
        left.extend(cgroups(pod));
        if left.is_empty() { Some(()) } else { None }
    });
}

/// An instance that runs, with the identities by which its traces are found.
struct Running {
    node: String,
    pod: Value,
    vmi: Value,
}

fn run(namespace: &crate::cluster::Namespace<'_>) -> Running {
    let vmi = guest::running(namespace);
    let node = vmi["status"]["nodeName"].as_str().expect("its node").to_owned();
    let running = Running { node, pod: launcher_pod(namespace), vmi };
    let before = left_on(namespace.cluster, &running.node, &uid(&running.pod), &uid(&running.vmi));
    assert!(!before.is_empty(), "a running instance is seen by what is looked for");
    running
}

pub(crate) fn deleting_leaves_nothing(cluster: &Cluster) {
    // the machine
    {
        let namespace = cluster.namespace("traces-vm");
        let it = run(&namespace);
        namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
        for object in ["vm/vm-tiny", "vmi/vm-tiny"] {
            namespace.until_gone(object, BOOT);
        }
        until_nothing_is_left(cluster, &it.node, &uid(&it.pod), &uid(&it.vmi));
    }
    // its instance, and then the pod of the instance that follows
    {
        let namespace = cluster.namespace("traces-vmi");
        let it = run(&namespace);
        let old = uid(&it.vmi);
        namespace.ok(&["delete", "vmi", "vm-tiny", "--wait=false"]);
        namespace.until("vmi/vm-tiny", "another instance", BOOT, |vmi| vmi["metadata"]["uid"] != old.as_str());
        let next = guest::until_running(&namespace);
        until_nothing_is_left(cluster, &it.node, &uid(&it.pod), &old);

        let node = next["status"]["nodeName"].as_str().expect("its node").to_owned();
        let pod = launcher_pod(&namespace);
        let name = pod["metadata"]["name"].as_str().expect("its name");
        namespace.ok(&["delete", "pod", name, "--wait=false"]);
        namespace.until("vmi/vm-tiny", "another instance", BOOT, |vmi| vmi["metadata"]["uid"] != uid(&next).as_str());
        guest::until_running(&namespace);
        until_nothing_is_left(cluster, &node, &uid(&pod), &uid(&next));
    }
    // its namespace, with everything in it
    {
        let namespace = cluster.namespace("traces-namespace");
        let it = run(&namespace);
        cluster.ok(&["delete", "namespace", &namespace.name, "--wait=false"]);
        cluster.until("the namespace is gone", BOOT, || {
            let output = cluster.kubectl(&["get", "namespace", "traces-namespace", "--ignore-not-found", "--output", "name"]);
            (output.status.success() && output.stdout.is_empty()).then_some(())
        });
        until_nothing_is_left(cluster, &it.node, &uid(&it.pod), &uid(&it.vmi));
    }
    // the object of its node: the instance ends there, and the machine runs elsewhere
    {
        let namespace = cluster.namespace("traces-node");
        let it = run(&namespace);
        cluster.ok(&["delete", "node", &it.node, "--wait=false"]);
        let old = uid(&it.vmi);
        namespace.until("vmi/vm-tiny", "another instance", BOOT, |vmi| vmi["metadata"]["uid"] != old.as_str());
        // a kubelet registers its node when it starts
        let output = cluster.on_node(&it.node, &["sh", "-c", "kill $(cat /run/kubelet.pid)"]);
        assert!(output.status.success(), "{}", text(&output.stderr));
        cluster.until(&format!("{} is ready again", it.node), BOOT, || {
            cluster.find(&[&format!("node/{}", it.node)]).filter(|node| condition(node, "Ready", "True"))
        });
        guest::until_running(&namespace);
        until_nothing_is_left(cluster, &it.node, &uid(&it.pod), &old);
    }
}
