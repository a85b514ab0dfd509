//! The guest's memory, dumped to a claim.

use serde_json::{Value, json};

use crate::cluster::{BOOT, Cluster, Namespace, SOON, condition, text};
use crate::containers::{role_pods, role_process, until_role_is_ready};
use crate::guest::Stream;

const NODE: &str = "node1";
const FOLDER: &str = "/var/lib/kubevirt-rs-dumps";
const MARK: &str = "dump-me-in-memory-4711";
const MEMORY: u64 = 256 << 20;

/// Claims on the node of the guest, and who reads them. The second claims to have more room than there is.
const CLAIMS: &str = r#"
apiVersion: v1
kind: PersistentVolume
metadata: {name: dump-CLAIM}
spec:
  capacity: {storage: 1Gi}
  accessModes: [ReadWriteOnce]
  persistentVolumeReclaimPolicy: Retain
  claimRef: {namespace: dump, name: CLAIM}
  hostPath: {path: /var/lib/kubevirt-rs-dumps/CLAIM, type: Directory}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: CLAIM, namespace: dump}
spec: {storageClassName: "", volumeName: dump-CLAIM, accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: reads-CLAIM, namespace: dump}
spec:
  nodeName: node1
  terminationGracePeriodSeconds: 0
  containers:
    - name: shell
      image: localhost/kubevirt-rs/busybox:latest
      volumeMounts: [{name: claim, mountPath: /claim}]
  volumes: [{name: claim, persistentVolumeClaim: {claimName: CLAIM}}]
"#;

const MACHINE: &str = r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: guest}
spec:
  runStrategy: Always
  template:
    spec:
      nodeSelector: {kubernetes.io/hostname: node1}
      terminationGracePeriodSeconds: 0
      domain:
        memory: {guest: 256Mi}
        devices:
          disks: [{name: root, disk: {bus: virtio}}]
          interfaces: [{name: default, masquerade: {}}]
          rng: {}
      networks: [{name: default, pod: {}}]
      volumes: [{name: root, containerDisk: {image: "localhost/kubevirt-rs/tiny:latest"}}]
"#;

/// What is not in the test's namespace: it goes by itself.
struct Storage<'a>(&'a Cluster);

impl<'a> Storage<'a> {
    fn make(cluster: &'a Cluster) -> Self {
        let storage = Self(cluster);
        storage.on_node(&format!("mkdir -p {FOLDER}/room {FOLDER}/full && mount -t tmpfs -o size=128m none {FOLDER}/full"));
        storage
    }

    fn on_node(&self, script: &str) -> String {
        let output = self.0.on_node(NODE, &["sh", "-c", script]);
        text(&output.stdout)
    }
}

impl Drop for Storage<'_> {
    fn drop(&mut self) {
        let _ = self.0.kubectl(&["delete", "pv", "dump-room", "dump-full", "--ignore-not-found", "--wait=false"]);
        self.on_node(&format!("umount -l {FOLDER}/full; rm -rf {FOLDER}"));
    }
}

fn put(namespace: &Namespace<'_>, operation: &str, body: &Value) {
    let path = format!("/apis/subresources.kubevirt.io/v1/namespaces/{}/virtualmachines/guest/{operation}", namespace.name);
    namespace.cluster.ok_with(&["replace", "--raw", &path, "--filename", "-"], &body.to_string());
}

/// Waits until a dump is over, well or not; returns the machine.
fn until_over(namespace: &Namespace<'_>, phase: &str) -> Value {
    let over = namespace.until("vm/guest", "the dump is over", BOOT, |vm| {
        matches!(vm["status"]["memoryDumpRequest"]["phase"].as_str(), Some("Completed" | "Failed"))
    });
    assert_eq!(over["status"]["memoryDumpRequest"]["phase"], phase, "{}", over["status"]["memoryDumpRequest"]);
    over
}

fn let_go(namespace: &Namespace<'_>) {
    put(namespace, "removememorydump", &json!({}));
    let free = namespace.until("vm/guest", "no claim is tied to it", SOON, |vm| vm["status"]["memoryDumpRequest"].is_null());
    let volumes = &free["spec"]["template"]["spec"]["volumes"];
    assert_eq!(volumes.as_array().map(Vec::len), Some(1), "{volumes}");
    assert!(!condition(&free, "RestartRequired", "True"), "{}", free["status"]);
}

/// Looks at a dump in its claim.
fn check(namespace: &Namespace<'_>, file: &str) {
    let read = |script: &str| namespace.ok(&["exec", "reads-room", "--", "sh", "-c", script]);
    assert_eq!(read("ls /claim").trim(), file, "one dump, the last");
    let file = format!("/claim/{file}");
    // an ELF file of 64 bits, little end first; a core
    let head = read(&format!("head -c 18 {file} | hexdump -v -e '1/1 \"%02x\"'"));
    assert!(head.starts_with("7f454c460201") && head.ends_with("0400"), "{head}");
    let size: u64 = read(&format!("stat -c %s {file}")).trim().parse().expect("a size");
    assert!(size > MEMORY, "{size} bytes are less than the guest has");
    assert_eq!(read(&format!("grep -q {MARK} {file} && echo marked")).trim(), "marked");
}

