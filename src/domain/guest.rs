//! A VMI and the facts about its host, with what several parts of the converter need of them.

use kubevirt_api::names;
use kubevirt_api::v1::{Devices, DomainSpec, VirtualMachineInstance, VirtualMachineInstanceSpec};

use super::arch::{Architecture, Rules};
use super::error::{ConvertError, Fault, Result};
use super::facts::Facts;
use super::model::Topology;
use super::topology;

/// A VMI on its way to a domain.
#[derive(Clone, Copy)]
pub(super) struct Guest<'a> {
    pub(super) vmi: &'a VirtualMachineInstance,
    pub(super) facts: &'a Facts,
    pub(super) rules: &'static Rules,
    /// The sockets, cores and threads that it starts with.
    pub(super) topology: Topology,
    /// The virtual CPUs that it starts with.
    pub(super) vcpus: u32,
    /// How its memory is protected from the host.
    pub(super) protection: Protection,
    /// The model of its virtio devices.
    pub(super) virtio: &'static str,
}

/// How a guest's memory is protected from the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protection {
    None,
    Sev,
    Snp,
    Tdx,
    /// IBM Secure Execution.
    SecureExecution,
    /// Something is asked for that this architecture does not have; it has no effect.
    Other,
}

impl<'a> Guest<'a> {
    pub(super) fn new(vmi: &'a VirtualMachineInstance, facts: &'a Facts) -> Result<Self> {
        let architecture = match (vmi.spec.architecture.as_str(), facts.host_architecture) {
            ("", host) => host.unwrap_or(Architecture::Amd64),
            (name, _) => Architecture::from_name(name)
                .ok_or_else(|| ConvertError::new("spec.architecture", Fault::value(name, "use amd64, arm64 or s390x")))?,
        };
        let rules = architecture.rules();
        let topology = topology::requested(&vmi.spec.domain)?;
        let transitional = vmi.spec.domain.devices.use_virtio_transitional == Some(true);
        Ok(Self {
            vmi,
            facts,
            rules,
            topology,
            vcpus: topology::count(topology, "spec.domain.cpu")?,
            protection: protection(&vmi.spec, architecture),
            virtio: if transitional { rules.virtio_transitional } else { rules.virtio },
        })
    }

    pub(super) fn spec(&self) -> &'a DomainSpec {
        &self.vmi.spec.domain
    }

    pub(super) fn devices(&self) -> &'a Devices {
        &self.vmi.spec.domain.devices
    }

    pub(super) fn architecture(&self) -> Architecture {
        self.rules.architecture
    }

    pub(super) fn name(&self) -> &'a str {
        self.vmi.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn namespace(&self) -> &'a str {
        self.vmi.metadata.namespace.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &'a str {
        self.vmi.metadata.uid.as_deref().unwrap_or_default()
    }

    pub(super) fn annotation(&self, name: &str) -> Option<&'a str> {
        self.vmi.metadata.annotations.as_ref()?.get(name).map(String::as_str)
    }

    pub(super) fn has_dedicated_cpus(&self) -> bool {
        self.spec().cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement)
    }

    pub(super) fn is_realtime(&self) -> bool {
        self.spec().cpu.as_ref().is_some_and(|cpu| cpu.realtime.is_some())
    }

    /// Whether the host's NUMA cells are passed on.
    pub(super) fn passes_numa(&self) -> bool {
        self.spec().cpu.as_ref().and_then(|cpu| cpu.numa.as_ref()).is_some_and(|numa| numa.guest_mapping_passthrough.is_some())
    }

    /// Whether it boots by UEFI.
    pub(super) fn boots_by_efi(&self) -> bool {
        self.spec().firmware.as_ref().and_then(|firmware| firmware.bootloader.as_ref()).is_some_and(|loader| loader.efi.is_some())
    }

    pub(super) fn has_serial_console(&self) -> bool {
        self.devices().autoattach_serial_console != Some(false)
    }

    pub(super) fn has_graphics(&self) -> bool {
        self.devices().autoattach_graphics_device != Some(false)
    }

    /// Whether virtio devices go through the guest's IOMMU: they must where the host cannot read the guest's memory.
    /// (TDX needs no such hint.)
    pub(super) fn uses_iommu(&self) -> bool {
        matches!(self.protection, Protection::Sev | Protection::Snp | Protection::SecureExecution)
    }

    /// Whether it is emulated because its architecture is not the host's.
    pub(super) fn is_foreign(&self) -> bool {
        self.facts.host_architecture.is_some_and(|host| host != self.architecture())
    }
}

fn protection(spec: &VirtualMachineInstanceSpec, architecture: Architecture) -> Protection {
    let Some(security) = &spec.domain.launch_security else { return Protection::None };
    match architecture {
        Architecture::S390x => Protection::SecureExecution,
        Architecture::Amd64 | Architecture::Arm64 if security.snp.is_some() => Protection::Snp,
        Architecture::Amd64 | Architecture::Arm64 if security.sev.is_some() => Protection::Sev,
        Architecture::Amd64 | Architecture::Arm64 if security.tdx.is_some() => Protection::Tdx,
        Architecture::Amd64 | Architecture::Arm64 => Protection::Other,
    }
}

/// Whether a VMI lets free pages go back to the host: not without a balloon, and not where its memory is its own.
pub fn wants_free_page_reporting(vmi: &VirtualMachineInstance) -> bool {
    let spec = &vmi.spec.domain;
    let own_cpus = spec.cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement || cpu.realtime.is_some());
    let own_pages = spec.memory.as_ref().is_some_and(|memory| memory.hugepages.is_some());
    let annotations = vmi.metadata.annotations.as_ref();
    let refused = annotations.and_then(|all| all.get(names::FREE_PAGE_REPORTING_DISABLED_ANNOTATION)).is_some_and(|value| value == "true");
    spec.devices.autoattach_mem_balloon != Some(false) && !own_cpus && !own_pages && !refused
}

/// Whether a VMI wants the log of its serial console, if the cluster says no otherwise.
pub fn wants_serial_console_log(vmi: &VirtualMachineInstance, by_default: bool) -> bool {
    vmi.spec.domain.devices.log_serial_console.unwrap_or(by_default)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{error, vmi, with};
    use super::*;

    #[test]
    fn an_unknown_architecture_is_named() {
        assert_eq!(error(json!({ "spec": { "architecture": "ppc64le" } })).field, "spec.architecture");
    }

    #[test]
    fn free_pages_go_back_unless_the_memory_is_the_guests_own() {
        for (domain, expected) in [
            (json!({}), true),
            (json!({ "devices": { "autoattachMemBalloon": false } }), false),
            (json!({ "cpu": { "dedicatedCpuPlacement": true } }), false),
            (json!({ "cpu": { "realtime": {} } }), false),
            (json!({ "memory": { "hugepages": { "pageSize": "2Mi" } } }), false),
        ] {
            assert_eq!(wants_free_page_reporting(&vmi(domain)), expected);
        }
        let refused = with(json!({ "metadata": { "annotations": { "kubevirt.io/free-page-reporting-disabled": "true" } } }));
        assert!(!wants_free_page_reporting(&refused));
    }

    #[test]
    fn the_log_of_the_console_is_the_vmis_choice_before_the_clusters() {
        for (own, cluster, expected) in
            [(json!(null), true, true), (json!(null), false, false), (json!(true), false, true), (json!(false), true, false)]
        {
            assert_eq!(wants_serial_console_log(&vmi(json!({ "devices": { "logSerialConsole": own } })), cluster), expected);
        }
    }
}
