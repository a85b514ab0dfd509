//! How the guest boots, and what SMBIOS tells it.

use kubevirt_api::v1::{self, StartStrategy};

use super::error::{ConvertError, Fault, Result};
use super::facts::{Efi, Rom, Smbios};
use super::guest::{Guest, Protection};
use super::model::{AcpiTable, Loader, Nvram, Os, Sysinfo};

/// For how long a guest that starts paused shows its boot menu, in milliseconds.
const BOOT_MENU: u32 = 10_000;

/// How the guest boots.
pub(super) fn os(guest: &Guest<'_>) -> Result<Os> {
    let machine = guest.spec().machine.as_ref().map_or("", |machine| machine.type_.as_str());
    let paused = guest.vmi.spec.start_strategy == Some(StartStrategy::Paused);
    let mut os = Os {
        arch: guest.rules.os_arch,
        machine: if machine.is_empty() { guest.rules.machine } else { machine }.to_owned(),
        boot_menu: paused.then_some(BOOT_MENU),
        smbios: guest.rules.smbios,
        ..Os::default()
    };
    let Some(firmware) = &guest.spec().firmware else { return Ok(os) };
    if guest.boots_by_efi() {
        efi(guest, &mut os)?;
    }
    let bios = firmware.bootloader.as_ref().and_then(|loader| loader.bios.as_ref());
    os.bios_serial = bios.is_some_and(|bios| bios.use_serial == Some(true));
    if let Some(boot) = &firmware.kernel_boot {
        kernel(guest, boot, &mut os);
    }
    if let Some(acpi) = &firmware.acpi {
        os.acpi_tables = acpi_tables(guest, acpi)?;
    }
    Ok(os)
}

fn efi(guest: &Guest<'_>, os: &mut Os) -> Result<()> {
    let bootloader = guest.spec().firmware.as_ref().and_then(|firmware| firmware.bootloader.as_ref());
    let secure = bootloader.and_then(|loader| loader.efi.as_ref()).is_none_or(|efi| efi.secure_boot != Some(false));
    let there = &guest.facts.firmware;
    let variables =
        |template: Option<&String>, format| Nvram { path: guest.facts.paths.nvram(guest.name()), template: template.cloned(), format };
    let image = |secure: bool, path: &str, kind| Loader { path: path.to_owned(), secure, kind };
    let missing = |kind: &str, secure: bool| {
        let with = if secure { "with" } else { "without" };
        ConvertError::new(
            "spec.domain.firmware.bootloader.efi",
            Fault::host(
                format!("the host has no UEFI image for {kind} {with} SecureBoot"),
                "install it, or set secureBoot to what there is an image for",
            ),
        )
    };
    match guest.protection {
        Protection::Snp | Protection::Tdx => {
            // these measure the image: it keeps no variables
            let (kind, rom) = match (guest.protection, secure) {
                (Protection::Tdx, false) => ("Intel TDX", &there.tdx),
                (Protection::Tdx, true) => ("Intel TDX", &there.tdx_secure_boot),
                (_, false) => ("AMD SEV-SNP", &there.snp),
                (_, true) => ("AMD SEV-SNP", &None),
            };
            let Rom { code, secure } = rom.as_ref().ok_or_else(|| missing(kind, secure))?;
            os.loader = Some(image(*secure, code, "rom"));
        }
        Protection::Sev => {
            let Efi { code, vars } = there.sev.as_ref().filter(|_| !secure).ok_or_else(|| missing("AMD SEV", secure))?;
            os.loader = Some(image(false, code, "pflash"));
            os.nvram = Some(variables(Some(vars), None));
        }
        _ if secure && there.auto_selection => {
            os.efi_auto_selection = true;
            // on arm64, the images that know their keys keep the variables by themselves
            if guest.architecture() != super::Architecture::Arm64 {
                os.nvram = Some(variables(None, Some("raw")));
            }
        }
        _ => {
            let there = if secure { &there.secure_boot } else { &there.plain };
            let Efi { code, vars } = there.as_ref().ok_or_else(|| missing("ordinary guests", secure))?;
            os.loader = Some(image(secure, code, "pflash"));
            os.nvram = Some(variables(Some(vars), None));
        }
    }
    Ok(())
}

fn kernel(guest: &Guest<'_>, boot: &v1::KernelBoot, os: &mut Os) {
    let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
    if let Some(container) = &boot.container {
        let file = |path: &str| (!path.is_empty()).then(|| guest.facts.paths.kernel_boot(path));
        os.kernel = file(&container.kernel_path);
        os.initrd = file(&container.initrd_path);
    }
    os.cmdline = given(&boot.kernel_args);
}

