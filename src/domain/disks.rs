//! Disks: how the guest sees them, and how QEMU drives them. [`super::volumes`] finds what is on them.

use kubevirt_api::v1::{self, DiskBus, DiskErrorPolicy, DriverCache, DriverIo, VolumePhase};

use super::Architecture;
use super::disk_names::Namer;
use super::error::{ConvertError, Fault, Result};
use super::facts::{BlockSizes, VolumeFacts};
use super::guest::Guest;
use super::io_threads::{Assigner, IoThreads, Served};
use super::model::{Address, BlockIo, Disk, DiskDriver, DiskKind, Reservation};
use super::{interfaces, volumes};

/// The largest block that virtio's block devices on the channel subsystem take.
const MOST_ON_S390X: u64 = 4096;

/// The bus of a disk, if it says at all what it looks like.
pub(super) fn bus(disk: &v1::Disk) -> Option<&DiskBus> {
    let plain = disk.disk.as_ref().map(|disk| &disk.bus);
    let lun = || disk.lun.as_ref().map(|lun| &lun.bus);
    plain.or_else(lun).or_else(|| disk.cdrom.as_ref().map(|drive| &drive.bus))
}

/// The disks of a guest.
pub(super) fn convert(guest: &Guest<'_>, threads: Option<IoThreads>) -> Result<Vec<Disk>> {
    let statuses = &guest.vmi.status.volume_status;
    let sources = &guest.devices().disks;
    let mut namer = Namer::new(sources, statuses);
    let mut assigner = threads.map(Assigner::new);
    let queues = (guest.devices().block_multi_queue == Some(true)).then_some(guest.vcpus);
    // a VMI whose status knows none of its volumes has not started yet
    let fresh = statuses.iter().all(|status| status.hotplug_volume.is_some());
    let mut disks = Vec::with_capacity(sources.len());
    for (index, source) in sources.iter().enumerate() {
        let field = Field { index };
        let status = statuses.iter().rfind(|status| status.name == source.name);
        let mut disk = device(guest, source, field, &mut namer)?;
        if disk.bus == DiskBus::Virtio {
            disk.driver.queues = queues;
        }
        let position = guest.vmi.spec.volumes.iter().position(|volume| volume.name == source.name);
        let hotplugged = status.filter(|status| status.hotplug_volume.is_some() && !guest.facts.migration_target);
        match position.and_then(|position| Some((position, guest.vmi.spec.volumes.get(position)?))) {
            Some((_, volume)) if hotplugged.is_some() => volumes::hotplugged(guest, volume, field, &mut disk)?,
            Some((position, volume)) => volumes::permanent(guest, volume, position, field, &mut disk)?,
            None if source.cdrom.is_some() => volumes::none(&mut disk),
            None => return Err(field.error("name", Fault::NoSuchVolume(source.name.clone()))),
        }
        let known = guest.facts.volumes.get(&source.name);
        disk.block_io = block_io(guest, source, field, known)?;
        disk.driver.error_policy = error_policy(source, field)?;
        host_io(source, field, known, &mut disk)?;
        match assigner.as_mut().map_or(Served::ByNone, |assigner| assigner.assign(source)) {
            Served::ByNone => {}
            Served::By(thread) => disk.driver.io_thread = Some(thread),
            Served::ByPool(threads) => disk.driver.io_thread_pool = Some(threads),
        }
        let plugged = hotplugged.is_some_and(|status| matches!(status.phase, VolumePhase::MountedToPod | VolumePhase::Ready));
        let permanent = fresh || status.is_some_and(|status| status.hotplug_volume.is_none());
        if permanent || plugged || position.is_none() {
            disks.push(disk);
        }
    }
    Ok(disks)
}

/// A disk's place in the VMI, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    index: usize,
}

impl Field {
    pub(super) fn error(self, part: &str, fault: Fault) -> ConvertError {
        ConvertError::new(format!("spec.domain.devices.disks[{}].{part}", self.index), fault)
    }
}

