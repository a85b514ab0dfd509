//! Defaults of a `VirtualMachine`.

use serde_json::Value;

use super::vmi;
use crate::admission::{Cause, Findings, Operation, Request, validate};
use crate::api::v1::{VirtualMachine, VirtualMachineInstanceTemplateSpec};
use crate::instancetype::{self, Objects};

const DATA_SOURCE: &str = "DataSource";
/// Tells the architecture that an image is built for.
const ARCHITECTURE_LABEL: &str = "template.kubevirt.io/architecture";

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
    let objects = Objects(request.cluster);
    if let Err(error) = instancetype::infer(vm, objects) {
        findings.deny(Cause::invalid(error.field(), error.to_string()));
        return;
    }
    instancetype::prepare(vm, &objects);
    let built_for = source_architecture(vm, objects);
    // A machine without a template is refused by validation.
    let Some(template) = &mut vm.spec.template else { return };
    let create = request.operation == Operation::Create;
    if create {
        identity(template, request);
    }
    if let (true, Some(architecture)) = (template.spec.architecture.is_empty(), built_for) {
        template.spec.architecture = architecture;
    }
    vmi::spec::architecture(&mut template.spec, request.config);
    vmi::spec::machine(&mut template.spec, request.config);
    if create && vmi::spec::has_pcie_hotplug(&template.spec) {
        vmi::pci_topology(&mut template.metadata.annotations);
    }
}

/// The architecture that the first source which tells one is built for.
fn source_architecture(vm: &VirtualMachine, objects: Objects) -> Option<String> {
    let own = vm.metadata.namespace.as_deref().unwrap_or_default();
    let references = vm.spec.data_volume_templates.iter().filter_map(|template| template.spec.source_ref.as_ref());
    let sources = references.filter(|reference| reference.kind.eq_ignore_ascii_case(DATA_SOURCE)).filter_map(|reference| {
        let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(own);
        let source = objects.get(DATA_SOURCE, Some(namespace), &reference.name)?;
        // A source may stand for another one.
        match source.pointer("/spec/source/dataSource") {
            Some(other) => {
                let text = |key: &str| other.get(key).and_then(Value::as_str).unwrap_or_default();
                objects.get(DATA_SOURCE, Some(text("namespace")), text("name"))
            }
            None => Some(source),
        }
    });
    let mut told = sources.filter_map(|source| source.get("metadata")?.get("labels")?.get(ARCHITECTURE_LABEL)?.as_str());
    told.find(|architecture| matches!(*architecture, "amd64" | "arm64" | "s390x")).map(str::to_owned)
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::testing::defaulted;
    use serde_json::json;

    fn machine(spec: Value) -> Value {
        json!({"metadata": {"name": "a", "namespace": "n"}, "spec": spec})
    }

    #[test]
    fn what_stays_the_same_is_settled() {
        let spec = json!({"runStrategy": "Halted", "template": {"spec": {"domain": {"devices": {}, "firmware": {"serial": "own"}}}}});
        let template = &defaulted("VirtualMachine", &machine(spec), &json!([]))["spec"]["template"];
        assert_eq!(template["spec"]["architecture"], "amd64");
        assert_eq!(template["spec"]["domain"]["machine"]["type"], "q35");
        assert_eq!(template["spec"]["domain"]["firmware"]["serial"], "own");
        assert!(template["spec"]["domain"]["firmware"]["uuid"].is_string());
        assert_eq!(template["metadata"]["annotations"]["kubevirt.io/pci-topology-version"], "v3");
    }

    #[test]
    fn the_architecture_is_that_of_the_source() {
        let source = |name: &str, labels: Value, spec: Value| json!({"kind": "DataSource", "metadata": {"name": name, "namespace": "n", "labels": labels}, "spec": {"source": spec}});
        let cluster = json!([
            source("arm", json!({"template.kubevirt.io/architecture": "arm64"}), json!({})),
            source("alias", json!({}), json!({"dataSource": {"name": "arm", "namespace": "n"}})),
            source("odd", json!({"template.kubevirt.io/architecture": "mips"}), json!({})),
        ]);
        for (name, given, wanted) in
            [("arm", "", "arm64"), ("alias", "", "arm64"), ("odd", "", "amd64"), ("gone", "", "amd64"), ("arm", "s390x", "s390x")]
        {
            let vm = machine(json!({
                "runStrategy": "Halted",
                "template": {"spec": {"architecture": given, "domain": {"devices": {}}}},
                "dataVolumeTemplates": [{"metadata": {"name": "d"}, "spec": {"sourceRef": {"kind": "DataSource", "name": name}}}]
            }));
            assert_eq!(defaulted("VirtualMachine", &vm, &cluster)["spec"]["template"]["spec"]["architecture"], wanted, "{name} {given}");
        }
    }
}
