//! Volumes: what is on a disk, and in which file or device.

use kubevirt_api::v1::Volume;

use super::disks::Field;
use super::error::{Fault, Result};
use super::facts::{Paths, VolumeFacts};
use super::guest::Guest;
use super::model::{BackingStore, DataStore, Disk, DiskDriver, Source};

const RAW: &str = "raw";
const QCOW2: &str = "qcow2";

/// Puts a volume that the guest starts with on its disk; `position` is that of the volume in the VMI.
pub(super) fn permanent(guest: &Guest<'_>, volume: &Volume, position: usize, field: Field, disk: &mut Disk) -> Result<()> {
    let Guest { facts, .. } = guest;
    let (paths, known, name) = (&facts.paths, facts.volumes.get(&volume.name), volume.name.as_str());
    let own = |usual: &dyn Fn(&Paths) -> String| known.path.clone().unwrap_or_else(|| usual(paths));
    if volume.container_disk.is_some() {
        let Some(format) = &known.format else {
            let fault =
                Fault::host(format!("the format of the image of volume {name} is not known"), "let the launcher look at the image first");
            return Err(field.error("name", fault));
        };
        overlay(paths, name, disk);
        disk.backing_store = Some(BackingStore { format: format.clone(), source: Source::File(own(&|p| p.container_disk(position))) });
    } else if volume.cloud_init_no_cloud.is_some() {
        image(own(&|p| p.no_cloud(guest.namespace(), guest.name())), disk);
    } else if volume.cloud_init_config_drive.is_some() {
        image(own(&|p| p.config_drive(guest.namespace(), guest.name())), disk);
    } else if volume.sysprep.is_some() {
        image(own(&|p| p.sysprep(name)), disk);
    } else if let Some(host) = &volume.host_disk {
        content(Source::File(own(&|p| p.host_disk(name, &host.path))), known, disk);
    } else if volume.persistent_volume_claim.is_some() || volume.data_volume.is_some() {
        content(claim(guest, name, known), known, disk);
        discard(known, disk);
    } else if volume.ephemeral.is_some() {
        overlay(paths, name, disk);
        disk.backing_store = Some(BackingStore { format: RAW.to_owned(), source: claim(guest, name, known) });
    } else if volume.empty_disk.is_some() {
        disk.driver.format = QCOW2;
        disk.driver.discard = true;
        disk.source = Some(Source::File(own(&|p| p.empty_disk(name))));
    } else if volume.config_map.is_some() {
        image(own(&|p| p.config_map(name)), disk);
    } else if volume.secret.is_some() {
        image(own(&|p| p.secret(name)), disk);
    } else if volume.downward_api.is_some() {
        image(own(&|p| p.downward_api(name)), disk);
    } else if volume.service_account.is_some() {
        image(own(&|p| p.service_account.clone()), disk);
    } else if volume.downward_metrics.is_some() {
        // read by a driver in the guest that knows virtio only; nothing that tunes a disk makes sense here
        disk.driver = DiskDriver::default();
        disk.read_only = true;
        disk.model = Some(guest.virtio);
        image(own(&|p| p.metrics_disk.clone()), disk);
    } else {
        return Err(field.error("name", Fault::value(name, "this kind of volume is no disk; name a volume with a disk image")));
    }
    Ok(())
}

/// Puts a volume that is plugged into the running guest on its disk.
pub(super) fn hotplugged(guest: &Guest<'_>, volume: &Volume, field: Field, disk: &mut Disk) -> Result<()> {
    let (paths, known, name) = (&guest.facts.paths, guest.facts.volumes.get(&volume.name), volume.name.as_str());
    // a claim arrives as a host disk in some pods
    if volume.host_disk.is_none() && volume.persistent_volume_claim.is_none() && volume.data_volume.is_none() {
        return Err(field.error("name", Fault::value(name, "only claims and DataVolumes can be plugged into a running guest")));
    }
    let source = match (&known.path, known.block) {
        (Some(path), false) => Source::File(path.clone()),
        (Some(path), true) => Source::Block { device: path.clone(), name: None },
        (None, false) => Source::File(paths.hotplug_file(name)),
        (None, true) => Source::Block { device: paths.hotplug_device(name), name: None },
    };
    content(source, known, disk);
    discard(known, disk);
    Ok(())
}

