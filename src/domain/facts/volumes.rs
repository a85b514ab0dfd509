//! What is known of the VMI's volumes.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// What is known of the volumes, by name, and what holds for those that are not named.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Volumes {
    /// By the name of the volume.
    pub by_name: BTreeMap<String, VolumeFacts>,
    /// For every other volume.
    pub fallback: VolumeFacts,
}

impl Volumes {
    /// What is known of a volume.
    pub fn get(&self, name: &str) -> &VolumeFacts {
        self.by_name.get(name).unwrap_or(&self.fallback)
    }
}

/// What is known of a volume.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct VolumeFacts {
    /// Whether a claim, or the claim of a DataVolume, is a block device.
    pub block: bool,
    /// Where the image or the block device is, if not at its usual place in [`super::Paths`].
    pub path: Option<String>,
    /// The format of a containerDisk's image: `qcow2` or `raw`.
    pub format: Option<String>,
    /// The size that the guest sees, in bytes.
    pub virtual_size: Option<u64>,
    /// Whether its space is allocated already, so that discarding would waste it.
    pub preallocated: bool,
    /// Whether direct I/O works on the image and on what it is based on; `None` when nobody tried:
    /// the cache mode is then left to QEMU unless the VMI names one.
    pub direct_io: Option<bool>,
    /// Whether the image has no holes, so that native asynchronous I/O pays.
    pub full: bool,
    /// The block sizes of the device or of the file system.
    pub block_sizes: Option<BlockSizes>,
    /// The overlay that tracks changed blocks.
    pub change_tracking: Option<String>,
}

/// The block sizes of a device or a file system, in bytes; 0 where the kernel does not know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct BlockSizes {
    /// The smallest unit that can be addressed.
    pub logical: u64,
    /// The smallest unit that is written without reading first.
    pub physical: u64,
    /// The smallest unit that can be discarded.
    pub discard: u64,
}
