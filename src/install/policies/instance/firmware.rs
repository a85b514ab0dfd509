//! Boot loader, ACPI tables, kernels from outside, and guests whose memory the host cannot read.

use super::super::forms::no_file;
use super::{Area, Rule};
use crate::config::Gate;

/// A table that is taken from a volume, under its name below `spec.domain.firmware.acpi`.
macro_rules! acpi_table {
    ($id:literal, $key:literal) => {
        Rule::one(
            $id,
            concat!(
                "$firmware.?acpi.?",
                $key,
                ".orValue('') != '' && !$volumes.exists(v, v.?name.orValue('') == $firmware.acpi.",
                $key,
                " && has(v.secret))"
            ),
            concat!("spec.domain.firmware.acpi.", $key),
            concat!("no volume \"{$firmware.acpi.", $key, "}\" holds a secret, which the table is taken from; name one that does"),
        )
    };
}

macro_rules! kernel_path {
    ($id:literal, $key:literal) => {
        Rule::one(
            $id,
            concat!("[$firmware.?kernelBoot.?container.?", $key, ".orValue('')].exists(p, p != '' && ", no_file!("p"), ")"),
            concat!("spec.domain.firmware.kernelBoot.container.", $key),
            concat!(
                "\"{$firmware.kernelBoot.container.",
                $key,
                "}\" is no absolute path of a file; write it from the root on, without \".\" and \"..\""
            ),
        )
    };
}

/// Whether a guest of amd64 is protected in exactly one way.
macro_rules! protected {
    () => {
        "$domain.?launchSecurity.hasValue() && $architecture == 'amd64' && ['sev', 'snp', 'tdx'].filter(k, k in $security).size() == 1"
    };
}

const SECURITY_FIELD: &str = "spec.domain.launchSecurity";

pub(super) const AREAS: &[Area] = &[
    Area::when("$firmware.?acpi.hasValue()", TABLES),
    Area::when("$firmware.?kernelBoot.hasValue()", KERNEL),
    Area::when("$domain.?launchSecurity.hasValue()", SECURITY),
    Area::when("$efi.hasValue()", BOOTLOADER),
];

const TABLES: &[Rule] = &[
    Rule::one(
        "acpi-table",
        "$firmware.?acpi.hasValue() && $firmware.acpi.?slicNameRef.orValue('') == '' && $firmware.acpi.?msdmNameRef.orValue('') == ''",
        "spec.domain.firmware.acpi",
        "no table is named; set slicNameRef or msdmNameRef to a volume with a secret",
    ),
    acpi_table!("acpi-slic", "slicNameRef"),
    acpi_table!("acpi-msdm", "msdmNameRef"),
];

const KERNEL: &[Rule] = &[
    Rule::one(
        "kernel-arguments",
        "$firmware.?kernelBoot.hasValue() && !$firmware.?kernelBoot.?container.hasValue() && $firmware.kernelBoot.?kernelArgs.orValue('') != ''",
        "spec.domain.firmware.kernelBoot.kernelArgs",
        "arguments are for a kernel from outside; give its container, or leave them out",
    ),
    Rule::one(
        "kernel-image",
        "$firmware.?kernelBoot.?container.hasValue() && $firmware.kernelBoot.container.?image.orValue('') == ''",
        "spec.domain.firmware.kernelBoot.container.image",
        "name the image that holds the kernel",
    ),
    Rule::one(
        "kernel-paths",
        "$firmware.?kernelBoot.?container.hasValue() && $firmware.kernelBoot.container.?kernelPath.orValue('') == '' && \
         $firmware.kernelBoot.container.?initrdPath.orValue('') == ''",
        "spec.domain.firmware.kernelBoot.container",
        "the image is of no use without a path in it; give kernelPath, initrdPath or both",
    ),
    kernel_path!("kernel-path", "kernelPath"),
    kernel_path!("initrd-path", "initrdPath"),
    Rule::one(
        "kernel-pull-policy",
        "!($firmware.?kernelBoot.?container.?imagePullPolicy.orValue('') in ['', 'Always', 'IfNotPresent', 'Never'])",
        "spec.domain.firmware.kernelBoot.container.imagePullPolicy",
        "\"{$firmware.kernelBoot.container.imagePullPolicy}\" is no policy; take Always, IfNotPresent or Never",
    ),
];

const SECURITY: &[Rule] = &[
    Rule::one(
        "security-architecture",
        "$domain.?launchSecurity.hasValue() && $own_architecture != '' && !($own_architecture in ['amd64', 's390x'])",
        "spec.architecture",
        "guests on \"{$own_architecture}\" cannot be protected; leave launchSecurity out",
    ),
    Rule::one(
        "security-one-kind",
        "$domain.?launchSecurity.hasValue() && $architecture == 'amd64' && ['sev', 'snp', 'tdx'].filter(k, k in $security).size() != 1",
        SECURITY_FIELD,
        "a guest is protected in one way; give exactly one of sev, snp and tdx",
    ),
    Rule::gated("security-sev", Gate::WorkloadEncryptionSev, concat!(protected!(), " && !('tdx' in $security)"), SECURITY_FIELD),
    Rule::gated("security-tdx", Gate::WorkloadEncryptionTdx, concat!(protected!(), " && 'tdx' in $security"), SECURITY_FIELD),
    Rule::one(
        "tdx-smm",
        concat!(protected!(), " && 'tdx' in $security && $smm"),
        SECURITY_FIELD,
        "TDX has no system management mode; set features.smm.enabled to false",
    ),
    Rule::one(
        "security-efi",
        concat!(protected!(), " && $complete && !$efi.hasValue()"),
        SECURITY_FIELD,
        "a protected guest needs EFI firmware; set firmware.bootloader.efi",
    ),
    Rule::one(
        "security-secure-boot",
        concat!(protected!(), " && $complete && $efi.hasValue() && !('tdx' in $security) && $efi.value().?secureBoot.orValue(true)"),
        SECURITY_FIELD,
        "SEV does not work with secure boot; set firmware.bootloader.efi.secureBoot to false",
    ),
    Rule::one(
        "security-persistent",
        concat!(protected!(), " && $efi.hasValue() && !('sev' in $security) && $efi.value().?persistent.orValue(false)"),
        SECURITY_FIELD,
        "a guest with SNP or TDX keeps no EFI variables; leave firmware.bootloader.efi.persistent out",
    ),
    Rule::one(
        "security-attestation",
        concat!(protected!(), " && $security.?sev.?attestation.hasValue() && $spec.?startStrategy.orValue('') != 'Paused'"),
        SECURITY_FIELD,
        "the guest waits for its owner's word before it runs; set startStrategy to Paused",
    ),
    Rule::one(
        "security-network-boot",
        concat!(protected!(), " && $interfaces.exists(i, has(i.bootOrder))"),
        SECURITY_FIELD,
        "a protected guest cannot boot from the network; leave the bootOrder of interfaces out",
    ),
];

const BOOTLOADER: &[Rule] = &[
    Rule::one(
        "one-bootloader",
        "$efi.hasValue() && $firmware.?bootloader.?bios.hasValue()",
        "spec.domain.firmware.bootloader",
        "both efi and bios are given; leave one of them out",
    ),
    Rule::one(
        "secure-boot-smm",
        // Without a word about it, guests on arm64 boot without it.
        "$complete && $efi.hasValue() && !$smm && !$security.?tdx.hasValue() && \
         ($efi.value().?secureBoot.orValue($architecture != 'arm64'))",
        "spec.domain.firmware.bootloader.efi.secureBoot",
        "secure boot needs system management mode; set features.smm.enabled to true in spec.domain, or this to false",
    ),
];
