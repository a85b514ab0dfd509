//! What the machine tells about itself and its guest.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pass::Pass;
use super::strategy::{first_request_done, is_final};
use super::{generation, live_update, memory_dump, printable, run_strategy, start_failure, tracking, volume_requests};
use crate::api::names;
use crate::api::v1::{
    StateChangeRequestAction as Request, VirtualMachineCondition as Condition, VirtualMachineConditionType as Kind,
    VirtualMachineInstanceConditionType as InstanceKind, VirtualMachineInstancePhase as Phase, VirtualMachineRunStrategy as Strategy,
    VirtualMachineStateChangeRequest as ChangeRequest, VirtualMachineStatus,
};
use crate::lifecycle::action::Failure;
use crate::lifecycle::{conditions, owner};

/// Conditions that the machine does not take over from its instance.
const OWN: [Kind; 3] = [Kind::Ready, Kind::Failure, Kind::RestartRequired];

/// Puts the status of the machine together, and lets an instance go whose end it has noted.
pub(super) fn report(pass: &mut Pass<'_>, failure: Option<&Failure>) {
    generation::report(pass);
    let instance = pass.instance.as_ref();
    let status = &mut pass.machine.status;
    status.created = instance.is_some();
    status.ready = instance.is_some_and(|i| conditions::has(&i.status.conditions, &InstanceKind::Ready, "True"));
    // From the first start on, so that one can tell whether there was one.
    let (before, strategy) = (&pass.observed.machine.status.run_strategy, run_strategy(&pass.observed.machine).unwrap_or_default());
    if !before.is_unset() || status.created {
        let changes = !before.is_unset() && *before != strategy;
        if changes && strategy == Strategy::RerunOnFailure && !status.created && pass.start.is_none() {
            ask_for_start(status);
        }
        status.run_strategy = strategy;
    }
    volume_requests::trim(pass);
    memory_dump::report(pass);
    if first_request_done(&pass.machine, pass.instance.as_ref()) {
        pass.machine.status.state_change_requests.drain(..1);
    }
    start_failure::report(pass);
    live_update::report_migrated_volumes(pass);
    report_conditions(pass, failure);
    pass.machine.status.printable_status = printable::of(pass);
    tracking::report(pass);
    release_instance(pass);
}

/// A machine that is down and changes to running again after failures is started once. If that cannot be now, the change is
/// forgotten with this status: what is still to be done becomes a request.
fn ask_for_start(status: &mut VirtualMachineStatus) {
    if status.state_change_requests.iter().all(|r| r.action != Request::Start) {
        status.state_change_requests.push(ChangeRequest { action: Request::Start, ..ChangeRequest::default() });
    }
}

fn report_conditions(pass: &mut Pass<'_>, failure: Option<&Failure>) {
    let now = Some(Time(pass.now));
    let instance = pass.instance.as_ref();
    let own = &mut pass.machine.status.conditions;
    let not_ready = |reason: &str, message: &str| Condition {
        type_: Kind::Ready,
        status: "False".to_owned(),
        reason: reason.to_owned(),
        message: message.to_owned(),
        last_probe_time: now.clone(),
        last_transition_time: now.clone(),
    };
    let ready = match instance.map(|i| conditions::find(&i.status.conditions, &InstanceKind::Ready)) {
        None => not_ready("VMINotExists", "there is no instance"),
        Some(None) => not_ready("VMIConditionMissing", "the instance does not tell yet whether it is ready"),
        Some(Some(condition)) => taken_over(condition),
    };
    conditions::set(own, ready);
    match failure {
        None => conditions::remove(own, &Kind::Failure),
        Some(failure) => conditions::set(
            own,
            Condition {
                type_: Kind::Failure,
                status: "True".to_owned(),
                reason: failure.reason.to_owned(),
                message: failure.message.clone(),
                last_transition_time: now,
                ..Condition::default()
            },
        ),
    }
    if let Some(instance) = instance {
        let others = instance.status.conditions.iter().map(taken_over).filter(|c| !OWN.contains(&c.type_));
        let others: Vec<_> = others.collect();
        own.retain(|c| OWN.contains(&c.type_) || others.iter().any(|o| o.type_ == c.type_));
        others.into_iter().for_each(|condition| conditions::set(own, condition));
    }
}

fn taken_over(condition: &crate::api::v1::VirtualMachineInstanceCondition) -> Condition {
    Condition {
        type_: Kind::from(condition.type_.as_str()),
        status: condition.status.clone(),
        reason: condition.reason.clone(),
        message: condition.message.clone(),
        last_probe_time: condition.last_probe_time.clone(),
        last_transition_time: condition.last_transition_time.clone(),
    }
}

/// An instance that has run its course is held until its end is noted here. That of a machine that goes is let go along
/// with the last of its pods, by its own controller.
fn release_instance(pass: &mut Pass<'_>) {
    let is_deleted = pass.is_deleted();
    pass.release = pass.instance.as_ref().is_some_and(|instance| {
        if is_deleted && owner::has_finalizer(&instance.metadata, names::VIRTUAL_MACHINE_INSTANCE_FINALIZER) {
            return false;
        }
        let gave_up_waiting = instance.status.phase == Phase::WaitingForSync && instance.metadata.deletion_timestamp.is_some();
        is_final(instance) || gave_up_waiting
    });
}
