//! What a guest takes from its cloud-init disk: name, password, key.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;

use crate::guest::{BOOT, Folder, Launcher, folder, free_port};

/// A key pair; returns the public half.
fn key(folder: &Folder) -> String {
    let path = folder.0.join("id");
    let made = Command::new("ssh-keygen").args(["-q", "-t", "ed25519", "-N", "", "-f"]).arg(&path).status().expect("ssh-keygen runs");
    assert!(made.success());
    std::fs::read_to_string(path.with_extension("pub")).expect("the public half").trim().to_owned()
}

/// Runs a command in the guest, again and again until its ssh server lets us in.
fn ssh(port: u16, key: &Path, user: &str, command: &str, limit: Duration) -> String {
    let begin = Instant::now();
    loop {
        let output = Command::new("ssh")
            .args([
                "-p",
                &port.to_string(),
                "-o",
                "StrictHostKeyChecking=no",
                "-o",
                "UserKnownHostsFile=/dev/null",
                "-o",
                "BatchMode=yes",
                "-o",
                "ConnectTimeout=20",
            ])
            .args(["-o", "LogLevel=ERROR", "-o", "IdentitiesOnly=yes", "-i"])
            .arg(key)
            .arg(format!("{user}@127.0.0.1"))
            .arg(command)
            .output()
            .expect("ssh runs");
        if output.status.success() {
            return String::from_utf8_lossy(&output.stdout).trim().to_owned();
        }
        assert!(begin.elapsed() < limit, "no ssh after {limit:?}: {}", String::from_utf8_lossy(&output.stderr));
        std::thread::sleep(Duration::from_secs(2));
    }
}

fn machine(name: &str, memory: &str, cores: u32, public: &str) -> String {
    format!(
        r##"apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata:
  name: {name}
spec:
  runStrategy: Always
  template:
    spec:
      terminationGracePeriodSeconds: 120
      domain:
        cpu: {{cores: {cores}}}
        memory: {{guest: {memory}}}
        devices:
          disks:
          - {{name: root, disk: {{bus: virtio}}}}
          - {{name: seed, disk: {{bus: virtio}}}}
          - {{name: empty, disk: {{bus: virtio}}, serial: EMPTY}}
          - {{name: settings, disk: {{bus: sata}}, serial: SETTINGS}}
          - {{name: keys, disk: {{bus: virtio}}}}
          interfaces: [{{name: default, macAddress: "02:00:00:00:00:07", masquerade: {{}}}}]
      networks: [{{name: default, pod: {{}}}}]
      accessCredentials:
      - sshPublicKey:
          source: {{secret: {{secretName: key}}}}
          propagationMethod: {{noCloud: {{}}}}
      volumes:
      - {{name: root, containerDisk: {{image: guest}}}}
      - {{name: seed, cloudInitNoCloud: {{secretRef: {{name: seed}}, networkDataSecretRef: {{name: seed}}}}}}
      - {{name: empty, emptyDisk: {{capacity: 64Mi}}}}
      - {{name: settings, configMap: {{name: settings, volumeLabel: settings}}}}
      - {{name: keys, secret: {{secretName: key}}}}
---
apiVersion: v1
kind: Secret
metadata: {{name: seed}}
stringData:
  userdata: |
    #cloud-config
    hostname: named-by-seed
    users:
    - name: root
      lock_passwd: false
    chpasswd:
      expire: false
      users:
      - {{name: root, password: opensesame, type: text}}
    disable_root: false
  networkdata: |
    version: 2
    ethernets:
      card: {{match: {{macaddress: "02:00:00:00:00:07"}}, set-name: named0, dhcp4: true, addresses: [192.0.2.7/24]}}
---
apiVersion: v1
kind: Secret
metadata: {{name: key}}
stringData:
  id.pub: {public}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data:
  app.conf: answer=42
"##
    )
}

/// Boots a guest, logs in by password at the console and by key through the forwarded port.
fn takes_its_seed(guest: &str, memory: &str, cores: u32, boot: Duration) {
    let (scratch, files) = (Folder::new(), Folder::new());
    let public = key(&files);
    let vm = files.write("vm.yaml", &machine(guest, memory, cores, &public));
    let port = free_port();
    let image = folder(guest).join(format!("{guest}.oci.tar"));
    let arguments =
        ["--vmi", &vm.display().to_string(), "--image", &format!("guest={}", image.display()), "--forward", &format!("{port}:22")]
            .map(str::to_owned);
    let mut launcher = Launcher::start(&scratch, &arguments);
    launcher.wait_for("login: ", boot);
    let id = files.0.join("id");
    assert_eq!(ssh(port, &id, "root", "hostname", boot), "named-by-seed");
    let sizes = ssh(port, &id, "root", "cat /sys/block/vdc/size", BOOT);
    assert_eq!(sizes, (64 << 11).to_string(), "the empty disk has its size, in sectors");
    let settings = ssh(port, &id, "root", "mkdir -p /mnt && mount -o ro /dev/sda /mnt && cat /mnt/app.conf", BOOT);
    assert_eq!(settings, "answer=42");
    if guest == "debian" {
        // tiny reads no network data, and says so
        let addresses = ssh(port, &id, "root", "ip -4 -o address show named0", BOOT);
        assert!(addresses.contains("192.0.2.7/24") && addresses.contains("10.0.2.15/24"), "{addresses}");
    }
    launcher.type_line("");
    launcher.log_in("root", "opensesame");
    launcher.ask("echo user-is-$(id -un)", "user-is-root");
    launcher.signal(Signal::SIGTERM);
    assert_eq!(launcher.end(Duration::from_secs(180)), Some(0), "{}", launcher.told());
    assert_eq!(scratch.list(), Vec::<String>::new());
}

#[test]
fn the_tiny_guest_takes_its_seed() {
    takes_its_seed("tiny", "256Mi", 1, BOOT);
}

#[test]
fn the_debian_guest_takes_its_seed_by_the_real_cloud_init() {
    takes_its_seed("debian", "1Gi", 2, Duration::from_secs(1200));
}
