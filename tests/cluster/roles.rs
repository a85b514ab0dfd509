//! How roles end, and what they tell.

use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::cluster::{BOOT, Cluster, SOON};
use crate::containers::{role_pods, role_process, until_role_is_ready};
use crate::guest;

pub(crate) fn roles_stop_soon_and_tell_what_they_change(cluster: &Cluster) {
    let namespace = cluster.namespace("roles");
    guest::running(&namespace);
    namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
    namespace.until_gone("vm/vm-tiny", BOOT);

    // which role changes which kind of object of a machine's life
    for (role, kind) in [
        ("controller", "VirtualMachineInstance"),
        ("controller", "Pod"),
        ("controller", "VirtualMachine"),
        ("handler", "VirtualMachineInstance"),
    ] {
        cluster.until(&format!("{role} has told that it changed a {kind} of the namespace roles"), SOON, || {
            role_pods(cluster, role).iter().any(|pod| tells(cluster, pod, kind)).then_some(())
        });
    }

    for role in ["handler", "controller", "api", "operator"] {
        until_role_is_ready(cluster, role);
        for pod in role_pods(cluster, role) {
            let process = role_process(&pod, role);
            let begin = Instant::now();
            process.signal(Signal::SIGTERM);
            cluster.until(&format!("{role} ends within 5 s of SIGTERM"), Duration::from_secs(5), || (!process.runs()).then_some(()));
            println!("{role} has ended after {:.1} s", begin.elapsed().as_secs_f64());
        }
        until_role_is_ready(cluster, role);
    }
}

/// Whether a line of a role's log tells a change of an object: its kind, namespace, name and what was done.
fn tells(cluster: &Cluster, pod: &Value, kind: &str) -> bool {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let log = cluster.kubectl(&["logs", name, "--namespace", "kubevirt", "--tail", "5000"]);
    crate::cluster::text(&log.stdout).lines().any(|line| {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return false };
        let field = |name: &str| line["fields"][name].as_str().or_else(|| line[name].as_str()).unwrap_or_default().to_owned();
        field("kind") == kind && field("namespace") == "roles" && field("name").contains("vm-tiny") && !field("message").is_empty()
    })
}
