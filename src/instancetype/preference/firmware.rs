//! Preferences about the firmware.

use crate::api::instancetype::FirmwarePreferences;
use crate::api::v1::{Bios, Bootloader, DomainSpec, Efi, Firmware};

use super::prefer;

/// Applies the preferences about the firmware. A VM that has chosen BIOS or EFI keeps it.
pub(super) fn apply(preferred: &FirmwarePreferences, domain: &mut DomainSpec) {
    let firmware = domain.firmware.get_or_insert_with(Firmware::default);
    let boot = firmware.bootloader.get_or_insert_with(Bootloader::default);
    let open = |boot: &Bootloader| boot.bios.is_none() && boot.efi.is_none();
    if preferred.preferred_use_bios == Some(true) && open(boot) {
        boot.bios = Some(Bios::default());
    }
    if let Some(bios) = &mut boot.bios {
        prefer(&preferred.preferred_use_bios_serial, &mut bios.use_serial);
    }
    if let Some(efi) = preferred.preferred_efi.as_ref().filter(|_| open(boot)) {
        // the older two fields below have no say any more
        boot.efi = Some(efi.clone());
        return;
    }
    if preferred.preferred_use_efi == Some(true) && open(boot) {
        boot.efi = Some(Efi::default());
    }
    if let Some(efi) = &mut boot.efi {
        prefer(&preferred.preferred_use_secure_boot, &mut efi.secure_boot);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn preferences_about_firmware() {
        for (preferred, boot, want) in [
            (json!({}), json!({}), json!({})),
            (json!({"preferredUseBios": true, "preferredUseBiosSerial": true}), json!({}), json!({"bios": {"useSerial": true}})),
            (json!({"preferredUseBios": false}), json!({}), json!({})),
            (json!({"preferredUseBios": true, "preferredEfi": {}}), json!({}), json!({"bios": {}})),
            (json!({"preferredUseBios": true}), json!({"efi": {}}), json!({"efi": {}})),
            (
                json!({"preferredEfi": {"persistent": true}, "preferredUseSecureBoot": true}),
                json!({}),
                json!({"efi": {"persistent": true}}),
            ),
            (json!({"preferredEfi": {"persistent": true}}), json!({"efi": {}}), json!({"efi": {}})),
            (json!({"preferredUseEfi": true, "preferredUseSecureBoot": true}), json!({}), json!({"efi": {"secureBoot": true}})),
            (json!({"preferredUseSecureBoot": true}), json!({"efi": {"secureBoot": false}}), json!({"efi": {"secureBoot": false}})),
            (json!({"preferredUseSecureBoot": true}), json!({"bios": {}}), json!({"bios": {}})),
        ] {
            let mut got: DomainSpec = from_value(json!({"firmware": {"bootloader": boot}})).unwrap();
            apply(&from_value(preferred.clone()).unwrap(), &mut got);
            assert_eq!(to_value(got.firmware.unwrap().bootloader).unwrap(), want, "{preferred} {boot}");
        }
    }
}
