//! What the node's handler is asked to do to a guest, or to tell about it. A table says what each needs.

use super::{Answer, Ask, Case, Reason, Refusal, Success, is_running};
use crate::api::v1::{
    ChangedBlockTrackingState, PauseOptions, UnpauseOptions, VirtualMachineInstance, VirtualMachineInstanceConditionType as Condition,
    VirtualMachineInstancePhase as Phase,
};
use crate::config::Gate;
use crate::lifecycle::conditions;

/// What must hold before the handler is asked.
type Check = fn(&Case<'_>, &VirtualMachineInstance) -> Result<(), Refusal>;

/// A question that the API passes on.
struct Question {
    path: &'static str,
    method: &'static str,
    check: Check,
}

const fn put(path: &'static str, check: Check) -> Question {
    Question { path, method: "PUT", check }
}

const fn get(path: &'static str, check: Check) -> Question {
    Question { path, method: "GET", check }
}

const QUESTIONS: &[Question] = &[
    put("pause", may_pause),
    put("unpause", may_unpause),
    put("freeze", must_run),
    put("unfreeze", must_run),
    put("softreboot", may_soft_reboot),
    put("reset", |_, _| Ok(())),
    put("backup", must_run),
    put("redefine-checkpoint", must_track_changes),
    put("sev/setupsession", may_attest),
    put("sev/injectlaunchsecret", may_attest),
    get("guestosinfo", must_have_agent),
    get("userlist", must_have_agent),
    get("filesystemlist", must_have_agent),
    get("vnc/screenshot", super::stream::has_display),
    get("sev/fetchcertchain", may_fetch_certificates),
    get("sev/querylaunchmeasurement", may_attest),
];

pub(super) fn ask(case: &mut Case<'_>) -> Answer {
    let operation = case.request.operation;
    let question = QUESTIONS.iter().find(|q| q.path == operation).ok_or_else(|| case.unknown())?;
    if operation.starts_with("sev/") && !case.config.enabled(Gate::WorkloadEncryptionSev) {
        return Err(Refusal::bad_request("the feature gate WorkloadEncryptionSEV must be enabled for this"));
    }
    match operation {
        "sev/setupsession" => return super::sev::set_up_session(case),
        "sev/injectlaunchsecret" if case.request.body.is_none() => {
            return Err(Refusal::bad_request("a body with the secret and its header is needed"));
        }
        "unpause" => refuse_in_snapshot(case)?,
        _ => {}
    }
    let dry_run = match operation {
        "pause" => case.options::<PauseOptions>()?.dry_run,
        "unpause" => case.options::<UnpauseOptions>()?.dry_run,
        _ => Vec::new(),
    };
    let allowed = case.instance().and_then(|instance| {
        (question.check)(case, instance)?;
        reachable(instance)
    });
    // KubeVirt's GET requests have one code for everything that goes wrong.
    allowed.map_err(|refusal| if question.method == "GET" { refusal.as_reason(Reason::InternalError) } else { refusal })?;
    if dry_run.first().is_some_and(|d| d == "All") {
        return Ok(Success::Done);
    }
    Ok(Success::Ask(Ask { method: question.method, path: question.path }))
}

/// A handler knows a guest from the time on that its pod has come to the node.
pub(super) fn reachable(instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if matches!(instance.status.phase, Phase::Running | Phase::Scheduled) {
        return Ok(());
    }
    Err(Refusal::bad_request(format!(
        "the guest is on no node: its phase is {:?}, it must be Scheduled or Running",
        instance.status.phase.as_str()
    )))
}

fn must_run(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if is_running(instance) { Ok(()) } else { Err(case.instance_conflict("the guest is not running")) }
}

fn is_paused(instance: &VirtualMachineInstance) -> bool {
    conditions::find(&instance.status.conditions, &Condition::Paused).is_some()
}

fn must_be_paused(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if is_paused(instance) { Ok(()) } else { Err(case.instance_conflict("the guest is not paused")) }
}

fn may_pause(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    must_run(case, instance)?;
    if instance.spec.liveness_probe.as_ref().is_some_and(|probe| probe.guest_agent_ping.is_none()) {
        return Err(Refusal::forbidden(
            super::INSTANCE,
            case.request.name,
            "its livenessProbe would end a paused guest; only a guestAgentPing probe allows a pause",
        ));
    }
    if is_paused(instance) {
        return Err(case.instance_conflict("the guest is paused already"));
    }
    Ok(())
}

/// A snapshot relies on the guest standing still.
fn refuse_in_snapshot(case: &Case<'_>) -> Result<(), Refusal> {
    match &case.observed.machine {
        Some(machine) if machine.status.snapshot_in_progress.is_some() => {
            Err(case.machine_conflict("a snapshot is being taken; the guest goes on when it is done"))
        }
        _ => Ok(()),
    }
}

fn may_unpause(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    must_run(case, instance)?;
    must_be_paused(case, instance)
}

fn may_soft_reboot(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    must_run(case, instance)?;
    if conditions::has(&instance.status.conditions, &Condition::Paused, "True") {
        return Err(case.instance_conflict("the guest is paused"));
    }
    let acpi_off = instance.spec.domain.features.as_ref().is_some_and(|f| f.acpi.enabled == Some(false));
    if acpi_off && conditions::find(&instance.status.conditions, &Condition::AgentConnected).is_none() {
        return Err(case.instance_conflict("the guest has neither a connected agent nor ACPI, by which it could be told to reboot"));
    }
    Ok(())
}

fn must_have_agent(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    must_run(case, instance)?;
    if conditions::find(&instance.status.conditions, &Condition::AgentConnected).is_none() {
        return Err(case.instance_conflict("no guest agent is connected; install and start qemu-guest-agent in the guest"));
    }
    Ok(())
}

fn must_track_changes(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    let state = instance.status.changed_block_tracking.as_ref().map(|t| &t.state);
    if state == Some(&ChangedBlockTrackingState::Enabled) {
        return Ok(());
    }
    Err(case.instance_conflict("changed block tracking is not enabled for the guest"))
}

fn may_fetch_certificates(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    if reachable(instance).is_err() {
        return Err(case.instance_conflict("the guest is on no node yet"));
    }
    super::sev::must_ask_for_attestation(case, instance)
}

fn may_attest(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    must_run(case, instance)?;
    super::sev::must_ask_for_attestation(case, instance)?;
    must_be_paused(case, instance)
}
