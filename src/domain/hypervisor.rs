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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{facts, vmi};
    use super::super::{Architecture, Facts, convert};
    use super::*;

    #[test]
    fn a_guest_is_run_or_emulated_or_refused() {
        for (hypervisor, device, emulation, host, expected) in [
            (Hypervisor::Kvm, true, false, None, Ok("kvm")),
            (Hypervisor::Kvm, false, true, None, Ok("qemu")),
            (Hypervisor::Kvm, false, false, None, Err("spec.domain")),
            (Hypervisor::HypervDirect, true, true, None, Ok("hyperv")),
            (Hypervisor::HypervDirect, false, true, None, Ok("qemu")),
            (Hypervisor::Kvm, true, true, Some(Architecture::Amd64), Ok("kvm")),
            (Hypervisor::Kvm, true, true, Some(Architecture::S390x), Err("spec.architecture")),
        ] {
            let facts =
                Facts { hypervisor, hypervisor_device: device, emulation_allowed: emulation, host_architecture: host, ..facts(&[]) };
            let kind = convert(&vmi(json!({})), &facts).map(|domain| domain.kind).map_err(|error| error.field);
            assert_eq!(kind, expected.map_err(str::to_owned));
        }
    }
}
