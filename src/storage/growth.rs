//! Claims: how large the disks on them are for the guest, at first and when they have become larger.

use serde::{Deserialize, Serialize};

use crate::api::Quantity;
use crate::api::v1::{Disk, PersistentVolumeClaimInfo, VirtualMachineInstance};
use crate::config::ClusterConfig;

/// What an image on a claim may fill.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Claim {
    /// What was asked for or what there is, whichever is less, in bytes.
    pub capacity: u64,
    /// The share that the file system needs for itself, in thousandths.
    pub overhead: u64,
}

impl Claim {
    /// By what the instance tells of a claim; nothing if that does not suffice.
    pub fn of(info: &PersistentVolumeClaimInfo) -> Option<Self> {
        let bytes = |map: &std::collections::BTreeMap<String, Quantity>| u64::try_from(map.get("storage")?.value()).ok();
        let overhead: Quantity = info.filesystem_overhead.as_ref()?.parse().ok()?;
        let overhead = u64::try_from(overhead.millis()).ok().filter(|share| *share <= WHOLE)?;
        Some(Self { capacity: bytes(&info.capacity)?.min(bytes(&info.requests)?), overhead })
    }
}

/// What a disk of the guest lies on. Sizes are in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backing {
    /// A block device.
    Device {
        /// Its size.
        size: u64,
    },
    /// A raw image in a file system.
    File {
        /// Its size.
        size: u64,
        /// What it takes of the file system: less than its size if it has holes.
        allocated: u64,
        /// What the file system still has.
        available: u64,
    },
}

/// All of a share, in thousandths.
const WHOLE: u64 = 1000;
/// Disks are whole sectors.
const SECTOR: u64 = 512;
/// Images are made larger by whole MiB.
const MIB: u64 = 1 << 20;

/// How large a disk is to be for the guest, in bytes.
///
/// A device is as large as it is. An image fills the claim, but for what its file system needs, and never more than the
/// file system has; it is not made smaller. Without a claim it stays as large as it is.
pub fn size(backing: Backing, claim: Option<Claim>) -> u64 {
    match backing {
        Backing::Device { size } => down(size, SECTOR),
        Backing::File { size, allocated, available } => {
            let room = allocated.saturating_add(available);
            let filled = claim.map_or(0, |claim| share(claim.capacity.min(room), WHOLE.saturating_sub(claim.overhead)));
            down(filled, MIB).max(down(size, SECTOR))
        }
    }
}

/// What the space of a claim is judged by where it has no image yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// How many bytes stay free.
    pub reserve: u64,
    /// By how much less than the claim says the image may be, per cent.
    pub tolerance: u64,
}

impl Rules {
    /// As the cluster is configured.
    pub fn of(config: &ClusterConfig) -> Self {
        let developer = config.developer();
        let tolerance = developer.map_or(0, |developer| developer.pvc_tolerate_less_space_up_to_percent);
        Self {
            reserve: developer.map_or(0, |developer| developer.minimum_reserve_pvc_bytes),
            tolerance: u64::try_from(tolerance).unwrap_or(0),
        }
    }
}

/// A claim whose file system has too little space for an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TooSmall {
    /// Even for the smallest image.
    #[error("the claim has {0} bytes, of which no disk can be made; ask for at least 1Mi")]
    ForAny(u64),
    /// For the image that the claim promises.
    #[error(
        "the claim has room for {room} bytes and not for the {wanted} that it says, nor for {} % less \
         (developerConfiguration.pvcTolerateLessSpaceUpToPercent); make it larger",
        .rules.tolerance
    )]
    ForItsOwn {
        /// What it says.
        wanted: u64,
        /// What it has.
        room: u64,
        /// What was judged by.
        rules: Rules,
    },
}

/// The size of the image that is made on a claim which has none, in bytes: all of the claim, or what its file system has
/// left if that is not much less.
///
/// # Errors
/// It has too little left.
pub fn first(claim: Claim, available: u64, rules: Rules) -> Result<u64, TooSmall> {
    let wanted = down(claim.capacity, MIB);
    let room = available.saturating_sub(rules.reserve);
    let least = share(wanted, WHOLE.saturating_sub(rules.tolerance.saturating_mul(10)));
    if least > room {
        return Err(TooSmall::ForItsOwn { wanted, room, rules });
    }
    match down(wanted.min(room), SECTOR) {
        0 => Err(TooSmall::ForAny(claim.capacity)),
        size => Ok(size),
    }
}

fn down(size: u64, unit: u64) -> u64 {
    size / unit * unit
}

/// So many thousandths of a size.
fn share(size: u64, thousandths: u64) -> u64 {
    size / WHOLE * thousandths + size % WHOLE * thousandths / WHOLE
}

