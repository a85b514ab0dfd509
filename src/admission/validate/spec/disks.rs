//! Disks: targets, buses, caches, block sizes.

use super::networks::{is_pci, not_pci};
use super::{Rule, Subject, closed, repeated};
use crate::admission::validate::naming;
use crate::admission::{Cause, Path};
use crate::api::v1::{Disk, DiskBus, DiskErrorPolicy, DriverCache, DriverIo};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[names, judge, reservations, filesystems];
/// Those of the disks themselves, whatever else the instance has.
pub(super) const DISKS: &[Rule] = &[names, judge];

const SERIAL_LENGTH: usize = 256;
const SMALLEST_BLOCK: u64 = 512;
const LARGEST_BLOCK: u64 = 2 * 1024 * 1024;

fn names(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("domain.devices.disks");
    repeated(s.devices().disks.iter().map(|d| d.name.as_str()), |i, first, name| {
        causes.push(Cause::invalid(list.index(i).key("name"), format!("{name:?} is the name of disk {first}, too; take another one")));
    });
    for (i, disk) in s.devices().disks.iter().enumerate() {
        // Containers of the pod are called after their disks.
        if let Err(right) = naming::dns_label(&disk.name) {
            causes.push(Cause::invalid(list.index(i).key("name"), format!("{:?} is no name of a disk; {right}", disk.name)));
        }
    }
}

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("domain.devices.disks");
    for (i, disk) in s.devices().disks.iter().enumerate() {
        let at = list.index(i);
        target(&at, disk, causes);
        bus(&at, disk, causes);
        words(&at, disk, causes);
        block_size(&at, disk, causes);
    }
}

/// How the guest sees the disk: the name of the target and its bus. The first that is given counts.
fn seen_as(disk: &Disk) -> Option<(&'static str, &DiskBus)> {
    let disk_target = disk.disk.as_ref().map(|t| ("disk", &t.bus));
    disk_target.or_else(|| disk.lun.as_ref().map(|t| ("lun", &t.bus))).or_else(|| disk.cdrom.as_ref().map(|t| ("cdrom", &t.bus)))
}

fn target(at: &Path, disk: &Disk, causes: &mut Vec<Cause>) {
    let given = [disk.disk.is_some(), disk.lun.is_some(), disk.cdrom.is_some()];
    if given.into_iter().filter(|given| *given).count() > 1 {
        causes.push(Cause::invalid(at, format!("{:?} is more than one device; keep one of disk, lun and cdrom", disk.name)));
    }
    if disk.boot_order == Some(0) {
        causes.push(Cause::invalid(at.key("bootOrder"), "0 is no place; the first is 1"));
    }
    let Some(target) = disk.disk.as_ref().filter(|target| !target.pci_address.is_empty()) else { return };
    if target.bus != DiskBus::Virtio {
        let message = format!("only disks on the bus virtio have a PCI address; this one is on {}", word(&target.bus));
        causes.push(Cause::invalid(at.key("disk.pciAddress"), message));
    }
    if !is_pci(&target.pci_address) {
        causes.push(Cause::invalid(at.key("disk.pciAddress"), not_pci(&target.pci_address)));
    }
}

fn word(bus: &DiskBus) -> &str {
    if bus.is_unset() { "the default bus" } else { bus.as_str() }
}

fn bus(at: &Path, disk: &Disk, causes: &mut Vec<Cause>) {
    let Some((kind, bus)) = seen_as(disk).filter(|(_, bus)| !bus.is_unset()) else { return };
    let target = at.key(kind);
    let field = target.key("bus");
    match bus {
        DiskBus::Virtio if kind == "cdrom" => {
            causes.push(Cause::invalid(field, "a CD-ROM drive cannot be on virtio; take sata, scsi or usb"));
        }
        DiskBus::Sata if disk.disk.as_ref().is_some_and(|target| target.readonly) => {
            causes.push(Cause::invalid(field, "a disk on sata cannot be read-only; take virtio, or make it a cdrom"));
        }
        DiskBus::Other(other) => {
            causes.push(Cause::invalid(field, format!("{other:?} is no bus for disks; take one of {}", DiskBus::VALUES.join(", "))));
        }
        _ => {}
    }
    if disk.dedicated_io_thread == Some(true) && *bus != DiskBus::Virtio {
        causes.push(Cause::not_supported(
            at,
            format!("disks on {bus} have no I/O thread of their own; take virtio, or leave dedicatedIOThread out"),
        ));
    }
}

