//! The phase of an instance, by what its guest does.

use super::{Launcher, Observed, Start, is_final};
use crate::api::v1::{MigrationMode, VirtualMachineInstance, VirtualMachineInstancePhase as Phase};
use crate::guest::status::{Domain, Fault, FaultReason, Stage, State, StateReason, Status};

/// The phase that follows.
pub(super) fn phase(observed: &Observed, instance: &VirtualMachineInstance) -> Phase {
    let now = &instance.status.phase;
    if let Start::Failed(fault) = &observed.start
        && is_final(fault)
    {
        return Phase::Failed;
    }
    match &observed.launcher {
        Launcher::Unknown => now.clone(),
        Launcher::Alive(status) => match &status.domain {
            Some(domain) => of_domain(domain, instance).unwrap_or_else(|| now.clone()),
            None if status.stage == Stage::Ended => Phase::Failed,
            // a launcher that knows of no guest is not the one that ran it
            None if *now == Phase::Running => Phase::Failed,
            None => now.clone(),
        },
        Launcher::Gone(last) => match last.as_ref().and_then(|last| last.domain.as_ref()) {
            // it went together with its guest
            Some(domain) if is_over(domain) => of_domain(domain, instance).unwrap_or(Phase::Failed),
            _ => Phase::Failed,
        },
    }
}

/// Whether a domain runs no more.
pub(super) fn is_over(domain: &Domain) -> bool {
    matches!(domain.state, State::Shutoff | State::Crashed)
}

fn of_domain(domain: &Domain, instance: &VirtualMachineInstance) -> Option<Phase> {
    match (domain.state, domain.reason) {
        (State::Shutoff | State::Crashed, reason) => match reason {
            StateReason::Shutdown | StateReason::Saved | StateReason::FromSnapshot => Some(Phase::Succeeded),
            StateReason::Migrated => None,
            StateReason::Destroyed => Some(destroyed(instance)),
            _ => Some(Phase::Failed),
        },
        (State::Paused, StateReason::PostcopyFailed) => Some(Phase::Failed),
        (State::Paused | State::Running | State::Blocked | State::PmSuspended, _) => Some(Phase::Running),
        (State::NoState | State::ShuttingDown | State::Unknown, _) => None,
    }
}

/// A guest that could have powered off, and was destroyed because it did not, has failed; one that was to be destroyed,
/// or has no power button, has not.
fn destroyed(instance: &VirtualMachineInstance) -> Phase {
    let has_time = instance.spec.termination_grace_period_seconds != Some(0);
    let has_button = instance.spec.domain.features.as_ref().is_none_or(|features| features.acpi.enabled != Some(false));
    let migration = instance.status.migration_state.as_ref();
    let torn = migration.is_some_and(|m| m.failed && m.mode == MigrationMode::PostCopy);
    if has_time && has_button || torn { Phase::Failed } else { Phase::Succeeded }
}

/// Why the guest is not what it should be, if so.
pub(super) fn fault(observed: &Observed, phase: &Phase) -> Option<Fault> {
    if let Start::Failed(fault) = &observed.start {
        return Some(fault.clone());
    }
    let told = match &observed.launcher {
        Launcher::Unknown => None,
        Launcher::Alive(status) | Launcher::Gone(Some(status)) => with_last_words(status),
        Launcher::Gone(None) => None,
    };
    match (told, phase, &observed.launcher) {
        (Some(fault), Phase::Failed | Phase::Scheduled, _) => Some(fault),
        (None, Phase::Failed, Launcher::Alive(status) | Launcher::Gone(Some(status))) => of_end(status),
        (None, Phase::Failed, Launcher::Gone(None)) => {
            let message = "the launcher has ended without telling what became of the guest; see the pod's container statuses and log";
            Some(Fault { reason: FaultReason::Failed, message: message.to_owned(), field: None })
        }
        _ => None,
    }
}

/// Why a guest has ended, by how its domain did.
fn of_end(status: &Status) -> Option<Fault> {
    let (reason, message) = match status.domain.as_ref().map(|domain| (domain.state, domain.reason)) {
        Some((_, StateReason::Panicked)) => (FaultReason::Failed, "the guest's kernel has panicked"),
        // when its time was over, or because somebody wanted it: that is no fault of anybody's
        Some((_, StateReason::Destroyed)) => return None,
        Some((State::Shutoff | State::Crashed, _)) => (FaultReason::QemuFailed, "QEMU has ended though the guest had not powered off"),
        Some(_) => (FaultReason::Failed, "the launcher has ended while the guest was running"),
        None => (FaultReason::Failed, "the launcher has ended before the guest was started"),
    };
    Some(with_words(Fault { reason, message: message.to_owned(), field: None }, status))
}

fn with_last_words(status: &Status) -> Option<Fault> {
    status.fault.clone().map(|fault| with_words(fault, status))
}

fn with_words(mut fault: Fault, status: &Status) -> Fault {
    let words = status.last_words.trim();
    if !words.is_empty() && !fault.message.contains(words) {
        fault.message = format!("{}; QEMU's last words: {words}", fault.message);
    }
    fault
}
