//! What the instance tells: conditions, pods, and the rest that does not hang on the phase.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pass::Pass;
use super::{data_volumes, phase, pods, volume_status};
use crate::api::Quantity;
use crate::api::names;
use crate::api::v1::{
    VirtualMachineInstanceCondition as Condition, VirtualMachineInstanceConditionType as Kind, VirtualMachineInstancePhase as Phase,
    VirtualMachineInstancePhaseTransitionTimestamp as Transition,
};
use crate::config::Gate;
use crate::lifecycle::action::{Action, Failure};
use crate::lifecycle::patch::Patch;
use crate::lifecycle::{conditions, owner, persistent_state};
use crate::pod::{COMPUTE, backup_hooks, is_backup_hook};

/// What the descheduler is told by annotations of the instance.
const DESCHEDULER: [&str; 2] = ["descheduler.alpha.kubernetes.io/evict", "descheduler.alpha.kubernetes.io/prefer-no-eviction"];

/// What the condition Ready tells when nothing but the guest is missing: once it runs, the handler may say that all is.
pub const ALL_BUT_THE_GUEST: &str = "the guest does not run yet; its pod is ready";

/// Puts the status of the instance together.
pub(super) fn report(pass: &mut Pass<'_>, failure: Option<Failure>) {
    rename_finalizer(pass);
    list_pods(pass);
    report_ready(pass);
    follow_launcher(pass);
    report_data_volumes(pass);
    let name = pass.instance.metadata.name.clone().unwrap_or_default();
    if let Some(claim) = persistent_state::claim_of(&pass.observed.claims, &name) {
        volume_status::note_state_claim(&mut pass.instance, claim);
    }
    let failure = phase::advance(pass, failure);
    report_eviction(pass);
    report_failure(pass, failure.as_ref());
    note_transition(pass);
    patch_pod(pass);
}

/// The finalizer had a name without a domain once, which the API server warns of.
fn rename_finalizer(pass: &mut Pass<'_>) {
    let meta = &mut pass.instance.metadata;
    if owner::has_finalizer(meta, names::DEPRECATED_VIRTUAL_MACHINE_INSTANCE_FINALIZER) {
        owner::remove_finalizer(meta, names::DEPRECATED_VIRTUAL_MACHINE_INSTANCE_FINALIZER);
        owner::add_finalizer(meta, names::VIRTUAL_MACHINE_INSTANCE_FINALIZER);
    }
}

fn list_pods(pass: &mut Pass<'_>) {
    let ours = pass.observed.pods.iter().filter(|pod| pods::belongs_to(pod, &pass.observed.instance));
    let list = ours.map(|pod| (pod.metadata.uid.clone().unwrap_or_default(), pods::node_name(pod).to_owned()));
    pass.instance.status.active_pods = list.collect::<BTreeMap<_, _>>();
}

fn condition(kind: Kind, status: &str, reason: &str, message: &str, now: &Time) -> Condition {
    Condition {
        type_: kind,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_probe_time: Some(now.clone()),
        last_transition_time: Some(now.clone()),
    }
}

fn report_ready(pass: &mut Pass<'_>) {
    let now = Time(pass.now);
    let not_ready = |reason: &str, message: &str| condition(Kind::Ready, "False", reason, message, &now);
    let ready = match pass.launcher() {
        None => not_ready(names::POD_NOT_EXISTS_REASON, "there is no launcher pod yet"),
        Some(pod) if pods::is_going_down(pod) => not_ready(names::POD_TERMINATING_REASON, "the launcher pod is ending"),
        Some(pod) if *pass.phase() != Phase::Running => {
            let ready = pods::condition(pod, "Ready").is_some_and(|c| c.status == "True");
            not_ready(names::GUEST_NOT_RUNNING_REASON, if ready { ALL_BUT_THE_GUEST } else { "the guest does not run yet" })
        }
        Some(pod) => match pods::condition(pod, "Ready") {
            None => not_ready(names::POD_CONDITION_MISSING_REASON, "the launcher pod does not tell yet whether it is ready"),
            Some(of_pod) => taken_over(of_pod),
        },
    };
    conditions::set(&mut pass.instance.status.conditions, ready);
}