pub(crate) fn memory_is_dumped_to_a_claim(cluster: &Cluster) {
    let storage = Storage::make(cluster);
    let namespace = cluster.namespace("dump");
    for claim in ["room", "full"] {
        namespace.apply(&CLAIMS.replace("CLAIM", claim));
    }
    namespace.apply(MACHINE);
    let vmi = namespace.until("vmi/guest", "Running", BOOT, |vmi| vmi["status"]["phase"] == "Running");
    let uid = vmi["metadata"]["uid"].clone();
    namespace.until("pod/reads-room", "Running", SOON, |pod| pod["status"]["phase"] == "Running");
    let mut console = Stream::open(&namespace, &["console", "guest"]);
    console.log_in("kubevirt");
    console.ask("M=in-memory; echo dump-me-$M-4711 > /run/mark; echo wri\"\"tten", "written");

    put(&namespace, "memorydump", &json!({"claimName": "room"}));
    let vm = until_over(&namespace, "Completed");
    let request = vm["status"]["memoryDumpRequest"].clone();
    let file = request["fileName"].as_str().expect("a file").to_owned();
    assert!(file.starts_with("guest-room-") && file.ends_with(".memory.dump"), "{file}");
    assert!(request["startTimestamp"].is_string() && request["endTimestamp"].is_string(), "{request}");
    let claim = namespace.find("pvc/room").expect("the claim");
    assert_eq!(claim["metadata"]["annotations"]["kubevirt.io/memory-dump"], file.as_str());
    check(&namespace, &file);
    let vmi = namespace.find("vmi/guest").expect("the instance");
    assert_eq!(vmi["status"]["volumeStatus"].as_array().map(Vec::len), Some(1), "{}", vmi["status"]["volumeStatus"]);
    assert_eq!(vmi["spec"]["domain"]["devices"]["disks"].as_array().map(Vec::len), Some(1), "a dump is no disk");
    assert!(!storage.on_node("cat /proc/self/mounts").contains("hotplug-disks/room"), "it was taken out of the launcher's pod");
    assert!(!condition(&vm, "RestartRequired", "True"), "{}", vm["status"]);
    // the claim stays tied to the machine, which can be changed as before
    namespace.ok(&["annotate", "vm", "guest", "touched=yes"]);

    // the next takes the place of the first, whatever becomes of the handler meanwhile
    put(&namespace, "memorydump", &json!({}));
    cluster.until("the volume is on its way", SOON, || {
        let vmi = namespace.find("vmi/guest")?;
        let statuses = vmi["status"]["volumeStatus"].as_array()?.clone();
        statuses.iter().any(|s| s["name"] == "room" && s["memoryDumpVolume"].is_object()).then_some(())
    });
    for pod in role_pods(cluster, "handler").iter().filter(|pod| pod["spec"]["nodeName"] == NODE) {
        role_process(pod, "handler").signal(nix::sys::signal::Signal::SIGKILL);
    }
    let vm = until_over(&namespace, "Completed");
    let next = vm["status"]["memoryDumpRequest"]["fileName"].as_str().expect("a file").to_owned();
    assert_ne!(next, file);
    check(&namespace, &next);
    until_role_is_ready(cluster, "handler");
    assert!(!storage.on_node("cat /proc/self/mounts").contains("hotplug-disks/room"), "it was taken out of the launcher's pod");
    let_go(&namespace);

    // there is no room for it
    put(&namespace, "memorydump", &json!({"claimName": "full"}));
    let vm = until_over(&namespace, "Failed");
    let message = vm["status"]["memoryDumpRequest"]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("\"full\"") && message.contains("bytes left"), "{message}");
    println!("a dump without room: {message}");
    namespace.until("pvc/full", "annotated", SOON, |claim| {
        claim["metadata"]["annotations"]["kubevirt.io/memory-dump"].as_str().is_some_and(|told| told.contains("failed"))
    });
    let_go(&namespace);
    assert!(!storage.on_node("cat /proc/self/mounts").contains("hotplug-disks/full"), "it was taken out of the launcher's pod");

    // it is the same guest, and it goes on
    console.ask("echo it-is-$(cat /run/mark)", &format!("it-is-{MARK}"));
    drop(console);
    assert_eq!(namespace.find("vmi/guest").expect("the instance")["metadata"]["uid"], uid);
    namespace.ok(&["delete", "vm", "guest", "--wait=false"]);
    namespace.until_gone("vmi/guest", SOON);
}
