//! Defaults of single devices and features: what a thing that is named but not described is like.

use crate::admission::Seed;
use crate::api::v1::{DiskTarget, FeatureHyperv, InputBus, InputType, Probe, TrayState, VirtualMachineInstanceSpec};

/// How often a busy Hyper-V spinlock is tried before the guest yields.
const SPINLOCK_RETRIES: u32 = 4096;

/// Fills in every device and feature.
pub(super) fn fill(spec: &mut VirtualMachineInstanceSpec, seed: Seed) {
    let firmware = spec.domain.firmware.get_or_insert_default();
    if firmware.uuid.is_empty() {
        firmware.uuid = seed.uuid(0);
    }
    timers(spec);
    features(spec);
    disks(spec);
    for input in &mut spec.domain.devices.inputs {
        if input.bus.is_unset() {
            input.bus = InputBus::Usb;
        }
        if input.type_.is_unset() {
            input.type_ = InputType::Tablet;
        }
    }
    for gpu in &mut spec.domain.devices.gpus {
        if let Some(ram_fb) = gpu.virtual_gpu_options.as_mut().and_then(|o| o.display.as_mut()).and_then(|d| d.ram_fb.as_mut()) {
            on(&mut ram_fb.enabled);
        }
    }
    for probe in [&mut spec.readiness_probe, &mut spec.liveness_probe].into_iter().flatten() {
        probe_times(probe);
    }
}

fn on(enabled: &mut Option<bool>) {
    enabled.get_or_insert(true);
}

fn timers(spec: &mut VirtualMachineInstanceSpec) {
    let Some(timer) = spec.domain.clock.as_mut().and_then(|clock| clock.timer.as_mut()) else { return };
    let named = [
        timer.hpet.as_mut().map(|t| &mut t.present),
        timer.kvm.as_mut().map(|t| &mut t.present),
        timer.pit.as_mut().map(|t| &mut t.present),
        timer.rtc.as_mut().map(|t| &mut t.present),
        timer.hyperv.as_mut().map(|t| &mut t.present),
    ];
    named.into_iter().flatten().for_each(on);
}

fn features(spec: &mut VirtualMachineInstanceSpec) {
    let features = spec.domain.features.get_or_insert_default();
    on(&mut features.acpi.enabled);
    if let Some(apic) = &mut features.apic {
        on(&mut apic.enabled);
    }
    for state in [&mut features.smm, &mut features.pvspinlock].into_iter().flatten() {
        on(&mut state.enabled);
    }
    if let Some(hyperv) = &mut features.hyperv {
        enlightenments(hyperv);
    }
}

fn enlightenments(hyperv: &mut FeatureHyperv) {
    if let Some(spinlocks) = &mut hyperv.spinlocks {
        on(&mut spinlocks.enabled);
        if spinlocks.enabled == Some(true) {
            spinlocks.spinlocks.get_or_insert(SPINLOCK_RETRIES);
        }
    }
    if let Some(vendor) = &mut hyperv.vendorid {
        on(&mut vendor.enabled);
    }
    if let Some(timer) = &mut hyperv.synictimer {
        on(&mut timer.enabled);
        timer.direct.iter_mut().for_each(|state| on(&mut state.enabled));
    }
    if let Some(flush) = &mut hyperv.tlbflush {
        on(&mut flush.enabled);
        flush.direct.iter_mut().chain(&mut flush.extended).for_each(|state| on(&mut state.enabled));
    }
    let plain = [
        &mut hyperv.relaxed,
        &mut hyperv.vapic,
        &mut hyperv.vpindex,
        &mut hyperv.runtime,
        &mut hyperv.synic,
        &mut hyperv.reset,
        &mut hyperv.frequencies,
        &mut hyperv.reenlightenment,
        &mut hyperv.ipi,
        &mut hyperv.evmcs,
    ];
    plain.into_iter().flatten().for_each(|state| on(&mut state.enabled));
}

fn disks(spec: &mut VirtualMachineInstanceSpec) {
    for disk in &mut spec.domain.devices.disks {
        if disk.disk.is_none() && disk.cdrom.is_none() && disk.lun.is_none() {
            disk.disk = Some(DiskTarget::default());
        }
        if let Some(cdrom) = &mut disk.cdrom {
            cdrom.readonly.get_or_insert(true);
            if cdrom.tray.is_unset() {
                cdrom.tray = TrayState::Closed;
            }
        }
        if let Some(state) = disk.block_size.as_mut().and_then(|size| size.match_volume.as_mut()) {
            on(&mut state.enabled);
        }
    }
}

fn probe_times(probe: &mut Probe) {
    let Probe { timeout_seconds, period_seconds, success_threshold, failure_threshold, .. } = probe;
    for (value, default) in [(timeout_seconds, 1), (period_seconds, 10), (success_threshold, 1), (failure_threshold, 3)] {
        if *value < 1 {
            *value = default;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_named_is_described() {
        let spec = json!({
            "domain": {
                "clock": {"timer": {"hpet": {}, "pit": {"present": false}}},
                "features": {"apic": {}, "hyperv": {"spinlocks": {}, "synictimer": {"direct": {}}, "tlbflush": {}, "ipi": {"enabled": false}}},
                "devices": {"disks": [{"name": "a"}, {"name": "b", "cdrom": {}}], "inputs": [{"name": "i"}]}
            },
            "livenessProbe": {"exec": {"command": ["true"]}, "periodSeconds": 5}
        });
        let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(spec).unwrap();
        fill(&mut spec, Seed(1));
        let out = serde_json::to_value(&spec).unwrap();
        for (pointer, wanted) in [
            ("/domain/clock/timer/hpet/present", json!(true)),
            ("/domain/clock/timer/pit/present", json!(false)),
            ("/domain/features/acpi/enabled", json!(true)),
            ("/domain/features/apic/enabled", json!(true)),
            ("/domain/features/hyperv/spinlocks", json!({"enabled": true, "spinlocks": 4096})),
            ("/domain/features/hyperv/synictimer", json!({"enabled": true, "direct": {"enabled": true}})),
            ("/domain/features/hyperv/ipi/enabled", json!(false)),
            ("/domain/devices/disks/0/disk", json!({})),
            ("/domain/devices/disks/1/cdrom", json!({"readonly": true, "tray": "closed"})),
            ("/domain/devices/inputs/0", json!({"name": "i", "bus": "usb", "type": "tablet"})),
            ("/livenessProbe/periodSeconds", json!(5)),
            ("/livenessProbe/failureThreshold", json!(3)),
        ] {
            assert_eq!(out.pointer(pointer), Some(&wanted), "{pointer}");
        }
        assert_eq!(spec.domain.firmware.unwrap().uuid, Seed(1).uuid(0));
    }
}
