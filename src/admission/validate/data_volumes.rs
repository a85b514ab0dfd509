//! DataVolumes that a virtual machine brings along.

use crate::admission::{Cause, Operation, Path, Request};
use crate::api::cdi::DataVolumeSource;
use crate::api::v1::{DataVolumeTemplateSpec, VirtualMachine, VirtualMachineSpec};

const ACCESS_MODES: [&str; 4] = ["ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod"];
const VOLUME_MODES: [&str; 3] = ["Block", "Filesystem", "FromStorageProfile"];

/// Judges the templates: complete, and used by a volume.
pub(super) fn templates(at: &Path, vm: &VirtualMachineSpec, causes: &mut Vec<Cause>) {
    let list = at.key("dataVolumeTemplates");
    let volumes = vm.template.as_ref().map_or(&[][..], |template| &template.spec.volumes);
    for (i, template) in vm.data_volume_templates.iter().enumerate() {
        let at = list.index(i);
        if let Err(cause) = template_is_complete(&at, template) {
            causes.push(cause);
            continue;
        }
        modes(&at, template, causes);
        let name = template.metadata.name.as_deref().unwrap_or_default();
        let used = volumes.iter().any(|volume| {
            volume.data_volume.as_ref().is_some_and(|source| source.name == name)
                || volume.persistent_volume_claim.as_ref().is_some_and(|source| source.claim_name == name)
        });
        if !used {
            causes.push(Cause::required(at, format!("no volume of the template uses {name:?}; add one with dataVolume.name {name:?}")));
        }
    }
}

fn template_is_complete(at: &Path, template: &DataVolumeTemplateSpec) -> Result<(), Cause> {
    if template.metadata.name.as_deref().unwrap_or_default().is_empty() {
        return Err(Cause::required(at.key("metadata.name"), "give the DataVolume a name in its metadata"));
    }
    let spec = &template.spec;
    let (source_ref, source) = match (&spec.pvc, &spec.storage) {
        (None, None) => {
            return Err(Cause::invalid(at.key("spec.storage"), "nothing says how large the DataVolume is; give storage or pvc"));
        }
        (Some(_), Some(_)) => return Err(Cause::invalid(at.key("spec.storage"), "both storage and pvc are given; leave one of them out")),
        (Some(claim), None) => (claim.data_source_ref.is_some(), claim.data_source.is_some()),
        (None, Some(storage)) => (storage.data_source_ref.is_some(), storage.data_source.is_some()),
    };
    let (from_outside, imported) = (source_ref || source, spec.source.is_some() || spec.source_ref.is_some());
    match (from_outside, imported) {
        (true, true) => Err(Cause::invalid(
            at.key("spec.source"),
            "the claim's dataSource fills the DataVolume already; leave source and sourceRef out",
        )),
        (false, false) => Err(Cause::invalid(
            at.key("spec.sourceRef"),
            "nothing says what fills the DataVolume; give source, sourceRef or the claim's dataSource",
        )),
        _ => spec.source.as_ref().map_or(Ok(()), |source| one_source(at, source)),
    }
}

/// How the claim is mounted is said in the words of claims.
fn modes(at: &Path, template: &DataVolumeTemplateSpec, causes: &mut Vec<Cause>) {
    let claim = template.spec.pvc.as_ref().map(|claim| ("spec.pvc", claim.access_modes.as_deref().unwrap_or_default(), &claim.volume_mode));
    let storage = template.spec.storage.as_ref().map(|s| ("spec.storage", s.access_modes.as_slice(), &s.volume_mode));
    for (key, access, volume) in [claim, storage].into_iter().flatten() {
        let at = at.key(key);
        let list = at.key("accessModes");
        for (i, mode) in access.iter().enumerate().filter(|(_, mode)| !ACCESS_MODES.contains(&mode.as_str())) {
            causes
                .push(Cause::not_supported(list.index(i), format!("{mode:?} is no access mode; give one of {}", ACCESS_MODES.join(", "))));
        }
        if let Some(mode) = volume.as_ref().filter(|mode| !VOLUME_MODES.contains(&mode.as_str())) {
            let message = format!("{mode:?} is no volume mode; give one of {}", VOLUME_MODES.join(", "));
            causes.push(Cause::not_supported(at.key("volumeMode"), message));
        }
    }
}