fn acpi_tables(guest: &Guest<'_>, acpi: &v1::Acpi) -> Result<Vec<AcpiTable>> {
    let tables = [("slic", "slicNameRef", &acpi.slic_name_ref), ("msdm", "msdmNameRef", &acpi.msdm_name_ref)];
    if tables.iter().all(|(_, _, volume)| volume.is_empty()) {
        let right = "name a volume in slicNameRef or msdmNameRef, or leave acpi out";
        return Err(ConvertError::new("spec.domain.firmware.acpi", Fault::Missing { right }));
    }
    let named = tables.into_iter().filter(|(_, _, volume)| !volume.is_empty());
    named
        .map(|(kind, field, name)| {
            let fail = |fault| ConvertError::new(format!("spec.domain.firmware.acpi.{field}"), fault);
            let volume = guest.vmi.spec.volumes.iter().find(|volume| volume.name == *name);
            let volume = volume.ok_or_else(|| fail(Fault::NoSuchVolume(name.clone())))?;
            if volume.secret.is_none() {
                return Err(fail(Fault::value(name, "name a volume that is a Secret")));
            }
            Ok(AcpiTable { kind, path: guest.facts.paths.secret_file(name, &format!("{kind}.bin")) })
        })
        .collect()
}

/// What SMBIOS tells the guest about its machine.
pub(super) fn sysinfo(guest: &Guest<'_>) -> Sysinfo {
    let mut info = Sysinfo::default();
    if let Some(firmware) = &guest.spec().firmware {
        info.system.push(("uuid", firmware.uuid.clone()));
        if !firmware.serial.is_empty() {
            info.system.push(("serial", firmware.serial.clone()));
        }
    }
    if let Some(Smbios { manufacturer, family, product, sku, version }) = &guest.facts.smbios {
        let maker = [("manufacturer", manufacturer), ("family", family), ("product", product), ("sku", sku), ("version", version)];
        info.system.extend(maker.map(|(name, value)| (name, value.clone())));
    }
    if let Some(chassis) = &guest.spec().chassis {
        let v1::Chassis { manufacturer, version, serial, asset, sku } = chassis;
        let maker = [("manufacturer", manufacturer), ("version", version), ("serial", serial), ("asset", asset), ("sku", sku)];
        info.chassis.extend(maker.map(|(name, value)| (name, value.clone())));
    }
    info
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{error, facts, with};
    use super::super::{Facts, convert};
    use super::*;

    #[test]
    fn an_image_that_is_not_there_is_asked_for() {
        for security in [json!(null), json!({ "sev": {} }), json!({ "snp": {} }), json!({ "tdx": {} })] {
            for secure in [false, true] {
                let efi = json!({ "bootloader": { "efi": { "secureBoot": secure } } });
                let error = error(json!({ "spec": { "domain": { "firmware": efi, "launchSecurity": security } } }));
                assert_eq!((error.field.as_str(), error.depends_on_host()), ("spec.domain.firmware.bootloader.efi", true));
            }
        }
    }

    #[test]
    fn libvirt_chooses_only_images_with_secure_boot() {
        let there = Efi { code: "code".into(), vars: "vars".into() };
        let facts = Facts {
            firmware: super::super::facts::Firmware { auto_selection: true, plain: Some(there), ..Default::default() },
            ..facts(&[])
        };
        for (architecture, secure, expected) in [
            ("amd64", false, (false, true)),
            ("amd64", true, (true, true)),
            ("arm64", false, (false, true)),
            ("arm64", true, (true, false)),
        ] {
            let efi = json!({ "bootloader": { "efi": { "secureBoot": secure } } });
            let vmi = with(json!({ "spec": { "architecture": architecture, "domain": { "firmware": efi } } }));
            let os = convert(&vmi, &facts).unwrap().os;
            assert_eq!((os.efi_auto_selection, os.nvram.is_some()), expected, "{architecture} {secure}");
        }
    }

    #[test]
    fn an_acpi_table_comes_out_of_a_secret() {
        for (acpi, field) in [
            (json!({}), "spec.domain.firmware.acpi"),
            (json!({ "slicNameRef": "gone" }), "spec.domain.firmware.acpi.slicNameRef"),
            (json!({ "msdmNameRef": "map" }), "spec.domain.firmware.acpi.msdmNameRef"),
        ] {
            let volumes = json!([{ "name": "map", "configMap": { "name": "m" } }]);
            assert_eq!(error(json!({ "spec": { "volumes": volumes, "domain": { "firmware": { "acpi": acpi } } } })).field, field);
        }
    }
}
