//! What the gate does with the instance type and the preference of a VM.

use crate::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::v1::{VirtualMachine, VirtualMachineInstanceTemplateSpec};

use super::{Catalog, Conflicts, apply, check_spread, find, find_preference, preference};

/// The instance type and the preference that were applied.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Applied {
    /// The instance type, if the VM has one.
    pub instancetype: Option<VirtualMachineInstancetypeSpec>,
    /// The preference, if the VM has one.
    pub preference: Option<VirtualMachinePreferenceSpec>,
}

/// Applies both to the template of a VM, so that what it will be can be judged.
///
/// What cannot be found is left out: it may be created after the VM, whose controller waits for it.
pub fn apply_to_vm(vm: &mut VirtualMachine, catalog: &impl Catalog) -> Result<Applied, Conflicts> {
    let instancetype = find(vm, catalog).ok().flatten();
    let preference = find_preference(vm, catalog).ok().flatten();
    let (instancetype, preference) = (instancetype.as_deref(), preference.as_deref());
    if instancetype.is_none() && preference.is_none() {
        return Ok(Applied::default());
    }
    check_spread(instancetype, preference)?;
    let VirtualMachineInstanceTemplateSpec { spec, metadata } = vm.spec.template.get_or_insert_default();
    apply("spec.template.spec", instancetype, preference, spec, metadata)?;
    Ok(Applied { instancetype: instancetype.cloned(), preference: preference.cloned() })
}

/// Writes into a VM what cannot wait until it starts: its architecture and machine type, which later defaults depend
/// on, and the storage class of the DataVolumes that it makes.
pub fn prepare(vm: &mut VirtualMachine, catalog: &impl Catalog) {
    let Some(preference) = find_preference(vm, catalog).ok().flatten() else { return };
    if let Some(template) = &mut vm.spec.template {
        preference::architecture(&preference, &mut template.spec);
        preference::machine(&preference, &mut template.spec);
    }
    let class = preference.volumes.as_ref().map(|volumes| &volumes.preferred_storage_class_name).filter(|class| !class.is_empty());
    let Some(class) = class else { return };
    for template in &mut vm.spec.data_volume_templates {
        let claim = template.spec.pvc.as_mut().map(|claim| &mut claim.storage_class_name);
        let storage = template.spec.storage.as_mut().map(|storage| &mut storage.storage_class_name);
        for field in [claim, storage].into_iter().flatten() {
            field.get_or_insert_with(|| class.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json, to_value};

    use super::super::Objects;
    use super::*;

    fn objects() -> [Value; 2] {
        [
            json!({"kind": "VirtualMachineClusterInstancetype", "metadata": {"name": "i"}, "spec": {"cpu": {"guest": 3}, "memory": {"guest": "1Gi"}}}),
            json!({"kind": "VirtualMachineClusterPreference", "metadata": {"name": "p"}, "spec": {
                "cpu": {"preferredCPUTopology": "spread"}, "volumes": {"preferredStorageClassName": "fast"},
                "preferredArchitecture": "arm64", "machine": {"preferredMachineType": "virt"},
            }}),
        ]
    }

    #[test]
    fn what_cannot_be_found_is_left_out() {
        for (spec, want) in [
            (json!({"instancetype": {"name": "gone"}, "preference": {"name": "gone"}}), Ok((false, false))),
            (json!({"instancetype": {"name": "i"}}), Ok((true, false))),
            (json!({"preference": {"name": "p"}}), Ok((false, true))),
            (json!({"instancetype": {"name": "i"}, "preference": {"name": "p"}}), Err("instancetype.spec.cpu.guest")),
        ] {
            let mut vm: VirtualMachine = from_value(json!({"spec": spec})).unwrap();
            let got = apply_to_vm(&mut vm, &Objects(&objects()));
            let got = got.as_ref().map(|a| (a.instancetype.is_some(), a.preference.is_some())).map_err(|c| c.0[0].field());
            assert_eq!(got, want, "{spec}");
        }
    }

    #[test]
    fn a_vm_is_prepared_by_its_preference() {
        let template = |class: Option<&str>| json!({"spec": {"storage": {"storageClassName": class}}});
        let mut vm: VirtualMachine = from_value(json!({"spec": {
            "preference": {"name": "p"}, "template": {"spec": {"domain": {}}},
            "dataVolumeTemplates": [template(None), template(Some("slow")), {"spec": {"pvc": {}}}],
        }}))
        .unwrap();
        prepare(&mut vm, &Objects(&objects()));
        let spec = to_value(&vm.spec).unwrap();
        assert_eq!(spec["template"]["spec"]["architecture"], "arm64");
        assert_eq!(spec["template"]["spec"]["domain"]["machine"]["type"], "virt");
        let classes: Vec<_> = spec["dataVolumeTemplates"].as_array().unwrap().iter().map(|t| &t["spec"]).collect();
        assert_eq!(classes[0]["storage"]["storageClassName"], "fast");
        assert_eq!(classes[1]["storage"]["storageClassName"], "slow");
        assert_eq!(classes[2]["pvc"]["storageClassName"], "fast");
    }
}
