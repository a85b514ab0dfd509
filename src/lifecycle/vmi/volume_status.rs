//! What the instance tells of its volumes: the claims behind them, so that the handler need not look them up, and how far
//! those are that come and go.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};

use super::pass::Pass;
use super::{CLAIM_MISSING, CLAIM_NOT_READY, CREATED, DELETED, Observed, hotplug, pods};
use crate::api::Quantity;
use crate::api::v1::{
    DomainMemoryDumpInfo, PersistentVolumeClaimInfo as ClaimInfo, VirtualMachineInstance, VolumePhase as Phase, VolumeStatus,
};
use crate::lifecycle::action::Event;
use crate::lifecycle::{persistent_state, volumes};

/// The share of a file system that is not for files, where CDI does not say otherwise.
const DEFAULT_OVERHEAD: &str = "0.055";
const PREALLOCATION: [&str; 2] = ["cdi.kubevirt.io/storage.preallocation", "cdi.kubevirt.io/storage.thick-provisioned"];

/// Notes which claim keeps the guest's own state.
pub(super) fn note_state_claim(instance: &mut VirtualMachineInstance, claim: &PersistentVolumeClaim) {
    let statuses = &mut instance.status.volume_status;
    if !statuses.iter().any(is_state) {
        statuses.push(VolumeStatus { name: persistent_state::VOLUME_NAME.to_owned(), ..VolumeStatus::default() });
    }
    if let Some(status) = statuses.iter_mut().find(|s| is_state(s)) {
        persistent_state::VOLUME_NAME.clone_into(&mut status.name);
        let info = status.persistent_volume_claim_info.get_or_insert_default();
        info.claim_name = claim.metadata.name.clone().unwrap_or_default();
        info.access_modes = claim.spec.as_ref().and_then(|s| s.access_modes.clone()).unwrap_or_default();
    }
}

fn is_state(status: &VolumeStatus) -> bool {
    status.name.starts_with(persistent_state::PREFIX)
}

/// Brings the status of every volume up to date.
pub(super) fn update(pass: &mut Pass<'_>, launcher: &Pod) {
    let spec = pass.instance.spec.clone();
    let mut old: BTreeMap<String, VolumeStatus> =
        pass.instance.status.volume_status.drain(..).map(|status| (status.name.clone(), status)).collect();
    let attached = hotplug::hotplug_volumes(&pass.instance, launcher);
    let attachments = hotplug::attachment_pods(&pass.observed.pods, launcher);
    let current = hotplug::current_attachment(&attachments, &attached).cloned();
    let mut new = Vec::new();
    let name = pass.instance.metadata.name.as_deref().unwrap_or_default();
    if persistent_state::claim_of(&pass.observed.claims, name).is_some() {
        new.extend(old.remove(persistent_state::VOLUME_NAME));
    }
    let mut status_of = |name: &str| old.remove(name).unwrap_or_else(|| VolumeStatus { name: name.to_owned(), ..VolumeStatus::default() });
    for volume in &spec.volumes {
        let mut status = status_of(&volume.name);
        if volume.memory_dump.is_some() && status.memory_dump_volume.is_none() {
            status.memory_dump_volume = Some(DomainMemoryDumpInfo { claim_name: volume.name.clone(), ..DomainMemoryDumpInfo::default() });
        }
        if let Some(claim) = volumes::claim_name(volume) {
            if attached.iter().any(|(name, _)| *name == volume.name) {
                follow_attachment(pass, claim, &mut status, current.as_ref());
            }
            note_claim(pass.observed, claim, &mut status);
        }
        new.push(status);
    }
    for volume in &spec.utility_volumes {
        let mut status = status_of(&volume.name);
        follow_attachment(pass, &volume.claim_name, &mut status, current.as_ref());
        match pass.observed.claim(&volume.claim_name) {
            Some(claim) if is_block(claim) => {
                status.phase = Phase::Pending;
                CLAIM_NOT_READY.clone_into(&mut status.reason);
                status.message = format!("the claim {:?} of a utility volume must have volumeMode Filesystem", volume.claim_name);
            }
            _ => note_claim(pass.observed, &volume.claim_name, &mut status),
        }
        new.push(status);
    }
    // A volume that is gone from the spec is told of as long as a pod holds it.
    for (name, mut status) in old {
        let holder = attachments.iter().find(|pod| hotplug::holds(pod, &name));
        if let Some(pod) = holder {
            let hotplug = status.hotplug_volume.get_or_insert_default();
            pods::name(pod).clone_into(&mut hotplug.attach_pod_name);
            hotplug.attach_pod_uid = pod.metadata.uid.clone().unwrap_or_default();
            if !matches!(status.phase, Phase::Ready | Phase::MountedToPod) {
                status.phase = Phase::Detaching;
            }
            if status.phase == Phase::Detaching && pod.metadata.deletion_timestamp.is_some() {
                DELETED.clone_into(&mut status.reason);
                status.message = format!("deleted the attachment pod {:?} of the volume {name:?}", pods::name(pod));
                pass.standing.push(Event::normal(DELETED, status.message.clone()));
            }
            new.push(status);
        }
    }
    new.sort_by(|a, b| a.name.cmp(&b.name));
    pass.instance.status.volume_status = new;
}

