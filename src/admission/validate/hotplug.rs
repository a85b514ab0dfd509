//! Volumes that are plugged into a running guest, and those that stay.

use std::collections::{BTreeMap, BTreeSet};

use crate::admission::{Cause, Path};
use crate::api::v1::{Disk, DiskBus, UtilityVolume, VirtualMachineInstance, VirtualMachineInstanceSpec, Volume, VolumeStatus};
use crate::config::{ClusterConfig, Gate};

/// Judges a change of the volumes of a running guest. The first kind of fault speaks for itself.
pub(super) fn judge(new: &VirtualMachineInstance, old: &VirtualMachineInstance, config: &ClusterConfig, causes: &mut Vec<Cause>) {
    if !causes.is_empty() {
        return;
    }
    utility(&new.spec, config, causes);
    if causes.is_empty() {
        utility_changes(&new.spec, &old.spec, &old.status.volume_status, causes);
    }
    if causes.is_empty() {
        counts(&new.spec, config, causes);
    }
    if causes.is_empty() {
        changes(new, old, causes);
    }
}

fn utility(spec: &VirtualMachineInstanceSpec, config: &ClusterConfig, causes: &mut Vec<Cause>) {
    let list = Path::new("spec.utilityVolumes");
    if !spec.utility_volumes.is_empty() && !config.enabled(Gate::UtilityVolumes) {
        causes.push(Cause::invalid(
            list,
            "this needs the feature gate UtilityVolumes, which is off; enable it in the KubeVirt configuration",
        ));
        return;
    }
    for (i, volume) in spec.utility_volumes.iter().enumerate() {
        let at = list.index(i);
        if volume.name.is_empty() {
            causes.push(Cause::required(at.key("name"), "give the volume a name"));
        }
        let earlier = spec.utility_volumes.iter().take(i).any(|other| other.name == volume.name);
        if earlier || spec.volumes.iter().any(|other| other.name == volume.name) {
            causes
                .push(Cause::duplicate(at.key("name"), format!("{:?} is the name of another volume, too; take another one", volume.name)));
        }
        if volume.claim_name.is_empty() {
            causes.push(Cause::required(at.key("claimName"), "name the claim"));
        }
    }
}

/// The volumes that were there when the guest started.
fn permanent(statuses: &[VolumeStatus]) -> BTreeSet<&str> {
    statuses.iter().filter(|status| status.hotplug_volume.is_none()).map(|status| status.name.as_str()).collect()
}

fn utility_changes(new: &VirtualMachineInstanceSpec, old: &VirtualMachineInstanceSpec, statuses: &[VolumeStatus], causes: &mut Vec<Cause>) {
    let permanent = permanent(statuses);
    let list = Path::new("spec.utilityVolumes");
    let by_name: BTreeMap<&str, &UtilityVolume> = old.utility_volumes.iter().map(|v| (v.name.as_str(), v)).collect();
    for (i, volume) in new.utility_volumes.iter().enumerate() {
        if permanent.contains(volume.name.as_str()) {
            let message =
                format!("{:?} was there when the guest started; a utility volume comes and goes, so take another name", volume.name);
            causes.push(Cause::invalid(list.index(i), message));
        }
        if by_name.get(volume.name.as_str()).is_some_and(|old| *old != volume) {
            causes.push(Cause::invalid(list.index(i), format!("{:?} has changed; detach it and attach it anew", volume.name)));
        }
    }
}

fn counts(spec: &VirtualMachineInstanceSpec, config: &ClusterConfig, causes: &mut Vec<Cause>) {
    let names: BTreeSet<&str> = spec.volumes.iter().filter(|v| v.memory_dump.is_none()).map(|v| v.name.as_str()).collect();
    let devices = &spec.domain.devices;
    // An empty CD-ROM drive needs no volume.
    let empty =
        |disk: &&Disk| disk.cdrom.is_some() && !names.contains(disk.name.as_str()) && config.enabled(Gate::DeclarativeHotplugVolumes);
    let shown = devices.filesystems.len() + devices.disks.iter().filter(|disk| !empty(disk)).count();
    if shown != names.len() {
        let message = format!("{} volumes, but {shown} disks and filesystems that show one; there must be one for each", names.len());
        causes.push(Cause::invalid("spec.volumes", message));
    }
}

