//! What is killed harms no other, and comes back.

use std::time::Duration;

use nix::sys::signal::Signal;

use crate::cluster::{BOOT, Cluster, SOON, condition};
use crate::containers::{launcher_pod, processes, role_pods, role_process, until_role_is_ready};
use crate::guest;

/// A bare instance: nothing starts it again, so that its end can be read.
const BARE: &str = r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {name: bare}
spec:
  terminationGracePeriodSeconds: 15
  domain:
    memory: {guest: 256Mi}
    devices:
      disks: [{name: root, disk: {bus: virtio}}]
      interfaces: [{name: default, masquerade: {}}]
  networks: [{name: default, pod: {}}]
  volumes: [{name: root, containerDisk: {image: "localhost/kubevirt-rs/tiny:latest"}}]
"#;

pub(crate) fn killing_a_role_harms_no_guest(cluster: &Cluster) {
    let namespace = cluster.namespace("kills");
    let vmi = guest::running(&namespace);
    let boot = guest::boot_id(&namespace, &vmi);
    let node = vmi["status"]["nodeName"].clone();

    for role in ["handler", "controller", "api", "operator"] {
        for pod in role_pods(cluster, role) {
            // of the handlers only the guest's own matters
            if role != "handler" || pod["spec"]["nodeName"] == node {
                role_process(&pod, role).signal(Signal::SIGKILL);
            }
        }
        // What is wanted while it is away is done when it is back: an instance is paused by the api and the handler, its label and the
        // machine's status come by the controller.
        until_role_is_ready(cluster, role);
        cluster.until(&format!("pausing works after {role} was killed"), SOON, || {
            cluster.client("kills").args(["pause", "vm-tiny"]).output().is_ok_and(|o| o.status.success()).then_some(())
        });
        namespace.until("vm/vm-tiny", &format!("Paused, after {role} was killed"), SOON, |vm| vm["status"]["printableStatus"] == "Paused");
        namespace.client(&["unpause", "vm-tiny"]);
        namespace
            .until("vm/vm-tiny", &format!("Running, after {role} was killed"), SOON, |vm| vm["status"]["printableStatus"] == "Running");
        assert_eq!(guest::boot_id(&namespace, &vmi), boot, "the guest runs on, after {role} was killed");
    }
    let now = namespace.until("vmi/vm-tiny", "Ready", SOON, |vmi| condition(vmi, "Ready", "True"));
    assert_eq!(now["metadata"]["uid"], vmi["metadata"]["uid"]);
    cluster.until("KubeVirt is Available again", SOON, || {
        cluster.find(&["kubevirt/kubevirt", "--namespace", "kubevirt"]).filter(|kv| condition(kv, "Available", "True"))
    });
}

pub(crate) fn a_guest_whose_processes_are_killed_fails_and_comes_back(cluster: &Cluster) {
    let namespace = cluster.namespace("crashes");
    for (program, needle) in [("QEMU", "qemu-system"), ("libvirt", "libvirtd")] {
        namespace.apply(BARE);
        namespace.until("vmi/bare", "Running", BOOT, |vmi| vmi["status"]["phase"] == "Running");
        let mut all = processes(&launcher_pod(&namespace), "compute");
        all.retain(|p| p.arguments.contains(needle) && !p.arguments.contains("kubevirt-rs"));
        let process = all.first().unwrap_or_else(|| panic!("{program} runs in the pod"));
        process.signal(Signal::SIGKILL);
        let failed =
            namespace.until("vmi/bare", &format!("Failed, since {program} was killed"), SOON, |vmi| vmi["status"]["phase"] == "Failed");
        let uid = failed["metadata"]["uid"].as_str().unwrap_or_default().to_owned();
        cluster.until(&format!("an event tells why the instance failed when {program} was killed"), SOON, || {
            let events = cluster.find(&["events", "--namespace", "crashes"])?;
            let of_it = |e: &&serde_json::Value| e["involvedObject"]["uid"] == uid.as_str() && e["type"] == "Warning";
            let warnings: Vec<_> = events["items"].as_array()?.iter().filter(of_it).cloned().collect();
            warnings.iter().any(|e| e["message"].as_str().is_some_and(|m| !m.is_empty())).then_some(())
        });
        namespace.ok(&["delete", "vmi", "bare", "--wait=false"]);
        namespace.until_gone("vmi/bare", SOON);
    }

    // a machine that shall always run gets another instance
    let vmi = guest::running(&namespace);
    let uid = vmi["metadata"]["uid"].clone();
    let mut all = processes(&launcher_pod(&namespace), "compute");
    all.retain(|p| p.arguments.contains("qemu-system"));
    all.first().expect("QEMU runs in the pod").signal(Signal::SIGKILL);
    namespace.until("vmi/vm-tiny", "another instance", BOOT, |vmi| vmi["metadata"]["uid"] != uid);
    guest::until_running(&namespace);
}

pub(crate) fn what_cannot_start_is_tried_again_with_a_back_off(cluster: &Cluster) {
    let namespace = cluster.namespace("backoff");
    namespace.apply(
        r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: broken}
spec:
  runStrategy: Always
  template:
    spec:
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 256Mi}
        devices: {disks: [{name: root, disk: {bus: virtio}}]}
      volumes: [{name: root, containerDisk: {image: "localhost/kubevirt-rs/tiny:latest", path: /disk/absent.img}}]
"#,
    );
    let failures = |vm: &serde_json::Value| vm["status"]["startFailure"]["consecutiveFailCount"].as_i64().unwrap_or_default();
    let vm = namespace.until("vm/broken", "has failed to start, and tells when it is tried again", BOOT, |vm| {
        failures(vm) >= 1 && vm["status"]["startFailure"]["retryAfterTimestamp"].is_string()
    });
    namespace.until("vm/broken", "CrashLoopBackOff", SOON, |vm| vm["status"]["printableStatus"] == "CrashLoopBackOff");
    let first = failures(&vm);
    let vm = namespace.until("vm/broken", "was tried again", BOOT, |vm| failures(vm) > first);
    let delay = |vm: &serde_json::Value| -> Option<Duration> {
        let at: jiff::Timestamp = vm["status"]["startFailure"]["retryAfterTimestamp"].as_str()?.parse().ok()?;
        at.duration_since(jiff::Timestamp::now()).try_into().ok()
    };
    assert!(delay(&vm).is_none_or(|d| d <= Duration::from_secs(310)), "the delay is bounded: {}", vm["status"]["startFailure"]);
    namespace.ok(&["delete", "vm", "broken", "--wait=false"]);
    namespace.until_gone("vm/broken", SOON);
}
