//! Folders that a guest shares with its pod.

use crate::cluster::{BOOT, Cluster};
use crate::guest::Stream;

const MACHINE: &str = r#"
apiVersion: v1
kind: ConfigMap
metadata: {name: settings}
data: {greeting: hello-from-a-configmap}
---
apiVersion: v1
kind: Secret
metadata: {name: keys}
stringData: {token: hello-from-a-secret}
---
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: guest
  labels: {tier: shared}
spec:
  terminationGracePeriodSeconds: 15
  domain:
    memory: {guest: 256Mi}
    devices:
      disks: [{name: root, disk: {bus: virtio}}]
      filesystems:
        - {name: settings, virtiofs: {}}
        - {name: keys, virtiofs: {}}
        - {name: about, virtiofs: {}}
        - {name: account, virtiofs: {}}
      interfaces: [{name: default, masquerade: {}}]
      rng: {}
  networks: [{name: default, pod: {}}]
  volumes:
    - {name: root, containerDisk: {image: "localhost/kubevirt-rs/tiny:latest"}}
    - {name: settings, configMap: {name: settings}}
    - {name: keys, secret: {secretName: keys}}
    - {name: about, downwardAPI: {fields: [{path: labels, fieldRef: {fieldPath: metadata.labels}}]}}
    - {name: account, serviceAccount: {serviceAccountName: default}}
"#;

pub(crate) fn a_guest_shares_what_its_pod_has(cluster: &Cluster) {
    let namespace = cluster.namespace("shares");
    namespace.apply(MACHINE);
    namespace.until("vmi/guest", "Running", BOOT, |vmi| vmi["status"]["phase"] == "Running");
    let mut console = Stream::open(&namespace, &["console", "guest"]);
    console.log_in("kubevirt");
    console.ask("for s in settings keys about account; do mkdir /run/$s; mount -t virtiofs $s /run/$s; done; echo mo\"\"unted", "mounted");
    console.ask("echo greeting-$(cat /run/settings/greeting)", "greeting-hello-from-a-configmap");
    console.ask("echo token-$(cat /run/keys/token)", "token-hello-from-a-secret");
    console.ask("grep tier /run/about/labels", "tier=\"shared\"");
    // every such token begins like this
    console.ask(
        "echo account-$(cut -c 1-3 /run/account/token)-in-$(cat /run/account/namespace)",
        &format!("account-eyJ-in-{}", namespace.name),
    );
    // what changes in the cluster shows in the guest, without a disk that is made anew
    namespace.ok(&["patch", "configmap", "settings", "--type", "merge", "--patch", r#"{"data":{"greeting":"another"}}"#]);
    console
        .ask("until grep -q another /run/settings/greeting; do sleep 2; done; echo it-is-$(cat /run/settings/greeting)", "it-is-another");
    drop(console);
    namespace.ok(&["delete", "vmi", "guest"]);
}
