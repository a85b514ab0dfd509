//! Disks against volumes, and the order of booting.

use std::collections::BTreeSet;

use super::{Rule, Subject, closed};
use crate::admission::{Cause, Path};
use crate::api::v1::{Disk, DiskBus, Volume};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[disks_have_volumes, order];

fn disks_have_volumes(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("domain.devices.disks");
    for (i, disk) in s.devices().disks.iter().enumerate() {
        let at = list.index(i);
        match s.spec.volumes.iter().rfind(|volume| volume.name == disk.name) {
            Some(volume) => fits(&at, disk, volume, causes),
            None if disk.cdrom.is_none() => {
                let message = format!("there is no volume {:?}; add one to spec.volumes, or name another", disk.name);
                causes.push(Cause::invalid(at.key("name"), message));
            }
            None if !s.enabled(Gate::DeclarativeHotplugVolumes) => {
                let message = format!(
                    "there is no volume {:?}, and an empty drive is no use: {}",
                    disk.name,
                    closed(Gate::DeclarativeHotplugVolumes)
                );
                causes.push(Cause::invalid(at.key("name"), message));
            }
            None => {}
        }
    }
}

fn fits(at: &Path, disk: &Disk, volume: &Volume, causes: &mut Vec<Cause>) {
    if disk.lun.is_some() && volume.persistent_volume_claim.is_none() && volume.data_volume.is_none() {
        let message = format!(
            "the volume {:?} is neither a claim nor a DataVolume, so it has no SCSI device to pass on; make it a disk",
            volume.name
        );
        causes.push(Cause::invalid(at.key("lun"), message));
    }
    if volume.downward_metrics.is_some() {
        match &disk.disk {
            None => causes.push(Cause::required(at.key("disk"), "metrics are read from a disk; set disk, with the bus virtio")),
            Some(target) if !target.bus.is_unset() && target.bus != DiskBus::Virtio => {
                let message = format!("metrics are read from a disk on the bus virtio, not {}", target.bus);
                causes.push(Cause::invalid(at.key("disk.bus"), message));
            }
            Some(_) => {}
        }
    }
}

fn order(s: &Subject, causes: &mut Vec<Cause>) {
    let mut taken = BTreeSet::new();
    let disks = s.at.key("domain.devices.disks");
    for (i, order) in s.devices().disks.iter().enumerate().filter_map(|(i, d)| Some((i, d.boot_order?))) {
        if !taken.insert(order) {
            causes.push(Cause::invalid(
                disks.index(i).key("bootOrder"),
                format!("{order} is the place of another device; give each its own"),
            ));
        }
    }
    let interfaces = s.at.key("domain.devices.interfaces");
    for (i, order) in s.devices().interfaces.iter().enumerate().filter_map(|(i, n)| Some((i, n.boot_order?))) {
        let element = interfaces.index(i);
        let at = element.key("bootOrder");
        if order < 1 {
            causes.push(Cause::invalid(at, "0 is no place; the first is 1"));
        } else if !taken.insert(order) {
            causes.push(Cause::invalid(at, format!("{order} is the place of another device; give each its own")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, check_with};
    use super::*;
    use serde_json::json;

    #[test]
    fn disks_show_volumes_that_fit() {
        const AT: &str = "s.domain.devices.disks[0].name";
        let empty = json!({"domain": {"devices": {"disks": [{"name": "a", "cdrom": {}}]}}});
        check(
            RULES,
            &[],
            &[
                (
                    json!({"domain": {"devices": {"disks": [{"name": "a"}]}}, "volumes": [{"name": "a", "emptyDisk": {"capacity": "1Gi"}}]}),
                    &[],
                ),
                (json!({"domain": {"devices": {"disks": [{"name": "a"}]}}}), &[AT]),
                (empty.clone(), &[]),
                (
                    json!({"domain": {"devices": {"disks": [{"name": "a", "lun": {}}]}}, "volumes": [{"name": "a", "emptyDisk": {"capacity": "1Gi"}}]}),
                    &["s.domain.devices.disks[0].lun"],
                ),
                (
                    json!({"domain": {"devices": {"disks": [{"name": "a", "cdrom": {}}]}}, "volumes": [{"name": "a", "downwardMetrics": {}}]}),
                    &["s.domain.devices.disks[0].disk"],
                ),
                (
                    json!({"domain": {"devices": {"disks": [{"name": "a", "disk": {"bus": "sata"}}]}}, "volumes": [{"name": "a", "downwardMetrics": {}}]}),
                    &["s.domain.devices.disks[0].disk.bus"],
                ),
            ],
        );
        let off = json!({"developerConfiguration": {"disabledFeatureGates": ["DeclarativeHotplugVolumes"]}});
        check_with(RULES, off, &[(empty, &[AT])]);
    }

    #[test]
    fn every_place_in_the_order_is_taken_once() {
        let spec = |disk: u32, interface: u32| json!({"domain": {"devices": {"disks": [{"name": "a", "cdrom": {}, "bootOrder": disk}], "interfaces": [{"name": "n", "bootOrder": interface}]}}});
        const AT: &str = "s.domain.devices.interfaces[0].bootOrder";
        check(RULES, &[], &[(spec(1, 2), &[]), (spec(1, 1), &[AT]), (spec(1, 0), &[AT])]);
    }
}
