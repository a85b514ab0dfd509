//! Defaults that differ between architectures: buses, watchdogs, firmware.

use crate::api::v1::{
    Bootloader, Diag288Watchdog, DiskBus, Efi, FeatureState, I6300esbWatchdog, VirtualMachineInstanceSpec, WatchdogAction,
};

/// Features that an architecture lacks are off.
pub(super) fn features(spec: &mut VirtualMachineInstanceSpec) {
    if spec.architecture == "s390x" {
        let acpi = &mut spec.domain.features.get_or_insert_default().acpi;
        *acpi = FeatureState { enabled: acpi.enabled.or(Some(false)) };
    }
}

/// What devices are like on the guest's architecture.
pub(super) fn devices(spec: &mut VirtualMachineInstanceSpec) {
    match spec.architecture.as_str() {
        "arm64" => {
            let cpu = spec.domain.cpu.get_or_insert_default();
            if cpu.model.is_empty() {
                "host-passthrough".clone_into(&mut cpu.model);
            }
            efi(spec);
            disk_buses(spec, &DiskBus::Virtio);
        }
        "s390x" => {
            disk_buses(spec, &DiskBus::Virtio);
            if let Some(watchdog) = &mut spec.domain.devices.watchdog {
                reset(&mut watchdog.diag288.get_or_insert_with(Diag288Watchdog::default).action);
            }
        }
        _ => {
            // Guests know SATA out of the box, which virtio they need not.
            disk_buses(spec, &DiskBus::Sata);
            if let Some(watchdog) = &mut spec.domain.devices.watchdog {
                reset(&mut watchdog.i6300esb.get_or_insert_with(I6300esbWatchdog::default).action);
            }
        }
    }
}

fn reset(action: &mut WatchdogAction) {
    if action.is_unset() {
        *action = WatchdogAction::Reset;
    }
}

fn efi(spec: &mut VirtualMachineInstanceSpec) {
    let firmware = spec.domain.firmware.get_or_insert_default();
    let bootloader = firmware.bootloader.get_or_insert_with(|| Bootloader { efi: Some(Efi::default()), ..Bootloader::default() });
    if let Some(efi) = &mut bootloader.efi {
        efi.secure_boot.get_or_insert(false);
    }
}

fn disk_buses(spec: &mut VirtualMachineInstanceSpec, bus: &DiskBus) {
    for disk in &mut spec.domain.devices.disks {
        let targets = [
            disk.disk.as_mut().map(|target| &mut target.bus),
            disk.cdrom.as_mut().map(|target| &mut target.bus),
            disk.lun.as_mut().map(|target| &mut target.bus),
        ];
        for target in targets.into_iter().flatten().filter(|target| target.is_unset()) {
            target.clone_from(bus);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn an_architecture_has_its_own_devices() {
        let devices_of = |architecture: &str| -> Value {
            let spec = json!({"architecture": architecture, "domain": {"devices": {"disks": [{"name": "a", "disk": {}}, {"name": "b", "lun": {"bus": "scsi"}}], "watchdog": {"name": "w"}}}});
            let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(spec).unwrap();
            features(&mut spec);
            devices(&mut spec);
            serde_json::to_value(spec.domain).unwrap()
        };
        for (architecture, bus, watchdog) in [
            ("amd64", "sata", "/devices/watchdog/i6300esb/action"),
            ("s390x", "virtio", "/devices/watchdog/diag288/action"),
            ("arm64", "virtio", ""),
        ] {
            let domain = devices_of(architecture);
            assert_eq!(domain["devices"]["disks"][0]["disk"]["bus"], bus, "{architecture}");
            assert_eq!(domain["devices"]["disks"][1]["lun"]["bus"], "scsi", "{architecture}");
            assert!(watchdog.is_empty() || domain.pointer(watchdog) == Some(&json!("reset")), "{domain}");
        }
        assert_eq!(devices_of("arm64")["firmware"]["bootloader"], json!({"efi": {"secureBoot": false}}));
        assert_eq!(devices_of("s390x")["features"]["acpi"], json!({"enabled": false}));
    }
}
