//! What runs the guest: the hypervisor, or an emulator.

use super::error::{ConvertError, Fault, Result};
use super::facts::Hypervisor;
use super::guest::Guest;

/// libvirt's type of the domain, and the emulator where libvirt cannot find it by itself.
pub(super) fn choose(guest: &Guest<'_>) -> Result<(&'static str, Option<String>)> {
    let facts = guest.facts;
    if guest.is_foreign() {
        let emulator = facts.foreign_emulators.get(&guest.architecture()).ok_or_else(|| {
            let lack = format!("there is no emulator of {} guests", guest.architecture());
            ConvertError::new(
                "spec.architecture",
                Fault::host(lack, "use the host's architecture, or install the emulator and allow CrossArchitectureVirtualization"),
            )
        })?;
        return Ok(("qemu", Some(emulator.clone())));
    }
    let native = match facts.hypervisor {
        Hypervisor::Kvm => "kvm",
        Hypervisor::HypervDirect => "hyperv",
    };
    let kind = match (facts.hypervisor_device, facts.emulation_allowed) {
        (true, _) => native,
        (false, true) => "qemu",
        (false, false) => {
            let lack = format!("the host has no {native} device, and emulation is not allowed");
            let right = "use a node with hardware virtualization, or set useEmulation in the KubeVirt configuration";
            return Err(ConvertError::new("spec.domain", Fault::host(lack, right)));
        }
    };
    Ok((kind, facts.emulator.clone()))
}
