//! Folders that a guest shares by virtiofs, and files of a pod where there is none.

use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use nix::sys::signal::Signal;
use serde_json::{Value, json};

use crate::guest::{BOOT, Folder, Launcher, binary, refused, tiny};
use crate::pod::{Pod, order, root};
use crate::traces;

/// A machine with volumes as file systems and as disks, and what they name.
fn machine(filesystems: &[&str], disks: &[&str], volumes: &[&str]) -> String {
    let filesystems: Vec<String> = filesystems.iter().map(|name| format!("{{name: {name}, virtiofs: {{}}}}")).collect();
    let disks: Vec<String> = disks.iter().map(|name| format!("{{name: {name}, disk: {{bus: virtio}}}}")).collect();
    format!(
        "
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata:
  name: sharing
  labels: {{tier: web}}
  annotations: {{note: 'one \"two\"'}}
spec:
  terminationGracePeriodSeconds: 15
  domain:
    memory: {{guest: 256Mi}}
    devices:
      autoattachPodInterface: false
      filesystems: [{}]
      disks: [{{name: root, disk: {{bus: virtio}}}}, {}]
  volumes:
    - {{name: root, containerDisk: {{image: 'localhost/kubevirt-rs/tiny:latest'}}}}
    - {}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings}}
data: {{level: debug}}
---
apiVersion: v1
kind: Secret
metadata: {{name: words}}
stringData: {{word: sesame}}
---
apiVersion: v1
kind: Secret
metadata: {{name: robot-token, annotations: {{kubernetes.io/service-account.name: robot}}}}
type: kubernetes.io/service-account-token
stringData: {{token: let-me-in, namespace: default}}
",
        filesystems.join(", "),
        disks.join(", "),
        volumes.join("\n    - ")
    )
}

const CLAIM: &str = "{name: data, persistentVolumeClaim: {claimName: common}}";
const SETTINGS: &str = "{name: settings, configMap: {name: settings}}";
const WORDS: &str = "{name: words, secret: {secretName: words}}";
const ABOUT: &str = "{name: about, downwardAPI: {fields: [{path: labels, fieldRef: {fieldPath: metadata.labels}}, \
                     {path: self/name, fieldRef: {fieldPath: metadata.name}}, {path: note, fieldRef: {fieldPath: \"metadata.annotations['note']\"}}]}}";
const ACCOUNT: &str = "{name: token, serviceAccount: {serviceAccountName: robot}}";

/// Boots a machine and asks its guest; each question is a command, and a text that only its output can hold.
fn boot(text: &str, more: &[String], files: &Folder, questions: &[(&str, &str)]) {
    let (scratch, before) = (Folder::new(), traces::files());
    let vmi = files.write("vmi.yaml", text).display().to_string();
    let arguments: Vec<String> = ["--vmi".to_owned(), vmi].into_iter().chain(tiny()).chain(more.iter().cloned()).collect();
    let mut launcher = Launcher::start(&scratch, &arguments);
    launcher.log_in("root", "kubevirt");
    for (command, answer) in questions {
        launcher.ask(command, answer);
    }
    launcher.signal(Signal::SIGTERM);
    assert_eq!(launcher.end(Duration::from_secs(60)), Some(0), "{}", launcher.told());
    assert!(!launcher.told().contains("virtiofsd has ended"), "{}", launcher.told());
    traces::none_left(&scratch, &before, Duration::ZERO);
}