fn changes(new: &VirtualMachineInstance, old: &VirtualMachineInstance, causes: &mut Vec<Cause>) {
    let permanent = permanent(&old.status.volume_status);
    let migrated: BTreeSet<&str> = new.status.migrated_volumes.iter().map(|v| v.volume_name.as_str()).collect();
    let count = |spec: &VirtualMachineInstanceSpec| spec.volumes.iter().filter(|v| permanent.contains(v.name.as_str())).count();
    let list = Path::new("spec.volumes");
    if count(&new.spec) != count(&old.spec) {
        causes.push(Cause::invalid(list, "a volume that was there when the guest started cannot come or go while it runs"));
        return;
    }
    let disk = |spec: &'_ VirtualMachineInstanceSpec, name: &str| spec.domain.devices.disks.iter().rfind(|d| d.name == name).cloned();
    for (i, volume) in new.spec.volumes.iter().enumerate() {
        let at = list.index(i);
        let name = volume.name.as_str();
        let stays = permanent.contains(name);
        let moved = migrated.contains(name);
        match old.spec.volumes.iter().rfind(|other| other.name == name) {
            Some(other) => {
                if stays && moved {
                    continue;
                }
                if volume != other && !moved {
                    causes.push(Cause::invalid(at, format!("{name:?} has changed; a volume of a running guest stays as it is")));
                }
                if volume.memory_dump.is_none() {
                    let shown = disk(&new.spec, name);
                    if !stays && shown.is_none() {
                        causes.push(Cause::invalid(at, format!("no disk shows {name:?}; add one of that name")));
                    } else if shown != disk(&old.spec, name) {
                        causes
                            .push(Cause::invalid(at, format!("the disk of {name:?} has changed; it stays as it is while the guest runs")));
                    }
                }
            }
            None if stays => causes.push(Cause::invalid(at, format!("{name:?} was there when the guest started, but is new here"))),
            None => added(&at, volume, disk(&new.spec, name).as_ref(), disk(&old.spec, name).is_some(), causes),
        }
    }
}

fn added(at: &Path, volume: &Volume, disk: Option<&Disk>, known: bool, causes: &mut Vec<Cause>) {
    if volume.data_volume.is_none() && volume.persistent_volume_claim.is_none() && volume.memory_dump.is_none() {
        causes.push(Cause::invalid(
            at,
            format!("{:?} is neither a claim nor a DataVolume, and only they can be plugged into a running guest", volume.name),
        ));
    } else if volume.memory_dump.is_none() {
        match disk {
            None => causes.push(Cause::invalid(at, format!("no disk shows {:?}; add one of that name", volume.name))),
            Some(_) if known => {}
            Some(disk) => pluggable(at, Some(disk), &volume.name, causes),
        }
    }
}