fn one_source(at: &Path, source: &DataVolumeSource) -> Result<(), Cause> {
    let given = [
        source.http.is_some(),
        source.s3.is_some(),
        source.gcs.is_some(),
        source.registry.is_some(),
        source.pvc.is_some(),
        source.upload.is_some(),
        source.blank.is_some(),
        source.imageio.is_some(),
        source.vddk.is_some(),
        source.snapshot.is_some(),
    ];
    match given.into_iter().filter(|given| *given).count() {
        1 => Ok(()),
        0 => Err(Cause::invalid(at.key("spec.source"), "the source is empty; give one, such as http, registry or blank")),
        n => Err(Cause::invalid(at.key("spec.source"), format!("there are {n} sources; keep one of them"))),
    }
}

/// The DataVolumes are in the machine's namespace.
pub(super) fn namespaces(vm: &VirtualMachine, old: Option<&VirtualMachine>, request: &Request, causes: &mut Vec<Cause>) {
    let unchanged = old.is_some_and(|old| old.spec.data_volume_templates == vm.spec.data_volume_templates);
    if request.operation == Operation::Update && unchanged {
        return;
    }
    let own = vm.metadata.namespace.as_deref().unwrap_or_default();
    let list = Path::new("spec.dataVolumeTemplates");
    for (i, template) in vm.spec.data_volume_templates.iter().enumerate() {
        let namespace = template.metadata.namespace.as_deref().unwrap_or_default();
        if !namespace.is_empty() && namespace != own {
            causes.push(Cause::invalid(
                list.index(i),
                format!("the DataVolume is in {namespace:?}, the machine in {own:?}; leave the namespace out"),
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_template_is_complete_and_used() {
        let with = |template: Value| json!({"template": {"spec": {"domain": {"devices": {}}, "volumes": [{"name": "v", "dataVolume": {"name": "d"}}]}}, "dataVolumeTemplates": [template]});
        let named = |name: &str, spec: Value| with(json!({"metadata": {"name": name}, "spec": spec}));
        for (spec, wanted) in [
            (named("d", json!({"storage": {}, "source": {"blank": {}}})), &[][..]),
            (named("x", json!({"storage": {}, "source": {"blank": {}}})), &["s.dataVolumeTemplates[0]"]),
            (
                named("d", json!({"pvc": {"accessModes": ["ReadTwice"], "volumeMode": "Tape"}, "source": {"blank": {}}})),
                &["s.dataVolumeTemplates[0].spec.pvc.accessModes[0]", "s.dataVolumeTemplates[0].spec.pvc.volumeMode"],
            ),
            (named("", json!({})), &["s.dataVolumeTemplates[0].metadata.name"]),
            (named("d", json!({"source": {"blank": {}}})), &["s.dataVolumeTemplates[0].spec.storage"]),
            (named("d", json!({"storage": {}, "pvc": {}, "source": {"blank": {}}})), &["s.dataVolumeTemplates[0].spec.storage"]),
            (named("d", json!({"storage": {}})), &["s.dataVolumeTemplates[0].spec.sourceRef"]),
            (named("d", json!({"storage": {}, "source": {}})), &["s.dataVolumeTemplates[0].spec.source"]),
            (named("d", json!({"storage": {}, "source": {"blank": {}, "upload": {}}})), &["s.dataVolumeTemplates[0].spec.source"]),
            (
                named("d", json!({"storage": {"dataSource": {"kind": "K", "name": "n"}}, "source": {"blank": {}}})),
                &["s.dataVolumeTemplates[0].spec.source"],
            ),
        ] {
            let mut causes = Vec::new();
            templates(&Path::new("s"), &serde_json::from_value(spec.clone()).unwrap(), &mut causes);
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), wanted, "{spec}");
        }
    }
}
