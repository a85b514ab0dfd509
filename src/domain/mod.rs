//! A VirtualMachineInstance and facts about its host as a libvirt domain.
//!
//! ```text
//! VirtualMachineInstance ─┐
//!                         ├─ convert ─→ Domain ─ to_xml ─→ libvirt
//! Facts ──────────────────┘
//! ```
//!
//! One file for each area of the guest; each takes a `guest::Guest` (the VMI, the facts, and what several areas need
//! of them) and gives a part of the [`Domain`]. [`Facts`] is all that is known of the place where the guest will run, so
//! that the launcher in its pod, the launcher without a cluster, admission and a person at a desk ask the same code.
//! What differs between architectures is the table in `arch`.
//!
//! Upstream: `pkg/virt-launcher/virtwrap/converter`.

pub mod age;
mod arch;
pub mod blame;
mod clock;
mod cpu;
mod dedicated;
mod devices;
mod disk_names;
mod disks;
mod error;
pub mod facts;
mod features;
mod firmware;
mod guest;
mod hypervisor;
mod interfaces;
mod io_threads;
mod launch_security;
mod memory;
pub mod model;
mod pci;
mod pinning;
#[cfg(test)]
mod testing;
mod topology;
mod volumes;
mod xml;

use kubevirt_api::names;
use kubevirt_api::v1::{RebootPolicy, VirtualMachineInstance};

pub use arch::Architecture;
pub use error::{ConvertError, Fault};
pub use facts::Facts;
pub use guest::{wants_free_page_reporting, wants_serial_console_log};
pub use model::Domain;

use error::Result;
use guest::Guest;
use model::Cpu;

/// Above this verbosity of the launcher, the messages of SeaBIOS are collected.
const VERBOSE: u32 = 5;

/// The domain of a VMI that has its defaults.
///
/// # Errors
///
/// The field of the VMI that has no meaning, or that the host cannot give.
pub fn convert(vmi: &VirtualMachineInstance, facts: &Facts) -> Result<Domain> {
    let guest = Guest::new(vmi, facts)?;
    let (kind, emulator) = hypervisor::choose(&guest)?;
    let threads = io_threads::count(&guest)?;
    let mut domain = Domain {
        kind,
        name: format!("{}_{}", guest.namespace(), guest.name()),
        uid: None,
        max_memory: None,
        memory: 0,
        memory_backing: None,
        vcpu_count: 0,
        vcpus: None,
        io_threads: threads.map(|threads| threads.count).filter(|count| *count != 0),
        cpu_tune: None,
        numa_tune: None,
        sysinfo: firmware::sysinfo(&guest),
        os: firmware::os(&guest)?,
        features: features::convert(&guest),
        cpu: Cpu::default(),
        clock: clock::convert(&guest),
        on_reboot: on_reboot(&guest),
        devices: devices::convert(&guest, threads)?,
        launch_security: launch_security::convert(&guest),
        iommufd: facts.iommufd,
        qemu_args: qemu_args(&guest),
    };
    domain.devices.emulator = emulator;
    domain.devices.interfaces = interfaces::convert(&guest)?;
    domain.devices.disks = disks::convert(&guest, threads)?;
    cpu::configure(&guest, &mut domain)?;
    memory::amount(&guest, &mut domain)?;
    memory::backing(&guest, &mut domain)?;
    if guest.has_dedicated_cpus() {
        dedicated::configure(&guest, threads, &mut domain)?;
        if facts.pci_numa_aware && guest.rules.pci_express {
            pci::by_numa_cell(&guest, &mut domain)?;
        }
    }
    if guest.rules.pci_express && guest.annotation(names::PLACE_PCI_DEVICES_ON_ROOT_COMPLEX) == Some("true") {
        pci::on_root_bus(&mut domain)?;
    }
    Ok(domain)
}

/// What a reboot of the guest does; nothing is left to libvirt, which restarts it.
fn on_reboot(guest: &Guest<'_>) -> Option<&'static str> {
    match guest.spec().reboot_policy.as_ref()? {
        RebootPolicy::Terminate => Some("destroy"),
        RebootPolicy::Reboot => Some("restart"),
        RebootPolicy::Other(_) => None,
    }
}

/// Arguments for QEMU that libvirt has no element for.
fn qemu_args(guest: &Guest<'_>) -> Vec<String> {
    let facts = guest.facts;
    let mut args = Vec::new();
    if guest.annotation(names::IGNITION_ANNOTATION).is_some_and(|data| data.contains("ignition")) {
        let file = facts.paths.ignition(guest.namespace(), guest.name());
        args.extend(["-fw_cfg".to_owned(), format!("name=opt/com.coreos/config,file={file}")]);
    }
    if guest.rules.seabios && facts.verbosity > VERBOSE {
        let log = format!("file,id=firmwarelog,path={}", facts.paths.seabios_log);
        args.extend(["-chardev", &log, "-device", "isa-debugcon,iobase=0x402,chardev=firmwarelog"].map(str::to_owned));
    }
    args.extend(facts.qemu_args.iter().cloned());
    args
}
