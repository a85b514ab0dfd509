use crate::{
    api,
    v1::{DriverCache, DriverIo, FeatureState},
};

#[api]
pub enum DiskErrorPolicy {
    Stop = "stop",
    Ignore = "ignore",
    Report = "report",
    Enospace = "enospace",
}

#[api]
pub struct Filesystem {
    #[api(required)]
    pub name: String,
    #[api(required)]
    pub virtiofs: Option<FilesystemVirtiofs>,
}

#[api]
pub struct FilesystemVirtiofs {}

#[api]
pub struct Disk {
    #[api(required)]
    pub name: String,
    pub disk: Option<DiskTarget>,
    pub lun: Option<LunTarget>,
    pub cdrom: Option<CdromTarget>,
    #[api(format = "")]
    pub boot_order: Option<u64>,
    pub serial: String,
    #[api(name = "dedicatedIOThread")]
    pub dedicated_io_thread: Option<bool>,
    pub cache: DriverCache,
    pub io: DriverIo,
    pub tag: String,
    pub block_size: Option<BlockSize>,
    pub shareable: Option<bool>,
    pub error_policy: Option<DiskErrorPolicy>,
    pub changed_block_tracking: Option<bool>,
}

#[api]
pub struct CustomBlockSize {
    #[api(format = "")]
    pub logical: u64,
    #[api(format = "")]
    pub physical: u64,
    #[api(format = "")]
    pub discard_granularity: Option<u64>,
}

#[api]
pub struct BlockSize {
    pub custom: Option<CustomBlockSize>,
    pub match_volume: Option<FeatureState>,
}

#[api]
pub struct DiskDevice {
    pub disk: Option<DiskTarget>,
    pub lun: Option<LunTarget>,
    pub cdrom: Option<CdromTarget>,
}

#[api]
pub enum DiskBus {
    Virtio = "virtio",
    Scsi = "scsi",
    Sata = "sata",
    Usb = "usb",
}

#[api]
pub struct DiskTarget {
    pub bus: DiskBus,
    pub readonly: bool,
    pub pci_address: String,
}

#[api]
pub struct LunTarget {
    pub bus: DiskBus,
    pub readonly: bool,
    pub reservation: bool,
}

#[api]
pub enum TrayState {
    Open = "open",
    Closed = "closed",
}

#[api]
pub struct CdromTarget {
    pub bus: DiskBus,
    pub readonly: Option<bool>,
    pub tray: TrayState,
}

#[api]
pub struct DiskIoThreads {
    pub supplemental_pool_thread_count: Option<u32>,
}
