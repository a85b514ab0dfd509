//! Disks: volumes, targets, buses, caches, block sizes, the order of booting.

use crate::config::Gate;

use super::super::forms::{no_dns_label, no_pci_address};
use super::{Area, Rule};

/// The bus that the guest sees a disk on; the first target counts.
macro_rules! bus {
    () => {
        "(has(it.disk) ? it.disk : has(it.lun) ? it.lun : it.?cdrom.orValue({})).?bus.orValue($default_bus)"
    };
}

/// Sizes of a block as the disk gives them, unless it gives both ways.
macro_rules! block {
    () => {
        "it.?blockSize.?custom.hasValue() && !(it.blockSize.?matchVolume.hasValue() && it.blockSize.matchVolume.?enabled.orValue(true))"
    };
}

macro_rules! block_size {
    ($id:literal, $key:literal) => {
        Rule::each(
            $id,
            "disks",
            concat!(
                block!(), " && !(string(it.blockSize.custom.?", $key,
                ".orValue(0)) in ['512', '1024', '2048', '4096', '8192', '16384', '32768', '65536', '131072', '262144', '524288', '1048576', '2097152'])"
            ),
            concat!("spec.domain.devices.disks[#].blockSize.custom.", $key),
            concat!("{it.blockSize.custom.", $key, "} is no size of a block; take a power of two from 512 to 2097152"),
        )
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$disks.exists(d, has(d.blockSize))", BLOCKS),
    Area::when("$disks.exists(d, has(d.lun))", LUNS),
    Area::when("$disks.exists(d, d.?disk.?pciAddress.hasValue())", ADDRESSES),
    Area::when("($disks + $interfaces).exists(d, has(d.bootOrder))", BOOT),
    Area::when("$disks != []", DISKS),
    Area::always(FILESYSTEMS),
];

const BLOCKS: &[Rule] = &[
    Rule::each(
        "block-size-one-way",
        "disks",
        "it.?blockSize.?custom.hasValue() && it.blockSize.?matchVolume.hasValue() && it.blockSize.matchVolume.?enabled.orValue(true)",
        "spec.domain.devices.disks[#].blockSize",
        "both custom and matchVolume are given; leave one of them out",
    ),
    Rule::each(
        "block-size-order",
        "disks",
        concat!(block!(), " && it.blockSize.custom.?logical.orValue(0) > it.blockSize.custom.?physical.orValue(0)"),
        "spec.domain.devices.disks[#].blockSize.custom.logical",
        "{it.blockSize.custom.logical} is more than the physical size of {it.blockSize.custom.physical}; make it the same or less",
    ),
    Rule::each(
        "block-size-sata",
        "disks",
        concat!(block!(), " && ", bus!(), " == 'sata' && it.blockSize.custom.?logical.orValue(0) != 512"),
        "spec.domain.devices.disks[#].blockSize.custom.logical",
        "disks on sata have blocks of 512, not {it.blockSize.custom.logical}; take another bus, or that size",
    ),
    Rule::each(
        "block-size-grain",
        "disks",
        concat!(
            block!(),
            " && it.blockSize.custom.?logical.orValue(0) > 0 && it.blockSize.custom.?discardGranularity.orValue(0) % it.blockSize.custom.logical != 0"
        ),
        "spec.domain.devices.disks[#].blockSize.custom.discardGranularity",
        "{it.blockSize.custom.discardGranularity} is no multiple of the logical size of {it.blockSize.custom.logical}",
    ),
    block_size!("block-size-logical", "logical"),
    block_size!("block-size-physical", "physical"),
];

const LUNS: &[Rule] = &[
    Rule::each(
        "lun-volume",
        "disks",
        "has(it.lun) && $volumes.exists(v, v.?name.orValue('') == it.?name.orValue('') && !has(v.persistentVolumeClaim) && !has(v.dataVolume))",
        "spec.domain.devices.disks[#].lun",
        "the volume \"{it.name}\" is neither a claim nor a DataVolume, so it has no SCSI device to pass on; make it a disk",
    ),
    Rule::each(
        "lun-reservation",
        "disks",
        "it.?lun.?reservation.orValue(false) && !$reservations",
        "spec.domain.devices.disks[#].lun.reservation",
        "the cluster does not let guests reserve disks; set persistentReservationConfiguration.enabled in the KubeVirt configuration",
    ),
];

const ADDRESSES: &[Rule] = &[
    Rule::each(
        "disk-pci-bus",
        "disks",
        "it.?disk.?pciAddress.orValue('') != '' && (has(it.disk.bus) || $complete) && it.disk.?bus.orValue($default_bus) != 'virtio'",
        "spec.domain.devices.disks[#].disk.pciAddress",
        "only disks on the bus virtio have a PCI address",
    ),
    Rule::each(
        "disk-pci-address",
        "disks",
        concat!("it.?disk.?pciAddress.orValue('') != '' && ", no_pci_address!("it.disk.pciAddress")),
        "spec.domain.devices.disks[#].disk.pciAddress",
        "\"{it.disk.pciAddress}\" is no PCI address; write domain, bus, slot and function as in 0000:01:00.0",
    ),
];

const BOOT: &[Rule] = &[
    Rule::each(
        "disk-boot-place",
        "disks",
        "it.?bootOrder.orValue(1) < 1",
        "spec.domain.devices.disks[#].bootOrder",
        "{it.bootOrder} is no place; the first is 1",
    ),
    Rule::each(
        "disk-boot-order",
        "disks",
        "has(it.bootOrder) && $disks.filter(d, has(d.bootOrder) && d.bootOrder == it.bootOrder).size() > 1",
        "spec.domain.devices.disks[#].bootOrder",
        "{it.bootOrder} is the place of another device; give each its own",
    ),
    Rule::each(
        "interface-boot-place",
        "interfaces",
        "it.?bootOrder.orValue(1) < 1",
        "spec.domain.devices.interfaces[#].bootOrder",
        "{it.bootOrder} is no place; the first is 1",
    ),
    Rule::each(
        "interface-boot-order",
        "interfaces",
        "has(it.bootOrder) && ($disks + $interfaces).filter(d, has(d.bootOrder) && d.bootOrder == it.bootOrder).size() > 1",
        "spec.domain.devices.interfaces[#].bootOrder",
        "{it.bootOrder} is the place of another device; give each its own",
    ),
];

const DISKS: &[Rule] = &[
    Rule::each(
        "disk-volume",
        "disks",
        "!(it.?name.orValue('') in $volume_names) && (!has(it.cdrom) || !$gate_DeclarativeHotplugVolumes)",
        "spec.domain.devices.disks[#].name",
        "there is no volume \"{it.name}\"; add one to volumes, or name another",
    ),
    Rule::each(
        "metrics-disk",
        "disks",
        "$volumes.exists(v, v.?name.orValue('') == it.?name.orValue('') && has(v.downwardMetrics)) && \
         (has(it.disk) ? !(it.disk.?bus.orValue('virtio') in ['', 'virtio']) : has(it.cdrom) || has(it.lun))",
        "spec.domain.devices.disks[#].disk",
        "metrics are read from a disk on the bus virtio; set disk with that bus",
    ),
    Rule::each(
        "disk-name-unique",
        "disks",
        "$disk_names.indexOf(it.?name.orValue('')) != $disk_names.lastIndexOf(it.?name.orValue(''))",
        "spec.domain.devices.disks[#].name",
        "\"{it.name}\" is the name of another disk, too; give each its own",
    ),
    Rule::each(
        "disk-name-form",
        "disks",
        concat!("[it.?name.orValue('')].exists(n, ", no_dns_label!("n"), ")"),
        "spec.domain.devices.disks[#].name",
        "\"{it.name}\" is no name of a disk; use at most 63 lower-case letters, digits and dashes, with a letter or digit at both ends",
    ),
    Rule::each(
        "disk-one-target",
        "disks",
        "['disk', 'lun', 'cdrom'].filter(k, k in it).size() > 1",
        "spec.domain.devices.disks[#]",
        "\"{it.name}\" is more than one device; keep one of disk, lun and cdrom",
    ),
    Rule::each(
        "cdrom-bus",
        "disks",
        "!has(it.disk) && !has(it.lun) && it.?cdrom.?bus.orValue($default_bus) == 'virtio' && has(it.cdrom)",
        "spec.domain.devices.disks[#].cdrom.bus",
        "a CD-ROM drive cannot be on virtio; take sata, scsi or usb",
    ),
    Rule::each(
        "sata-writable",
        "disks",
        "it.?disk.?readonly.orValue(false) && it.disk.?bus.orValue($default_bus) == 'sata'",
        "spec.domain.devices.disks[#].disk.bus",
        "a disk on sata cannot be read-only; take virtio, or make it a cdrom",
    ),
    Rule::each(
        "disk-bus",
        "disks",
        concat!("!(", bus!(), " in ['', 'virtio', 'scsi', 'sata', 'usb'])"),
        "spec.domain.devices.disks[#].bus",
        "the disk is on an unknown bus; take one of virtio, scsi, sata and usb",
    ),
    Rule::each(
        "disk-thread",
        "disks",
        concat!("it.?dedicatedIOThread.orValue(false) && !(", bus!(), " in ['', 'virtio'])"),
        "spec.domain.devices.disks[#]",
        "only disks on virtio have an I/O thread of their own; take that bus, or leave dedicatedIOThread out",
    ),
    Rule::each(
        "disk-serial",
        "disks",
        "!it.?serial.orValue('').matches('^[A-Za-z0-9_.+-]*$') || it.?serial.orValue('').size() > 256",
        "spec.domain.devices.disks[#].serial",
        "\"{it.serial}\" is no serial number; use at most 256 letters, digits, '_', '.', '+' and '-'",
    ),
    Rule::each(
        "disk-cache",
        "disks",
        "!(it.?cache.orValue('') in ['', 'none', 'writethrough', 'writeback'])",
        "spec.domain.devices.disks[#].cache",
        "\"{it.cache}\" is no way to cache; take one of none, writethrough and writeback",
    ),
    Rule::each(
        "disk-io",
        "disks",
        "!(it.?io.orValue('') in ['', 'threads', 'native'])",
        "spec.domain.devices.disks[#].io",
        "\"{it.io}\" is no way of I/O; take threads or native",
    ),
    Rule::each(
        "disk-error-policy",
        "disks",
        "!(it.?errorPolicy.orValue('stop') in ['stop', 'ignore', 'report', 'enospace'])",
        "spec.domain.devices.disks[#].errorPolicy",
        "\"{it.errorPolicy}\" is nothing to do on an error; take one of stop, ignore, report and enospace",
    ),
];

const FILESYSTEMS: &[Rule] = &[Rule::gated(
    "filesystem-claims",
    Gate::VirtiofsStorageVolumes,
    "$volumes.exists(v, v.?name.orValue('') in $filesystem_names && (has(v.persistentVolumeClaim) || has(v.dataVolume)))",
    "spec.domain.devices.filesystems",
)];
