//! Instance types and preferences of a machine: found, frozen into revisions or written out, and applied.

use std::borrow::Cow;

use k8s_openapi::api::apps::v1::ControllerRevision;
use serde::de::DeserializeOwned;

use super::FAILED_CREATE;
use super::pass::Pass;
use crate::api::instancetype::{
    VirtualMachineClusterInstancetype, VirtualMachineClusterPreference, VirtualMachineInstancetype, VirtualMachineInstancetypeSpec,
    VirtualMachinePreference, VirtualMachinePreferenceSpec,
};
use crate::api::v1::{
    ControllerRevisionRef, InstancetypeReferencePolicy as Policy, InstancetypeStatusRef, VirtualMachine, VirtualMachineInstance,
};
use crate::instancetype::{self, Catalog, Given, RevisionError};
use crate::lifecycle::action::{Action, Event, Failure};

/// The catalog of a pass: what was read, and the revisions of the machine.
struct Known<'a>(&'a super::Observed);

impl Catalog for Known<'_> {
    fn instancetype(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachineInstancetypeSpec>> {
        Given(&self.0.instancetypes).instancetype(namespace, name).map(|spec| Cow::Owned(spec.into_owned()))
    }

    fn preference(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachinePreferenceSpec>> {
        Given(&self.0.instancetypes).preference(namespace, name).map(|spec| Cow::Owned(spec.into_owned()))
    }

    fn revision(&self, _: &str, name: &str) -> Option<Cow<'_, ControllerRevision>> {
        self.0.revisions.iter().find(|r| r.metadata.name.as_deref() == Some(name)).map(Cow::Borrowed)
    }
}

/// Applies both to the machine's template; `None` where they conflict with it.
pub(super) fn apply(pass: &Pass<'_>, machine: &mut VirtualMachine) -> Option<()> {
    if machine.spec.instancetype.is_some() || machine.spec.preference.is_some() {
        instancetype::apply_to_vm(machine, &Known(pass.observed)).ok()?;
    }
    Some(())
}

/// Sees to it that both are there, and frozen or written out as the cluster wants it. Whether the pass can go on with the
/// machine as it is.
pub(super) fn sync(pass: &mut Pass<'_>) -> Result<bool, Failure> {
    if pass.machine.spec.instancetype.is_none() && pass.machine.spec.preference.is_none() {
        return Ok(true);
    }
    let known = Known(pass.observed);
    let found = instancetype::find(&pass.machine, &known).map_err(|e| Failure::new("FailedFindInstancetype", e.to_string()))?;
    let preferred =
        instancetype::find_preference(&pass.machine, &known).map_err(|e| Failure::new("FailedFindPreference", e.to_string()))?;
    let policy = pass.config.instancetype_reference_policy();
    if policy == Policy::Reference {
        freeze(pass)?;
    } else if policy == Policy::ExpandAll || frozen(&pass.machine).next().is_none() {
        let expanded = instancetype::expand(&pass.machine, found.as_deref(), preferred.as_deref(), pass.config);
        let expanded = expanded.map_err(|e| Failure::new(FAILED_CREATE, format!("the instance type cannot be written out: {e}")))?;
        let old: Vec<_> = frozen(&pass.machine).map(str::to_owned).collect();
        pass.actions.extend(old.into_iter().map(|name| Action::DeleteRevision { name }));
        pass.machine = expanded;
    }
    let (before, now) = (&pass.observed.machine, &pass.machine);
    Ok(before.spec == now.spec && refs(before) == refs(now))
}

fn refs(machine: &VirtualMachine) -> [Option<&InstancetypeStatusRef>; 2] {
    [machine.status.instancetype_ref.as_ref(), machine.status.preference_ref.as_ref()]
}

/// The names of the revisions that the machine is bound to.
fn frozen(machine: &VirtualMachine) -> impl Iterator<Item = &str> {
    let references = refs(machine).into_iter().flatten().filter_map(|r| r.controller_revision_ref.as_ref());
    references.map(|r| r.name.as_str()).filter(|name| !name.is_empty())
}

