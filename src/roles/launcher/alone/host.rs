//! What this machine has, looked at once, before anything is started.

use std::path::PathBuf;

use kubevirt_rs::domain::facts::{Attachment, Facts, Networks, Paths, Smbios, VolumeFacts, Volumes};
use kubevirt_rs::domain::{Architecture, wants_free_page_reporting, wants_serial_console_log};

use super::lacks;
use super::machine::Machine;
use super::shares::Virtiofsd;
use crate::libvirt::Daemon;
use crate::linux::kvm;
use crate::roles::launcher::Refusal;
use crate::roles::launcher::args::{Accelerator, Args};
use crate::roles::launcher::host::{firmware, program};

/// The longest path of the private folder: what libvirt and QEMU put below it must fit into a socket's address.
pub(super) const MAX_FOLDER: usize = 40;

/// What the machine has.
pub(super) struct Host {
    pub(super) daemon: PathBuf,
    pub(super) qemu_img: PathBuf,
    /// What shares folders with the guest, if it has any.
    pub(super) virtiofsd: Option<Virtiofsd>,
    /// Why the guest is emulated, if it is.
    pub(super) emulated: Option<String>,
}

/// Looks, and says all at once what is missing and what to install.
pub(super) fn look(machine: &Machine, args: &Args) -> Result<Host, Refusal> {
    let mut missing = Vec::new();
    let mut need = |found: Option<PathBuf>, what: &str, debian: &str, fedora: &str| {
        found.unwrap_or_else(|| {
            missing.push(format!("{what} is not installed; install it (Debian: apt install {debian}; Fedora: dnf install {fedora})"));
            PathBuf::new()
        })
    };
    let emulator = if machine.vmi.spec.architecture == "arm64" { "qemu-system-aarch64" } else { "qemu-system-x86_64" };
    let package = if machine.vmi.spec.architecture == "arm64" { "qemu-system-arm" } else { "qemu-system-x86" };
    let daemon = need(
        Daemon::find(),
        "libvirt's daemon (virtqemud or libvirtd)",
        "libvirt-daemon libvirt-daemon-driver-qemu",
        "libvirt-daemon-driver-qemu",
    );
    let qemu = need(program(emulator).or_else(|| program("qemu-kvm")), &format!("QEMU ({emulator})"), package, "qemu-kvm");
    let qemu_img = need(program("qemu-img"), "qemu-img", "qemu-utils", "qemu-img");
    let domain = &machine.vmi.spec.domain;
    if domain.devices.tpm.as_ref().is_some_and(|tpm| tpm.enabled != Some(false)) {
        for name in ["swtpm", "swtpm_setup"] {
            need(program(name), &format!("{name}, which spec.domain.devices.tpm needs,"), "swtpm swtpm-tools", "swtpm swtpm-tools");
        }
    }
    if domain.firmware.as_ref().and_then(|f| f.bootloader.as_ref()).is_some_and(|b| b.efi.is_some()) && firmware().plain.is_none() {
        need(None, "The UEFI firmware, which spec.domain.firmware.bootloader.efi needs,", "ovmf", "edk2-ovmf");
    }
    let shares = domain.devices.filesystems.iter().any(|filesystem| filesystem.virtiofs.is_some());
    let virtiofsd = if shares { Virtiofsd::find() } else { None };
    if shares && virtiofsd.is_none() {
        let debian = "virtiofsd, or in Debian 12 qemu-system-common";
        need(None, "virtiofsd, which spec.domain.devices.filesystems needs,", debian, "virtiofsd");
    }
    drop(qemu);
    let emulated = match args.accelerator {
        Accelerator::Tcg => Some("as asked".to_owned()),
        Accelerator::Auto => kvm::usable().err(),
        Accelerator::Kvm => {
            if let Err(why) = kvm::usable() {
                missing.push(format!("--accelerator kvm: {why}"));
            }
            None
        }
    };
    missing.extend(lacks::look(machine, emulated.is_some()));
    if missing.is_empty() { Ok(Host { daemon, qemu_img, virtiofsd, emulated }) } else { Err(Refusal::host(missing)) }
}

/// The facts that the converter is told: those of this machine, with everything below `folder`.
pub(super) fn facts(machine: &Machine, emulated: bool, folder: &str, volumes: std::collections::BTreeMap<String, VolumeFacts>) -> Facts {
    let cpus = std::thread::available_parallelism().map_or(1, |n| u32::try_from(n.get()).unwrap_or(1));
    Facts {
        host_architecture: Some(if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 }),
        hypervisor_device: !emulated,
        emulation_allowed: true,
        cpu_set: (0..cpus).collect(),
        firmware: firmware(),
        smbios: Some(Smbios { manufacturer: "KubeVirt".into(), family: "KubeVirt".into(), product: "None".into(), ..Smbios::default() }),
        free_page_reporting: wants_free_page_reporting(&machine.vmi),
        // nobody plugs memory in without a cluster, and Debian 12's libvirt has no room for it
        memory_hotplug: false,
        serial_console_log: wants_serial_console_log(&machine.vmi, false),
        volumes: Volumes { by_name: volumes, ..Volumes::default() },
        networks: Networks { fallback: Attachment::User, ..Networks::default() },
        paths: Paths::under(folder),
        ..Facts::default()
    }
}
