//! Which spec a guest was started from: the revision that keeps it, and the generation that the instance bears.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use serde_json::json;

use super::Observed;
use super::pass::Pass;
use crate::api::names;
use crate::api::v1::{VirtualMachine, VirtualMachineInstance, VirtualMachineSpec};
use crate::lifecycle::owner;

fn name_prefix(machine: &VirtualMachine) -> String {
    format!("revision-start-vm-{}", machine.metadata.uid.as_deref().unwrap_or_default())
}

/// The revision that keeps the machine's spec as it is. It names the revisions of instance type and preference, too.
pub(super) fn revision(machine: &VirtualMachine) -> ControllerRevision {
    let generation = machine.metadata.generation.unwrap_or_default();
    let mut spec = machine.spec.clone();
    let recorded = |status: &Option<crate::api::v1::InstancetypeStatusRef>| {
        status.as_ref().and_then(|s| s.controller_revision_ref.as_ref()).map(|r| r.name.clone()).filter(|n| !n.is_empty())
    };
    if let (Some(matcher), Some(name)) = (&mut spec.instancetype, recorded(&machine.status.instancetype_ref)) {
        matcher.revision_name = name;
    }
    if let (Some(matcher), Some(name)) = (&mut spec.preference, recorded(&machine.status.preference_ref)) {
        matcher.revision_name = name;
    }
    ControllerRevision {
        metadata: ObjectMeta {
            name: Some(format!("{}-{generation}", name_prefix(machine))),
            namespace: machine.metadata.namespace.clone(),
            owner_references: Some(vec![owner::reference("kubevirt.io/v1", "VirtualMachine", &machine.metadata)]),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(json!({ "spec": spec }))),
        revision: generation,
    }
}

/// The revisions that keep the specs of earlier starts.
pub(super) fn start_revisions(observed: &Observed) -> impl Iterator<Item = &ControllerRevision> {
    let prefix = name_prefix(&observed.machine);
    observed.revisions.iter().filter(move |r| r.metadata.name.as_deref().is_some_and(|n| n.contains(&prefix)))
}

/// The spec that the machine was last started from.
pub(super) fn last_started_spec(observed: &Observed) -> Option<VirtualMachineSpec> {
    let last = start_revisions(observed).filter_map(|r| Some((parse(r.metadata.name.as_deref()?)?, r))).max_by_key(|(g, _)| *g)?.1;
    spec_of(last)
}

fn spec_of(revision: &ControllerRevision) -> Option<VirtualMachineSpec> {
    serde::Deserialize::deserialize(revision.data.as_ref()?.0.get("spec")?).ok()
}

fn parse(name: &str) -> Option<i64> {
    name.rsplit_once('-')?.1.parse().ok()
}

/// The revision that the instance says it was started from.
fn revision_of<'a>(observed: &'a Observed, instance: &VirtualMachineInstance) -> Option<&'a ControllerRevision> {
    let name = &instance.status.virtual_machine_revision_name;
    observed.revisions.iter().find(|r| !name.is_empty() && r.metadata.name.as_ref() == Some(name))
}

fn annotate(instance: &mut VirtualMachineInstance, generation: i64) {
    let annotations = instance.metadata.annotations.get_or_insert_default();
    annotations.insert(names::VIRTUAL_MACHINE_GENERATION_ANNOTATION.to_owned(), generation.to_string());
}

fn annotated(instance: &VirtualMachineInstance) -> Option<&str> {
    instance.metadata.annotations.as_ref()?.get(names::VIRTUAL_MACHINE_GENERATION_ANNOTATION).map(String::as_str)
}

/// A change that does not touch the template does not concern the guest: the instance bears the new generation.
pub(super) fn bump(pass: &mut Pass<'_>) {
    let generation = pass.machine.metadata.generation.unwrap_or_default();
    let (observed, machine) = (pass.observed, &pass.machine);
    let Some(instance) = &mut pass.instance else {
        return;
    };
    if annotated(instance) == Some(&generation.to_string()) {
        return;
    }
    let started_from = revision_of(observed, instance).and_then(spec_of);
    if started_from.is_some_and(|spec| spec.template == machine.spec.template) {
        annotate(instance, generation);
    }
}

/// Tells on the machine which generation the guest has, and which it should have.
pub(super) fn report(pass: &mut Pass<'_>) {
    let observed = pass.observed;
    let Some(instance) = &mut pass.instance else {
        return;
    };
    let borne = annotated(instance).and_then(|text| text.parse::<i64>().ok());
    let generation = borne.or_else(|| {
        // Of an instance that was made by an older release only the revision tells.
        let generation = revision_of(observed, instance).and_then(|r| parse(r.metadata.name.as_deref()?))?;
        annotate(instance, generation);
        Some(generation)
    });
    if let Some(generation) = generation {
        pass.machine.status.observed_generation = generation;
        pass.machine.status.desired_generation = pass.machine.metadata.generation.unwrap_or_default();
    }
}
