//! The phases of an instance, from the first look at it to its end.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pass::Pass;
use super::status::{note_transition, set_label};
use super::{CLAIM_MISSING, data_volumes, live_update, network, pods, topology, volume_status};
use crate::api::cdi::DataVolumePhase;
use crate::api::names;
use crate::api::v1::{
    VirtualMachineInstanceCondition as Condition, VirtualMachineInstanceConditionType as Kind,
    VirtualMachineInstanceMigrationTransport as Transport, VirtualMachineInstancePhase as Phase,
};
use crate::lifecycle::action::{Event, Failure};
use crate::lifecycle::{conditions, owner, volumes};

/// Moves the instance on. What comes back keeps it from being what it should.
pub(super) fn advance(pass: &mut Pass<'_>, failure: Option<Failure>) -> Option<Failure> {
    let failure = step(pass, failure);
    // one that goes is let go of in the write that says how it has ended
    if pass.is_deleted() && matches!(pass.instance.status.phase, Phase::Failed | Phase::Succeeded) {
        ended(pass);
    }
    failure
}

fn step(pass: &mut Pass<'_>, failure: Option<Failure>) -> Option<Failure> {
    match pass.phase() {
        _ if pass.is_deleted() && nobody_asks(pass) => set(pass, outcome(pass)),
        _ if pass.is_unprocessed() && pass.launcher().is_some() => {
            set(pass, Phase::Scheduling);
            note_transition(pass);
            // The pod may be further already.
            return scheduling(pass, failure);
        }
        _ if pass.is_unprocessed() => unprocessed(pass, failure.as_ref()),
        Phase::Scheduling => return scheduling(pass, failure),
        Phase::Failed | Phase::Succeeded => ended(pass),
        Phase::Running => running(pass),
        Phase::Scheduled => scheduled(pass),
        Phase::WaitingForSync => waiting_for_sync(pass),
        // Nobody knows what this phase is about: whoever set it shall go on.
        _ => pass.keep_instance = true,
    }
    failure
}

fn pod_scheduled() -> Kind {
    Kind::from("PodScheduled")
}

fn set(pass: &mut Pass<'_>, phase: Phase) {
    pass.instance.status.phase = phase;
}

fn unprocessed(pass: &mut Pass<'_>, failure: Option<&Failure>) {
    let behind = data_volumes::behind(pass.observed);
    let any = |phase: DataVolumePhase| behind.iter().any(|d| d.status.phase == phase);
    let failed = any(DataVolumePhase::Failed);
    let waits = !failed && any(DataVolumePhase::WaitForFirstConsumer);
    if pass.is_deleted() || failed {
        return set(pass, Phase::Failed);
    }
    if pass.waits_for_source() {
        set(pass, Phase::WaitingForSync);
        return topology::hint(pass);
    }
    set(pass, Phase::Pending);
    topology::hint(pass);
    if waits {
        let conditions = &mut pass.instance.status.conditions;
        if conditions::find(conditions, &Kind::Provisioning).is_none() {
            conditions.push(Condition { type_: Kind::Provisioning, status: "True".to_owned(), ..Condition::default() });
        }
        if let Some(pod) = pass.pod.clone() {
            follow_scheduler(pass, &pod);
            if pods::has_failed(&pod) {
                set(pass, Phase::Failed);
            }
        }
    }
    if let Some(failure) = failure.filter(|f| f.reason == CLAIM_MISSING) {
        let told = Condition {
            type_: pod_scheduled(),
            status: "False".to_owned(),
            reason: "Unschedulable".to_owned(),
            message: failure.message.clone(),
            ..Condition::default()
        };
        conditions::set(&mut pass.instance.status.conditions, told);
    }
}

