//! The DataVolumes of a machine's templates: adopted, made, and waited for.

use super::pass::Pass;
use super::{FAILED_CREATE, Observed};
use crate::api::cdi::{DataVolume, DataVolumeConditionType as Condition, DataVolumePhase as Phase};
use crate::api::names;
use crate::api::v1::{DataVolumeTemplateSpec, VirtualMachine, Volume};
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::owner;
use crate::lifecycle::patch::Patch;

/// Tells CDI that a claim of that name may be taken as the result.
const ALLOW_ADOPTION: &str = "cdi.kubevirt.io/allowClaimAdoption";

/// Takes DataVolumes of the templates' names that belong to nobody.
pub(super) fn adopt(pass: &mut Pass<'_>) {
    if pass.is_deleted() {
        return;
    }
    for template in &pass.machine.spec.data_volume_templates {
        let name = template.metadata.name.as_deref().unwrap_or_default();
        let Some(data_volume) = pass.observed.data_volume(name) else {
            continue;
        };
        let meta = &data_volume.metadata;
        if owner::controller(meta).is_none() && meta.deletion_timestamp.is_none() {
            let mut wanted = data_volume.clone();
            let reference = owner::reference("kubevirt.io/v1", "VirtualMachine", &pass.machine.metadata);
            wanted.metadata.owner_references.get_or_insert_default().push(reference);
            let patch = Patch::between(data_volume, &wanted);
            pass.actions.push(Action::PatchDataVolume { name: name.to_owned(), patch });
        }
    }
}

/// Makes the DataVolumes that are missing. Whether all of them are there and filled.
pub(super) fn ready(pass: &mut Pass<'_>) -> Result<bool, Failure> {
    let mut ready = true;
    let templates = pass.machine.spec.data_volume_templates.clone();
    for template in &templates {
        let name = template.metadata.name.as_deref().unwrap_or_default();
        match pass.observed.data_volume(name) {
            None => {
                ready = false;
                make(pass, template)?;
            }
            Some(data_volume) => ready &= is_filled(pass, data_volume)?,
        }
    }
    Ok(ready)
}

fn make(pass: &mut Pass<'_>, template: &DataVolumeTemplateSpec) -> Result<(), Failure> {
    let name = template.metadata.name.clone().unwrap_or_default();
    if pass.actions.iter().any(|a| matches!(a, Action::CreateDataVolume(d) if d.metadata.name.as_ref() == Some(&name))) {
        return Ok(());
    }
    let data_volume = render(&pass.machine, template);
    if let Some(why) = refusal(pass, &data_volume) {
        let message = format!("the DataVolume {name:?} must not be made: {why}");
        pass.standing.push(Event::warning("UnauthorizedDataVolumeCreate", &message));
        return Err(Failure::new(FAILED_CREATE, message));
    }
    if let Some(source) = data_volume.spec.source.as_ref().and_then(|s| s.pvc.as_ref()) {
        let there = |c: &&k8s_openapi::api::core::v1::PersistentVolumeClaim| {
            c.metadata.name.as_ref() == Some(&source.name) && c.metadata.namespace.as_ref() == Some(&source.namespace)
        };
        if !pass.observed.claims.iter().any(|c| there(&c)) {
            let message = format!("the source claim {:?} of {name:?} is not there; the volume stays empty until it is", source.name);
            pass.standing.push(Event::warning("SourcePVCNotAvailabe", message));
        }
    }
    pass.actions.push(Action::CreateDataVolume(Box::new(data_volume)));
    pass.actions.push(Event::normal("SuccessfulDataVolumeCreate", format!("made the DataVolume {name:?}")));
    Ok(())
}

/// The service account in whose name a machine clones volumes.
pub fn service_account(machine: &VirtualMachine) -> &str {
    let spec = machine.spec.template.as_ref().map(|t| &t.spec);
    let named = spec.map(|s| s.service_account_name.as_str()).filter(|n| !n.is_empty());
    let mounted = || spec.and_then(|s| s.volumes.iter().find_map(|v| v.service_account.as_ref()));
    named.or_else(|| mounted().map(|s| s.service_account_name.as_str())).unwrap_or("default")
}

/// The controller may read everywhere, the machine's owner may not: what is copied out of another namespace must be
/// allowed to the machine's service account.
fn refusal(pass: &Pass<'_>, data_volume: &DataVolume) -> Option<String> {
    let own = pass.machine.metadata.namespace.as_deref().unwrap_or_default();
    let spec = &data_volume.spec;
    let source = spec.source.as_ref();
    let claim = source.and_then(|s| s.pvc.as_ref()).map(|s| s.namespace.as_str());
    let snapshot = source.and_then(|s| s.snapshot.as_ref()).map(|s| s.namespace.as_str());
    let reference = spec.source_ref.as_ref().and_then(|s| s.namespace.as_deref());
    let foreign = [claim, snapshot, reference].into_iter().flatten().find(|namespace| *namespace != own)?;
    let name = data_volume.metadata.name.as_deref().unwrap_or_default();
    match pass.observed.clone_verdicts.get(name) {
        Some(Ok(())) => None,
        Some(Err(why)) => Some(why.clone()),
        None => {
            Some(format!("whether the service account {:?} may copy from {foreign:?} is not known yet", service_account(&pass.machine)))
        }
    }
}