/// Whether a disk can be plugged into a running guest.
pub(crate) fn pluggable(at: &Path, disk: Option<&Disk>, name: &str, causes: &mut Vec<Cause>) {
    let Some(disk) = disk else {
        causes.push(Cause::invalid(at, format!("nothing says how the guest sees {name:?}; give disk")));
        return;
    };
    let bus = match (&disk.disk, &disk.lun) {
        (Some(target), _) if matches!(target.bus, DiskBus::Scsi | DiskBus::Virtio) => &target.bus,
        (Some(target), _) => {
            causes.push(Cause::invalid(
                at,
                format!("a disk on {:?} cannot be plugged into a running guest; take scsi or virtio", target.bus.as_str()),
            ));
            return;
        }
        (None, Some(target)) if target.bus == DiskBus::Scsi => &target.bus,
        (None, Some(target)) => {
            causes
                .push(Cause::invalid(at, format!("a lun on {:?} cannot be plugged into a running guest; take scsi", target.bus.as_str())));
            return;
        }
        (None, None) => {
            causes.push(Cause::invalid(
                at,
                format!("{name:?} is neither a disk nor a lun, and only they can be plugged into a running guest"),
            ));
            return;
        }
    };
    if disk.dedicated_io_thread == Some(true) && *bus != DiskBus::Virtio {
        causes
            .push(Cause::invalid(at, format!("a disk on {bus} has no I/O thread of its own; take virtio, or leave dedicatedIOThread out")));
    } else if disk.boot_order == Some(0) {
        causes.push(Cause::invalid(at.key("bootOrder"), "0 is no place; the first is 1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn claim(name: &str, claim: &str) -> Value {
        json!({"name": name, "persistentVolumeClaim": {"claimName": claim}})
    }

    fn disk(name: &str, bus: &str) -> Value {
        json!({"name": name, "disk": {"bus": bus}})
    }

    fn instance(volumes: Value, disks: Value) -> VirtualMachineInstance {
        let root = json!([{"name": "root", "target": "vda"}]);
        serde_json::from_value(
            json!({"spec": {"domain": {"devices": {"disks": disks}}, "volumes": volumes}, "status": {"volumeStatus": root}}),
        )
        .unwrap()
    }

    #[test]
    fn volumes_come_and_go_but_not_those_that_the_guest_started_with() {
        let old = instance(json!([claim("root", "r")]), json!([disk("root", "virtio")]));
        for (volumes, disks, wanted) in [
            (json!([claim("root", "r")]), json!([disk("root", "virtio")]), &[][..]),
            (json!([claim("root", "r"), claim("b", "b")]), json!([disk("root", "virtio"), disk("b", "scsi")]), &[]),
            (json!([claim("root", "r"), claim("b", "b")]), json!([disk("root", "virtio"), disk("b", "sata")]), &["spec.volumes[1]"]),
            (json!([claim("root", "r"), claim("b", "b")]), json!([disk("root", "virtio")]), &["spec.volumes"]),
            (json!([claim("root", "other")]), json!([disk("root", "virtio")]), &["spec.volumes[0]"]),
            (json!([claim("root", "r")]), json!([disk("root", "sata")]), &["spec.volumes[0]"]),
            (json!([]), json!([]), &["spec.volumes"]),
            (
                json!([claim("root", "r"), {"name": "b", "emptyDisk": {"capacity": "1Gi"}}]),
                json!([disk("root", "virtio"), disk("b", "scsi")]),
                &["spec.volumes[1]"],
            ),
        ] {
            let mut causes = Vec::new();
            judge(&instance(volumes.clone(), disks), &old, &ClusterConfig::new(&Default::default()), &mut causes);
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), wanted, "{volumes}");
        }
    }

    #[test]
    fn utility_volumes_are_new_and_named() {
        let settings = json!({"developerConfiguration": {"featureGates": ["UtilityVolumes"]}});
        let on = ClusterConfig::new(&serde_json::from_value(settings).unwrap());
        let off = ClusterConfig::new(&Default::default());
        for (config, volumes, wanted) in [
            (&on, json!([{"name": "u", "claimName": "c"}]), &[][..]),
            (&off, json!([{"name": "u", "claimName": "c"}]), &["spec.utilityVolumes"]),
            (&on, json!([{"name": "", "claimName": ""}]), &["spec.utilityVolumes[0].name", "spec.utilityVolumes[0].claimName"]),
            (&on, json!([{"name": "u", "claimName": "c"}, {"name": "u", "claimName": "d"}]), &["spec.utilityVolumes[1].name"]),
        ] {
            let utility_volumes = serde_json::from_value(volumes.clone()).unwrap();
            let spec = VirtualMachineInstanceSpec { utility_volumes, ..VirtualMachineInstanceSpec::default() };
            let mut causes = Vec::new();
            utility(&spec, config, &mut causes);
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), wanted, "{volumes}");
        }
    }
}
