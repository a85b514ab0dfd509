//! Devices other than disks and interfaces.

use crate::{
    api,
    v1::{Disk, FeatureState, Filesystem, Interface},
};

/// The device by which a guest tells that it crashed.
#[api]
pub enum PanicDeviceModel {
    Hyperv = "hyperv",
    Isa = "isa",
    Pvpanic = "pvpanic",
}

/// The devices of a machine.
#[api]
pub struct Devices {
    /// Whether virtio devices speak the old protocol too, for guests whose drivers know only that. Default: false.
    pub use_virtio_transitional: Option<bool>,
    /// Whether volumes cannot be attached or detached while the machine runs. Default: false.
    pub disable_hotplug: bool,
    /// Disks, CD-ROM drives and LUNs; each shows the volume of the same name. At most 256.
    #[api(max_items = 256)]
    pub disks: Vec<Disk>,
    /// A device that acts when the guest no longer answers it.
    pub watchdog: Option<Watchdog>,
    /// Network interfaces; each is plugged into the network of the same name. At most 256. Unset: one on the pod network.
    #[api(max_items = 256)]
    pub interfaces: Vec<Interface>,
    /// Keyboards and tablets beyond those that graphics bring.
    pub inputs: Vec<Input>,
    /// Whether a machine without interfaces gets one on the pod network. Default: true.
    pub autoattach_pod_interface: Option<bool>,
    /// Whether the machine has a graphics adapter and VNC. Default: true.
    pub autoattach_graphics_device: Option<bool>,
    /// Whether the machine has a serial console. Default: true.
    pub autoattach_serial_console: Option<bool>,
    /// Whether what the serial console prints is a log of the pod too. Unset: what the cluster's configuration says.
    pub log_serial_console: Option<bool>,
    /// Whether the machine has a memory balloon, which reports how much memory the guest uses. Default: true.
    pub autoattach_mem_balloon: Option<bool>,
    /// Whether a tablet is added, so that the pointer of VNC is where it should be. Default: false.
    pub autoattach_input_device: Option<bool>,
    /// Whether the machine has a VSOCK device for connections between guest and node. Default: false.
    #[api(name = "autoattachVSOCK")]
    pub autoattach_vsock: Option<bool>,
    /// Gives the guest randomness of the node.
    pub rng: Option<Rng>,
    /// Whether each disk has as many queues as there are virtual CPUs. Default: false.
    pub block_multi_queue: Option<bool>,
    /// Whether each virtio interface has as many queues as there are virtual CPUs. Default: false.
    pub network_interface_multiqueue: Option<bool>,
    /// Graphics processors, or parts of them, that are handed to the guest.
    #[api(list = "atomic")]
    pub gpus: Vec<Gpu>,
    /// Shows the guest figures of its node, over a virtio port.
    pub downward_metrics: Option<DownwardMetrics>,
    /// Devices by which the guest tells that it crashed.
    pub panic_devices: Vec<PanicDevice>,
    /// Directories of volumes that the guest mounts.
    #[api(list = "atomic")]
    pub filesystems: Vec<Filesystem>,
    /// Devices of the node that are handed to the guest.
    #[api(list = "atomic")]
    pub host_devices: Vec<HostDevice>,
    /// Lets a client hand USB devices of its own to the guest.
    pub client_passthrough: Option<ClientPassthroughDevices>,
    /// A sound card that nobody hears; some guests need one.
    pub sound: Option<SoundDevice>,
    /// A trusted platform module.
    pub tpm: Option<TpmDevice>,
    /// The graphics adapter.
    pub video: Option<VideoDevice>,
}

/// Four USB ports that clients can plug devices of their own into.
#[api]
pub struct ClientPassthroughDevices {}

/// A sound card.
#[api]
pub struct SoundDevice {
    /// The name of the device.
    #[api(required)]
    pub name: String,
    /// ich9 (default) or ac97.
    pub model: String,
}

/// A trusted platform module.
#[api]
pub struct TpmDevice {
    /// Whether the guest has it. Default: true when the field tpm is given.
    pub enabled: Option<bool>,
    /// Whether what it holds outlives the machine, on a volume made for it. Default: false.
    pub persistent: Option<bool>,
}

/// The graphics adapter.
#[api]
pub struct VideoDevice {
    /// virtio, vga, bochs, cirrus or ramfb; which ones there are hangs on the architecture. Unset: vga with BIOS and bochs with
    /// EFI on x86, virtio elsewhere.
    pub type_: String,
}

