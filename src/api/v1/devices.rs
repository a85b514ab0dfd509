use crate::{
    api,
    v1::{Disk, FeatureState, Filesystem, Interface},
};

#[api]
pub enum PanicDeviceModel {
    Hyperv = "hyperv",
    Isa = "isa",
    Pvpanic = "pvpanic",
}

#[api]
pub struct Devices {
    pub use_virtio_transitional: Option<bool>,
    pub disable_hotplug: bool,
    #[api(max_items = 256)]
    pub disks: Vec<Disk>,
    pub watchdog: Option<Watchdog>,
    #[api(max_items = 256)]
    pub interfaces: Vec<Interface>,
    pub inputs: Vec<Input>,
    pub autoattach_pod_interface: Option<bool>,
    pub autoattach_graphics_device: Option<bool>,
    pub autoattach_serial_console: Option<bool>,
    pub log_serial_console: Option<bool>,
    pub autoattach_mem_balloon: Option<bool>,
    pub autoattach_input_device: Option<bool>,
    #[api(name = "autoattachVSOCK")]
    pub autoattach_vsock: Option<bool>,
    pub rng: Option<Rng>,
    pub block_multi_queue: Option<bool>,
    pub network_interface_multiqueue: Option<bool>,
    #[api(list = "atomic")]
    pub gpus: Vec<Gpu>,
    pub downward_metrics: Option<DownwardMetrics>,
    pub panic_devices: Vec<PanicDevice>,
    #[api(list = "atomic")]
    pub filesystems: Vec<Filesystem>,
    #[api(list = "atomic")]
    pub host_devices: Vec<HostDevice>,
    pub client_passthrough: Option<ClientPassthroughDevices>,
    pub sound: Option<SoundDevice>,
    pub tpm: Option<TpmDevice>,
    pub video: Option<VideoDevice>,
}

#[api]
pub struct ClientPassthroughDevices {}

#[api]
pub struct SoundDevice {
    #[api(required)]
    pub name: String,
    pub model: String,
}

#[api]
pub struct TpmDevice {
    pub enabled: Option<bool>,
    pub persistent: Option<bool>,
}

#[api]
pub struct VideoDevice {
    pub type_: String,
}

#[api]
pub enum InputBus {
    Usb = "usb",
    Virtio = "virtio",
}

#[api]
pub enum InputType {
    Tablet = "tablet",
    Keyboard = "keyboard",
}

#[api]
pub struct Input {
    pub bus: InputBus,
    #[api(required)]
    pub type_: InputType,
    #[api(required)]
    pub name: String,
}

#[api]
pub struct DownwardMetrics {}

#[api]
pub struct Gpu {
    #[api(required)]
    pub name: String,
    pub device_name: String,
    pub claim_name: String,
    pub request_name: String,
    #[api(name = "virtualGPUOptions")]
    pub virtual_gpu_options: Option<VgpuOptions>,
    pub tag: String,
}

#[api]
pub struct ClaimRequest {
    pub claim_name: String,
    pub request_name: String,
}

#[api]
pub struct VgpuOptions {
    pub display: Option<VgpuDisplayOptions>,
}

#[api]
pub struct VgpuDisplayOptions {
    pub enabled: Option<bool>,
    #[api(name = "ramFB")]
    pub ram_fb: Option<FeatureState>,
}

#[api]
pub struct PanicDevice {
    pub model: Option<PanicDeviceModel>,
}

#[api]
pub struct HostDevice {
    #[api(required)]
    pub name: String,
    pub device_name: String,
    pub claim_name: String,
    pub request_name: String,
    pub tag: String,
}

#[api]
pub enum WatchdogAction {
    Poweroff = "poweroff",
    Reset = "reset",
    Shutdown = "shutdown",
}

#[api]
pub struct Watchdog {
    #[api(required)]
    pub name: String,
    pub i6300esb: Option<I6300esbWatchdog>,
    pub diag288: Option<Diag288Watchdog>,
}

#[api]
pub struct WatchdogDevice {
    pub i6300esb: Option<I6300esbWatchdog>,
    pub diag288: Option<Diag288Watchdog>,
}

#[api]
pub struct I6300esbWatchdog {
    pub action: WatchdogAction,
}

#[api]
pub struct Diag288Watchdog {
    pub action: WatchdogAction,
}

#[api]
pub struct Rng {}
