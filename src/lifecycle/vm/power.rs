//! Start and stop, by run strategy.

use k8s_openapi::api::apps::v1::ControllerRevision;

use super::pass::Pass;
use super::strategy::{is_final, start_requested, stop_requested};
use super::{FAILED_CREATE, data_volumes, generation, has_condition, instance, start_failure};
use crate::api::names;
use crate::api::v1::{
    StateChangeRequestAction as Request, VirtualMachineConditionType as Condition, VirtualMachineInstance,
    VirtualMachineInstancePhase as Phase, VirtualMachineRunStrategy as Strategy, VirtualMachineStateChangeRequest as ChangeRequest,
};
use crate::lifecycle::action::{Action, Failure};
use crate::lifecycle::{conditions, migrations};

/// How long to wait for the word of the other cluster that a migration is complete.
const SYNC_PATIENCE: u64 = 2;

/// Does what the run strategy asks for.
pub(super) fn follow(pass: &mut Pass<'_>, strategy: &Strategy) -> Result<(), Failure> {
    match (strategy, pass.instance.clone()) {
        (Strategy::Always, Some(instance)) => keep_running(pass, &instance),
        (Strategy::Always, None) => start_after_back_off(pass),
        (Strategy::RerunOnFailure, Some(instance)) => {
            rerun(pass, &instance);
            Ok(())
        }
        (Strategy::RerunOnFailure, None) => {
            // A machine that had another strategy before is started once.
            let settled = pass.machine.status.run_strategy == Strategy::RerunOnFailure;
            if settled && !start_requested(&pass.machine) { Ok(()) } else { start_after_back_off(pass) }
        }
        (Strategy::Manual, Some(instance)) => {
            if stop_requested(&pass.machine, &instance) {
                stop(pass);
            }
            Ok(())
        }
        (Strategy::Manual, None) if !start_requested(&pass.machine) => Ok(()),
        (Strategy::Halted, Some(_)) => {
            stop(pass);
            Ok(())
        }
        (Strategy::Halted, None) => {
            if start_requested(&pass.machine) {
                // A paused start of a halted machine: from now on it shall run.
                let spec = &mut pass.machine.spec;
                match spec.run_strategy {
                    Some(_) => spec.run_strategy = Some(Strategy::Always),
                    None => spec.running = Some(true),
                }
            }
            Ok(())
        }
        (Strategy::Once, Some(_)) => Ok(()),
        (Strategy::Manual | Strategy::Once | Strategy::WaitAsReceiver, None) => start(pass),
        (Strategy::WaitAsReceiver, Some(instance)) => receive(pass, &instance),
        (Strategy::Other(other), _) => {
            let known = Strategy::VALUES.join(", ");
            Err(Failure::new(FAILED_CREATE, format!("set spec.runStrategy to one of {known}, not {other:?}")))
        }
    }
}

fn keep_running(pass: &mut Pass<'_>, instance: &VirtualMachineInstance) -> Result<(), Failure> {
    if !stop_requested(&pass.machine, instance) && !is_final(instance) {
        return Ok(());
    }
    if migrations::is_decentralized(instance) {
        if instance.status.migration_state.as_ref().is_some_and(|m| m.completed) {
            // The guest lives elsewhere now.
            pass.machine.spec.run_strategy = Some(Strategy::Halted);
            pass.machine.spec.running = None;
        } else {
            pass.look_again = Some(SYNC_PATIENCE);
        }
        return Ok(());
    }
    stop(pass);
    Ok(())
}

fn rerun(pass: &mut Pass<'_>, instance: &VirtualMachineInstance) {
    if instance.metadata.deletion_timestamp.is_some() || !(stop_requested(&pass.machine, instance) || is_final(instance)) {
        return;
    }
    stop(pass);
    let requests = &mut pass.machine.status.state_change_requests;
    // Once the instance is gone nobody knows any more that it had failed.
    if instance.status.phase == Phase::Failed && !requests.iter().any(|r| r.action == Request::Start) {
        requests.push(ChangeRequest { action: Request::Start, ..ChangeRequest::default() });
    }
}

fn receive(pass: &mut Pass<'_>, instance: &VirtualMachineInstance) -> Result<(), Failure> {
    let annotations = instance.metadata.annotations.as_ref();
    if annotations.and_then(|a| a.get(names::CREATE_MIGRATION_TARGET)).is_some_and(|v| v == "true") {
        return Ok(());
    }
    if !instance.status.migration_state.as_ref().is_some_and(|m| m.completed) {
        let message = "the instance is not one that receives a migration; delete it, so that the machine can wait for its guest";
        return Err(Failure::new(FAILED_CREATE, message));
    }
    if let Some(before) = pass.annotation(names::RESTORE_RUN_STRATEGY).map(Strategy::from) {
        pass.machine.spec.run_strategy = Some(before);
    }
    Ok(())
}

/// Stops the guest by deleting its instance.
pub(super) fn stop(pass: &mut Pass<'_>) {
    if pass.instance.as_ref().is_some_and(|i| i.metadata.deletion_timestamp.is_none()) {
        pass.stop = true;
        conditions::remove(&mut pass.machine.status.conditions, &Condition::RestartRequired);
    }
}

fn start_after_back_off(pass: &mut Pass<'_>) -> Result<(), Failure> {
    match start_failure::seconds_left(&pass.machine, pass.now) {
        0 => start(pass),
        seconds => {
            pass.look_again = Some(seconds);
            Ok(())
        }
    }
}

fn start(pass: &mut Pass<'_>) -> Result<(), Failure> {
    if !data_volumes::ready(pass)? || has_condition(&pass.machine, "ManualRecoveryRequired", "True") {
        return Ok(());
    }
    if pass.machine.spec != pass.observed.machine.spec {
        // The guest starts from a spec that is written, so that its generation is the one that it starts from.
        return Ok(());
    }
    conditions::remove(&mut pass.machine.status.conditions, &Condition::RestartRequired);
    let (revision, actions) = keep_revision(pass);
    let instance = instance::render(pass, revision)?;
    pass.actions.extend(actions);
    pass.start = Some(Box::new(instance));
    Ok(())
}

/// Keeps the spec that the guest starts from, and forgets the older ones.
fn keep_revision(pass: &Pass<'_>) -> (String, Vec<Action>) {
    let wanted: ControllerRevision = generation::revision(&pass.machine);
    let name = wanted.metadata.name.clone().unwrap_or_default();
    let (mut kept, mut actions) = (false, Vec::new());
    for revision in generation::start_revisions(pass.observed) {
        if revision.revision == wanted.revision {
            kept = true;
        } else if let Some(name) = revision.metadata.name.clone() {
            actions.push(Action::DeleteRevision { name });
        }
    }
    if !kept {
        actions.push(Action::CreateRevision(Box::new(wanted)));
    }
    (name, actions)
}
