//! What is done to a guest while it runs.

use std::fs;
use std::io::Read as _;
use std::time::Duration;

use serde_json::{Value, json};

use crate::guest::BOOT;
use crate::pod::{Pod, SOON, login, order, read_until, root, type_line};

const MIB: u64 = 1 << 20;
pub(crate) const KEY: &str = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIHRoaXMgaXMgbm8ga2V5IG9mIGFueWJvZHkgYXQgYWxs me@here";

/// A program in the guest, and what it prints.
pub(crate) fn run(pod: &Pod, script: &str) -> String {
    let (status, said) = pod.ask("POST", "/v1/exec", &json!({"command": "sh", "args": ["-c", script], "timeoutSeconds": 60}));
    assert_eq!((status, &said["exitCode"]), (200, &json!(0)), "{script}: {said}");
    said["stdout"].as_str().expect("a text").trim().to_owned()
}

pub(crate) fn secret(name: &str) -> Value {
    json!({"secret": {"secretName": name}})
}

#[test]
fn a_running_guest_is_operated() {
    if !root() {
        return;
    }
    let mut pod = Pod::with_private(|private| {
        let file = |path: &str, content: &str| {
            let path = private.join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, content).expect("a file");
        };
        file("secret/keys-access-cred/mine", &format!("{KEY}\n"));
        file("secret/words-access-cred/root", "changed\n");
        fs::create_dir_all(private.join("vmi-disks/empty")).expect("a claim without an image");
        file("vmi-disks/data/disk.img", "");
        fs::OpenOptions::new().write(true).open(private.join("vmi-disks/data/disk.img")).and_then(|f| f.set_len(8 * MIB)).expect("a disk");
    });
    let mut order = order(|vmi| {
        let spec = &mut vmi["spec"];
        for name in ["data", "empty"] {
            let disk = json!({"name": name, "disk": {"bus": "virtio"}});
            spec["domain"]["devices"]["disks"].as_array_mut().expect("disks").push(disk);
            let claim = json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
            spec["volumes"].as_array_mut().expect("volumes").push(claim);
        }
        spec["accessCredentials"] = json!([
            {"sshPublicKey": {"source": secret("keys"), "propagationMethod": {"qemuGuestAgent": {"users": ["root"]}}}},
            {"userPassword": {"source": secret("words"), "propagationMethod": {"qemuGuestAgent": {}}}},
        ]);
    });
    let claim = |mebibytes: u64, overhead: u64| {
        let known = |mebibytes: u64| json!({"preallocated": false, "claim": {"capacity": mebibytes * MIB, "overhead": overhead}});
        json!({"data": known(mebibytes), "empty": known(4)})
    };
    order["volumes"] = claim(12, 0);
    let (status, shown) = pod.ask("PUT", "/v1/instance", &order);
    assert_eq!(status, 200, "{shown}");

    // keys and passwords
    let mut console = pod.console();
    read_until(&mut console, "tiny login: ");
    let told = pod.until("no credentials", BOOT, |pod| Some(pod.status()["credentials"].clone()).filter(|c| !c.is_null()));
    assert_eq!(told, json!({"succeeded": true, "message": ""}));
    assert_eq!(run(&pod, "cat /root/.ssh/authorized_keys"), KEY);
    type_line(&mut console, "");
    login(&mut console, "tiny", "changed");
    // what the kubelet brings later reaches the guest, too
    let keys = pod.private().join("secret/keys-access-cred/mine");
    fs::write(keys, format!("{KEY}-later")).expect("a file");
    pod.until("the old key", SOON, |pod| (run(pod, "cat /root/.ssh/authorized_keys") == format!("{KEY}-later")).then_some(()));

    // a disk that grows: before the guest begins, with the claim that it lies on, and by somebody else's hand
    let sectors = |mebibytes: u64| (mebibytes * MIB / 512).to_string();
    let size = |pod: &Pod| run(pod, "cat /sys/block/vdc/size");
    assert_eq!((size(&pod), &pod.status()["volumes"]), (sectors(12), &claim(12, 0)));
    assert_eq!(run(&pod, "cat /sys/block/vdd/size"), sectors(4), "the image of a claim that had none");
    assert_eq!(pod.ask("PUT", "/v1/volumes", &claim(20, 100)).0, 204);
    assert_eq!(pod.status()["volumes"], claim(20, 100));
    pod.until("the first size", SOON, |pod| (size(pod) == sectors(18)).then_some(()));
    let disk = pod.private().join("vmi-disks/data/disk.img");
    assert_eq!(fs::metadata(&disk).expect("a disk").len(), 18 * MIB);
    fs::OpenOptions::new().write(true).open(disk).and_then(|f| f.set_len(24 * MIB)).expect("a larger disk");
    pod.until("the old size", SOON, |pod| (size(pod) == sectors(24)).then_some(()));

    // the screen, as a PNG whatever QEMU makes
    let mut picture = Vec::new();
    pod.send("GET", "/v1/screenshot", "Connection: close\r\n", "").read_to_end(&mut picture).expect("a picture");
    let at = picture.windows(4).position(|w| w == b"\r\n\r\n").expect("a head") + 4;
    assert!(String::from_utf8_lossy(&picture[..at]).contains("content-type: image/png"));
    assert_eq!((&picture[at..at + 8], &picture[picture.len() - 8..]), (&b"\x89PNG\r\n\x1a\n"[..], &b"IEND\xaeB\x60\x82"[..]));

    // file systems stand still until they are let go, or until the time is over
    run(&pod, "mke2fs -q /dev/vdc && mount /dev/vdc /mnt");
    let freezes = |pod: &mut Pod, word: &str| {
        pod.until(&format!("not {word}"), SOON, |pod| (pod.status()["agent"]["fsFreezeStatus"] == word).then_some(()));
    };
    assert_eq!(pod.ask("POST", "/v1/freeze", &json!({})).0, 204);
    freezes(&mut pod, "frozen");
    assert_eq!(pod.ask("POST", "/v1/unfreeze", &Value::Null).0, 204);
    freezes(&mut pod, "thawed");
    assert_eq!(pod.ask("POST", "/v1/freeze", &json!({"unfreezeTimeoutSeconds": 10})).0, 204);
    freezes(&mut pod, "frozen");
    freezes(&mut pod, "thawed");
    run(&pod, "touch /mnt/x");

    // anew, by asking and by force
    let boot = |pod: &Pod| run(pod, "cat /proc/sys/kernel/random/boot_id");
    let mut last = boot(&pod);
    for wish in ["soft-reboot", "reset"] {
        assert_eq!(pod.ask("POST", &format!("/v1/{wish}"), &Value::Null).0, 204, "{wish}");
        read_until(&mut console, "tiny login: ");
        pod.until("no agent", BOOT, |pod| (pod.ask("POST", "/v1/ping", &json!({"timeoutSeconds": 5})).0 == 204).then_some(()));
        let next = boot(&pod);
        assert_ne!(next, last, "{wish}");
        last = next;
    }
    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(SOON + Duration::from_secs(20)), Some(0), "{}", pod.log());
    assert_eq!(pod.last_status()["domain"]["reason"], "Shutdown", "{}", pod.log());
}