fn words(at: &Path, disk: &Disk, causes: &mut Vec<Cause>) {
    let serial = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'+' | b'-');
    if !disk.serial.bytes().all(serial) {
        causes.push(Cause::invalid(
            at.key("serial"),
            format!("{:?} is no serial number; use letters, digits, '_', '.', '+' and '-'", disk.serial),
        ));
    }
    if disk.serial.chars().count() > SERIAL_LENGTH {
        causes.push(Cause::invalid(at.key("serial"), format!("the serial number is too long; use at most {SERIAL_LENGTH} characters")));
    }
    if !disk.cache.is_unset() && !disk.cache.is_known() {
        let message = format!("{:?} is no way to cache; take one of {}", disk.cache.as_str(), DriverCache::VALUES.join(", "));
        causes.push(Cause::invalid(at.key("cache"), message));
    }
    if !disk.io.is_unset() && !disk.io.is_known() {
        let message = format!("{:?} is no way of I/O; take {}", disk.io.as_str(), DriverIo::VALUES.join(" or "));
        causes.push(Cause::not_supported(at.key("io"), message));
    }
    if let Some(policy) = disk.error_policy.as_ref().filter(|policy| !policy.is_known()) {
        let message = format!("{:?} is nothing to do on an error; take one of {}", policy.as_str(), DiskErrorPolicy::VALUES.join(", "));
        causes.push(Cause::invalid(at.key("errorPolicy"), message));
    }
}

fn block_size(at: &Path, disk: &Disk, causes: &mut Vec<Cause>) {
    let Some((size, custom)) = disk.block_size.as_ref().and_then(|size| Some((size, size.custom.as_ref()?))) else { return };
    let at = at.key("blockSize");
    if size.match_volume.as_ref().is_some_and(|state| state.enabled != Some(false)) {
        causes.push(Cause::invalid(at, "both custom and matchVolume are given; leave one of them out"));
        return;
    }
    let at = at.key("custom");
    let (logical, physical) = (custom.logical, custom.physical);
    if logical > physical {
        causes.push(Cause::invalid(
            at.key("logical"),
            format!("{logical} is more than the physical size of {physical}; make it the same or less"),
        ));
    } else if seen_as(disk).is_some_and(|(_, bus)| *bus == DiskBus::Sata) && logical != SMALLEST_BLOCK {
        causes.push(Cause::invalid(
            at.key("logical"),
            format!("disks on sata have blocks of {SMALLEST_BLOCK}, not {logical}; take another bus, or that size"),
        ));
    } else if let Some(grain) = custom.discard_granularity.filter(|grain| grain.checked_rem(logical).is_some_and(|rest| rest != 0)) {
        causes.push(Cause::invalid(at.key("discardGranularity"), format!("{grain} is no multiple of the logical size of {logical}")));
    } else {
        for (key, size) in [("logical", logical), ("physical", physical)] {
            if !(SMALLEST_BLOCK..=LARGEST_BLOCK).contains(&size) || !size.is_power_of_two() {
                let message = format!("{size} is no size of a block; take a power of two from {SMALLEST_BLOCK} to {LARGEST_BLOCK}");
                causes.push(Cause::invalid(at.key(key), message));
            }
        }
    }
}

fn reservations(s: &Subject, causes: &mut Vec<Cause>) {
    if s.config.persistent_reservation() {
        return;
    }
    let list = s.at.key("domain.devices.disks");
    for (i, _) in s.devices().disks.iter().enumerate().filter(|(_, d)| d.lun.as_ref().is_some_and(|lun| lun.reservation)) {
        let message =
            "the cluster does not let guests reserve disks; set persistentReservationConfiguration.enabled in the KubeVirt configuration";
        causes.push(Cause::invalid(list.index(i).key("lun.reservation"), message));
    }
}

