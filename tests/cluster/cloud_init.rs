//! What a guest gets from its disks.

use std::process::{Command, Stdio};

use crate::cluster::{BOOT, Cluster, Namespace, SOON, condition, text};
use crate::guest::Stream;

/// An instance with the tiny guest, and more disks and volumes than its first.
fn instance(disks: &str, volumes: &str) -> String {
    format!(
        r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {{name: guest}}
spec:
  terminationGracePeriodSeconds: 15
  domain:
    memory: {{guest: 256Mi}}
    devices:
      disks:
        - {{name: root, disk: {{bus: virtio}}}}
{disks}
      interfaces: [{{name: default, masquerade: {{}}}}]
      rng: {{}}
  networks: [{{name: default, pod: {{}}}}]
  volumes:
    - {{name: root, containerDisk: {{image: "localhost/kubevirt-rs/tiny:latest"}}}}
{volumes}
"#
    )
}

/// Runs a command in the guest by ssh, through a forwarded port.
fn ssh(namespace: &Namespace<'_>, key: &str, command: &str) -> Result<String, String> {
    let proxy = format!("ProxyCommand={} portforward guest 22", namespace.cluster.client_line(&namespace.name));
    let options = ["-i", key, "-o", &proxy, "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null"];
    let output = Command::new("ssh")
        .args(options)
        .args(["-o", "ConnectTimeout=10", "-o", "LogLevel=ERROR", "root@guest", command])
        .stdin(Stdio::null())
        .output()
        .expect("ssh runs; `deploy/setup.sh test` installs it");
    if output.status.success() { Ok(text(&output.stdout)) } else { Err(text(&output.stderr)) }
}

pub(crate) fn a_guest_is_set_up_by_cloud_init_and_answers_ssh(cluster: &Cluster) {
    let namespace = cluster.namespace("cloud-init");
    let folder = std::env::temp_dir().join(format!("kubevirt-rs-key-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let key = folder.join("id").display().to_string();
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f", &key]).status().expect("ssh-keygen runs");
    assert!(made.success());
    let public = std::fs::read_to_string(format!("{key}.pub")).expect("the public key");

    let user_data = format!(
        "{{name: seed, cloudInitNoCloud: {{userData: \"#cloud-config\\nhostname: chosen\\npassword: secret-of-the-test\\n\
         chpasswd: {{expire: false}}\\nssh_pwauth: true\\nssh_authorized_keys: ['{}']\\n\"}}}}",
        public.trim()
    );
    namespace.apply(&instance("        - {name: seed, disk: {bus: virtio}}", &format!("    - {user_data}")));
    namespace.until("vmi/guest", "Running", BOOT, |vmi| vmi["status"]["phase"] == "Running");

    let mut said = String::new();
    let name = cluster.until("ssh through portforward", BOOT, || ssh(&namespace, &key, "hostname").map_err(|e| said = e).ok());
    assert_eq!(name.trim(), "chosen", "{said}");

    let vmi = namespace.until("vmi/guest", "its agent has answered", SOON, |vmi| {
        condition(vmi, "AgentConnected", "True") && vmi["status"]["guestOSInfo"]["id"].is_string()
    });
    assert_eq!(vmi["status"]["guestOSInfo"]["id"], "tiny");
    let source = vmi["status"]["interfaces"][0]["infoSource"].as_str().unwrap_or_default();
    assert!(source.contains("guest-agent") && source.contains("domain"), "{source}");
    let info: serde_json::Value = serde_json::from_str(&namespace.client(&["guestosinfo", "guest"])).expect("JSON");
    assert_eq!(info["hostname"], "chosen");
    assert_eq!(info["os"]["id"], "tiny");

    let mut console = Stream::open(&namespace, &["console", "guest"]);
    console.log_in("secret-of-the-test");
    drop(console);
    let _ = std::fs::remove_dir_all(&folder);
}

pub(crate) fn every_kind_of_disk_is_in_the_guest(cluster: &Cluster) {
    let namespace = cluster.namespace("disks");
    namespace.apply(
        r##"
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
apiVersion: v1
kind: Secret
metadata: {name: seed}
stringData:
  userdata: |
    #cloud-config
    hostname: by-secret
"##,
    );
    let disks = "        - {name: seed, disk: {bus: virtio}}\n        - {name: empty, serial: EMPTY, disk: {bus: virtio}}\n        \
                 - {name: settings, serial: SETTINGS, disk: {bus: virtio}}\n        - {name: keys, serial: KEYS, disk: {bus: virtio}}";
    let volumes = "    - {name: seed, cloudInitNoCloud: {secretRef: {name: seed}}}\n    - {name: empty, emptyDisk: {capacity: 64Mi}}\n    \
                   - {name: settings, configMap: {name: settings}}\n    - {name: keys, secret: {secretName: keys}}";
    namespace.apply(&instance(disks, volumes));
    namespace.until("vmi/guest", "Running", BOOT, |vmi| vmi["status"]["phase"] == "Running");

    let mut console = Stream::open(&namespace, &["console", "guest"]);
    console.log_in("kubevirt");
    console.ask("echo name-is-$(hostname)", "name-is-by-secret");
    console.send("by_serial() { for d in /sys/block/vd*; do [ \"$(cat $d/serial)\" = $1 ] && echo /dev/${d##*/}; done; }");
    console.ask("mount -o ro $(by_serial SETTINGS) /mnt && cat /mnt/greeting; umount /mnt", "hello-from-a-configmap");
    console.ask("mount -o ro $(by_serial KEYS) /mnt && cat /mnt/token; umount /mnt", "hello-from-a-secret");
    console.ask("mke2fs -q $(by_serial EMPTY) && mount $(by_serial EMPTY) /mnt && echo kept > /mnt/f && echo is-$(cat /mnt/f)", "is-kept");
}
