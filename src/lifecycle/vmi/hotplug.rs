//! Volumes that come and go while the guest runs: a pod of their own holds them on the guest's node, and each change of
//! the set makes a new one that takes the place of the old.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};

use super::data_volumes::{Filling, filling};
use super::pass::Pass;
use super::{CLAIM_NOT_READY, CREATED, pods};
use crate::api::v1::{VirtualMachineInstance, VolumePhase as Phase};
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::{owner, volumes};

/// What an attachment pod has besides the volumes: a directory and a token.
const OWN_VOLUMES: usize = 2;

/// The volumes of the instance that its launcher pod does not hold itself, with their claims.
pub(super) fn hotplug_volumes(instance: &VirtualMachineInstance, launcher: &Pod) -> Vec<(String, String)> {
    let plain = instance.spec.volumes.iter().filter_map(|v| Some((v.name.clone(), volumes::claim_name(v)?.to_owned())));
    let utility = instance.spec.utility_volumes.iter().map(|v| (v.name.clone(), v.claim_name.clone()));
    plain.chain(utility).filter(|(name, _)| !holds(launcher, name)).collect()
}

/// Whether a pod has a volume of that name.
pub(super) fn holds(pod: &Pod, volume: &str) -> bool {
    pod.spec.iter().flat_map(|s| s.volumes.iter().flatten()).any(|v| v.name == volume)
}

/// The pods that hold volumes for a launcher pod.
pub(super) fn attachment_pods<'a>(all: &'a [Pod], launcher: &Pod) -> Vec<&'a Pod> {
    let uid = launcher.metadata.uid.as_deref().unwrap_or_default();
    all.iter().filter(|pod| !uid.is_empty() && owner::is_controlled_by(&pod.metadata, uid)).collect()
}

/// Whether a pod holds these volumes and no others.
fn matches(pod: &Pod, wanted: &[(String, String)]) -> bool {
    let all: Vec<_> = pod.spec.iter().flat_map(|s| s.volumes.iter().flatten()).collect();
    let claims = all.iter().filter(|v| v.persistent_volume_claim.is_some());
    all.len() == wanted.len() + OWN_VOLUMES && claims.into_iter().all(|v| wanted.iter().any(|(name, _)| *name == v.name))
}

/// The attachment pod that holds what shall be held.
pub(super) fn current_attachment<'a>(attachments: &[&'a Pod], wanted: &[(String, String)]) -> Option<&'a Pod> {
    attachments.iter().rev().find(|pod| matches(pod, wanted) && pod.metadata.deletion_timestamp.is_none()).copied()
}

fn delete(pass: &mut Pass<'_>, pod: &Pod) {
    pass.delete_pod(pod, Some(0), "attachment pod");
}

/// Lets go of all volumes of a guest that has ended.
pub(super) fn detach_all(pass: &mut Pass<'_>) {
    let observed = pass.observed;
    let Some(launcher) = pods::current_pod(&observed.instance, &observed.pods) else {
        return;
    };
    attachment_pods(&observed.pods, launcher).into_iter().for_each(|pod| delete(pass, pod));
}

/// Lets go of what pods hold for launchers that have ended.
pub(super) fn drop_orphans(pass: &mut Pass<'_>) {
    let observed = pass.observed;
    let ended = observed.pods.iter().filter(|pod| pods::belongs_to(pod, &observed.instance) && pods::is_down(pod));
    ended.flat_map(|launcher| attachment_pods(&observed.pods, launcher)).for_each(|pod| delete(pass, pod));
}