#[test]
fn a_guest_shares_a_folder_and_files() {
    let files = Folder::new();
    let common = files.0.join("common, and more");
    fs::create_dir(&common).expect("a folder");
    fs::write(common.join("from-host"), "hello").expect("a file");
    let names = ["data", "settings", "words", "about", "token"];
    let text = machine(&names, &[], &[CLAIM, SETTINGS, WORDS, ABOUT, ACCOUNT]);
    let mount = "for s in data settings words about token; do mkdir /run/$s; mount -t virtiofs $s /run/$s; done; echo mo\"\"unted";
    let questions = [
        (mount, "mounted"),
        ("echo it-says-$(cat /run/data/from-host)", "it-says-hello"),
        ("echo from-guest >/run/data/new; mkdir /run/data/deep; mv /run/data/new /run/data/deep/; sync; echo do\"\"ne", "done"),
        ("echo level-$(cat /run/settings/level)", "level-debug"),
        ("echo word-$(cat /run/words/word)-$(stat -c %a:%u /run/words/word)", "word-sesame-644:0"),
        ("echo \"labels-$(cat /run/about/labels)\"", "labels-tier=\"web\""),
        ("echo name-$(cat /run/about/self/name)", "name-sharing"),
        ("echo token-$(cat /run/token/token)-$(cat /run/token/namespace)", "token-let-me-in-default"),
    ];
    boot(&text, &["--volume".into(), format!("common={}", common.display())], &files, &questions);
    let written = common.join("deep/new");
    assert_eq!(fs::read_to_string(&written).expect("what the guest wrote"), "from-guest\n");
    assert_eq!(fs::metadata(&written).expect("it").uid(), nix::unistd::geteuid().as_raw(), "it belongs to who runs the launcher");
}

#[test]
fn a_guest_reads_labels_and_a_token_from_disks() {
    let files = Folder::new();
    let account = files.0.join("account");
    fs::create_dir_all(account.join("..2026")).expect("a folder");
    fs::write(account.join("token"), "by-folder").expect("a file");
    let text = machine(&[], &["about", "token"], &[ABOUT, ACCOUNT]);
    let questions = [
        ("for d in b c; do mkdir /run/$d; mount -o ro /dev/vd$d /run/$d; done; echo mo\"\"unted", "mounted"),
        ("echo \"labels-$(cat /run/b/labels)\"", "labels-tier=\"web\""),
        ("echo \"note-$(cat /run/b/note)\"", "note-one \"two\""),
        ("echo name-$(cat /run/b/self/name)", "name-sharing"),
        ("echo token-$(cat /run/c/token)", "token-by-folder"),
    ];
    // what is given by hand counts, whatever Secrets there are
    boot(&text, &["--volume".into(), format!("robot={}", account.display())], &files, &questions);
}

#[test]
fn what_cannot_be_shared_is_said_with_its_field() {
    let (scratch, files) = (Folder::new(), Folder::new());
    let disk = files.write("disk.img", "no folder").display().to_string();
    let given = |pair: &str| vec!["--volume".to_owned(), pair.to_owned()];
    let pod_only = ABOUT.replace("metadata.name", "spec.nodeName");
    let stranger = ACCOUNT.replace("robot", "stranger");
    let cases = [
        (machine(&["data"], &[], &[CLAIM]), vec![], "spec.volumes[1].persistentVolumeClaim: nothing here holds the claim \"common\""),
        (machine(&["data"], &[], &[CLAIM]), given(&format!("common={disk}")), "disk.img is no folder"),
        (machine(&["data"], &[], &[CLAIM]), given("common=/nowhere"), "--volume common=/nowhere: No such file"),
        (machine(&["x"], &[], &["{name: x, emptyDisk: {capacity: 1Mi}}"]), vec![], "spec.volumes[1]: \"x\" is no folder"),
        (machine(&["about"], &[], &[&pod_only]), vec![], "spec.volumes[1].downwardAPI.fields[1].fieldRef.fieldPath: \"spec.nodeName\""),
        (machine(&[], &["token"], &[&stranger]), vec![], "spec.volumes[1].serviceAccount.serviceAccountName: nothing here holds the token"),
        (machine(&[], &["token"], &[ACCOUNT]), given("robot=/nowhere"), "--volume robot=/nowhere: No such file"),
    ];
    for (i, (text, more, wanted)) in cases.into_iter().enumerate() {
        let vmi = files.write(&format!("{i}.yaml"), &text).display().to_string();
        let arguments: Vec<String> = ["--vmi".to_owned(), vmi].into_iter().chain(tiny()).chain(more).collect();
        let output = refused(&scratch, &arguments);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains(wanted)), (Some(3), true), "{i}: {wanted}: {told}");
        assert_eq!(scratch.list(), Vec::<String>::new(), "nothing was started");
    }
}