/// What the guest sees, without what is on it.
fn device(guest: &Guest<'_>, source: &v1::Disk, field: Field, namer: &mut Namer<'_>) -> Result<Disk> {
    let Some(bus) = bus(source) else {
        return Err(field.error("disk", Fault::Missing { right: "say what the disk looks like: disk, lun or cdrom" }));
    };
    if !bus.is_known() {
        let part = if source.disk.is_some() {
            "disk.bus"
        } else if source.lun.is_some() {
            "lun.bus"
        } else {
            "cdrom.bus"
        };
        return Err(field.error(part, Fault::value(bus, "use virtio, sata, scsi or usb")));
    }
    let (target, unit) = namer.name(&source.name, bus);
    let virtio = *bus == DiskBus::Virtio;
    let mut disk = Disk {
        kind: DiskKind::Disk,
        model: None,
        driver: DiskDriver {
            cache: source.cache.clone(),
            io: source.io.clone(),
            iommu: virtio && guest.uses_iommu(),
            ..DiskDriver::default()
        },
        source: None,
        reservation: None,
        data_store: None,
        backing_store: None,
        block_io: None,
        target,
        bus: bus.clone(),
        tray: v1::TrayState::default(),
        read_only: false,
        shareable: false,
        serial: None,
        boot: source.boot_order,
        alias: Some(source.name.clone()),
        address: None,
    };
    let drive = (*bus == DiskBus::Scsi).then_some(Address::Drive { unit });
    let discard = !guest.facts.volumes.get(&source.name).preallocated;
    if let Some(plain) = &source.disk {
        disk.address = drive;
        if !plain.pci_address.is_empty() {
            if !virtio {
                return Err(
                    field.error("disk.pciAddress", Fault::value(&plain.pci_address, "only disks on the virtio bus have a PCI address"))
                );
            }
            let address = interfaces::pci_address(&plain.pci_address).map_err(|fault| field.error("disk.pciAddress", fault))?;
            disk.address = Some(Address::Pci(address));
        }
        if plain.readonly && *bus == DiskBus::Sata {
            let right = "SATA has no read-only disks; use virtio, scsi or usb, or a cdrom";
            return Err(field.error("disk.readonly", Fault::value(plain.readonly, right)));
        }
        disk.model = virtio.then_some(guest.virtio);
        disk.read_only = plain.readonly;
        disk.serial = Some(source.serial.clone()).filter(|serial| !serial.is_empty());
        disk.driver.discard = discard;
        if source.shareable == Some(true) {
            share(source, field, &mut disk)?;
        }
    } else if let Some(lun) = &source.lun {
        disk.kind = DiskKind::Lun;
        disk.address = drive;
        disk.read_only = lun.readonly;
        disk.driver.discard = discard;
        if lun.reservation {
            disk.reservation = Some(Reservation { socket: guest.facts.paths.reservation_helper.clone() });
        }
    } else if let Some(cdrom) = &source.cdrom {
        disk.kind = DiskKind::Cdrom;
        disk.tray = cdrom.tray.clone();
        disk.read_only = cdrom.readonly != Some(false);
    }
    Ok(disk)
}

/// Two guests may write to one disk only if neither host caches it.
fn share(source: &v1::Disk, field: Field, disk: &mut Disk) -> Result<()> {
    if !source.cache.is_unset() && source.cache != DriverCache::None {
        return Err(field.error("cache", Fault::value(&source.cache, "a shareable disk is not cached: use none")));
    }
    disk.driver.cache = DriverCache::None;
    disk.shareable = true;
    Ok(())
}

fn error_policy(source: &v1::Disk, field: Field) -> Result<DiskErrorPolicy> {
    match &source.error_policy {
        None => Ok(DiskErrorPolicy::Stop),
        Some(policy) if policy.is_known() => Ok(policy.clone()),
        Some(other) => Err(field.error("errorPolicy", Fault::value(other, "use stop, ignore, report or enospace"))),
    }
}

fn block_io(guest: &Guest<'_>, source: &v1::Disk, field: Field, known: &VolumeFacts) -> Result<Option<BlockIo>> {
    let Some(size) = &source.block_size else { return Ok(None) };
    if let Some(custom) = &size.custom {
        if guest.architecture() == Architecture::S390x {
            for (part, bytes) in [("logical", custom.logical), ("physical", custom.physical)] {
                if bytes > MOST_ON_S390X {
                    let right = format!("blocks have at most {MOST_ON_S390X} bytes on s390x");
                    return Err(field.error(&format!("blockSize.custom.{part}"), Fault::value(bytes, right)));
                }
            }
        }
        return Ok(Some(BlockIo { logical: custom.logical, physical: custom.physical, discard: custom.discard_granularity }));
    }
    match &size.match_volume {
        Some(matching) if matching.enabled != Some(false) => Ok(known.block_sizes.map(like_the_volume)),
        _ => Ok(None),
    }
}

/// The block sizes of the volume, made to fit each other: a size that the kernel does not know is like the other one.
fn like_the_volume(sizes: BlockSizes) -> BlockIo {
    let BlockSizes { logical, physical, discard } = sizes;
    let (logical, physical) =
        if logical == 0 || physical == 0 { (logical.max(physical), logical.max(physical)) } else { (logical, physical) };
    let fits = discard.checked_rem(logical) == Some(0);
    BlockIo { logical, physical, discard: Some(if fits { discard } else { physical }) }
}

