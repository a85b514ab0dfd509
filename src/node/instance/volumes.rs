//! What the instance tells of its volumes by the guest's disks.

use crate::api::v1::VolumeStatus;
use crate::guest::status::Disk;

/// Notes where each volume is in the guest.
pub(super) fn tell(statuses: &mut [VolumeStatus], disks: &[Disk]) {
    for status in statuses.iter_mut() {
        let disk = disks.iter().find(|disk| disk.volume == status.name);
        status.target = disk.map(|disk| disk.target.clone()).unwrap_or_default();
    }
    statuses.sort_by(|a, b| a.name.cmp(&b.name));
}
