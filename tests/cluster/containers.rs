//! Containers of the nodes, seen from the machine: the nodes share its processes.

use std::fs;
use std::time::Duration;

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::Value;

use crate::cluster::{Cluster, SOON};

/// A process of a container.
pub(crate) struct Process {
    pub(crate) pid: i32,
    pub(crate) arguments: String,
}

impl Process {
    pub(crate) fn signal(&self, signal: Signal) {
        kill(Pid::from_raw(self.pid), signal).expect("the process is there");
    }

    pub(crate) fn runs(&self) -> bool {
        let state = fs::read_to_string(format!("/proc/{}/stat", self.pid)).unwrap_or_default();
        let state = state.rsplit_once(") ").map(|(_, rest)| rest.chars().next());
        !matches!(state, None | Some(Some('Z')))
    }
}

/// The processes of a pod's container.
pub(crate) fn processes(pod: &Value, container: &str) -> Vec<Process> {
    let statuses = pod["status"]["containerStatuses"].as_array().cloned().unwrap_or_default();
    let status = statuses.iter().find(|s| s["name"] == container);
    let id = status.and_then(|s| s["containerID"].as_str()).and_then(|id| id.rsplit_once("//")).map(|(_, id)| id.to_owned());
    let Some(id) = id.filter(|id| !id.is_empty()) else { return Vec::new() };
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Ok(pid) = entry.file_name().to_string_lossy().parse() else { continue };
        if fs::read_to_string(entry.path().join("cgroup")).is_ok_and(|cgroup| cgroup.contains(&id)) {
            let arguments = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            found.push(Process { pid, arguments: String::from_utf8_lossy(&arguments).replace('\0', " ") });
        }
    }
    found
}

/// The pods of a role, those that are ready.
pub(crate) fn role_pods(cluster: &Cluster, role: &str) -> Vec<Value> {
    let list = cluster.find(&["pods", "--namespace", "kubevirt", "--selector", &format!("kubevirt.io=virt-{role}")]);
    let pods = list.and_then(|l| l["items"].as_array().cloned()).unwrap_or_default();
    pods.into_iter()
        .filter(|pod| crate::cluster::condition(pod, "Ready", "True") && pod["metadata"]["deletionTimestamp"].is_null())
        .collect()
}

/// The process of a role in one of its pods.
pub(crate) fn role_process(pod: &Value, role: &str) -> Process {
    let needle = format!("kubevirt-rs {role}");
    let mut found = processes(pod, &format!("virt-{role}"));
    found.retain(|p| p.arguments.contains(&needle));
    assert!(!found.is_empty(), "no process of {role} in {}", pod["metadata"]["name"]);
    found.swap_remove(0)
}

/// Waits until every pod that a role shall have is ready.
pub(crate) fn until_role_is_ready(cluster: &Cluster, role: &str) {
    let object = if role == "handler" { "daemonset/virt-handler".to_owned() } else { format!("deployment/virt-{role}") };
    cluster.until(&format!("{object} is ready"), SOON + Duration::from_secs(60), || {
        let status = cluster.find(&[&object, "--namespace", "kubevirt"])?["status"].clone();
        let (wanted, ready) = if role == "handler" {
            (status["desiredNumberScheduled"].as_i64()?, status["numberReady"].as_i64()?)
        } else {
            (status["replicas"].as_i64()?, status["readyReplicas"].as_i64()?)
        };
        (wanted > 0 && wanted == ready).then_some(())
    });
}

/// The launcher pod of an instance, which must be the only one.
pub(crate) fn launcher_pod(namespace: &crate::cluster::Namespace<'_>) -> Value {
    namespace.cluster.until("one launcher pod", SOON, || {
        let list = namespace.cluster.find(&["pods", "--namespace", &namespace.name, "--selector", "kubevirt.io=virt-launcher"])?;
        let running: Vec<&Value> = list["items"].as_array()?.iter().filter(|p| p["status"]["phase"] == "Running").collect();
        (running.len() == 1).then(|| running[0].clone())
    })
}