/// The volumes whose disks grow with their claims: the guest writes them, and they are no media that are put into a drive.
pub fn growing(vmi: &VirtualMachineInstance) -> impl Iterator<Item = &str> {
    let written = |disk: &Disk| match (&disk.disk, &disk.lun) {
        (Some(disk), _) => !disk.readonly,
        (None, Some(lun)) => !lun.readonly,
        (None, None) => false,
    };
    let is_written = move |name: &str| vmi.spec.domain.devices.disks.iter().any(|disk| disk.name == name && written(disk));
    let claims = vmi.spec.volumes.iter().filter(|volume| match &volume.persistent_volume_claim {
        Some(claim) => !claim.read_only,
        None => volume.data_volume.is_some(),
    });
    claims.map(|volume| volume.name.as_str()).filter(move |name| is_written(name))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const GIB: u64 = 1 << 30;

    #[test]
    fn an_image_fills_its_claim_and_a_device_is_as_large_as_it_is() {
        let file = |size, allocated, available| Backing::File { size, allocated, available };
        let claim = |capacity, overhead| Some(Claim { capacity, overhead });
        for (backing, known, expected) in [
            (Backing::Device { size: GIB + 1 }, None, GIB),
            (Backing::Device { size: GIB }, claim(2 * GIB, 0), GIB),
            // nothing is known of the claim
            (file(GIB + 511, 0, 9 * GIB), None, GIB),
            (file(GIB, 0, 9 * GIB), claim(2 * GIB, 0), 2 * GIB),
            (file(GIB, 0, 9 * GIB), claim(2 * GIB, 55), 1935 * MIB),
            (file(GIB, 0, 9 * GIB), claim(1000 * MIB, 55), GIB),
            (file(MIB, 0, 9 * GIB), claim(1000 * MIB, 55), 945 * MIB),
            (file(MIB, 0, 9 * GIB), claim(GIB, 1000), MIB),
            (file(MIB, 0, 9 * GIB), claim(10 * MIB + 5, 0), 10 * MIB),
            // the file system has less than the claim says
            (file(GIB, GIB, GIB / 2), claim(9 * GIB, 0), GIB + GIB / 2),
            (file(GIB, GIB, 0), claim(9 * GIB, 100), GIB),
            (file(0, 0, u64::MAX), claim(u64::MAX, 1), u64::MAX / 1000 * 999 / MIB * MIB),
        ] {
            assert_eq!(size(backing, known), expected, "{backing:?} {known:?}");
        }
    }

    #[test]
    fn a_claim_without_an_image_gets_one_if_it_has_the_space() {
        let rules = Rules { reserve: 1000, tolerance: 10 };
        let own = |wanted, room| Err(TooSmall::ForItsOwn { wanted, room, rules });
        for (capacity, available, expected) in [
            (GIB, 9 * GIB, Ok(GIB)),
            (GIB + 5, 9 * GIB, Ok(GIB)),
            (GIB, GIB, Ok(GIB - 1024)),
            (1000 * MIB, 900 * MIB + 1000, Ok(900 * MIB)),
            (1000 * MIB, 900 * MIB + 999, own(1000 * MIB, 900 * MIB - 1)),
            (GIB, 0, own(GIB, 0)),
            (MIB - 1, GIB, Err(TooSmall::ForAny(MIB - 1))),
        ] {
            assert_eq!(first(Claim { capacity, overhead: 55 }, available, rules), expected, "{capacity} {available}");
        }
        assert!(own(MIB, 7).unwrap_err().to_string().contains("room for 7 bytes and not for the 1048576 that it says, nor for 10 % less"));
    }

    #[test]
    fn a_claim_is_what_was_asked_for_or_what_there_is() {
        for (info, expected) in [
            (json!({"capacity": {"storage": "2Gi"}, "requests": {"storage": "1Gi"}, "filesystemOverhead": "0.055"}), Some((GIB, 55))),
            (json!({"capacity": {"storage": "1Gi"}, "requests": {"storage": "2Gi"}, "filesystemOverhead": "0"}), Some((GIB, 0))),
            (json!({"capacity": {"storage": "1Gi"}, "requests": {"storage": "1Gi"}, "filesystemOverhead": "1"}), Some((GIB, 1000))),
            (json!({"capacity": {"storage": "1Gi"}, "requests": {"storage": "1Gi"}, "filesystemOverhead": "1.5"}), None),
            (json!({"capacity": {"storage": "1Gi"}, "requests": {"storage": "1Gi"}, "filesystemOverhead": "-1"}), None),
            (json!({"capacity": {"storage": "1Gi"}, "requests": {"storage": "1Gi"}}), None),
            (json!({"capacity": {"storage": "1Gi"}, "filesystemOverhead": "0"}), None),
            (json!({"requests": {"storage": "1Gi"}, "filesystemOverhead": "0"}), None),
        ] {
            let known = serde_json::from_value(info.clone()).unwrap();
            assert_eq!(Claim::of(&known).map(|claim| (claim.capacity, claim.overhead)), expected, "{info}");
        }
    }

    #[test]
    fn what_the_guest_cannot_write_does_not_grow() {
        let claim = json!({"persistentVolumeClaim": {"claimName": "c"}});
        for (disk, volume, grows) in [
            (json!({"disk": {"bus": "virtio"}}), claim.clone(), true),
            (json!({"lun": {"bus": "scsi"}}), claim.clone(), true),
            (json!({"disk": {"bus": "virtio"}}), json!({"dataVolume": {"name": "c"}}), true),
            (json!({"disk": {"readonly": true}}), claim.clone(), false),
            (json!({"lun": {"readonly": true}}), claim.clone(), false),
            (json!({"cdrom": {"bus": "sata"}}), claim.clone(), false),
            (Value::Null, claim, false),
            (json!({"disk": {}}), json!({"persistentVolumeClaim": {"claimName": "c", "readOnly": true}}), false),
            (json!({"disk": {}}), json!({"ephemeral": {"persistentVolumeClaim": {"claimName": "c"}}}), false),
            (json!({"disk": {}}), json!({"containerDisk": {"image": "i"}}), false),
        ] {
            let (mut named, mut disks) = (volume.clone(), Vec::new());
            named["name"] = "v".into();
            if disk.is_object() {
                let mut disk = disk.clone();
                disk["name"] = "v".into();
                disks.push(disk);
            }
            let vmi = json!({"spec": {"domain": {"devices": {"disks": disks}}, "volumes": [named]}});
            let vmi: VirtualMachineInstance = serde_json::from_value(vmi).unwrap();
            assert_eq!(growing(&vmi).collect::<Vec<_>>(), ["v"].iter().copied().filter(|_| grows).collect::<Vec<_>>(), "{disk} {volume}");
        }
    }
}
