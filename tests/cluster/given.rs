//! What a guest is given from without: by a hook sidecar, from a Secret through its agent, of its node, and by a claim that is empty
//! at first and grows.

use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::json;

use crate::cluster::{BOOT, Cluster, condition, text};
use crate::guest::Stream;
use crate::live_config::Before;
use crate::sidecar::Sidecar;

/// The argument by which this program is the sidecar.
pub(crate) const SIDECAR: &str = "serve-as-hook-sidecar";
/// Where a pod looks for a sidecar.
const SOCKET: &str = "/var/run/kubevirt-hooks/any.sock";
/// The folder of the claim on its node.
const FOLDER: &str = "/var/lib/growing";

/// The sidecar in its container: another maker, another name, and an end when the guest has ended.
pub(crate) fn serve() -> ExitCode {
    let calls = Arc::new(Mutex::new(Vec::new()));
    let sidecar = Sidecar {
        name: "changer",
        version: "v1alpha3",
        priority: 0,
        domain: Some(|domain| Ok(domain.replace("<entry name='manufacturer'>KubeVirt<", "<entry name='manufacturer'>Hooked<"))),
        cloud_init: Some(|data| Ok(data.replace("hostname: plain", "hostname: hooked"))),
        calls: calls.clone(),
    };
    sidecar.serve(Path::new(SOCKET));
    while !calls.lock().expect("calls").iter().any(|call: &String| call.ends_with(" Shutdown")) {
        std::thread::sleep(Duration::from_millis(200));
    }
    // the answer is on its way
    std::thread::sleep(Duration::from_millis(200));
    ExitCode::SUCCESS
}

fn machine(namespace: &str) -> String {
    format!(
        r##"
apiVersion: v1
kind: Secret
metadata: {{name: keys}}
stringData: {{mine: ssh-ed25519 AAAA first}}
---
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {{name: growing}}
provisioner: kubernetes.io/no-provisioner
allowVolumeExpansion: true
---
apiVersion: v1
kind: PersistentVolume
metadata: {{name: growing}}
spec:
  storageClassName: growing
  accessModes: [ReadWriteOnce]
  capacity: {{storage: 32Mi}}
  claimRef: {{namespace: {namespace}, name: data}}
  hostPath: {{path: {FOLDER}}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {{name: data}}
spec:
  storageClassName: growing
  accessModes: [ReadWriteOnce]
  resources: {{requests: {{storage: 32Mi}}}}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: guest
  annotations:
    hooks.kubevirt.io/hookSidecars: '[{{"image": "localhost/kubevirt-rs/sidecar:latest", "command": ["/usr/bin/sidecar", "{SIDECAR}"]}}]'
spec:
  nodeSelector: {{kubernetes.io/hostname: node1}}
  terminationGracePeriodSeconds: 15
  accessCredentials:
    - sshPublicKey: {{source: {{secret: {{secretName: keys}}}}, propagationMethod: {{qemuGuestAgent: {{users: [root]}}}}}}
  domain:
    memory: {{guest: 256Mi}}
    devices:
      downwardMetrics: {{}}
      disks:
        - {{name: root, disk: {{bus: virtio}}}}
        - {{name: seed, disk: {{bus: virtio}}}}
        - {{name: metrics, serial: METRICS, disk: {{bus: virtio}}}}
        - {{name: data, serial: DATA, disk: {{bus: virtio}}}}
      interfaces: [{{name: default, masquerade: {{}}}}]
      rng: {{}}
  networks: [{{name: default, pod: {{}}}}]
  volumes:
    - {{name: root, containerDisk: {{image: "localhost/kubevirt-rs/tiny:latest"}}}}
    - {{name: seed, cloudInitNoCloud: {{userData: "#cloud-config\nhostname: plain\npassword: kubevirt\n"}}}}
    - {{name: metrics, downwardMetrics: {{}}}}
    - {{name: data, persistentVolumeClaim: {{claimName: data}}}}
"##
    )
}

/// What belongs to no namespace, and the claim's folder; they go with the value.
struct Storage<'a>(&'a Cluster);

