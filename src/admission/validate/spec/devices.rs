//! Input, sound, video, panic and other devices, and threads for I/O.

use super::{Rule, Subject, closed};
use crate::admission::Cause;
use crate::api::v1::{Gpu, InputType, IoThreadsPolicy, PanicDeviceModel};
use crate::config::Gate;

pub(super) const RULES: &[Rule] =
    &[inputs, io_threads, one_boot_display, host_devices, sound, vsock, downward_metrics, video, panic_devices];

fn inputs(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("domain.devices.inputs");
    for (i, input) in s.devices().inputs.iter().enumerate() {
        let at = list.index(i);
        if !input.bus.is_unset() && !input.bus.is_known() {
            causes.push(Cause::invalid(at.key("bus"), format!("{:?} is no bus for input devices; take usb or virtio", input.bus.as_str())));
        }
        if input.type_ != InputType::Tablet {
            causes.push(Cause::invalid(at.key("type"), format!("{:?} is no input device; only tablet is", input.type_.as_str())));
        }
    }
}

fn io_threads(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(policy) = &s.domain().io_threads_policy else { return };
    if !policy.is_known() {
        let message = format!("{:?} is no policy; take one of {}", policy.as_str(), IoThreadsPolicy::VALUES.join(", "));
        causes.push(Cause::invalid(s.at.key("domain.ioThreadsPolicy"), message));
    }
    let count = s.domain().io_threads.as_ref().and_then(|threads| threads.supplemental_pool_thread_count);
    if *policy == IoThreadsPolicy::SupplementalPool && count.is_none_or(|count| count < 1) {
        let message = "a supplemental pool has a number of threads; set ioThreads.supplementalPoolThreadCount to 1 or more";
        causes.push(Cause::invalid(s.at.key("domain.ioThreads.count"), message));
    }
}

/// Whether the guest shows its boot on this GPU.
fn shows_boot(gpu: &Gpu) -> bool {
    let display = gpu.virtual_gpu_options.as_ref().and_then(|options| options.display.as_ref());
    display.is_some_and(|d| d.enabled != Some(false) && d.ram_fb.as_ref().is_none_or(|state| state.enabled == Some(true)))
}

fn one_boot_display(s: &Subject, causes: &mut Vec<Cause>) {
    let count = s.devices().gpus.iter().filter(|gpu| shows_boot(gpu)).count();
    if count > 1 {
        let message = format!("{count} GPUs show the boot by ramFB, which one can; set display.ramFB.enabled to false on the others");
        causes.push(Cause::invalid(s.at.key("domain.devices.gpus"), message));
    }
}

fn host_devices(s: &Subject, causes: &mut Vec<Cause>) {
    if !s.devices().host_devices.is_empty() && !s.enabled(Gate::HostDevices) {
        causes.push(Cause::invalid(s.at.key("domain.devices.hostDevices"), closed(Gate::HostDevices)));
    }
}

fn sound(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(sound) = &s.devices().sound else { return };
    let at = s.at.key("domain.devices.sound");
    if !matches!(sound.model.as_str(), "" | "ich9" | "ac97") {
        causes.push(Cause::invalid(at, format!("{:?} is no model of a sound card; take ich9 or ac97", sound.model)));
    }
    if sound.name.is_empty() {
        causes.push(Cause::invalid(at, "give the sound card a name"));
    }
}

fn vsock(s: &Subject, causes: &mut Vec<Cause>) {
    if s.devices().autoattach_vsock == Some(true) && !s.enabled(Gate::Vsock) {
        causes.push(Cause::invalid(s.at.key("domain.devices.autoattachVSOCK"), closed(Gate::Vsock)));
    }
}

fn downward_metrics(s: &Subject, causes: &mut Vec<Cause>) {
    if s.devices().downward_metrics.is_some() && !s.enabled(Gate::DownwardMetrics) {
        causes.push(Cause::invalid(s.at.key("domain.devices.downwardMetrics"), closed(Gate::DownwardMetrics)));
    }
}

fn video(s: &Subject, causes: &mut Vec<Cause>) {
    if s.devices().video.is_some() && s.devices().autoattach_graphics_device == Some(false) {
        let message = "a video device is described, but autoattachGraphicsDevice says that there is none; leave one of them out";
        causes.push(Cause::invalid(s.at.key("domain.devices.video"), message));
    }
}

fn panic_devices(s: &Subject, causes: &mut Vec<Cause>) {
    let devices = &s.devices().panic_devices;
    let list = s.at.key("domain.devices.panicDevices");
    if !devices.is_empty() && s.architecture() == "s390x" {
        causes.push(Cause::invalid(list, "guests on s390x always have a panic device, and no other; leave these out"));
    }
    for (i, model) in devices.iter().enumerate().filter_map(|(i, d)| Some((i, d.model.as_ref().filter(|model| !model.is_known())?))) {
        let message = format!("{:?} is no model of a panic device; take one of {}", model.as_str(), PanicDeviceModel::VALUES.join(", "));
        causes.push(Cause::invalid(list.index(i).key("model"), message));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn devices_are_what_they_can_be() {
        let devices = |value: Value| json!({"domain": {"devices": value}});
        let shown = json!({"name": "g", "deviceName": "v/d", "virtualGPUOptions": {"display": {}}});
        check(
            RULES,
            &[],
            &[
                (devices(json!({"inputs": [{"name": "i", "type": "tablet", "bus": "usb"}], "sound": {"name": "s", "model": "ac97"}})), &[]),
                (
                    devices(json!({"inputs": [{"name": "i", "type": "keyboard", "bus": "ps2"}]})),
                    &["s.domain.devices.inputs[0].bus", "s.domain.devices.inputs[0].type"],
                ),
                (devices(json!({"gpus": [shown, shown]})), &["s.domain.devices.gpus"]),
                (devices(json!({"hostDevices": [{"name": "h", "deviceName": "v/d"}]})), &["s.domain.devices.hostDevices"]),
                (devices(json!({"sound": {"name": "", "model": "sb16"}})), &["s.domain.devices.sound", "s.domain.devices.sound"]),
                (devices(json!({"autoattachVSOCK": true})), &["s.domain.devices.autoattachVSOCK"]),
                (devices(json!({"downwardMetrics": {}})), &["s.domain.devices.downwardMetrics"]),
                (devices(json!({"video": {"type": "vga"}, "autoattachGraphicsDevice": false})), &["s.domain.devices.video"]),
                (devices(json!({"panicDevices": [{"model": "isa"}, {"model": "blue"}]})), &["s.domain.devices.panicDevices[1].model"]),
                (json!({"architecture": "s390x", "domain": {"devices": {"panicDevices": [{}]}}}), &["s.domain.devices.panicDevices"]),
                (json!({"domain": {"ioThreadsPolicy": "many"}}), &["s.domain.ioThreadsPolicy"]),
                (json!({"domain": {"ioThreadsPolicy": "supplementalPool"}}), &["s.domain.ioThreads.count"]),
                (json!({"domain": {"ioThreadsPolicy": "supplementalPool", "ioThreads": {"supplementalPoolThreadCount": 2}}}), &[]),
            ],
        );
    }
}
