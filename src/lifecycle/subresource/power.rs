//! Start, stop and restart: a change of the run strategy where the strategy says what shall be, a request to the
//! controller where it does not.

use std::collections::BTreeMap;

use super::{Answer, Case, Patch, Race, Refusal, Success, Target, is_final};
use crate::api::v1::{
    RestartOptions, StartOptions, StateChangeRequestAction as Action, StopOptions, VirtualMachine, VirtualMachineInstance,
    VirtualMachineInstancePhase as Phase, VirtualMachineRunStrategy as Strategy, VirtualMachineStateChangeRequest as ChangeRequest,
    VirtualMachineStatus,
};
use crate::lifecycle::vm::{has_condition, run_strategy};

/// The key by which a start request asks for a paused guest.
const PAUSED: &str = "paused";
/// The shortest grace period by which a guest is stopped for a forced restart.
const SHORTEST_GRACE: i64 = 1;
const GRACE_PATH: &str = "/spec/terminationGracePeriodSeconds";
const NEEDS_RECOVERY: &str =
    "a volume migration failed and some volumes point to incomplete copies; put the original volumes back into the template";

pub(super) fn start(case: &mut Case<'_>) -> Answer {
    let machine = case.machine()?;
    let instance = case.observed.instance.as_ref();
    if instance.is_some_and(|i| !is_final(i) && i.status.phase != Phase::Unknown && !i.status.phase.is_unset()) {
        return Err(case.machine_conflict("it is already running"));
    }
    if has_condition(machine, "ManualRecoveryRequired", "True") {
        return Err(case.machine_conflict(NEEDS_RECOVERY));
    }
    let options: StartOptions = case.options()?;
    let data = if options.paused { BTreeMap::from([(PAUSED.to_owned(), "true".to_owned())]) } else { BTreeMap::new() };
    let request = ChangeRequest { action: Action::Start, data, uid: None };
    match strategy(machine)? {
        Strategy::Halted if options.paused => {
            let patch = ask_controller(machine, vec![request])?;
            case.patch(Target::MachineStatus, patch, &options.dry_run, Race::Conflict);
        }
        Strategy::Halted => set_running(case, machine, true, &options.dry_run),
        strategy @ (Strategy::RerunOnFailure | Strategy::Manual) => {
            let requests = match instance {
                Some(i) if strategy == Strategy::RerunOnFailure && i.status.phase == Phase::Failed => {
                    return Err(case.machine_conflict("with run strategy RerunOnFailure a failed guest is started again by itself"));
                }
                Some(i) if is_final(i) => vec![stop_request(i), request],
                _ => vec![request],
            };
            let patch = ask_controller(machine, requests)?;
            case.patch(Target::MachineStatus, patch, &options.dry_run, Race::Conflict);
        }
        strategy @ (Strategy::Always | Strategy::Once) => {
            return Err(case.machine_conflict(format_args!("with run strategy {strategy} it is started by itself")));
        }
        // A receiver is started by the migration that it waits for.
        _ => {}
    }
    Ok(Success::Accepted)
}

pub(super) fn stop(case: &mut Case<'_>) -> Answer {
    let options: StopOptions = case.options()?;
    let machine = case.machine()?;
    let strategy = strategy(machine)?;
    let live = case.observed.instance.as_ref().filter(|i| !is_final(i));
    if let (Some(instance), Some(grace)) = (live, options.grace_period) {
        set_grace_period(case, instance, grace, &options.dry_run);
    }
    match strategy {
        Strategy::Halted | Strategy::RerunOnFailure | Strategy::Manual => {
            let instance = live.ok_or_else(|| case.machine_conflict("it is not running"))?;
            // A halted machine is on its way down already: only a shorter wait is news.
            let shorter = match (options.grace_period, instance.spec.termination_grace_period_seconds) {
                (None, _) => false,
                (Some(_), None) => true,
                (Some(asked), Some(set)) => asked < set,
            };
            if strategy == Strategy::Halted && !shorter {
                return Err(case.machine_conflict("it is being stopped already; only a shorter gracePeriod can be asked for"));
            }
            let patch = ask_controller(machine, vec![stop_request(instance)])?;
            case.patch(Target::MachineStatus, patch, &options.dry_run, Race::Conflict);
        }
        Strategy::Always | Strategy::Once => set_running(case, machine, false, &options.dry_run),
        _ => {}
    }
    Ok(Success::Accepted)
}