/// Makes the pod that holds the volumes which are ready, and deletes those that held others.
pub(super) fn attach(pass: &mut Pass<'_>, launcher: &Pod) -> Result<(), Failure> {
    let wanted = hotplug_volumes(&pass.instance, launcher);
    let observed = pass.observed;
    let attachments = attachment_pods(&observed.pods, launcher);
    let settled = match attachments.as_slice() {
        [] => wanted.is_empty(),
        [only] => matches(only, &wanted),
        _ => false,
    };
    if launcher.metadata.deletion_timestamp.is_some() || settled {
        return Ok(());
    }
    let mut ready = Vec::new();
    for (name, claim_name) in wanted {
        let claim = observed
            .claim(&claim_name)
            .ok_or_else(|| Failure::new(CLAIM_NOT_READY, format!("the claim {claim_name:?} of the volume {name:?} is not there")))?;
        if is_utility(pass, &name) && is_block(claim) {
            continue;
        }
        match filling(observed, claim)? {
            Filling::Done => ready.push((name, claim_name)),
            Filling::WaitsForConsumer if label_known(&pass.instance) => {
                let message = format!("made a pod that the volume {name:?} waits for");
                pass.actions.push(Action::CreateAttachmentPod {
                    launcher: pods::name(launcher).to_owned(),
                    volumes: vec![name],
                    populate: true,
                });
                pass.actions.push(Event::normal(CREATED, message));
            }
            Filling::NotYet | Filling::WaitsForConsumer => {}
        }
    }
    let current = current_attachment(&attachments, &ready);
    let mut old: Vec<_> = attachments.iter().copied().filter(|pod| !matches(pod, &ready)).collect();
    old.sort_by_key(|pod| std::cmp::Reverse(pod.metadata.creation_timestamp.as_ref().map(|t| t.0)));
    let pending = old.iter().any(|pod| !matches!(pods::phase(pod), "Running" | "Succeeded" | "Failed"));
    if current.is_none() && !pending && !ready.is_empty() && label_known(&pass.instance) {
        let volumes = ready.iter().map(|(name, _)| name.clone()).collect();
        pass.actions.push(Action::CreateAttachmentPod { launcher: pods::name(launcher).to_owned(), volumes, populate: false });
        pass.actions.push(Event::normal(CREATED, "made an attachment pod"));
    }
    clean_up(pass, current, &old, !ready.is_empty());
    Ok(())
}

/// Whether it is known with which SELinux level the guest runs: the pod that holds its volumes must have the same. The
/// handler tells it when the guest has come to its node.
fn label_known(instance: &VirtualMachineInstance) -> bool {
    let source = instance.status.migration_state.as_ref().and_then(|m| m.source_state.as_ref());
    let context = match instance.status.selinux_context.as_str() {
        "" => source.map_or("", |s| s.selinux_context.as_str()),
        known => known,
    };
    context == "none" || context.split(':').count() >= 4
}

fn is_utility(pass: &Pass<'_>, name: &str) -> bool {
    pass.instance.spec.utility_volumes.iter().any(|v| v.name == name)
}

fn is_block(claim: &PersistentVolumeClaim) -> bool {
    claim.spec.as_ref().and_then(|s| s.volume_mode.as_deref()) == Some("Block")
}

/// Deletes the old attachment pods. The newest that still runs is kept until its successor does, and none goes while the
/// guest uses one of its volumes.
fn clean_up(pass: &mut Pass<'_>, current: Option<&Pod>, old: &[&Pod], any_ready: bool) {
    let in_spec = |name: &str| pass.instance.spec.volumes.iter().any(|v| v.name == name && volumes::is_hotplug(v));
    let in_use = |name: &str| {
        let statuses = pass.instance.status.volume_status.iter().filter(|s| s.hotplug_volume.is_some() && !in_spec(&s.name));
        statuses.into_iter().any(|s| s.name == name && matches!(s.phase, Phase::Ready | Phase::MountedToPod))
    };
    let names = |pod: &Pod| pod.spec.iter().flat_map(|s| s.volumes.iter().flatten()).map(|v| v.name.clone()).collect::<Vec<_>>();
    let successor_runs = current.is_some_and(|pod| pods::phase(pod) == "Running");
    let (mut kept, mut gone) = (false, Vec::new());
    for pod in old {
        let volumes = names(pod);
        let fallback = pods::phase(pod) == "Running" && pod.metadata.deletion_timestamp.is_none() && any_ready && !successor_runs;
        if !kept && fallback && volumes.iter().any(|v| in_spec(v) || in_use(v)) {
            kept = true;
        } else if !volumes.iter().any(|v| in_use(v)) {
            gone.push(*pod);
        }
    }
    gone.into_iter().for_each(|pod| delete(pass, pod));
}
