//! What libvirt or QEMU will not have: told with the field that it is about, and another order is as good as the first.

use std::fs;
use std::os::fd::AsFd as _;

use nix::fcntl::{FcntlArg, fcntl};
use nix::libc;
use serde_json::{Value, json};

use crate::pod::{Pod, order, root};

fn with_claim(vmi: &mut Value) {
    let spec = &mut vmi["spec"];
    spec["domain"]["devices"]["disks"].as_array_mut().expect("disks").push(json!({"name": "data", "disk": {"bus": "virtio"}}));
    spec["volumes"].as_array_mut().expect("volumes").push(json!({"name": "data", "persistentVolumeClaim": {"claimName": "c"}}));
}

#[test]
fn what_libvirt_or_qemu_refuses_is_told_with_its_field() {
    if !root() {
        return;
    }
    let mut pod = Pod::with_private(|private| {
        fs::create_dir_all(private.join("vmi-disks/data")).expect("a folder");
        fs::write(private.join("vmi-disks/data/disk.img"), vec![0; 1 << 20]).expect("a disk");
    });
    let disk = pod.private().join("vmi-disks/data/disk.img");
    let locked = fs::OpenOptions::new().read(true).write(true).open(&disk).expect("the disk");
    // what a QEMU on another node would hold
    let lock = |kind: libc::c_int| {
        let range =
            libc::flock { l_type: kind as libc::c_short, l_whence: libc::SEEK_SET as libc::c_short, l_start: 100, l_len: 110, l_pid: 0 };
        fcntl(locked.as_fd(), FcntlArg::F_OFD_SETLK(&range)).expect("a lock");
    };
    lock(libc::F_RDLCK);
    type Change = fn(&mut Value);
    let cases: [(&str, &str, Change); 5] = [
        ("spec.domain.machine.type", "pc-q35-99.0", |vmi| vmi["spec"]["domain"]["machine"]["type"] = json!("pc-q35-99.0")),
        ("spec.domain.cpu.model", "Z80", |vmi| vmi["spec"]["domain"]["cpu"]["model"] = json!("Z80")),
        ("spec.domain.memory.guest", "address", |vmi| vmi["spec"]["domain"]["memory"]["guest"] = json!("60Ti")),
        ("spec.volumes[2]", "lock", with_claim),
        ("spec.domain.devices.panicDevices[0].model", "libvirt", |vmi| {
            vmi["spec"]["domain"]["devices"]["panicDevices"] = json!([{"model": "pvpanic"}]);
        }),
    ];
    for (field, word, change) in cases {
        let (status, fault) = pod.ask("PUT", "/v1/instance", &order(change));
        let message = fault["message"].as_str().unwrap_or_default();
        assert!(status >= 400 && fault["field"] == field && message.contains(word) && message.contains("; "), "{field}: {status} {fault}");
        assert_eq!(pod.status()["fault"]["field"], field);
    }
    lock(libc::F_UNLCK);
    let (status, shown) = pod.ask("PUT", "/v1/instance", &order(with_claim));
    assert_eq!((status, &shown["stage"], &shown["fault"]), (200, &json!("Started"), &Value::Null), "{shown}");
    assert_eq!(pod.ask("POST", "/v1/destroy", &Value::Null).0, 204);
    assert!(pod.end(crate::pod::SOON).is_some(), "{}", pod.log());
}
