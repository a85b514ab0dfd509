//! The volumes of an instance that others fill: whether they are there, filled, or wait for a pod to come.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::pass::Pass;
use super::{CLAIM_MISSING, Observed};
use crate::api::cdi::{DataVolume, DataVolumeConditionType as Condition, DataVolumePhase as Phase};
use crate::api::v1::Volume;
use crate::lifecycle::action::{Event, Failure};
use crate::lifecycle::{owner, volumes};

/// How far the volume is that a claim holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Filling {
    /// It can be used.
    Done,
    /// A pod that uses it must come first.
    WaitsForConsumer,
    /// It is not filled yet.
    NotYet,
}

/// Whether every volume can be used or waits for the pod, and whether there is one that waits.
pub(super) fn ready(pass: &mut Pass<'_>) -> Result<(bool, bool), Failure> {
    let (mut ready, mut waits) = (true, false);
    let fixed = |volume: &&Volume| {
        volume.data_volume.as_ref().is_some_and(|s| !s.hotpluggable)
            || volume.persistent_volume_claim.as_ref().is_some_and(|s| !s.hotpluggable)
    };
    for volume in pass.observed.instance.spec.volumes.iter().filter(fixed) {
        let name = volumes::claim_name(volume).unwrap_or_default();
        let Some(claim) = pass.observed.claim(name) else {
            let message = format!("the claim {name:?} of the volume {:?} is not there; the guest starts when it comes", volume.name);
            pass.standing.push(Event::normal(CLAIM_MISSING, &message));
            return Err(Failure::new(CLAIM_MISSING, message));
        };
        match filling(pass.observed, claim) {
            Ok(Filling::Done) => {}
            Ok(Filling::WaitsForConsumer) => waits = true,
            Ok(Filling::NotYet) => ready = false,
            Err(failure) => {
                pass.standing.push(Event::warning(CLAIM_MISSING, &failure.message));
                return Err(failure);
            }
        }
    }
    Ok((ready, waits))
}

/// How far the volume of a claim is. One that no DataVolume owns was filled by someone else.
pub(super) fn filling(observed: &Observed, claim: &PersistentVolumeClaim) -> Result<Filling, Failure> {
    let Some(owner) = owner::controller(&claim.metadata).filter(|o| o.kind == "DataVolume") else {
        return Ok(Filling::Done);
    };
    let Some(data_volume) = observed.data_volume(&owner.name) else {
        let message = format!("the DataVolume {:?} that fills a claim of the guest is not there", owner.name);
        return Err(Failure::new("FailedDataVolumeImport", message));
    };
    Ok(match data_volume.status.phase {
        Phase::Succeeded | Phase::PendingPopulation => Filling::Done,
        Phase::WaitForFirstConsumer => Filling::WaitsForConsumer,
        _ => Filling::NotYet,
    })
}

/// The DataVolumes behind the instance's volumes: those that they name, and those that own the claims that they name.
pub(super) fn behind(observed: &Observed) -> Vec<&DataVolume> {
    let name = |volume: &Volume| {
        if let Some(source) = &volume.persistent_volume_claim {
            let claim = observed.claim(&source.claim_name)?;
            return owner::controller(&claim.metadata).filter(|o| o.kind == "DataVolume").map(|o| o.name.clone());
        }
        volume.data_volume.as_ref().map(|source| source.name.clone())
    };
    observed.instance.spec.volumes.iter().filter_map(name).filter_map(|name| observed.data_volume(&name)).collect()
}

/// The worst that the DataVolumes say about their being ready.
pub(super) fn readiness(data_volumes: &[&DataVolume]) -> &'static str {
    let status = |d: &&DataVolume| {
        let condition = d.status.conditions.iter().find(|c| c.type_ == Condition::Ready);
        condition.map_or("Unknown", |c| match c.status.as_str() {
            "True" => "True",
            "False" => "False",
            _ => "Unknown",
        })
    };
    let all: Vec<_> = data_volumes.iter().map(status).collect();
    ["False", "Unknown"].into_iter().find(|s| all.contains(s)).unwrap_or("True")
}