fn taken_over(of_pod: &PodCondition) -> Condition {
    Condition {
        type_: Kind::from(of_pod.type_.as_str()),
        status: of_pod.status.clone(),
        reason: of_pod.reason.clone().unwrap_or_default(),
        message: of_pod.message.clone().unwrap_or_default(),
        last_probe_time: of_pod.last_probe_time.clone(),
        last_transition_time: of_pod.last_transition_time.clone(),
    }
}

/// Notes of the launcher pod what the instance tells, and tells the pod what the instance knows.
fn follow_launcher(pass: &mut Pass<'_>) {
    let Some(pod) = pass.launcher().cloned() else {
        return;
    };
    let image = pod.spec.iter().flat_map(|s| &s.containers).find(|c| c.name == COMPUTE).and_then(|c| c.image.clone()).unwrap_or_default();
    let outdated = !image.is_empty() && image != pass.observed.context.image;
    set_label(pass, names::OUTDATED_LAUNCHER_IMAGE_LABEL, outdated.then(String::new));
    pass.instance.status.launcher_container_image_version = image;
    if pass.config.enabled(Gate::MemoryOverheadReport)
        && let Some(bytes) = pods::annotation(&pod, names::MEMORY_OVERHEAD_ANNOTATION_BYTES).and_then(|b| b.parse::<i64>().ok())
    {
        let overhead = Quantity::from_bytes(bytes.into());
        pass.instance.status.memory.get_or_insert_default().memory_overhead = Some(overhead);
    }
    // The readiness gate holds a paused guest's pod unready.
    let paused = conditions::has(&pass.instance.status.conditions, &Kind::Paused, "True");
    let open = pods::condition(&pod, names::UNPAUSED_CONDITION).is_some_and(|c| c.status == "True");
    if paused == open {
        let (status, reason, message) =
            if paused { ("False", "Paused", "the guest is paused") } else { ("True", "NotPaused", "the guest is not paused") };
        let condition = PodCondition {
            type_: names::UNPAUSED_CONDITION.to_owned(),
            status: status.to_owned(),
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
            last_probe_time: Some(Time(pass.now)),
            last_transition_time: Some(Time(pass.now)),
            ..PodCondition::default()
        };
        pass.pod_condition = Some(condition);
    }
}

/// Labels and annotations of the launcher pod that follow the instance.
fn follow_instance(pass: &mut Pass<'_>) {
    if pass.launcher().is_none() {
        return;
    }
    let meta = pass.instance.metadata.clone();
    let on_its_way = pass.instance.status.phase == Phase::Scheduling;
    if let Some(wanted) = &mut pass.pod {
        if on_its_way {
            let node = pods::node_name(wanted).to_owned();
            wanted.metadata.labels.get_or_insert_default().insert(names::NODE_NAME_LABEL.to_owned(), node);
        } else {
            sync(&[names::NODE_NAME_LABEL], meta.labels.as_ref(), &mut wanted.metadata.labels);
        }
        sync(&[names::OUTDATED_LAUNCHER_IMAGE_LABEL], meta.labels.as_ref(), &mut wanted.metadata.labels);
        sync(&DESCHEDULER, meta.annotations.as_ref(), &mut wanted.metadata.annotations);
        let hooks = backup_hooks(&pass.instance, &pass.observed.context);
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        annotations.retain(|key, _| !is_backup_hook(key) || hooks.contains_key(key));
        annotations.extend(hooks);
    }
}

/// Makes `to` have those keys as `from` has them.
fn sync(keys: &[&str], from: Option<&BTreeMap<String, String>>, to: &mut Option<BTreeMap<String, String>>) {
    for key in keys {
        match from.and_then(|f| f.get(*key)) {
            Some(value) => {
                to.get_or_insert_default().insert((*key).to_owned(), value.clone());
            }
            None => {
                to.as_mut().and_then(|t| t.remove(*key));
            }
        }
    }
}

