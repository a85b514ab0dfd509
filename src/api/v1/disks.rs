//! Disks and filesystems.

use crate::{
    api,
    v1::{DriverCache, DriverIo, FeatureState},
};

/// What happens when a disk reports an error.
#[api]
pub enum DiskErrorPolicy {
    Stop = "stop",
    Ignore = "ignore",
    Report = "report",
    Enospace = "enospace",
}

/// A directory that the guest mounts.
#[api]
pub struct Filesystem {
    /// The volume that is shown, and the tag that the guest mounts it by.
    #[api(required)]
    pub name: String,
    /// Shares the directory by virtiofs.
    #[api(required)]
    pub virtiofs: Option<FilesystemVirtiofs>,
}

/// A directory shared by virtiofs.
#[api]
pub struct FilesystemVirtiofs {}

/// A disk; exactly one of disk, lun and cdrom says which kind, disk being the default.
#[api]
pub struct Disk {
    /// The volume that the disk shows.
    #[api(required)]
    pub name: String,
    /// A hard disk.
    pub disk: Option<DiskTarget>,
    /// A SCSI device that is passed through, commands and all.
    pub lun: Option<LunTarget>,
    /// A CD-ROM drive.
    pub cdrom: Option<CdromTarget>,
    /// When the firmware tries to boot from it, counted from 1 over disks and interfaces. Unset: after all that have a number.
    #[api(format = "")]
    pub boot_order: Option<u64>,
    /// The serial number that the guest sees. Letters, digits, _ and -.
    pub serial: String,
    /// Whether the disk has a thread of its own for input and output. Default: false.
    #[api(name = "dedicatedIOThread")]
    pub dedicated_io_thread: Option<bool>,
    /// How writes are cached: none, writethrough or writeback. Unset: none where the volume can do direct input and output,
    /// else writethrough.
    pub cache: DriverCache,
    /// How input and output is done: native or threads. Unset: native for block devices and preallocated files without cache.
    pub io: DriverIo,
    /// A label that the guest finds in the metadata of its config drive.
    pub tag: String,
    /// The block sizes that the guest sees. Unset: 512 bytes.
    pub block_size: Option<BlockSize>,
    /// Whether other machines may write to the volume at the same time; there is no cache then. Default: false.
    pub shareable: Option<bool>,
    /// What happens on an error: stop (pause the machine, default), ignore, report (to the guest) or enospace (stop when space
    /// runs out, else report).
    pub error_policy: Option<DiskErrorPolicy>,
    /// Whether changed blocks are tracked for incremental backups. Unset: as the labels select that the cluster's configuration
    /// names.
    pub changed_block_tracking: Option<bool>,
}

/// Block sizes in bytes: powers of two from 512 to 2097152.
#[api]
pub struct CustomBlockSize {
    /// The smallest unit that the guest can address.
    #[api(format = "")]
    pub logical: u64,
    /// The smallest unit that is written at once; not smaller than the logical one.
    #[api(format = "")]
    pub physical: u64,
    /// The unit in which the guest gives back space; a multiple of the logical size. 0: none.
    #[api(format = "")]
    pub discard_granularity: Option<u64>,
}

/// The block sizes of a disk; one of both.
#[api]
pub struct BlockSize {
    /// Sizes that are given.
    pub custom: Option<CustomBlockSize>,
    /// The sizes of the volume.
    pub match_volume: Option<FeatureState>,
}

/// What kind of disk; one of the three.
#[api]
pub struct DiskDevice {
    /// A hard disk.
    pub disk: Option<DiskTarget>,
    /// A SCSI device that is passed through.
    pub lun: Option<LunTarget>,
    /// A CD-ROM drive.
    pub cdrom: Option<CdromTarget>,
}

/// What a disk is plugged into.
#[api]
pub enum DiskBus {
    Virtio = "virtio",
    Scsi = "scsi",
    Sata = "sata",
    Usb = "usb",
}

/// A hard disk.
#[api]
pub struct DiskTarget {
    /// virtio, sata, scsi or usb. Unset: sata on x86, virtio elsewhere. A disk that is attached to a running machine takes scsi
    /// or virtio.
    pub bus: DiskBus,
    /// Whether the guest can only read. Default: false.
    pub readonly: bool,
    /// The place on the PCI bus, 0000:81:01.10; for virtio only. Unset: any.
    pub pci_address: String,
}

/// A SCSI device that is passed through.
#[api]
pub struct LunTarget {
    /// scsi, sata or virtio. Unset: sata on x86, virtio elsewhere.
    pub bus: DiskBus,
    /// Whether the guest can only read. Default: false.
    pub readonly: bool,
    /// Whether the guest may make persistent reservations, through a helper on the node; needs the bus scsi. Default: false.
    pub reservation: bool,
}

/// Where the tray of a drive is.
#[api]
pub enum TrayState {
    Open = "open",
    Closed = "closed",
}

/// A CD-ROM drive.
#[api]
pub struct CdromTarget {
    /// sata, scsi, usb or virtio. Unset: sata on x86, virtio elsewhere.
    pub bus: DiskBus,
    /// Whether the guest can only read. Default: true.
    pub readonly: Option<bool>,
    /// open or closed (default).
    pub tray: TrayState,
}

/// A pool of threads for the disks.
#[api]
pub struct DiskIoThreads {
    /// How many threads the pool has; at least 1.
    pub supplemental_pool_thread_count: Option<u32>,
}