/// How QEMU reads and writes, where it is known what the host's file systems can do: without the host's cache if
/// possible, and then natively on what has no holes.
fn host_io(source: &v1::Disk, field: Field, known: &VolumeFacts, disk: &mut Disk) -> Result<()> {
    let (Some(direct), Some(content)) = (known.direct_io, disk.content()) else { return Ok(()) };
    if content.path().is_none() {
        return Ok(());
    }
    let native = content.is_block() || known.full;
    if disk.driver.cache == DriverCache::None && !direct {
        let lack = format!("the file system of volume {} cannot do without the host's cache", source.name);
        return Err(field.error("cache", Fault::host(lack, "use writethrough or writeback, or leave cache out")));
    }
    if disk.driver.cache.is_unset() {
        disk.driver.cache = if direct { DriverCache::None } else { DriverCache::Writethrough };
    }
    if disk.driver.io.is_unset() && disk.driver.cache == DriverCache::None && native {
        disk.driver.io = DriverIo::Native;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{facts, with};
    use super::super::{Facts, convert};
    use super::*;

    fn object(disk: Value) -> Value {
        let mut disk = disk;
        disk["name"] = "d".into();
        let volume = json!({ "name": "d", "persistentVolumeClaim": { "claimName": "c" } });
        json!({ "spec": { "volumes": [volume], "domain": { "devices": { "disks": [disk] } } } })
    }

    fn one(disk: Value, facts: &Facts) -> Result<Disk> {
        convert(&with(object(disk)), facts).map(|domain| domain.devices.disks.into_iter().next().unwrap())
    }

    #[test]
    fn the_cache_follows_what_the_file_system_can_do() {
        for (given, direct, full, expected) in [
            ("", None, true, ("", "")),
            ("", Some(true), false, ("none", "")),
            ("", Some(true), true, ("none", "native")),
            ("", Some(false), true, ("writethrough", "")),
            ("writeback", Some(true), true, ("writeback", "")),
            ("none", Some(true), true, ("none", "native")),
        ] {
            let mut facts = facts(&[]);
            facts.volumes.fallback = VolumeFacts { direct_io: direct, full, ..VolumeFacts::default() };
            let disk = one(json!({ "disk": { "bus": "virtio" }, "cache": given }), &facts).unwrap();
            assert_eq!((disk.driver.cache.as_str(), disk.driver.io.as_str()), expected, "{given} {direct:?} {full}");
        }
    }

    #[test]
    fn block_sizes_are_made_to_fit() {
        for (logical, physical, discard, expected) in
            [(512, 4096, 1024, (512, 4096, 1024)), (0, 4096, 0, (4096, 4096, 0)), (512, 0, 100, (512, 512, 512)), (0, 0, 7, (0, 0, 0))]
        {
            let io = like_the_volume(BlockSizes { logical, physical, discard });
            assert_eq!((io.logical, io.physical, io.discard), (expected.0, expected.1, Some(expected.2)));
        }
    }

    #[test]
    fn a_fault_is_named_by_its_field() {
        let mut known = facts(&[]);
        known.volumes.fallback.direct_io = Some(false);
        for (disk, field) in [
            (json!({}), "disk"),
            (json!({ "disk": { "bus": "ide" } }), "disk.bus"),
            (json!({ "lun": {} }), "lun.bus"),
            (json!({ "cdrom": { "bus": "fdc" } }), "cdrom.bus"),
            (json!({ "disk": { "bus": "sata", "readonly": true } }), "disk.readonly"),
            (json!({ "disk": { "bus": "virtio", "pciAddress": "x" } }), "disk.pciAddress"),
            (json!({ "disk": { "bus": "sata", "pciAddress": "0000:01:00.0" } }), "disk.pciAddress"),
            (json!({ "disk": { "bus": "virtio" }, "shareable": true, "cache": "writeback" }), "cache"),
            (json!({ "disk": { "bus": "virtio" }, "cache": "none" }), "cache"),
            (json!({ "disk": { "bus": "virtio" }, "errorPolicy": "retry" }), "errorPolicy"),
        ] {
            assert_eq!(one(disk, &known).unwrap_err().field, format!("spec.domain.devices.disks[0].{field}"));
        }
        let mut z = object(json!({ "disk": { "bus": "virtio" }, "blockSize": { "custom": { "logical": 512, "physical": 8192 } } }));
        z["spec"]["architecture"] = "s390x".into();
        assert_eq!(convert(&with(z), &facts(&[])).unwrap_err().field, "spec.domain.devices.disks[0].blockSize.custom.physical");
    }
}