/// What an input device is plugged into.
#[api]
pub enum InputBus {
    Usb = "usb",
    Virtio = "virtio",
}

/// What an input device is.
#[api]
pub enum InputType {
    Tablet = "tablet",
    Keyboard = "keyboard",
}

/// An input device.
#[api]
pub struct Input {
    /// usb (default) or virtio.
    pub bus: InputBus,
    /// tablet or keyboard; a keyboard takes the bus virtio only.
    #[api(required)]
    pub type_: InputType,
    /// The name of the device.
    #[api(required)]
    pub name: String,
}

/// Figures of the node, read by the guest over a virtio port.
#[api]
pub struct DownwardMetrics {}

/// A graphics processor that is handed to the guest.
#[api]
pub struct Gpu {
    /// The name of the device, and of its claim's entry if it comes by one.
    #[api(required)]
    pub name: String,
    /// The resource that the cluster's configuration permits, such as nvidia.com/GRID_T4-1Q.
    pub device_name: String,
    /// The entry of resourceClaims that the device is allocated by; instead of deviceName.
    pub claim_name: String,
    /// The request in the claim that the device is for.
    pub request_name: String,
    /// How a virtual graphics processor shows its picture.
    #[api(name = "virtualGPUOptions")]
    pub virtual_gpu_options: Option<VgpuOptions>,
    /// A label that the guest finds in the metadata of its config drive.
    pub tag: String,
}

/// A device that is allocated by a claim.
#[api]
pub struct ClaimRequest {
    /// The entry of resourceClaims.
    pub claim_name: String,
    /// The request in the claim.
    pub request_name: String,
}

/// Options of a virtual graphics processor.
#[api]
pub struct VgpuOptions {
    /// Whether its picture is shown by VNC.
    pub display: Option<VgpuDisplayOptions>,
}

/// How the picture of a virtual graphics processor is shown.
#[api]
pub struct VgpuDisplayOptions {
    /// Whether VNC shows it. Default: true.
    pub enabled: Option<bool>,
    /// A frame buffer for the time before the guest's driver runs. Default: enabled.
    #[api(name = "ramFB")]
    pub ram_fb: Option<FeatureState>,
}

/// A device by which the guest tells that it crashed.
#[api]
pub struct PanicDevice {
    /// hyperv, isa or pvpanic.
    pub model: Option<PanicDeviceModel>,
}

/// A device of the node that is handed to the guest.
#[api]
pub struct HostDevice {
    /// The name of the device, and of its claim's entry if it comes by one.
    #[api(required)]
    pub name: String,
    /// The resource that the cluster's configuration permits.
    pub device_name: String,
    /// The entry of resourceClaims that the device is allocated by; instead of deviceName.
    pub claim_name: String,
    /// The request in the claim that the device is for.
    pub request_name: String,
    /// A label that the guest finds in the metadata of its config drive.
    pub tag: String,
}

/// What a watchdog does.
#[api]
pub enum WatchdogAction {
    Poweroff = "poweroff",
    Reset = "reset",
    Shutdown = "shutdown",
}

/// A device that acts when the guest no longer answers it.
#[api]
pub struct Watchdog {
    /// The name of the device.
    #[api(required)]
    pub name: String,
    /// Intel's 6300ESB on the PCI bus, for x86 and Arm.
    pub i6300esb: Option<I6300esbWatchdog>,
    /// The watchdog of s390x.
    pub diag288: Option<Diag288Watchdog>,
}

/// Which watchdog; one of both.
#[api]
pub struct WatchdogDevice {
    /// Intel's 6300ESB on the PCI bus, for x86 and Arm.
    pub i6300esb: Option<I6300esbWatchdog>,
    /// The watchdog of s390x.
    pub diag288: Option<Diag288Watchdog>,
}

/// Intel's 6300ESB.
#[api]
pub struct I6300esbWatchdog {
    /// What it does: poweroff, reset (default) or shutdown.
    pub action: WatchdogAction,
}

/// The watchdog of s390x.
#[api]
pub struct Diag288Watchdog {
    /// What it does: poweroff, reset (default) or shutdown.
    pub action: WatchdogAction,
}

/// A device that gives the guest randomness of the node.
#[api]
pub struct Rng {}