fn follow_attachment(pass: &mut Pass<'_>, claim: &str, status: &mut VolumeStatus, pod: Option<&Pod>) {
    let hotplug = status.hotplug_volume.get_or_insert_default();
    let follow_claim = match pod {
        None => {
            let gone = status.phase != Phase::Ready;
            if gone {
                hotplug.attach_pod_uid.clear();
            }
            gone
        }
        Some(pod) => {
            pods::name(pod).clone_into(&mut hotplug.attach_pod_name);
            let statuses = pod.status.as_ref().and_then(|s| s.container_statuses.as_deref()).unwrap_or_default();
            let ready = matches!(statuses, [only] if only.ready);
            hotplug.attach_pod_uid = pod.metadata.uid.clone().filter(|_| ready).unwrap_or_default();
            if status.phase.is_unset() || matches!(status.phase, Phase::Bound | Phase::Pending) {
                status.phase = Phase::AttachedToNode;
                CREATED.clone_into(&mut status.reason);
                status.message = format!("made the attachment pod {:?} for the volume {:?}", pods::name(pod), status.name);
                pass.standing.push(Event::normal(CREATED, status.message.clone()));
            }
            // Unplugged and plugged in again while the old pod was going.
            status.phase == Phase::Detaching
        }
    };
    if follow_claim {
        let phase = pass.observed.claim(claim).map(|c| c.status.as_ref().and_then(|s| s.phase.clone()).unwrap_or_default());
        let (volume, reason, message) = match phase.as_deref() {
            None => (Phase::Pending, CLAIM_MISSING, format!("the claim {claim:?} is not there")),
            Some("Bound") => (Phase::Bound, CLAIM_NOT_READY, format!("the claim {claim:?} is bound")),
            Some(other) => (Phase::Pending, CLAIM_NOT_READY, format!("the claim {claim:?} is {other}")),
        };
        status.phase = volume;
        reason.clone_into(&mut status.reason);
        status.message = message;
    }
}

fn is_block(claim: &PersistentVolumeClaim) -> bool {
    claim.spec.as_ref().and_then(|s| s.volume_mode.as_deref()) == Some("Block")
}

fn quantities(map: Option<&BTreeMap<String, k8s_openapi::apimachinery::pkg::api::resource::Quantity>>) -> BTreeMap<String, Quantity> {
    map.into_iter().flatten().filter_map(|(key, value)| Some((key.clone(), value.0.parse().ok()?))).collect()
}

fn note_claim(observed: &Observed, name: &str, status: &mut VolumeStatus) {
    let Some(claim) = observed.claim(name) else {
        return;
    };
    status.persistent_volume_claim_info = Some(ClaimInfo { filesystem_overhead: Some(overhead(observed, claim)), ..claim_info(claim) });
}

/// What is told of a claim.
pub(crate) fn claim_info(claim: &PersistentVolumeClaim) -> ClaimInfo {
    let spec = claim.spec.clone().unwrap_or_default();
    let annotations = claim.metadata.annotations.as_ref();
    ClaimInfo {
        claim_name: claim.metadata.name.clone().unwrap_or_default(),
        access_modes: spec.access_modes.unwrap_or_default(),
        volume_mode: spec.volume_mode,
        capacity: quantities(claim.status.as_ref().and_then(|s| s.capacity.as_ref())),
        requests: quantities(spec.resources.as_ref().and_then(|r| r.requests.as_ref())),
        preallocated: PREALLOCATION.iter().any(|key| annotations.and_then(|a| a.get(*key)).is_some_and(|v| v == "true")),
        ..ClaimInfo::default()
    }
}

fn overhead(observed: &Observed, claim: &PersistentVolumeClaim) -> String {
    let class = claim.spec.as_ref().and_then(|s| s.storage_class_name.as_deref());
    match &observed.overhead {
        None => DEFAULT_OVERHEAD.to_owned(),
        Some(_) if is_block(claim) => "0".to_owned(),
        Some(overhead) => class.and_then(|c| overhead.by_class.get(c)).unwrap_or(&overhead.global).clone(),
    }
}