pub(super) fn restart(case: &mut Case<'_>) -> Answer {
    let options: RestartOptions = case.options()?;
    if options.grace_period_seconds.is_some_and(|seconds| seconds != 0) {
        return Err(Refusal::bad_request("gracePeriodSeconds must be 0 (a forced restart) or left out"));
    }
    let machine = case.machine()?;
    if has_condition(machine, "VolumesChange", "True") {
        return Err(case.machine_conflict(NEEDS_RECOVERY));
    }
    let strategy = strategy(machine)?;
    if matches!(strategy, Strategy::Halted | Strategy::Once) {
        return Err(case.machine_conflict(format_args!("with run strategy {strategy} it cannot be restarted")));
    }
    let Some(instance) = case.observed.instance.as_ref() else {
        return Err(case.machine_conflict("it is not running"));
    };
    if options.grace_period_seconds == Some(0) {
        // First the guest's grace period: whoever deletes the pod then, the guest goes down at once.
        set_grace_period(case, instance, SHORTEST_GRACE, &options.dry_run);
    }
    let again = ChangeRequest { action: Action::Start, ..ChangeRequest::default() };
    let patch = ask_controller(machine, vec![stop_request(instance), again])?;
    case.patch(Target::MachineStatus, patch, &options.dry_run, Race::Conflict);
    Ok(Success::Accepted)
}

fn strategy(machine: &VirtualMachine) -> Result<Strategy, Refusal> {
    run_strategy(machine).map_err(Refusal::internal)
}

fn stop_request(instance: &VirtualMachineInstance) -> ChangeRequest {
    ChangeRequest { action: Action::Stop, data: BTreeMap::new(), uid: instance.metadata.uid.clone() }
}

/// Puts requests on the status. A stop outdoes what was asked for before; anything else waits for its turn.
fn ask_controller(machine: &VirtualMachine, requests: Vec<ChangeRequest>) -> Result<Patch, Refusal> {
    const PATH: &str = "/status/stateChangeRequests";
    let status = &machine.status;
    let patch = if *status == VirtualMachineStatus::default() {
        // There may be no status at all to add to.
        Patch::default().add("/status", VirtualMachineStatus { state_change_requests: requests, ..VirtualMachineStatus::default() })
    } else if status.state_change_requests.is_empty() {
        Patch::default().test(PATH, ()).add(PATH, requests)
    } else if matches!(requests.as_slice(), [only] if only.action == Action::Stop) {
        Patch::default().test(PATH, &status.state_change_requests).replace(PATH, requests)
    } else {
        return Err(Refusal::internal("a start or stop is underway; wait for it to end"));
    };
    Ok(if status.start_failure.is_some() { patch.remove("/status/startFailure") } else { patch })
}

fn set_running(case: &mut Case<'_>, machine: &VirtualMachine, running: bool, dry_run: &[String]) {
    let patch = match &machine.spec.run_strategy {
        Some(strategy) => {
            let wanted = if running { Strategy::Always } else { Strategy::Halted };
            Patch::default().test("/spec/runStrategy", strategy).replace("/spec/runStrategy", wanted)
        }
        None => Patch::default().test("/spec/running", machine.spec.running).replace("/spec/running", running),
    };
    case.patch(Target::Machine, patch, dry_run, Race::Conflict);
}

fn set_grace_period(case: &mut Case<'_>, instance: &VirtualMachineInstance, seconds: i64, dry_run: &[String]) {
    let patch = Patch::default().test(GRACE_PATH, instance.spec.termination_grace_period_seconds).replace(GRACE_PATH, seconds);
    case.patch(Target::Instance, patch, dry_run, Race::Internal);
}
