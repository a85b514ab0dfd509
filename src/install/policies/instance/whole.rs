//! Rules of an instance that a template need not keep yet: what its defaults have settled by then.

use super::{Area, Rule};

/// A Hyper-V feature that is on although one that it needs was switched off.
macro_rules! hyperv {
    ($id:literal, $feature:literal, $needs:literal) => {
        Rule::one(
            $id,
            concat!(
                "$features.?hyperv.?",
                $feature,
                ".hasValue() && $features.hyperv.",
                $feature,
                ".?enabled.orValue(true) && !$features.?hyperv.?",
                $needs,
                ".?enabled.orValue(true)"
            ),
            concat!("spec.domain.features.hyperv.", $feature),
            concat!($feature, " needs ", $needs, ", which is off; switch that on, or this off"),
        )
    };
}

macro_rules! arm_bus {
    ($id:literal, $target:literal) => {
        Rule::each(
            $id,
            "disks",
            concat!("$architecture == 'arm64' && !(it.?", $target, ".?bus.orValue('') in ['', 'virtio', 'scsi'])"),
            concat!("spec.domain.devices.disks[#].", $target, ".bus"),
            concat!("guests on arm64 have no disks on {it.", $target, ".bus}; take virtio or scsi"),
        )
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$volumes.exists(v, has(v.containerPath))", DIRECTORIES),
    Area::when("$architecture == 'arm64'", ARM),
    Area::when("$features.?hyperv.hasValue()", HYPERV),
    Area::always(OTHERS),
];

const DIRECTORIES: &[Rule] = &[
    Rule::each(
        "container-path-shown",
        "volumes",
        "has(it.containerPath) && (it.name in $disk_names || !(it.name in $filesystem_names))",
        "spec.volumes[#]",
        "a directory of the pod is shown by a filesystem; add one named \"{it.name}\" to devices.filesystems, and no disk",
    ),
    Rule::each(
        "container-path-free",
        "volumes",
        "['/var/run/kubevirt', '/var/run/libvirt'].exists(d, it.?containerPath.?path.orValue('').startsWith(d))",
        "spec.volumes[#].containerPath.path",
        "\"{it.containerPath.path}\" belongs to KubeVirt; name another directory of the pod",
    ),
];

const ARM: &[Rule] = &[
    Rule::one(
        "arm64-bios",
        "$architecture == 'arm64' && $firmware.?bootloader.?bios.hasValue()",
        "spec.domain.firmware.bootloader.bios",
        "guests on arm64 have no BIOS; take efi",
    ),
    Rule::one(
        "arm64-cpu",
        "$architecture == 'arm64' && !($cpu.?model.orValue('') in ['', 'host-passthrough'])",
        "spec.domain.cpu.model",
        "guests on arm64 have no CPU model \"{$cpu.model}\", only host-passthrough",
    ),
    arm_bus!("arm64-disk", "disk"),
    arm_bus!("arm64-cdrom", "cdrom"),
    arm_bus!("arm64-lun", "lun"),
    Rule::one(
        "arm64-sound",
        "$architecture == 'arm64' && $devices.?sound.hasValue()",
        "spec.domain.devices.sound",
        "guests on arm64 have no sound card; leave it out",
    ),
];

const HYPERV: &[Rule] = &[
    hyperv!("hyperv-evmcs", "evmcs", "vapic"),
    hyperv!("hyperv-ipi", "ipi", "vpindex"),
    hyperv!("hyperv-tlbflush", "tlbflush", "vpindex"),
    hyperv!("hyperv-synictimer", "synictimer", "synic"),
    hyperv!("hyperv-synic", "synic", "vpindex"),
    Rule::one(
        "hyperv-passthrough",
        "$features.?hyperv.hasValue() && $features.?hypervPassthrough.hasValue()",
        "spec.domain.features.hyperv",
        "hypervPassthrough takes every feature that the host has; leave it or the single features out",
    ),
];

const OTHERS: &[Rule] = &[
    Rule::one(
        "default-interface",
        "$interfaces == [] && $networks == [] && $devices.?autoattachPodInterface.orValue(true) && \
         ($default_interface == 'slirp' || ($default_interface == 'bridge' && !$bridge_on_pod_network))",
        "spec.domain.devices.interfaces",
        "no interface is given, and the cluster does not permit its own default; give one with another binding, such as masquerade",
    ),
    Rule::one(
        "architecture",
        "!$known_architecture",
        "spec.architecture",
        "\"{$architecture}\" is no architecture; take one of amd64, arm64 and s390x",
    ),
    Rule::one(
        "watchdog",
        "$devices.?watchdog.hasValue() && ($architecture == 'arm64' || ($architecture == 'amd64' && 'diag288' in $devices.watchdog) || \
         ($architecture == 's390x' && 'i6300esb' in $devices.watchdog))",
        "spec.domain.devices.watchdog",
        "guests on amd64 have the watchdog i6300esb, those on s390x diag288, and those on arm64 none",
    ),
    Rule::one(
        "video",
        "$known_architecture && $devices.?video.hasValue() && !($devices.video.?type.orValue('') in {'amd64': ['vga', 'cirrus', 'virtio', \
         'ramfb', 'bochs'], 'arm64': ['virtio', 'ramfb'], 's390x': ['virtio']}[$architecture])",
        "spec.domain.devices.video.type",
        "guests on {$architecture} have no video device \"{$devices.video.type}\"; virtio works everywhere",
    ),
    Rule::one(
        "memory-given",
        "$memory_request.compareTo($nothing) == 0 && $memory_limit.compareTo($nothing) == 0 && !$memory.?guest.hasValue() && \
         !$memory.?hugepages.hasValue()",
        "spec.domain.memory.guest",
        "nothing says how much memory the guest has; set memory.guest, memory.hugepages.pageSize or resources.requests.memory",
    ),
];
