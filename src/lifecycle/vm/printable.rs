//! The status in one word. Several words may fit; the table says which goes first.

use super::data_volumes;
use super::pass::Pass;
use super::strategy::{is_final, run_strategy, shall_run};
use crate::api::v1::{
    VirtualMachineInstance, VirtualMachineInstanceCondition, VirtualMachineInstanceConditionType as Condition,
    VirtualMachineInstancePhase as Phase, VirtualMachinePrintableStatus as Status, VirtualMachineRunStrategy as Strategy, Volume,
};
use crate::lifecycle::{conditions, migrations, volumes};

type Fits = fn(&Pass<'_>) -> bool;

const STATUSES: [(Status, Fits); 16] = [
    (Status::Terminating, |pass| pass.is_deleted()),
    (Status::Stopping, |pass| instance(pass).is_some_and(|i| !is_final(i) && (i.metadata.deletion_timestamp.is_some() || pass.stop))),
    (Status::Migrating, |pass| instance(pass).is_some_and(|i| migrations::is_migrating(i, pass.now))),
    (Status::Paused, |pass| instance(pass).is_some_and(|i| i.status.phase == Phase::Running && is_paused(i))),
    (Status::Running, |pass| instance(pass).is_some_and(|i| i.status.phase == Phase::Running)),
    (Status::ErrorPvcNotFound, |pass| not_synchronized(pass, "FailedPvcNotFound")),
    (Status::DataVolumeError, |pass| data_volumes::any_failed(pass.observed, template_volumes(pass))),
    (Status::ErrorUnschedulable, |pass| {
        let kind = Condition::from("PodScheduled");
        conditions::has_reason(instance_conditions(pass), &kind, "False", "Unschedulable")
    }),
    (Status::Provisioning, |pass| data_volumes::any_being_filled(pass.observed, template_volumes(pass))),
    (Status::WaitingForVolumeBinding, |pass| shall_run(&pass.machine, instance(pass)) && any_unbound(pass)),
    (Status::ErrImagePull, |pass| not_synchronized(pass, "ErrImagePull")),
    (Status::ImagePullBackOff, |pass| not_synchronized(pass, "ImagePullBackOff")),
    (Status::Starting, |pass| match instance(pass) {
        None => pass.start.is_some(),
        Some(i) => i.status.phase.is_unset() || matches!(i.status.phase, Phase::Pending | Phase::Scheduling | Phase::Scheduled),
    }),
    (Status::CrashLoopBackOff, |pass| {
        let stands_still = instance(pass).is_none_or(is_final) && pass.start.is_none();
        let restarts = matches!(run_strategy(&pass.machine), Ok(Strategy::Always | Strategy::RerunOnFailure | Strategy::Once));
        stands_still && restarts && pass.machine.status.start_failure.as_ref().is_some_and(|f| f.consecutive_fail_count > 0)
    }),
    (Status::Stopped, |pass| match instance(pass) {
        None => pass.start.is_none(),
        Some(i) => is_final(i),
    }),
    (Status::WaitingForReceiver, |pass| {
        let waits = instance(pass).is_none_or(|i| i.status.phase == Phase::WaitingForSync);
        waits && run_strategy(&pass.machine) == Ok(Strategy::WaitAsReceiver)
    }),
];

/// The status of the machine in one word.
pub(super) fn of(pass: &Pass<'_>) -> Status {
    STATUSES.iter().find(|(_, fits)| fits(pass)).map_or(Status::Unknown, |(status, _)| status.clone())
}

fn instance<'a>(pass: &'a Pass<'_>) -> Option<&'a VirtualMachineInstance> {
    pass.instance.as_ref()
}

fn instance_conditions<'a>(pass: &'a Pass<'_>) -> &'a [VirtualMachineInstanceCondition] {
    instance(pass).map_or(&[], |i| &i.status.conditions)
}

fn is_paused(instance: &VirtualMachineInstance) -> bool {
    conditions::has(&instance.status.conditions, &Condition::Paused, "True")
}

fn not_synchronized(pass: &Pass<'_>, reason: &str) -> bool {
    conditions::has_reason(instance_conditions(pass), &Condition::Synchronized, "False", reason)
}

fn template_volumes<'a>(pass: &'a Pass<'_>) -> &'a [Volume] {
    pass.machine.spec.template.as_ref().map_or(&[], |t| &t.spec.volumes)
}

fn any_unbound(pass: &Pass<'_>) -> bool {
    let claims = template_volumes(pass).iter().filter_map(volumes::claim_name).filter_map(|name| pass.observed.claim(name));
    claims.into_iter().any(|c| c.status.as_ref().and_then(|s| s.phase.as_deref()) != Some("Bound"))
}