pub(super) fn set_label(pass: &mut Pass<'_>, key: &str, value: Option<String>) {
    let labels = &mut pass.instance.metadata.labels;
    match value {
        Some(value) => {
            labels.get_or_insert_default().insert(key.to_owned(), value);
        }
        None => {
            labels.as_mut().and_then(|l| l.remove(key));
        }
    }
}

/// Tells the pod what the instance knows, in one write, from the moment on that it has a node: so it can be ready as soon as
/// its containers run.
fn patch_pod(pass: &mut Pass<'_>) {
    let told = match pass.instance.status.phase {
        Phase::Scheduled | Phase::Running => true,
        Phase::Scheduling => pass.launcher().is_some_and(|pod| pods::condition(pod, "PodScheduled").is_some_and(|c| c.status == "True")),
        _ => false,
    };
    if !told {
        return;
    }
    follow_instance(pass);
    let Some(wanted) = &pass.pod else {
        return;
    };
    let observed: Option<&Pod> = pass.observed.pods.iter().find(|p| p.metadata.name.is_some() && p.metadata.name == wanted.metadata.name);
    if let (Some(observed), Some(name)) = (observed, &wanted.metadata.name) {
        let mut patch = Patch::between(observed, wanted);
        let condition = pass.pod_condition.take().map(|condition| pods::condition_patch(observed, &condition));
        let of_status = condition.is_some();
        patch.0.extend(condition.into_iter().flat_map(|c| c.0));
        if patch.is_empty() || observed.metadata.deletion_timestamp.is_some() {
            return;
        }
        let name = name.clone();
        pass.actions.push(if of_status { Action::PatchPodStatus { name, patch } } else { Action::PatchPod { name, patch } });
    }
}

fn report_data_volumes(pass: &mut Pass<'_>) {
    let data_volumes = data_volumes::behind(pass.observed);
    if data_volumes.is_empty() {
        return;
    }
    let status = data_volumes::readiness(&data_volumes);
    let (reason, message) = match status {
        "True" => (names::VMI_REASON_ALL_D_VS_READY, "every DataVolume of the guest is bound and filled"),
        _ => (names::VMI_REASON_NOT_ALL_D_VS_READY, "not every DataVolume of the guest is bound and filled"),
    };
    let told = Condition {
        type_: Kind::DataVolumesReady,
        status: status.to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        ..Condition::default()
    };
    conditions::set(&mut pass.instance.status.conditions, told);
}

fn report_eviction(pass: &mut Pass<'_>) {
    let conditions = &mut pass.instance.status.conditions;
    if pass.instance.status.evacuation_node_name.is_empty() {
        conditions::remove(conditions, &Kind::EvictionRequested);
    } else if !conditions::has(conditions, &Kind::EvictionRequested, "True") {
        let (reason, message) = (names::VMI_REASON_EVICTION_REQUESTED, "the guest is asked to leave its node");
        conditions::set(conditions, condition(Kind::EvictionRequested, "True", reason, message, &Time(pass.now)));
    }
}

/// Tells what keeps the instance from what it should be. The handler tells it of a guest that was handed over.
fn report_failure(pass: &mut Pass<'_>, failure: Option<&Failure>) {
    if matches!(pass.phase(), Phase::Running | Phase::Scheduled) {
        return;
    }
    let conditions = &mut pass.instance.status.conditions;
    let Some(failure) = failure else {
        conditions::remove(conditions, &Kind::Synchronized);
        return;
    };
    let told = Condition {
        type_: Kind::Synchronized,
        status: "False".to_owned(),
        reason: failure.reason.to_owned(),
        message: failure.message.clone(),
        last_transition_time: Some(Time(pass.now)),
        ..Condition::default()
    };
    conditions::set(conditions, told);
}

pub(super) fn note_transition(pass: &mut Pass<'_>) {
    let phase = pass.instance.status.phase.clone();
    let moved = phase != *pass.phase();
    let times = &mut pass.instance.status.phase_transition_timestamps;
    if moved && times.iter().all(|t| t.phase != phase) {
        times.push(Transition { phase, phase_transition_timestamp: Some(Time(pass.now)) });
    }
}
