//! Preferences about disks.

use crate::api::instancetype::DevicePreferences;
use crate::api::v1::{Disk, DiskBus, DiskTarget};

use super::{prefer, prefer_value};

/// Applies the preferences to one disk. A disk that does not say what it is, is a disk.
pub(super) fn apply(preferred: &DevicePreferences, disk: &mut Disk) {
    if disk.disk.is_none() && disk.cdrom.is_none() && disk.lun.is_none() {
        disk.disk = Some(DiskTarget::default());
    }
    if let Some(target) = &mut disk.disk {
        prefer_value(&preferred.preferred_disk_bus, &mut target.bus);
        prefer(&preferred.preferred_disk_block_size, &mut disk.block_size);
        prefer_value(&preferred.preferred_disk_cache, &mut disk.cache);
        prefer_value(&preferred.preferred_disk_io, &mut disk.io);
        // other buses have no threads of their own
        if target.bus == DiskBus::Virtio {
            prefer(&preferred.preferred_disk_dedicated_io_thread, &mut disk.dedicated_io_thread);
        }
    } else if let Some(target) = &mut disk.cdrom {
        prefer_value(&preferred.preferred_cdrom_bus, &mut target.bus);
    } else if let Some(target) = &mut disk.lun {
        prefer_value(&preferred.preferred_lun_bus, &mut target.bus);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn preferences_about_disks() {
        let preferred: DevicePreferences = from_value(json!({
            "preferredDiskBus": "virtio", "preferredCdromBus": "sata", "preferredLunBus": "scsi", "preferredDiskDedicatedIoThread": true,
            "preferredDiskCache": "none", "preferredDiskIO": "native", "preferredDiskBlockSize": {"matchVolume": {}},
        }))
        .unwrap();
        let rest = json!({"cache": "none", "io": "native", "blockSize": {"matchVolume": {}}, "dedicatedIOThread": true, "name": "d"});
        let with = |more: serde_json::Value| {
            let mut all = rest.clone();
            all.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            all
        };
        for (disk, want) in [
            (json!({"name": "d"}), with(json!({"disk": {"bus": "virtio"}}))),
            (
                json!({"name": "d", "disk": {"bus": "virtio"}, "dedicatedIOThread": false}),
                with(json!({"disk": {"bus": "virtio"}, "dedicatedIOThread": false})),
            ),
            (
                json!({"name": "d", "disk": {"bus": "sata"}, "cache": "writeback"}),
                json!({"name": "d", "disk": {"bus": "sata"}, "cache": "writeback", "io": "native", "blockSize": {"matchVolume": {}}}),
            ),
            (json!({"name": "d", "cdrom": {}}), json!({"name": "d", "cdrom": {"bus": "sata"}})),
            (json!({"name": "d", "lun": {}}), json!({"name": "d", "lun": {"bus": "scsi"}})),
            (json!({"name": "d", "lun": {"bus": "sata"}}), json!({"name": "d", "lun": {"bus": "sata"}})),
        ] {
            let mut got: Disk = from_value(disk.clone()).unwrap();
            apply(&preferred, &mut got);
            assert_eq!(to_value(got).unwrap(), want, "{disk}");
        }
    }
}