fn freeze(pass: &mut Pass<'_>) -> Result<(), Failure> {
    if let Some(matcher) = pass.machine.spec.instancetype.clone() {
        let (mut wanted, missing) = instancetype::sync_instancetype_ref(&matcher, pass.machine.status.instancetype_ref.as_ref());
        if missing {
            let revision = if instancetype::is_namespaced_instancetype(&matcher) {
                stash::<VirtualMachineInstancetype>(pass, "VirtualMachineInstancetype", true, &matcher.name)?
            } else {
                stash::<VirtualMachineClusterInstancetype>(pass, "VirtualMachineClusterInstancetype", false, &matcher.name)?
            };
            wanted.controller_revision_ref = Some(keep(pass, revision)?);
        }
        pass.machine.status.instancetype_ref = Some(wanted);
    }
    if let Some(matcher) = pass.machine.spec.preference.clone() {
        let (mut wanted, missing) = instancetype::sync_preference_ref(&matcher, pass.machine.status.preference_ref.as_ref());
        if missing {
            let revision = if instancetype::is_namespaced_preference(&matcher) {
                stash::<VirtualMachinePreference>(pass, "VirtualMachinePreference", true, &matcher.name)?
            } else {
                stash::<VirtualMachineClusterPreference>(pass, "VirtualMachineClusterPreference", false, &matcher.name)?
            };
            wanted.controller_revision_ref = Some(keep(pass, revision)?);
        }
        pass.machine.status.preference_ref = Some(wanted);
    }
    Ok(())
}

fn failure(pass: &mut Pass<'_>, why: impl std::fmt::Display) -> Failure {
    let message = format!("the instance type or preference of the machine cannot be kept as it is: {why}");
    pass.standing.push(Event::warning(FAILED_CREATE, &message));
    Failure::new(FAILED_CREATE, message)
}

fn stash<T>(pass: &mut Pass<'_>, kind: &str, namespaced: bool, name: &str) -> Result<ControllerRevision, Failure>
where
    T: DeserializeOwned
        + k8s_openapi::Resource
        + k8s_openapi::Metadata<Ty = k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta>
        + serde::Serialize
        + Clone,
{
    let namespace = pass.machine.metadata.namespace.as_deref().filter(|_| namespaced);
    let object = Given(&pass.observed.instancetypes).get(kind, namespace, name);
    let revision = match object.map(T::deserialize) {
        Some(Ok(object)) => instancetype::stash(&pass.machine, &object),
        Some(Err(error)) => Err(RevisionError::Unreadable(error.to_string())),
        None => return Err(failure(pass, format_args!("there is no {kind} {name:?}"))),
    };
    revision.map_err(|error| failure(pass, error))
}

/// Makes the revision unless it is there. Another one of that name must say the same.
fn keep(pass: &mut Pass<'_>, revision: ControllerRevision) -> Result<ControllerRevisionRef, Failure> {
    let name = revision.metadata.name.clone().unwrap_or_default();
    let there = pass.observed.revisions.iter().find(|r| r.metadata.name.as_ref() == Some(&name));
    match there.map(|old| instancetype::same_spec(old, &revision)) {
        None => pass.actions.push(Action::CreateRevision(Box::new(revision))),
        Some(Ok(true)) => {}
        Some(_) => return Err(failure(pass, format_args!("the revision {name:?} is there, but says something else"))),
    }
    Ok(ControllerRevisionRef { name })
}

/// Attaches what the preference attaches by itself; before the devices that depend on it.
pub(super) fn attach(pass: &Pass<'_>, instance: &mut VirtualMachineInstance) {
    let known = Known(pass.observed);
    let preferred = instancetype::find_preference(&pass.machine, &known).ok().flatten();
    if let Some(devices) = preferred.as_ref().and_then(|p| p.devices.as_ref()) {
        instancetype::apply_autoattach(devices, &mut instance.spec.domain.devices);
    }
}

/// Applies both to the instance that is made.
pub(super) fn apply_to_instance(pass: &mut Pass<'_>, instance: &mut VirtualMachineInstance) -> Result<(), Failure> {
    let known = Known(pass.observed);
    let fail = |e: &dyn std::fmt::Display| Failure::new(FAILED_CREATE, format!("the instance type cannot be applied: {e}"));
    let found = instancetype::find(&pass.machine, &known).map_err(|e| fail(&e))?;
    let preferred = instancetype::find_preference(&pass.machine, &known).map_err(|e| fail(&e))?;
    if found.is_none() && preferred.is_none() {
        return Ok(());
    }
    instancetype::annotate(&pass.machine, &mut instance.metadata);
    let applied = instancetype::apply("spec", found.as_deref(), preferred.as_deref(), &mut instance.spec, &mut instance.metadata);
    applied.map_err(|conflicts| {
        let failure = fail(&conflicts);
        pass.standing.push(Event::warning(FAILED_CREATE, &failure.message));
        failure
    })
}
