//! What a machine asks of this host that the host does not have: said with the field, before libvirt or QEMU stumble.

use std::fs::{self, OpenOptions};
use std::path::Path;

use kubevirt_rs::api::Quantity;

use super::machine::Machine;
use crate::roles::launcher::host::firmware;

const HUGE_PAGES: &str = "/sys/kernel/mm/hugepages";
const VSOCK: &str = "/dev/vhost-vsock";
const KIB: i128 = 1 << 10;

/// A sentence for everything that is missing.
pub(super) fn look(machine: &Machine, emulated: bool) -> Vec<String> {
    [huge_pages(machine, Path::new(HUGE_PAGES)), secure_boot(machine), vsock(machine), vp_index(machine, emulated)]
        .into_iter()
        .flatten()
        .chain(host_disks(machine))
        .collect()
}

fn huge_pages(machine: &Machine, folder: &Path) -> Option<String> {
    const FIELD: &str = "spec.domain.memory.hugepages.pageSize";
    let domain = &machine.vmi.spec.domain;
    let memory = domain.memory.as_ref()?;
    let wanted = &memory.hugepages.as_ref()?.page_size;
    let size = wanted.parse::<Quantity>().ok().map(|q| q.value()).filter(|size| *size > 0)?;
    let guest = memory.guest.as_ref().or_else(|| domain.resources.requests.get("memory"))?.value();
    let number = |name: &str| {
        let path = folder.join(format!("hugepages-{}kB", size / KIB)).join(name);
        fs::read_to_string(path).ok()?.trim().parse::<i128>().ok()
    };
    let Some(free) = number("free_hugepages") else {
        let names = fs::read_dir(folder).into_iter().flatten().flatten().map(|e| e.file_name().to_string_lossy().into_owned());
        let mut sizes: Vec<String> =
            names.filter_map(|n| Some(format!("{}Ki", n.strip_prefix("hugepages-")?.strip_suffix("kB")?))).collect();
        sizes.sort();
        let sizes =
            if sizes.is_empty() { "no huge pages at all; leave hugepages out".to_owned() } else { format!("only {}", sizes.join(", ")) };
        return Some(machine.at(FIELD, &format!("this machine has no pages of {wanted}, but {sizes}")));
    };
    let needed = guest.saturating_add(size - 1) / size;
    (free < needed).then(|| {
        let path = folder.join(format!("hugepages-{}kB/nr_hugepages", size / KIB));
        let message = format!(
            "the guest needs {needed} free pages of {wanted}, and this machine has {free}; reserve them (echo {} > {}) or leave hugepages out",
            needed - free + number("nr_hugepages").unwrap_or(0),
            path.display()
        );
        machine.at(FIELD, &message)
    })
}

fn secure_boot(machine: &Machine) -> Option<String> {
    let efi = machine.vmi.spec.domain.firmware.as_ref()?.bootloader.as_ref()?.efi.as_ref()?;
    let there = firmware();
    // without any UEFI firmware that is said once
    (efi.secure_boot != Some(false) && there.plain.is_some() && there.secure_boot.is_none()).then(|| {
        machine.at(
            "spec.domain.firmware.bootloader.efi.secureBoot",
            "the UEFI firmware of this machine has no SecureBoot; install one that has (Debian: apt install ovmf; Fedora: dnf install edk2-ovmf), or set secureBoot to false",
        )
    })
}

fn vsock(machine: &Machine) -> Option<String> {
    if machine.vmi.spec.domain.devices.autoattach_vsock != Some(true) {
        return None;
    }
    let error = OpenOptions::new().read(true).write(true).open(VSOCK).err()?;
    let message =
        format!("{VSOCK} cannot be opened ({error}); load the module vhost_vsock, whose kernel must have it, or set the field to false");
    Some(machine.at("spec.domain.devices.autoattachVSOCK", &message))
}

/// The one feature of Hyper-V that QEMU's emulator refuses; the others it passes over.
fn vp_index(machine: &Machine, emulated: bool) -> Option<String> {
    let feature = machine.vmi.spec.domain.features.as_ref()?.hyperv.as_ref()?.vpindex.as_ref()?;
    (emulated && feature.enabled != Some(false)).then(|| {
        let message = "an emulated guest has no such processor index; use a machine with KVM, or leave the feature out";
        machine.at("spec.domain.features.hyperv.vpindex", message)
    })
}

/// The folders of host disks that are to be made.
fn host_disks(machine: &Machine) -> impl Iterator<Item = String> {
    machine.vmi.spec.volumes.iter().enumerate().filter_map(|(i, volume)| {
        let path = Path::new(&volume.host_disk.as_ref()?.path);
        let folder = path.parent().filter(|folder| !path.exists() && !folder.is_dir())?;
        let message = format!("there is no folder {} to make the disk in; make it, or name another", folder.display());
        Some(machine.at(&format!("spec.volumes[{i}].hostDisk.path"), &message))
    })
}