fn filesystems(s: &Subject, causes: &mut Vec<Cause>) {
    if s.enabled(Gate::VirtiofsStorageVolumes) {
        return;
    }
    for filesystem in &s.devices().filesystems {
        let volume = s.spec.volumes.iter().rfind(|volume| volume.name == filesystem.name);
        if volume.is_some_and(|v| v.persistent_volume_claim.is_some() || v.data_volume.is_some()) {
            let message = format!("{:?} shares a claim: {}", filesystem.name, closed(Gate::VirtiofsStorageVolumes));
            causes.push(Cause::invalid(s.at.key("domain.devices.filesystems"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn disk(value: Value) -> Value {
        let mut value = value;
        value["name"] = json!("a");
        json!({"domain": {"devices": {"disks": [value]}}})
    }

    #[test]
    fn disks_are_what_they_can_be() {
        let sizes = |logical: u32, physical: u32| json!({"disk": {"bus": "virtio"}, "blockSize": {"custom": {"logical": logical, "physical": physical}}});
        for (value, wanted) in [
            (
                json!({"disk": {"bus": "virtio", "pciAddress": "0000:01:00.0"}, "dedicatedIOThread": true, "serial": "A.1", "cache": "none", "io": "native"}),
                vec![],
            ),
            (json!({"disk": {}, "lun": {}}), vec![""]),
            (json!({"disk": {"bus": "sata", "pciAddress": "0000:01:00.0"}}), vec![".disk.pciAddress"]),
            (json!({"disk": {"bus": "virtio", "pciAddress": "1"}}), vec![".disk.pciAddress"]),
            (json!({"disk": {}, "bootOrder": 0}), vec![".bootOrder"]),
            (json!({"disk": {"bus": "ide"}}), vec![".disk.bus"]),
            (json!({"cdrom": {"bus": "virtio"}}), vec![".cdrom.bus"]),
            (json!({"disk": {"bus": "sata", "readonly": true}}), vec![".disk.bus"]),
            (json!({"disk": {"bus": "scsi"}, "dedicatedIOThread": true}), vec![""]),
            (json!({"serial": "a b"}), vec![".serial"]),
            (json!({"serial": "a".repeat(257)}), vec![".serial"]),
            (json!({"cache": "often"}), vec![".cache"]),
            (json!({"io": "slow"}), vec![".io"]),
            (json!({"errorPolicy": "cry"}), vec![".errorPolicy"]),
            (sizes(512, 4096), vec![]),
            (sizes(4096, 512), vec![".blockSize.custom.logical"]),
            (sizes(500, 4096), vec![".blockSize.custom.logical"]),
            (sizes(512, 4_194_304), vec![".blockSize.custom.physical"]),
            (
                json!({"disk": {"bus": "sata"}, "blockSize": {"custom": {"logical": 1024, "physical": 1024}}}),
                vec![".blockSize.custom.logical"],
            ),
            (json!({"blockSize": {"matchVolume": {}, "custom": {"logical": 512, "physical": 512}}}), vec![".blockSize"]),
            (
                json!({"blockSize": {"custom": {"logical": 1024, "physical": 1024, "discardGranularity": 1500}}}),
                vec![".blockSize.custom.discardGranularity"],
            ),
            (json!({"lun": {"reservation": true}}), vec![".lun.reservation"]),
        ] {
            let wanted: Vec<String> = wanted.iter().map(|field| format!("s.domain.devices.disks[0]{field}")).collect();
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            check(RULES, &[], &[(disk(value), &wanted)]);
        }
    }

    #[test]
    fn names_are_unique_and_fit_a_container() {
        let named =
            |names: &[&str]| json!({"domain": {"devices": {"disks": names.iter().map(|n| json!({"name": n})).collect::<Vec<_>>()}}});
        check(
            RULES,
            &[],
            &[
                (named(&["a", "b"]), &[]),
                (named(&["a", "a"]), &["s.domain.devices.disks[1].name"]),
                (named(&["a_b"]), &["s.domain.devices.disks[0].name"]),
            ],
        );
    }

    #[test]
    fn sharing_a_claim_needs_its_gate() {
        let shared = json!({
            "domain": {"devices": {"filesystems": [{"name": "a", "virtiofs": {}}]}},
            "volumes": [{"name": "a", "persistentVolumeClaim": {"claimName": "c"}}]
        });
        check(RULES, &[], &[(shared.clone(), &["s.domain.devices.filesystems"])]);
        check(RULES, &[Gate::VirtiofsStorageVolumes], &[(shared, &[])]);
    }
}
