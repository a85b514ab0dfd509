//! What a machine asks of the host, and what the host cannot give.

use std::fs::{self, File};

use crate::guest::{Folder, refused};

/// A small machine with something more: fields of the domain, of its devices, and volumes with their disks, in YAML's short form.
fn small(domain: &str, devices: &str, volumes: &str) -> String {
    format!(
        "apiVersion: kubevirt.io/v1\nkind: VirtualMachineInstance\nmetadata: {{name: small}}\nspec:\n  domain:\n    memory: {{guest: 64Mi}}\n{domain}    devices:\n      autoattachPodInterface: false\n{devices}{volumes}"
    )
}

#[test]
fn what_the_host_lacks_is_said_with_its_field_and_nothing_is_started() {
    let (scratch, files) = (Folder::new(), Folder::new());
    let disk = |path: &str| {
        (
            "      disks: [{name: d, disk: {bus: virtio}}]\n",
            format!("  volumes: [{{name: d, hostDisk: {{path: {path}, type: DiskOrCreate, capacity: 1Mi}}}}]\n"),
        )
    };
    let (disks, nowhere) = disk("/nowhere/disk.img");
    let huge = small("", "", "").replace("{guest: 64Mi}", "{guest: 1Ti, hugepages: {pageSize: 2Mi}}");
    let odd = small("", "", "").replace("{guest: 64Mi}", "{guest: 64Mi, hugepages: {pageSize: 32Mi}}");
    let mut cases = vec![
        ("folder", small("", disks, &nowhere), "spec.volumes[0].hostDisk.path: there is no folder /nowhere"),
        ("huge", huge, "spec.domain.memory.hugepages.pageSize: the guest needs 524288 free pages of 2Mi"),
        ("odd", odd, "spec.domain.memory.hugepages.pageSize: this machine has no pages of 32Mi"),
    ];
    let features = "    features: {hyperv: {vpindex: {}}}\n";
    cases.push(("index", small(features, "", ""), "spec.domain.features.hyperv.vpindex: an emulated guest"));
    if !std::path::Path::new("/dev/vhost-vsock").exists() {
        let vsock = small("", "      autoattachVSOCK: true\n", "");
        cases.push(("vsock", vsock, "spec.domain.devices.autoattachVSOCK: /dev/vhost-vsock cannot be opened"));
    }
    let gates = "apiVersion: kubevirt.io/v1\nkind: KubeVirt\nmetadata: {name: k, namespace: kubevirt}\nspec: {configuration: {developerConfiguration: {featureGates: [VSOCK, HostDisk]}}}\n";
    let gates = files.write("gates.yaml", gates).display().to_string();
    for (name, text, wanted) in cases {
        let vmi = files.write(name, &text).display().to_string();
        let output = refused(&scratch, &["--vmi".to_owned(), vmi, "--kubevirt".to_owned(), gates.clone(), "--accelerator=tcg".to_owned()]);
        let told = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), told.contains(wanted)), (Some(3), true), "{name}: {told}");
        assert_eq!(scratch.list(), Vec::<String>::new(), "nothing was started");
    }
}

#[test]
fn a_state_that_nobody_keeps_or_that_is_in_use_is_said() {
    let (scratch, files) = (Folder::new(), Folder::new());
    let state = files.0.join("state").display().to_string();
    let vmi = files.write("plain.yaml", &small("", "", "")).display().to_string();
    let output = refused(&scratch, &["--vmi", &vmi, "--state", &state].map(str::to_owned));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), told.contains("devices.tpm.persistent")), (Some(2), true), "{told}");

    let firmware = "    firmware: {bootloader: {efi: {secureBoot: false, persistent: true}}}\n";
    let vmi = files.write("kept.yaml", &small(firmware, "", "")).display().to_string();
    fs::create_dir_all(format!("{state}/default_small")).expect("a folder");
    let lock = File::create(format!("{state}/default_small/lock")).expect("a lock");
    lock.lock().expect("it is free");
    let output = refused(&scratch, &["--vmi", &vmi, "--state", &state].map(str::to_owned));
    let told = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), told.contains("runs with this state already")), (Some(3), true), "{told}");
    assert_eq!(scratch.list(), Vec::<String>::new(), "nothing was started");
}
