//! Defaults of a `VirtualMachine`.

use super::vmi;
use crate::admission::{Cause, Findings, Operation, Request, validate};
use crate::api::v1::{VirtualMachine, VirtualMachineInstanceTemplateSpec};
use crate::instancetype;

/// Fills in what the object leaves open. A virtual machine keeps most of it open on purpose: its instance gets the
/// rest whenever one is made. What must stay the same over the machine's life is settled here.
pub fn admit(vm: &mut VirtualMachine, old: Option<&VirtualMachine>, request: &Request, findings: &mut Findings) {
    if vm.metadata.deletion_timestamp.is_some() {
        return;
    }
    validate::matchers::judge(vm, old, request, findings);
    if !findings.causes.is_empty() {
        return;
    }
    let objects = instancetype::Objects(request.cluster);
    if let Err(error) = instancetype::infer(vm, objects) {
        findings.deny(Cause::invalid(error.field(), error.to_string()));
        return;
    }
    instancetype::prepare(vm, &objects);
    // A machine without a template is refused by validation.
    let Some(template) = &mut vm.spec.template else { return };
    let create = request.operation == Operation::Create;
    if create {
        identity(template, request);
    }
    vmi::spec::architecture(&mut template.spec, request.config);
    vmi::spec::machine(&mut template.spec, request.config);
    if create && vmi::spec::has_pcie_hotplug(&template.spec) {
        vmi::pci_topology(&mut template.metadata.annotations);
    }
}

/// What the guest sees of itself does not change from one instance to the next.
fn identity(template: &mut VirtualMachineInstanceTemplateSpec, request: &Request) {
    let firmware = template.spec.domain.firmware.get_or_insert_default();
    if firmware.uuid.is_empty() {
        firmware.uuid = request.seed.uuid(0);
    }
    if firmware.serial.is_empty() {
        firmware.serial = request.seed.uuid(1);
    }
}