#[test]
fn a_missing_virtiofsd_is_said_with_its_package() {
    if !root() {
        return;
    }
    let (scratch, files) = (Folder::new(), Folder::new());
    let vmi = files.write("vmi.yaml", &machine(&["settings"], &[], &[SETTINGS])).display().to_string();
    // where it may lie, there is nothing
    let script = "for f in /usr/lib/qemu /usr/lib/virtiofsd /usr/libexec; do [ ! -d $f ] || mount -t tmpfs none $f; done; exec \"$@\"";
    let mut command = Command::new("unshare");
    command.args(["--mount", "sh", "-c", script, "sh"]).arg(binary()).args(["launcher", "--vmi", &vmi]).args(tiny());
    let output = command.env("TMPDIR", &scratch.0).stdin(Stdio::null()).output().expect("it runs");
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    let wanted = "virtiofsd, which spec.domain.devices.filesystems needs, is not installed; install it (Debian: apt install virtiofsd";
    assert_eq!((output.status.code(), told.contains(wanted)), (Some(3), true), "{told}");
}

/// An order for a guest that shares the ConfigMap of a pod.
fn sharing() -> Value {
    order(|vmi| {
        let spec = &mut vmi["spec"];
        spec["domain"]["devices"]["filesystems"] = json!([{"name": "settings", "virtiofs": {}}]);
        spec["volumes"].as_array_mut().expect("volumes").push(json!({"name": "settings", "configMap": {"name": "settings"}}));
    })
}

#[test]
fn a_pod_whose_container_does_not_share_says_which() {
    if !root() {
        return;
    }
    let pod = Pod::start(&["--qemu-timeout", "3s"]);
    let (status, fault) = pod.ask("PUT", "/v1/instance", &sharing());
    assert_eq!((status, &fault["field"]), (500, &json!("spec.domain.devices.filesystems[0]")), "{fault}");
    assert!(fault["message"].as_str().expect("words").contains("kubectl logs -c virtiofs-settings"), "{fault}");
}

#[test]
fn a_guest_in_a_pod_shares_what_a_container_brings() {
    const QEMUS: &str = "/usr/lib/qemu/virtiofsd";
    if !root() || !Path::new(QEMUS).exists() {
        return;
    }
    let files = Folder::new();
    files.write("level", "debug");
    // QEMU's virtiofsd cannot do without privileges what that of a container does, so it runs beside the pod
    let mut daemon = None;
    let mut pod = Pod::with_shares(|folder| {
        let socket = folder.join("settings.sock");
        let listener = UnixListener::bind(&socket).expect("a socket");
        nix::unistd::chown(&socket, Some(107.into()), Some(107.into())).expect("the launcher may connect");
        let mut command = Command::new(QEMUS);
        command.args(["--fd=0", "-f", "-o", "sandbox=chroot", "-o"]).arg(format!("source={}", files.0.display()));
        daemon = Some(command.stdin(Stdio::from(OwnedFd::from(listener))).stderr(Stdio::null()).spawn().expect("it runs"));
    });
    let (status, shown) = pod.ask("PUT", "/v1/instance", &sharing());
    assert_eq!(status, 200, "{shown}");
    pod.until("no agent", BOOT, |pod| Some(pod.status()["agent"]["os"].clone()).filter(Value::is_object));
    let what =
        json!({"command": "sh", "args": ["-c", "mkdir /run/s; mount -t virtiofs settings /run/s; cat /run/s/level"], "timeoutSeconds": 60});
    let (status, said) = pod.ask("POST", "/v1/exec", &what);
    assert_eq!((status, &said["stdout"]), (200, &json!("debug")), "{said}");
    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(BOOT), Some(0), "{}", pod.log());
    assert!(daemon.expect("it was started").wait().expect("its end").success(), "it ends with QEMU");
}
