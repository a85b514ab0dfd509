//! Preferences about devices.

use crate::api::instancetype::DevicePreferences;
use crate::api::v1::{Devices, Interface, PanicDevice, VideoDevice, VirtualMachineInstanceSpec};

use super::{disks, prefer, prefer_value};

/// Applies the preferences about devices.
pub(super) fn apply(preferred: &DevicePreferences, spec: &mut VirtualMachineInstanceSpec) {
    let devices = &mut spec.domain.devices;
    prefer(&preferred.preferred_use_virtio_transitional, &mut devices.use_virtio_transitional);
    prefer(&preferred.preferred_block_multi_queue, &mut devices.block_multi_queue);
    prefer(&preferred.preferred_network_interface_multi_queue, &mut devices.network_interface_multiqueue);
    // a VM cannot say that it wants hotplug: `false` is how it says nothing
    if let Some(disable) = preferred.preferred_disable_hotplug {
        devices.disable_hotplug = disable;
    }
    if let Some(sound) = &mut devices.sound {
        prefer_value(&preferred.preferred_sound_model, &mut sound.model);
    }
    prefer(&preferred.preferred_rng, &mut devices.rng);
    prefer(&preferred.preferred_tpm, &mut devices.tpm);
    if let Some(video) = &preferred.preferred_video_type {
        prefer_value(video, &mut devices.video.get_or_insert_with(VideoDevice::default).type_);
    }
    apply_autoattach(preferred, devices);
    for disk in &mut devices.disks {
        disks::apply(preferred, disk);
    }
    interfaces(preferred, spec);
    inputs(preferred, &mut spec.domain.devices);
    panic_devices(preferred, &mut spec.domain.devices);
}

/// Applies only what decides which devices a guest has without being asked for: the VM controller needs to know it
/// before it adds the devices that every guest has.
pub fn apply_autoattach(preferred: &DevicePreferences, devices: &mut Devices) {
    for (preferred, field) in [
        (preferred.preferred_autoattach_graphics_device, &mut devices.autoattach_graphics_device),
        (preferred.preferred_autoattach_mem_balloon, &mut devices.autoattach_mem_balloon),
        (preferred.preferred_autoattach_pod_interface, &mut devices.autoattach_pod_interface),
        (preferred.preferred_autoattach_serial_console, &mut devices.autoattach_serial_console),
        (preferred.preferred_autoattach_input_device, &mut devices.autoattach_input_device),
    ] {
        prefer(&preferred, field);
    }
}

fn interfaces(preferred: &DevicePreferences, spec: &mut VirtualMachineInstanceSpec) {
    for interface in &mut spec.domain.devices.interfaces {
        prefer_value(&preferred.preferred_interface_model, &mut interface.model);
        // masquerading works on the pod network only
        let on_pod_network = spec.networks.iter().find(|n| n.name == interface.name).is_some_and(|n| n.pod.is_some());
        if on_pod_network && !has_binding(interface) {
            interface.masquerade.clone_from(&preferred.preferred_interface_masquerade);
        }
    }
}

fn has_binding(interface: &Interface) -> bool {
    interface.bridge.is_some()
        || interface.slirp.is_some()
        || interface.masquerade.is_some()
        || interface.sriov.is_some()
        || interface.macvtap.is_some()
        || interface.passt.is_some()
        || interface.passt_binding.is_some()
        || interface.binding.is_some()
}

fn inputs(preferred: &DevicePreferences, devices: &mut Devices) {
    for input in &mut devices.inputs {
        prefer_value(&preferred.preferred_input_bus, &mut input.bus);
        prefer_value(&preferred.preferred_input_type, &mut input.type_);
    }
}

fn panic_devices(preferred: &DevicePreferences, devices: &mut Devices) {
    if preferred.preferred_panic_device_model.is_none() {
        return;
    }
    if devices.panic_devices.is_empty() {
        devices.panic_devices.push(PanicDevice::default());
    }
    for device in &mut devices.panic_devices {
        prefer(&preferred.preferred_panic_device_model, &mut device.model);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::applied;

    #[test]
    fn preferences_about_devices() {
        let pod = json!([{"name": "n", "pod": {}}]);
        for (preferred, spec, want) in [
            (json!({"preferredRng": {}, "preferredTPM": {}}), json!({}), json!({"rng": {}, "tpm": {}})),
            (json!({"preferredTPM": {}}), json!({"tpm": {"persistent": true}}), json!({"tpm": {"persistent": true}})),
            (json!({"preferredVideoType": "bochs"}), json!({}), json!({"video": {"type": "bochs"}})),
            (json!({"preferredVideoType": "bochs"}), json!({"video": {"type": "vga"}}), json!({"video": {"type": "vga"}})),
            (json!({"preferredSoundModel": "ac97"}), json!({}), json!({})),
            (json!({"preferredSoundModel": "ac97"}), json!({"sound": {"name": "s"}}), json!({"sound": {"name": "s", "model": "ac97"}})),
            (json!({"preferredDisableHotplug": false}), json!({"disableHotplug": true}), json!({})),
            (
                json!({"preferredAutoattachPodInterface": false, "preferredAutoattachMemBalloon": false}),
                json!({"autoattachMemBalloon": true}),
                json!({"autoattachPodInterface": false, "autoattachMemBalloon": true}),
            ),
            (
                json!({"preferredInterfaceModel": "e1000", "preferredInterfaceMasquerade": {}}),
                json!({"interfaces": [{"name": "n"}, {"name": "m"}, {"name": "n", "model": "virtio", "bridge": {}}]}),
                json!({"interfaces": [
                    {"name": "n", "model": "e1000", "masquerade": {}}, {"name": "m", "model": "e1000"}, {"name": "n", "model": "virtio", "bridge": {}},
                ]}),
            ),
            (
                json!({"preferredInputBus": "usb", "preferredInputType": "tablet"}),
                json!({"inputs": [{"name": "i"}, {"name": "j", "type": "keyboard", "bus": "virtio"}]}),
                json!({"inputs": [{"name": "i", "type": "tablet", "bus": "usb"}, {"name": "j", "type": "keyboard", "bus": "virtio"}]}),
            ),
            (json!({"preferredPanicDeviceModel": "isa"}), json!({}), json!({"panicDevices": [{"model": "isa"}]})),
            (
                json!({"preferredPanicDeviceModel": "isa"}),
                json!({"panicDevices": [{}, {"model": "hyperv"}]}),
                json!({"panicDevices": [{"model": "isa"}, {"model": "hyperv"}]}),
            ),
            (json!({"preferredVirtualGPUOptions": {"display": {}}}), json!({"gpus": [{"name": "g"}]}), json!({"gpus": [{"name": "g"}]})),
        ] {
            let spec = json!({"networks": pod, "domain": {"devices": spec}});
            let got = applied(json!({"devices": preferred}), spec);
            assert_eq!(got["spec"]["domain"]["devices"], want, "{preferred}");
        }
        let none: Value = applied(json!({}), json!({"domain": {"devices": {}}}));
        assert_eq!(none["spec"], json!({"domain": {"devices": {}, "resources": {}}}), "no preference leaves no trace");
    }
}