fn render(machine: &VirtualMachine, template: &DataVolumeTemplateSpec) -> DataVolume {
    let mut data_volume = DataVolume {
        api_version: "cdi.kubevirt.io/v1beta1".to_owned(),
        kind: "DataVolume".to_owned(),
        metadata: template.metadata.clone(),
        spec: template.spec.clone(),
        ..DataVolume::default()
    };
    let meta = &mut data_volume.metadata;
    meta.namespace.clone_from(&machine.metadata.namespace);
    let uid = machine.metadata.uid.clone().unwrap_or_default();
    meta.labels.get_or_insert_default().insert(names::CREATED_BY_LABEL.to_owned(), uid);
    meta.annotations.get_or_insert_default().insert(ALLOW_ADOPTION.to_owned(), "true".to_owned());
    meta.owner_references = Some(vec![owner::reference("kubevirt.io/v1", "VirtualMachine", &machine.metadata)]);
    let spec = &mut data_volume.spec;
    if let Some(template) = machine.spec.template.as_ref().filter(|_| spec.priority_class_name.is_empty()) {
        spec.priority_class_name.clone_from(&template.spec.priority_class_name);
    }
    // A source without a namespace is one of the machine's own.
    let namespace = machine.metadata.namespace.clone().unwrap_or_default();
    if let Some(source) = &mut spec.source {
        let of_claim = source.pvc.as_mut().map(|s| &mut s.namespace);
        let of_snapshot = source.snapshot.as_mut().map(|s| &mut s.namespace);
        for unset in of_claim.into_iter().chain(of_snapshot).filter(|n| n.is_empty()) {
            unset.clone_from(&namespace);
        }
    }
    data_volume
}

fn is_filled(pass: &mut Pass<'_>, data_volume: &DataVolume) -> Result<bool, Failure> {
    const FAILED_IMPORT: &str = "FailedDataVolumeImport";
    let name = data_volume.metadata.name.as_deref().unwrap_or_default();
    match data_volume.status.phase {
        Phase::Succeeded | Phase::WaitForFirstConsumer | Phase::PendingPopulation => return Ok(true),
        Phase::Failed => {
            let message = format!("the image of the DataVolume {name:?} could not be imported");
            pass.standing.push(Event::warning(FAILED_IMPORT, message));
        }
        Phase::Pending => {
            let bound = condition(data_volume, &Condition::Bound);
            if let Some(bound) = bound.filter(|c| c.status != "True" && c.reason == "ErrExceededQuota") {
                let message = format!("the DataVolume {name:?} is beyond the quota of the namespace: {}", bound.message);
                pass.standing.push(Event::warning(FAILED_IMPORT, &message));
                return Err(Failure::new(FAILED_CREATE, message));
            }
        }
        _ => {}
    }
    Ok(false)
}

fn condition<'a>(data_volume: &'a DataVolume, kind: &Condition) -> Option<&'a crate::api::cdi::DataVolumeCondition> {
    data_volume.status.conditions.iter().find(|c| c.type_ == *kind)
}

fn named<'a>(observed: &'a Observed, volumes: &'a [Volume]) -> impl Iterator<Item = &'a DataVolume> {
    volumes.iter().filter_map(|v| v.data_volume.as_ref()).filter_map(|source| observed.data_volume(&source.name))
}

/// Whether a DataVolume of these volumes has failed.
pub(super) fn any_failed(observed: &Observed, volumes: &[Volume]) -> bool {
    named(observed, volumes).any(|data_volume| {
        let stopped = condition(data_volume, &Condition::Running)
            .is_some_and(|c| c.status == "False" && matches!(c.reason.as_str(), "Error" | "ImagePullFailed"));
        data_volume.status.phase == Phase::Failed || stopped
    })
}

/// Whether a DataVolume of these volumes is being filled. One that waits for its first consumer is not, unless it is bound.
pub(super) fn any_being_filled(observed: &Observed, volumes: &[Volume]) -> bool {
    named(observed, volumes).any(|data_volume| match data_volume.status.phase {
        Phase::Succeeded | Phase::PendingPopulation => false,
        Phase::WaitForFirstConsumer => condition(data_volume, &Condition::Bound).is_some_and(|c| c.status == "True"),
        _ => true,
    })
}