/// Tells of the scheduler's troubles with the pod as long as it has any.
fn follow_scheduler(pass: &mut Pass<'_>, pod: &k8s_openapi::api::core::v1::Pod) {
    let of_pod = pods::condition(pod, "PodScheduled").filter(|c| c.status == "False");
    let unbound = of_pod.and_then(|c| unbound_claim(pass, c.message.as_deref().unwrap_or_default()));
    let conditions = &mut pass.instance.status.conditions;
    match of_pod {
        None => conditions::remove(conditions, &pod_scheduled()),
        Some(of_pod) => {
            let told = Condition {
                type_: pod_scheduled(),
                status: of_pod.status.clone(),
                reason: of_pod.reason.clone().unwrap_or_default(),
                message: of_pod.message.clone().unwrap_or_default() + &unbound.unwrap_or_default(),
                last_probe_time: of_pod.last_probe_time.clone(),
                last_transition_time: of_pod.last_transition_time.clone(),
            };
            conditions::set(conditions, told);
        }
    }
}

/// The scheduler says that a claim is not bound, but not which one.
fn unbound_claim(pass: &Pass<'_>, scheduler: &str) -> Option<String> {
    let of_claims = ["unbound immediate PersistentVolumeClaims", "persistent volumes to bind"];
    if !of_claims.iter().any(|words| scheduler.contains(words)) {
        return None;
    }
    let (volume, claim) = pass.instance.spec.volumes.iter().find_map(|volume| {
        let claim = pass.observed.claim(volumes::claim_name(volume)?)?;
        let bound = claim.status.as_ref().and_then(|s| s.phase.as_deref()) == Some("Bound");
        (!bound).then_some((&volume.name, claim.metadata.name.as_deref().unwrap_or_default()))
    })?;
    Some(format!("; the claim {claim:?} of the volume {volume:?} is not bound: its events tell why"))
}

/// A guest that cannot go on: one that comes from elsewhere can be sent again.
fn lost(pass: &mut Pass<'_>) {
    let phase = if pass.is_migration_target() { Phase::WaitingForSync } else { Phase::Failed };
    set(pass, phase);
}

fn scheduling(pass: &mut Pass<'_>, failure: Option<Failure>) -> Option<Failure> {
    conditions::remove(&mut pass.instance.status.conditions, &Kind::Provisioning);
    let Some(pod) = pass.launcher().cloned() else {
        lost(pass);
        return failure;
    };
    let quality = pod.status.as_ref().and_then(|s| s.qos_class.clone());
    pass.instance.status.qos_class = quality.clone();
    follow_scheduler(pass, &pod);
    let failure = pods::image_problem(&pod).map(|(reason, message)| Failure::new(reason, message)).or(failure);
    if pods::is_ready(&pod) && !pass.is_deleted() {
        let dedicated = pass.instance.spec.domain.cpu.as_ref().is_some_and(|c| c.dedicated_cpu_placement);
        if dedicated && quality.as_deref() != Some("Guaranteed") {
            let reason = "FailedGuaranteePodResources";
            let message = "the guest's dedicated CPUs need a pod of class Guaranteed: requests and limits must be the same";
            pass.standing.push(Event::warning(reason, message));
            return Some(Failure::new(reason, message));
        }
        hand_over(pass, &pod);
    } else if pods::is_going_down(&pod) {
        lost(pass);
    }
    failure
}

/// The node's handler takes over.
fn hand_over(pass: &mut Pass<'_>, pod: &k8s_openapi::api::core::v1::Pod) {
    volume_status::update(pass, pod);
    network::update(pass, pod);
    set(pass, Phase::Scheduled);
    let node = pods::node_name(pod).to_owned();
    set_label(pass, names::NODE_NAME_LABEL, Some(node.clone()));
    let status = &mut pass.instance.status;
    status.node_name = node;
    if pods::annotation(pod, names::MIGRATION_TRANSPORT_UNIX_ANNOTATION).is_some() {
        status.migration_transport = Transport::Unix;
    }
    if pass.instance.spec.domain.devices.autoattach_vsock == Some(true) && status.vsock_cid.is_none() {
        status.vsock_cid = pass.observed.free_vsock_address;
    }
}

