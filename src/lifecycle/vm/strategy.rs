//! When a machine shall run, as its spec says it, and what was asked of it meanwhile.

use crate::api::v1::{
    StateChangeRequestAction as Action, VirtualMachine, VirtualMachineInstance, VirtualMachineInstancePhase as Phase,
    VirtualMachineRunStrategy as Strategy, VirtualMachineStateChangeRequest as ChangeRequest,
};

/// A machine that says twice, by `running` and by `runStrategy`, when it shall run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("set only one of spec.running and spec.runStrategy")]
pub struct AmbiguousStrategy;

/// When a machine shall run.
pub fn run_strategy(machine: &VirtualMachine) -> Result<Strategy, AmbiguousStrategy> {
    match (machine.spec.running, &machine.spec.run_strategy) {
        (Some(_), Some(_)) => Err(AmbiguousStrategy),
        (Some(true), None) => Ok(Strategy::Always),
        (None, Some(strategy)) => Ok(strategy.clone()),
        (Some(false) | None, None) => Ok(Strategy::Halted),
    }
}

/// The request that counts: each waits until the one before it is done.
pub(super) fn first_request(machine: &VirtualMachine) -> Option<&ChangeRequest> {
    machine.status.state_change_requests.first()
}

/// Whether a start was asked for.
pub(super) fn start_requested(machine: &VirtualMachine) -> bool {
    first_request(machine).is_some_and(|r| r.action == Action::Start)
}

/// Whether a paused start was asked for.
pub(super) fn paused_start_requested(machine: &VirtualMachine) -> bool {
    first_request(machine).is_some_and(|r| r.action == Action::Start && r.data.get("paused").is_some_and(|p| p == "true"))
}

/// Whether this very instance shall stop.
pub(super) fn stop_requested(machine: &VirtualMachine, instance: &VirtualMachineInstance) -> bool {
    first_request(machine).is_some_and(|r| r.action == Action::Stop && r.uid.is_some() && r.uid == instance.metadata.uid)
}

/// Whether the first request is done, or can never be.
pub(super) fn first_request_done(machine: &VirtualMachine, instance: Option<&VirtualMachineInstance>) -> bool {
    let Some(request) = first_request(machine) else {
        return false;
    };
    match (&request.action, instance) {
        // The instance that should stop is gone, or was never said.
        (Action::Stop, instance) => instance.is_none_or(|i| request.uid.is_none() || request.uid != i.metadata.uid),
        (Action::Start, Some(instance)) => instance.metadata.deletion_timestamp.is_none() && !is_final(instance),
        _ => false,
    }
}

/// Whether the machine is meant to run now.
pub(super) fn shall_run(machine: &VirtualMachine, instance: Option<&VirtualMachineInstance>) -> bool {
    match (run_strategy(machine), instance) {
        (Ok(Strategy::Always), _) => true,
        (Ok(Strategy::Manual), Some(instance)) => !stop_requested(machine, instance),
        (Ok(Strategy::Manual), None) => start_requested(machine),
        (Ok(Strategy::RerunOnFailure), instance) => instance.is_none_or(|i| i.status.phase != Phase::Succeeded),
        (Ok(Strategy::Once), instance) => instance.is_none(),
        _ => false,
    }
}

/// Whether the guest has run its course.
pub fn is_final(instance: &VirtualMachineInstance) -> bool {
    matches!(instance.status.phase, Phase::Failed | Phase::Succeeded)
}
