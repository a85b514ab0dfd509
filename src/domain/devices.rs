//! Devices other than disks and network interfaces.

mod balloon;
mod channels;
mod console;
mod controllers;
mod filesystems;
mod graphics;
mod host;
mod inputs;
mod sound;
mod watchdog;

use kubevirt_api::v1::DiskBus;

use super::disks::bus;
use super::error::Result;
use super::guest::Guest;
use super::io_threads::IoThreads;
use super::model::{Devices, Panic, Redirection, Rng, Tpm, Vsock};

/// How many USB devices whoever looks at the screen can hand to the guest.
const REDIRECTIONS: u32 = 4;

/// All devices but disks and network interfaces.
pub(super) fn convert(guest: &Guest<'_>, threads: Option<IoThreads>) -> Result<Devices> {
    let devices = guest.devices();
    let (graphics, video) = graphics::convert(guest).unzip();
    Ok(Devices {
        emulator: None,
        disks: Vec::new(),
        controllers: controllers::convert(guest, threads),
        filesystems: filesystems::convert(guest),
        interfaces: Vec::new(),
        serial: console::convert(guest),
        channels: channels::convert(guest),
        inputs: inputs::convert(guest)?,
        tpm: devices.tpm.as_ref().filter(|tpm| tpm.enabled != Some(false)).map(|tpm| Tpm { persistent: tpm.persistent == Some(true) }),
        graphics,
        sound: sound::convert(guest)?,
        video,
        host_devices: host::convert(guest)?,
        redirections: redirections(guest),
        watchdog: watchdog::convert(guest)?,
        balloon: balloon::convert(guest),
        rng: devices.rng.as_ref().map(|_| Rng { model: guest.virtio, iommu: guest.uses_iommu(), address: None }),
        panics: devices.panic_devices.iter().map(|panic| Panic { model: panic.model.clone() }).collect(),
        vsock: guest.vmi.status.vsock_cid.map(|cid| Vsock { cid }),
    })
}

fn redirections(guest: &Guest<'_>) -> Vec<Redirection> {
    let slots = if guest.devices().client_passthrough.is_some() { 0..REDIRECTIONS } else { 0..0 };
    slots.map(|slot| Redirection { socket: guest.facts.paths.usb_redirection(guest.uid(), slot) }).collect()
}

/// Whether the guest has a USB controller: always, or when a device sits on USB.
fn needs_usb(guest: &Guest<'_>) -> bool {
    let devices = guest.devices();
    let on_usb = |name: &String| guest.facts.host_devices.as_ref().is_some_and(|there| there.usb.contains_key(name));
    guest.rules.usb
        || guest.rules.has_usb
            && (devices.inputs.iter().any(|input| matches!(input.bus.as_str(), "" | "usb"))
                || devices.disks.iter().any(|disk| disk.disk.is_some() && bus(disk) == Some(&DiskBus::Usb))
                || devices.client_passthrough.is_some()
                || devices.host_devices.iter().any(|device| on_usb(&device.device_name)))
}
