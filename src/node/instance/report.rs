//! What the instance tells, all in one patch.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::{Action, Launcher, Observed, agent, interfaces, memory_dump, migratable, phase, volumes};
use crate::api::Quantity;
use crate::api::v1::{
    Machine, VirtualMachineInstance, VirtualMachineInstanceCondition as Condition, VirtualMachineInstanceConditionType as Kind,
    VirtualMachineInstancePhase as Phase, VirtualMachineInstancePhaseTransitionTimestamp as Transition,
};
use crate::config::ClusterConfig;
use crate::guest::status::{Domain, Fault, Stage, State, StateReason, Status};
use crate::lifecycle::action::Event;
use crate::lifecycle::patch::Patch;
use crate::lifecycle::vmi::ALL_BUT_THE_GUEST;
use crate::lifecycle::{conditions, patience};

/// Events and the patch that follow from what is observed.
pub(super) fn report(observed: &Observed, instance: &VirtualMachineInstance, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    let mut told = instance.clone();
    let mut events = Vec::new();
    told.status.phase = phase::phase(observed, instance);
    let status = match &observed.launcher {
        Launcher::Unknown | Launcher::Gone(None) => None,
        Launcher::Alive(status) | Launcher::Gone(Some(status)) => Some(status.as_ref()),
    };
    // a guest that goes loses one thing after the other; only that it is gone is worth a word
    let stays = status.filter(|status| !matches!(status.stage, Stage::Stopping | Stage::Ended));
    if let Some((status, domain)) = stays.and_then(|status| Some((status, status.domain.as_ref()?))) {
        agent::tell(&mut told, status.agent.as_ref(), now);
        events.extend(agent::tell_credentials(&mut told, status.credentials.as_ref(), now));
        tell_domain(&mut told, observed, status, domain, now);
        if told.status.phase == Phase::Running {
            events.extend(memory_dump::tell(&mut told, observed, status, now));
        }
        if matches!(told.status.phase, Phase::Running | Phase::Scheduled) {
            events.extend(migratable::tell(&mut told, config, observed.host_model));
        }
    }
    let fault = phase::fault(observed, &told.status.phase);
    tell_fault(&mut told, fault.as_ref(), now);
    let moved = told.status.phase != instance.status.phase;
    if moved && let Some(seconds) = need_not_tell(observed, &told, now) {
        return vec![Action::LookAgain { seconds }];
    }
    if moved && told.status.phase == Phase::Running {
        tell_ready(&mut told, now);
    }
    if moved {
        if told.status.phase == Phase::Failed
            && let Some(fault) = &fault
        {
            fault.reason.as_str().clone_into(&mut told.status.reason);
        }
        note_transition(&mut told, now);
    }
    let patch = Patch::between(instance, &told);
    let mut plan: Vec<_> = (!patch.is_empty()).then_some(Action::Patch(patch)).into_iter().collect();
    if moved {
        plan.extend(phase_event(&told.status.phase, fault.as_ref()).map(Action::Record));
    }
    plan.extend(events.into_iter().map(Action::Record));
    plan
}

/// For how long the end of a guest needs no word, since nobody is there to take note of it: its instance is about to go.
fn need_not_tell(observed: &Observed, told: &VirtualMachineInstance, now: Timestamp) -> Option<u64> {
    let deleted = told.metadata.deletion_timestamp.as_ref().filter(|_| observed.unread)?;
    let ended = matches!(told.status.phase, Phase::Succeeded | Phase::Failed);
    patience::left(deleted.0, now, patience::GOING).filter(|_| ended)
}

/// The guest runs; if nothing but that was missing, it is ready.
fn tell_ready(told: &mut VirtualMachineInstance, now: Timestamp) {
    let paused = conditions::has(&told.status.conditions, &Kind::Paused, "True");
    let ready = told.status.conditions.iter_mut().find(|c| c.type_ == Kind::Ready);
    if let Some(ready) = ready.filter(|c| !paused && c.message == ALL_BUT_THE_GUEST) {
        *ready = Condition { type_: Kind::Ready, status: "True".to_owned(), last_transition_time: Some(Time(now)), ..Condition::default() };
    }
}

/// What is said when the guest could not be started.
pub fn failure_event(fault: &Fault) -> Event {
    Event { warning: true, reason: "SyncFailed", message: fault.sentence() }
}

fn phase_event(phase: &Phase, fault: Option<&Fault>) -> Option<Event> {
    let said = |warning, reason, message: String| Some(Event { warning, reason, message });
    match phase {
        Phase::Running => said(false, "Started", "the guest was started".to_owned()),
        Phase::Succeeded => said(false, "Stopped", "the guest has powered off".to_owned()),
        Phase::Failed => {
            let why = fault.map_or_else(|| "it did not power off within its grace period".to_owned(), Fault::sentence);
            said(true, "Stopped", format!("the guest has failed: {why}"))
        }
        _ => None,
    }
}

fn tell_domain(told: &mut VirtualMachineInstance, observed: &Observed, status: &Status, domain: &Domain, now: Timestamp) {
    if !phase::is_over(domain) {
        told.status.interfaces = interfaces::statuses(told, &domain.interfaces, &observed.networks, status.agent.as_ref());
        volumes::tell(&mut told.status.volume_status, &domain.disks);
    }
    if !domain.machine.is_empty() {
        told.status.machine = Some(Machine { type_: domain.machine.clone() });
    }
    if domain.memory > 0 {
        told.status.memory.get_or_insert_default().guest_current = Some(Quantity::from_bytes(domain.memory.into()));
    }
    told.status.selinux_context = observed.selinux_context.clone().unwrap_or_else(|| "none".to_owned());
    tell_paused(told, domain, now);
}

fn tell_paused(told: &mut VirtualMachineInstance, domain: &Domain, now: Timestamp) {
    let conditions = &mut told.status.conditions;
    if domain.state != State::Paused {
        return conditions::remove(conditions, &Kind::Paused);
    }
    let (reason, message) = match domain.reason {
        StateReason::User => ("PausedByUser", "the guest was paused by a user"),
        StateReason::IoError => ("PausedIOError", "the guest was paused since a disk failed"),
        // QEMU's own doing, which ends by itself
        _ => return,
    };
    if conditions::find(conditions, &Kind::Paused).is_none() {
        let (reason, message, now) = (reason.to_owned(), message.to_owned(), Some(Time(now)));
        let (last_probe_time, last_transition_time) = (now.clone(), now);
        conditions.push(Condition {
            type_: Kind::Paused,
            status: "True".to_owned(),
            last_probe_time,
            last_transition_time,
            reason,
            message,
        });
    }
}

fn tell_fault(told: &mut VirtualMachineInstance, fault: Option<&Fault>, now: Timestamp) {
    let conditions = &mut told.status.conditions;
    let Some(fault) = fault else {
        return conditions::remove(conditions, &Kind::Synchronized);
    };
    let condition = Condition {
        type_: Kind::Synchronized,
        status: "False".to_owned(),
        reason: fault.reason.as_str().to_owned(),
        message: fault.sentence(),
        last_transition_time: Some(Time(now)),
        ..Condition::default()
    };
    conditions::set(conditions, condition);
}

fn note_transition(told: &mut VirtualMachineInstance, now: Timestamp) {
    let phase = told.status.phase.clone();
    let times = &mut told.status.phase_transition_timestamps;
    if times.iter().all(|t| t.phase != phase) {
        times.push(Transition { phase, phase_transition_timestamp: Some(Time(now)) });
    }
}