/// Leaves a drive empty.
pub(super) fn none(disk: &mut Disk) {
    disk.driver.format = RAW;
    disk.driver.discard = true;
    disk.source = Some(Source::Nowhere);
}

/// A claim, whatever it is.
fn claim(guest: &Guest<'_>, name: &str, known: &VolumeFacts) -> Source {
    let paths = &guest.facts.paths;
    let usual = || if known.block { paths.claim_device(name) } else { paths.claim_file(name) };
    let path = known.path.clone().unwrap_or_else(usual);
    if known.block {
        Source::Block { device: path, name: guest.facts.kubevirt_spelling.then(|| name.to_owned()) }
    } else {
        Source::File(path)
    }
}

/// An image that is the guest's own and stays; what changes in it may be tracked by an overlay.
fn content(source: Source, known: &VolumeFacts, disk: &mut Disk) {
    match &known.change_tracking {
        Some(overlay) => {
            disk.driver.format = QCOW2;
            disk.source = Some(Source::File(overlay.clone()));
            disk.data_store = Some(DataStore { source });
        }
        None => {
            disk.driver.format = RAW;
            disk.source = Some(source);
        }
    }
}

/// What the guest discards goes back to the claim, unless its space was allocated on purpose.
fn discard(known: &VolumeFacts, disk: &mut Disk) {
    disk.driver.discard |= !known.preallocated;
}

/// An overlay that is thrown away with the guest.
fn overlay(paths: &Paths, name: &str, disk: &mut Disk) {
    disk.driver.format = QCOW2;
    disk.driver.discard = true;
    disk.source = Some(Source::File(paths.overlay(name)));
}

/// An image that was made for this guest.
fn image(path: String, disk: &mut Disk) {
    disk.driver.format = RAW;
    disk.source = Some(Source::File(path));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::convert;
    use super::super::testing::{error, facts, with};

    #[test]
    fn what_cannot_be_a_disk_is_refused() {
        let disk = json!({ "name": "d", "disk": { "bus": "virtio" } });
        for source in [json!({ "memoryDump": { "claimName": "c" } }), json!({ "containerPath": { "path": "/" } }), json!({})] {
            let mut volume = source;
            volume["name"] = "d".into();
            let error = error(json!({ "spec": { "volumes": [volume], "domain": { "devices": { "disks": [disk] } } } }));
            assert_eq!(error.field, "spec.domain.devices.disks[0].name");
        }
    }

    #[test]
    fn only_claims_can_be_plugged_in() {
        let object = |source: serde_json::Value| {
            let mut volume = source;
            volume["name"] = "d".into();
            let status = json!({ "name": "d", "target": "", "phase": "Ready", "hotplugVolume": {} });
            with(json!({
                "spec": { "volumes": [volume], "domain": { "devices": { "disks": [{ "name": "d", "disk": { "bus": "scsi" } }] } } },
                "status": { "volumeStatus": [status] },
            }))
        };
        assert!(convert(&object(json!({ "dataVolume": { "name": "v" } })), &facts(&[])).is_ok());
        assert!(convert(&object(json!({ "hostDisk": { "path": "/a", "type": "Disk" } })), &facts(&[])).is_ok());
        let error = convert(&object(json!({ "emptyDisk": { "capacity": "1Gi" } })), &facts(&[])).unwrap_err();
        assert_eq!(error.field, "spec.domain.devices.disks[0].name");
    }

    #[test]
    fn the_format_of_an_image_must_be_known() {
        let volume = json!({ "name": "d", "containerDisk": { "image": "i" } });
        let vmi = with(
            json!({ "spec": { "volumes": [volume], "domain": { "devices": { "disks": [{ "name": "d", "disk": { "bus": "scsi" } }] } } } }),
        );
        let error = convert(&vmi, &super::super::Facts::default()).unwrap_err();
        assert!(error.depends_on_host());
    }
}