/// Whether the guest of an instance that goes has ended and nobody takes note of how: its machine goes, too, or it never had
/// one. Then the handler does not tell it either.
fn nobody_asks(pass: &Pass<'_>) -> bool {
    let handed_over = matches!(pass.phase(), Phase::Running | Phase::Scheduled);
    handed_over && !pass.observed.owner_exists && pass.launcher().is_some() && !has_pods(pass)
}

/// How the guest has ended, by its pod.
fn outcome(pass: &Pass<'_>) -> Phase {
    if pass.launcher().is_some_and(pods::has_succeeded) { Phase::Succeeded } else { Phase::Failed }
}

/// Whether pods are left to wait for. Those of an instance that goes are of no interest once the guest in them has ended.
fn has_pods(pass: &Pass<'_>) -> bool {
    let ours = pass.observed.pods.iter().filter(|pod| pods::belongs_to(pod, &pass.observed.instance));
    ours.into_iter().any(|pod| !(pass.is_deleted() && pods::has_ended(pod)))
}

fn ended(pass: &mut Pass<'_>) {
    if !has_pods(pass) {
        owner::remove_finalizer(&mut pass.instance.metadata, names::DEPRECATED_VIRTUAL_MACHINE_INSTANCE_FINALIZER);
        owner::remove_finalizer(&mut pass.instance.metadata, names::VIRTUAL_MACHINE_INSTANCE_FINALIZER);
        set_label(pass, names::OUTDATED_LAUNCHER_IMAGE_LABEL, None);
        pass.instance.status.launcher_container_image_version.clear();
    }
    release_without_owner(pass);
}

/// A machine that is gone cannot take note of the end any more.
fn release_without_owner(pass: &mut Pass<'_>) {
    if !pass.observed.owner_exists {
        owner::remove_finalizer(&mut pass.instance.metadata, names::VIRTUAL_MACHINE_CONTROLLER_FINALIZER);
    }
}

fn running(pass: &mut Pass<'_>) {
    let Some(pod) = pass.launcher().cloned() else {
        return set(pass, Phase::Failed);
    };
    let moved_away = pass.instance.status.migration_state.as_ref().is_some_and(|m| m.completed)
        && crate::lifecycle::migrations::is_decentralized(&pass.instance);
    if pods::phase(&pod) == "Succeeded" && moved_away {
        return set(pass, Phase::Succeeded);
    }
    volume_status::update(pass, &pod);
    network::update(pass, &pod);
    live_update::report(pass, &pod);
}

fn migration_failed(pass: &Pass<'_>) -> bool {
    pass.is_migration_target() && pass.instance.status.migration_state.as_ref().is_some_and(|m| m.failed)
}

fn scheduled(pass: &mut Pass<'_>) {
    let pod = pass.launcher().cloned();
    let down = pass.is_migration_target() && pod.as_ref().is_some_and(pods::is_down);
    match pod {
        Some(pod) if !down && !migration_failed(pass) => volume_status::update(pass, &pod),
        _ if pass.is_migration_target() => {
            set(pass, Phase::WaitingForSync);
            if let Some(migration) = &mut pass.instance.status.migration_state {
                migration.failed = true;
                migration.completed = true;
                migration.end_timestamp = Some(Time(pass.now));
            }
        }
        _ => set(pass, Phase::Failed),
    }
}

fn waiting_for_sync(pass: &mut Pass<'_>) {
    if pass.is_deleted() {
        owner::remove_finalizer(&mut pass.instance.metadata, names::DEPRECATED_VIRTUAL_MACHINE_INSTANCE_FINALIZER);
        owner::remove_finalizer(&mut pass.instance.metadata, names::VIRTUAL_MACHINE_INSTANCE_FINALIZER);
        return release_without_owner(pass);
    }
    let down = pass.is_migration_target() && pass.pod.as_ref().is_some_and(pods::is_down);
    if pass.launcher().is_some() && !down && !migration_failed(pass) {
        set(pass, Phase::Scheduling);
    }
}
