//! Disks.

use kubevirt_api::v1::{DiskBus, DiskErrorPolicy, DriverCache, DriverIo, TrayState};

use super::super::xml::{Element, Xml};
use super::{Address, alias, yes_no};

/// A disk.
#[derive(Clone, Debug, PartialEq)]
pub struct Disk {
    /// What it looks like in the guest.
    pub kind: DiskKind,
    /// The model of virtio.
    pub model: Option<&'static str>,
    /// How QEMU drives it.
    pub driver: DiskDriver,
    /// Where its content is.
    pub source: Option<Source>,
    /// A device of the host behind the source that grants reservations.
    pub reservation: Option<Reservation>,
    /// The image that tracks what changed lies over this one.
    pub data_store: Option<DataStore>,
    /// The image that this one lies over.
    pub backing_store: Option<BackingStore>,
    /// Its block sizes.
    pub block_io: Option<BlockIo>,
    /// Its name in libvirt; it also orders the disks of a bus.
    pub target: String,
    /// The bus.
    pub bus: DiskBus,
    /// Whether the tray of a drive is open.
    pub tray: TrayState,
    /// Whether the guest may not write.
    pub read_only: bool,
    /// Whether another guest uses it at the same time.
    pub shareable: bool,
    /// Its serial number.
    pub serial: Option<String>,
    /// Its place in the boot order.
    pub boot: Option<u64>,
    /// The name of the VMI's disk.
    pub alias: Option<String>,
    /// Where it sits.
    pub address: Option<Address>,
}

/// What a disk looks like in the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiskKind {
    /// A disk.
    Disk,
    /// A SCSI device of the host, passed through.
    Lun,
    /// A CD drive.
    Cdrom,
}

/// How QEMU drives a disk.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct DiskDriver {
    /// The format of the image: `raw` or `qcow2`.
    pub format: &'static str,
    /// How writes are cached.
    pub cache: DriverCache,
    /// What an error does.
    pub error_policy: DiskErrorPolicy,
    /// How QEMU reads and writes.
    pub io: DriverIo,
    /// Whether what the guest discards is given back.
    pub discard: bool,
    /// The number of queues.
    pub queues: Option<u32>,
    /// The I/O thread.
    pub io_thread: Option<u32>,
    /// The number of I/O threads that share the queues: the first so many.
    pub io_thread_pool: Option<u32>,
    /// Whether it goes through the guest's IOMMU.
    pub iommu: bool,
}

/// Where the content of a disk is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// In a file.
    File(String),
    /// On a block device.
    Block {
        /// The device.
        device: String,
        /// The name of the volume, where KubeVirt's spelling is asked for.
        name: Option<String>,
    },
    /// In an empty drive: nowhere.
    Nowhere,
}

/// The raw image behind one that tracks changed blocks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DataStore {
    /// Where it is.
    pub source: Source,
}

/// The image that another one lies over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BackingStore {
    /// Its format.
    pub format: String,
    /// Where it is.
    pub source: Source,
}

/// The helper that grants SCSI persistent reservations.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Its socket.
    pub socket: String,
}

/// The block sizes of a disk in bytes; 0 for those that are not set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BlockIo {
    /// The smallest unit that can be addressed.
    pub logical: u64,
    /// The smallest unit that is written without reading first.
    pub physical: u64,
    /// The smallest unit that can be discarded.
    pub discard: Option<u64>,
}

impl Disk {
    /// Where the content itself is, an overlay that tracks its changes put aside.
    pub fn content(&self) -> Option<&Source> {
        self.data_store.as_ref().map(|store| &store.source).or(self.source.as_ref())
    }
}

impl Source {
    /// The file or the device.
    pub fn path(&self) -> Option<&str> {
        match self {
            Self::File(path) | Self::Block { device: path, .. } => Some(path),
            Self::Nowhere => None,
        }
    }

    /// Whether it is a block device.
    pub fn is_block(&self) -> bool {
        matches!(self, Self::Block { .. })
    }

    /// libvirt's name of its kind; an empty drive takes block devices.
    fn kind(&self) -> &'static str {
        match self {
            Self::File(_) => "file",
            Self::Block { .. } | Self::Nowhere => "block",
        }
    }

    fn attributes(&self, x: &mut Xml) {
        match self {
            Self::File(path) => x.attribute("file", path),
            Self::Block { device, name } => {
                x.attribute("dev", device);
                x.attribute("name", name);
            }
            Self::Nowhere => {}
        }
    }
}

impl Element for Disk {
    fn write(&self, x: &mut Xml) {
        x.element("disk", |x| {
            x.attribute("type", self.source.as_ref().map_or("file", Source::kind));
            let device = match self.kind {
                DiskKind::Disk => "disk",
                DiskKind::Lun => "lun",
                DiskKind::Cdrom => "cdrom",
            };
            x.attribute("device", device);
            x.attribute("model", &self.model);
            self.driver.write(x);
            self.write_source(x);
            if let Some(backing) = &self.backing_store {
                x.element("backingStore", |x| {
                    x.attribute("type", backing.source.kind());
                    x.leaf("format", &[("type", &backing.format)]);
                    x.element("source", |x| backing.source.attributes(x));
                });
            }
            x.put(&self.block_io);
            x.leaf("target", &[("dev", &self.target), ("bus", &self.bus), ("tray", &self.tray)]);
            if self.read_only {
                x.leaf("readonly", &[]);
            }
            if self.shareable {
                x.leaf("shareable", &[]);
            }
            x.text("serial", &[], &self.serial);
            if self.boot.is_some() {
                x.leaf("boot", &[("order", &self.boot)]);
            }
            alias(x, self.alias.as_ref());
            x.put(&self.address);
        });
    }
}

impl Disk {
    fn write_source(&self, x: &mut Xml) {
        if matches!(self.source, None | Some(Source::Nowhere)) && self.reservation.is_none() {
            return;
        }
        x.element("source", |x| {
            if let Some(source) = &self.source {
                source.attributes(x);
            }
            if let Some(reservation) = &self.reservation {
                x.element("reservations", |x| {
                    x.attribute("managed", yes_no(false));
                    x.attribute("migration", yes_no(true));
                    x.leaf("source", &[("type", &"unix"), ("path", &reservation.socket), ("mode", &"client")]);
                });
            }
            if let Some(store) = &self.data_store {
                x.element("dataStore", |x| {
                    x.attribute("type", store.source.kind());
                    x.leaf("format", &[("type", &"raw")]);
                    x.element("source", |x| store.source.attributes(x));
                });
            }
        });
    }
}

impl Element for DiskDriver {
    fn write(&self, x: &mut Xml) {
        x.element("driver", |x| {
            x.attribute("name", "qemu");
            x.attribute("type", self.format);
            x.attribute("cache", &self.cache);
            x.attribute("error_policy", &self.error_policy);
            x.attribute("io", &self.io);
            x.attribute("iothread", &self.io_thread);
            x.attribute("queues", &self.queues);
            x.attribute("discard", &self.discard.then_some("unmap"));
            x.attribute("iommu", &self.iommu.then_some("on"));
            if let Some(threads) = self.io_thread_pool {
                x.element("iothreads", |x| {
                    for id in 1..=threads {
                        x.leaf("iothread", &[("id", &id)]);
                    }
                });
            }
        });
    }
}

impl Element for BlockIo {
    fn write(&self, x: &mut Xml) {
        let set = |value: u64| (value != 0).then_some(value);
        x.leaf(
            "blockio",
            &[
                ("logical_block_size", &set(self.logical)),
                ("physical_block_size", &set(self.physical)),
                ("discard_granularity", &self.discard),
            ],
        );
    }
}