impl Drop for Storage<'_> {
    fn drop(&mut self) {
        let _ = self.0.kubectl(&["delete", "--wait=false", "--ignore-not-found", "pv/growing", "storageclass/growing"]);
        let _ = self.0.on_node("node1", &["rm", "-rf", FOLDER]);
    }
}

pub(crate) fn a_guest_has_what_its_sidecar_secret_node_and_claim_give(cluster: &Cluster) {
    let before = Before::of(cluster);
    before.configure(&json!({"developerConfiguration": {"featureGates": ["DownwardMetrics", "Sidecar"]}}));
    let program = std::env::current_exe().expect("this program").display().to_string();
    cluster.script("sidecar.sh", &[&program]);
    let _storage = Storage(cluster);
    let namespace = cluster.namespace("given");
    let made = cluster.on_node("node1", &["install", "--directory", "--owner=107", "--group=107", FOLDER]);
    assert!(made.status.success(), "{}", text(&made.stderr));
    let manifest = machine(&namespace.name);
    cluster.until("the gates are open, and all is made", BOOT, || {
        let output = cluster.kubectl_with(&["apply", "--namespace", &namespace.name, "--filename", "-"], Some(&manifest));
        output.status.success().then_some(())
    });
    namespace.until("vmi/guest", "the key has been brought", BOOT, |vmi| condition(vmi, "AccessCredentialsSynchronized", "True"));

    // what changes is begun first, since it takes its time
    namespace.ok(&["patch", "secret", "keys", "--type", "merge", "--patch", r#"{"stringData":{"mine":"ssh-ed25519 AAAA second"}}"#]);
    let mut console = Stream::open(&namespace, &["console", "guest"]);
    console.log_in("kubevirt");
    console.ask("echo name-is-$(hostname)", "name-is-hooked");
    console.ask("mountpoint -q /sys || mount -t sysfs s /sys; echo maker-is-$(cat /sys/class/dmi/id/sys_vendor)", "maker-is-Hooked");
    console.send("by_serial() { for d in /sys/block/vd*; do [ \"$(cat $d/serial)\" = $1 ] && echo ${d##*/}; done; }");
    console.send("data=/sys/block/$(by_serial DATA)/size");
    // the image that was made on the empty claim
    console.ask("echo size-is-$(($(cat $data) / 2048))-MiB", "size-is-32-MiB");
    let larger = |subresource: &[&str], patch: &str| {
        namespace.ok(&[&["patch", "pvc", "data", "--type", "merge", "--patch", patch], subresource].concat());
    };
    larger(&[], r#"{"spec":{"resources":{"requests":{"storage":"64Mi"}}}}"#);
    // as the driver of a real storage would say once it has done it
    larger(&["--subresource", "status"], r#"{"status":{"capacity":{"storage":"64Mi"}}}"#);

    let node = "tr -dc ' -~' | grep -o 'HostName</name> *<value>[^<]*' | sed 's/.*>//'";
    console.ask(&format!("echo disk-of-$(head -c 8192 /dev/$(by_serial METRICS) | {node})"), "disk-of-node1");
    console.send(
        "for p in /sys/class/virtio-ports/*; do [ $(cat $p/name) = org.github.vhostmd.1 ] && port=/dev/${p##*/}; done; exec 3<>$port",
    );
    console.send(r"printf 'GET /metrics/XML\n\n' >&3");
    let answer = r#"while read -r l <&3 && [ -n "$l" ]; do echo "$l"; done"#;
    console.ask(&format!("echo port-of-$({answer} | {node})"), "port-of-node1");

    // the claim less what its file system needs
    console.ask("until [ $(cat $data) = 122880 ]; do sleep 1; done; echo it-has-gr\"\"own", "it-has-grown");
    console.ask(
        "until grep -q second /root/.ssh/authorized_keys; do sleep 1; done; echo key-$(cat /root/.ssh/authorized_keys)",
        "key-ssh-ed25519 AAAA second",
    );
    drop(console);
    namespace.ok(&["delete", "vmi", "guest", "--timeout", "60s"]);
}
