//! Boot loader, ACPI tables and kernels from outside.

use super::{Rule, Subject, volumes};
use crate::admission::validate::paths;
use crate::admission::{Cause, Path};
use crate::api::v1::{DomainSpec, Features, Firmware, KernelBoot};

pub(super) const RULES: &[Rule] = &[acpi_tables, one_bootloader, kernel_boot, secure_boot];
/// Those that hang on nothing else than the firmware.
pub(super) const BOOT: &[Rule] = &[one_bootloader, kernel_boot];

fn acpi_tables(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(acpi) = s.domain().firmware.as_ref().and_then(|f| f.acpi.as_ref()) else { return };
    let firmware = s.at.key("domain.firmware");
    let at = firmware.key("acpi");
    if acpi.slic_name_ref.is_empty() && acpi.msdm_name_ref.is_empty() {
        causes.push(Cause::invalid(at, "no table is named; set slicNameRef or msdmNameRef to a volume with a secret"));
        return;
    }
    for (key, name) in [("slicNameRef", &acpi.slic_name_ref), ("msdmNameRef", &acpi.msdm_name_ref)] {
        if name.is_empty() {
            continue;
        }
        match s.spec.volumes.iter().find(|volume| volume.name == *name) {
            Some(volume) if volume.secret.is_some() => {}
            Some(_) => {
                let message = format!("the volume {name:?} holds no secret; tables are taken from volumes of secrets");
                causes.push(Cause::invalid(at.key(key), message));
            }
            None => causes.push(Cause::invalid(at.key(key), format!("there is no volume {name:?}; name one with a secret"))),
        }
    }
}

fn one_bootloader(s: &Subject, causes: &mut Vec<Cause>) {
    let bootloader = s.domain().firmware.as_ref().and_then(|f| f.bootloader.as_ref());
    if bootloader.is_some_and(|b| b.efi.is_some() && b.bios.is_some()) {
        causes.push(Cause::invalid(s.at.key("domain.firmware.bootloader"), "both efi and bios are given; leave one of them out"));
    }
}

fn kernel_boot(s: &Subject, causes: &mut Vec<Cause>) {
    if let Some(boot) = s.domain().firmware.as_ref().and_then(|f| f.kernel_boot.as_ref()) {
        kernel(&s.at.key("domain.firmware.kernelBoot"), boot, causes);
    }
}

fn kernel(at: &Path, boot: &KernelBoot, causes: &mut Vec<Cause>) {
    let Some(container) = &boot.container else {
        if !boot.kernel_args.is_empty() {
            causes.push(Cause::invalid(
                at.key("kernelArgs"),
                "arguments are for a kernel from outside; give its container, or leave them out",
            ));
        }
        return;
    };
    let at = at.key("container");
    if container.image.is_empty() {
        causes.push(Cause::required(at.key("image"), "name the image that holds the kernel"));
    }
    if container.kernel_path.is_empty() && container.initrd_path.is_empty() {
        causes.push(Cause::required(at, "the image is of no use without a path in it; give kernelPath, initrdPath or both"));
    }
    volumes::pull_policy(&at, &container.image_pull_policy, causes);
    for (key, path) in [("kernelPath", &container.kernel_path), ("initrdPath", &container.initrd_path)] {
        if !path.is_empty() {
            paths::file(&at.key(key), path, causes);
        }
    }
}

fn secure_boot(s: &Subject, causes: &mut Vec<Cause>) {
    let DomainSpec { firmware, features, launch_security, .. } = s.domain();
    // With TDX the variables that SMM would guard are part of the firmware itself.
    let tdx = launch_security.as_ref().is_some_and(|l| l.tdx.is_some());
    if wants_secure_boot(firmware.as_ref()) && !has_smm(features.as_ref()) && !tdx {
        let message =
            "secure boot needs system management mode; set features.smm.enabled to true, or firmware.bootloader.efi.secureBoot to false";
        causes.push(Cause::invalid(s.at.key("domain"), message));
    }
}

fn wants_secure_boot(firmware: Option<&Firmware>) -> bool {
    let efi = firmware.and_then(|f| f.bootloader.as_ref()).and_then(|b| b.efi.as_ref());
    efi.is_some_and(|efi| efi.secure_boot != Some(false))
}

/// Whether system management mode is on.
pub(super) fn has_smm(features: Option<&Features>) -> bool {
    features.and_then(|f| f.smm.as_ref()).is_some_and(|smm| smm.enabled != Some(false))
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn domain(firmware: Value) -> Value {
        json!({"domain": {"firmware": firmware, "features": {"smm": {}}}, "volumes": [{"name": "s", "secret": {"secretName": "x"}}, {"name": "d"}]})
    }

    #[test]
    fn firmware_is_one_thing_and_complete() {
        check(
            RULES,
            &[],
            &[
                (domain(json!({"bootloader": {"efi": {}}})), &[]),
                (domain(json!({"bootloader": {"efi": {}, "bios": {}}})), &["s.domain.firmware.bootloader"]),
                (json!({"domain": {"firmware": {"bootloader": {"efi": {}}}}}), &["s.domain"]),
                (json!({"domain": {"firmware": {"bootloader": {"efi": {"secureBoot": false}}}}}), &[]),
                (json!({"domain": {"firmware": {"bootloader": {"efi": {}}}, "launchSecurity": {"tdx": {}}}}), &[]),
                (domain(json!({"acpi": {}})), &["s.domain.firmware.acpi"]),
                (domain(json!({"acpi": {"slicNameRef": "s"}})), &[]),
                (
                    domain(json!({"acpi": {"slicNameRef": "d", "msdmNameRef": "none"}})),
                    &["s.domain.firmware.acpi.slicNameRef", "s.domain.firmware.acpi.msdmNameRef"],
                ),
                (domain(json!({"kernelBoot": {"kernelArgs": "quiet"}})), &["s.domain.firmware.kernelBoot.kernelArgs"]),
                (
                    domain(json!({"kernelBoot": {"container": {}}})),
                    &["s.domain.firmware.kernelBoot.container.image", "s.domain.firmware.kernelBoot.container"],
                ),
                (
                    domain(json!({"kernelBoot": {"container": {"image": "i", "kernelPath": "boot/k", "initrdPath": "/i"}}})),
                    &["s.domain.firmware.kernelBoot.container.kernelPath"],
                ),
            ],
        );
    }
}
