//! As many machines as are wanted: more, fewer, and others for those that do not start.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::SignedDuration;

use super::{Action, FINALIZER, Pass, change_machine, members, name, record, render};
use crate::api::pool::{StatePreservation, VirtualMachinePoolAutohealingStrategy as Healing};
use crate::api::v1::{VirtualMachine, VirtualMachineConditionType as Kind, VirtualMachinePrintableStatus as Status};
use crate::lifecycle::patch::Patch;
use crate::lifecycle::{conditions, owner};

/// So many are made or deleted in one pass at most, so that a big pool does not swamp the cluster.
const BURST: usize = 250;
/// A machine that has failed to start so often is given up.
const FAILURES: u32 = 3;
/// So long a machine must have failed before it is given up.
const FAILING: SignedDuration = SignedDuration::from_mins(5);
/// So often it is looked whether a machine has failed for long enough.
const RECHECK_SECONDS: u64 = 30;

/// Makes or deletes machines. Whether there are as many as wanted already.
pub(super) fn scale(pass: &Pass<'_>, all: &[VirtualMachine], plan: &mut Vec<Action>) -> bool {
    let wanted = pass.wanted();
    if all.len() < wanted {
        make(pass, (wanted - all.len()).min(BURST), plan);
        return false;
    }
    let strategy = pass.observed.pool.spec.scale_in_strategy.as_ref();
    let unmanaged = strategy.is_some_and(|s| s.unmanaged.is_some());
    let opportunistic = strategy.and_then(|s| s.opportunistic.as_ref());
    if !unmanaged {
        // Someone has deleted them: they wait to be let go.
        let keep = opportunistic.and_then(|o| o.state_preservation.as_ref());
        let going = all.iter().filter(|m| m.metadata.deletion_timestamp.is_some() && owner::has_finalizer(&m.metadata, FINALIZER));
        going.for_each(|machine| let_go(pass, machine, keep, plan));
    }
    if all.len() == wanted {
        return true;
    }
    if unmanaged || opportunistic.is_some() {
        return false;
    }
    let alive = all.iter().filter(|m| m.metadata.deletion_timestamp.is_none());
    // Those that go already count.
    let surplus = alive.clone().count().saturating_sub(wanted).min(BURST);
    let proactive = strategy.and_then(|s| s.proactive.as_ref());
    let selected = members::select(alive, proactive.and_then(|p| p.selection_policy.as_ref()));
    for machine in selected.into_iter().take(surplus) {
        delete(pass, machine, proactive.and_then(|p| p.state_preservation.as_ref()), plan);
    }
    false
}

fn make(pass: &Pass<'_>, count: usize, plan: &mut Vec<Action>) {
    ensure_revision(pass, plan);
    let taken = pass.names_taken();
    let pool = pass.observed.pool.metadata.name.as_deref().unwrap_or_default();
    let free = (0..).filter(|number| !taken.contains(format!("{pool}-{number}").as_str()));
    for number in free.take(count) {
        let machine = render::machine(pass, number);
        let message = format!("made the machine {:?}", name(&machine));
        plan.push(Action::CreateMachine(Box::new(machine)));
        plan.push(record("SuccessfulCreate", message));
    }
}

/// The revision comes before the machines that bear its name.
pub(super) fn ensure_revision(pass: &Pass<'_>, plan: &mut Vec<Action>) {
    if render::spec_of(pass, &render::revision_name(pass)).is_none() {
        plan.push(Action::CreateRevision(Box::new(render::revision(pass))));
    }
}

fn delete(pass: &Pass<'_>, machine: &VirtualMachine, keep: Option<&StatePreservation>, plan: &mut Vec<Action>) {
    let message = format!("deleted the machine {:?}", name(machine));
    let uid = machine.metadata.uid.clone().unwrap_or_default();
    let_go(pass, machine, keep, plan);
    plan.push(Action::DeleteMachine { name: name(machine).to_owned(), uid, foreground: false });
    plan.push(record("SuccessfulDelete", message));
}

/// Lets a machine go. If its state is kept, its volumes outlive it and are there for the next one of its number.
fn let_go(pass: &Pass<'_>, machine: &VirtualMachine, keep: Option<&StatePreservation>, plan: &mut Vec<Action>) {
    if keep.is_some_and(|keep| *keep != StatePreservation::Disabled) {
        keep_volumes(pass, machine, plan);
    }
    let mut free = machine.clone();
    owner::remove_finalizer(&mut free.metadata, FINALIZER);
    plan.extend(change_machine(machine, &free));
}

fn keep_volumes(pass: &Pass<'_>, machine: &VirtualMachine, plan: &mut Vec<Action>) {
    let uid = machine.metadata.uid.as_deref().unwrap_or_default();
    let free = |meta: &mut ObjectMeta| {
        let owners = meta.owner_references.take().map(|owners| owners.into_iter().filter(|o| o.uid != uid).collect::<Vec<_>>());
        meta.owner_references = owners.filter(|owners| !owners.is_empty());
    };
    for claim in pass.observed.claims.iter().filter(|c| owner::is_controlled_by(&c.metadata, uid)) {
        let mut freed = claim.clone();
        free(&mut freed.metadata);
        plan.push(Action::PatchClaim { name: claim.metadata.name.clone().unwrap_or_default(), patch: Patch::between(claim, &freed) });
    }
    for data_volume in pass.observed.data_volumes.iter().filter(|d| owner::is_controlled_by(&d.metadata, uid)) {
        let mut freed = data_volume.clone();
        free(&mut freed.metadata);
        let name = data_volume.metadata.name.clone().unwrap_or_default();
        plan.push(Action::PatchDataVolume { name, patch: Patch::between(data_volume, &freed) });
    }
}

/// Lets all machines go: the pool goes, and whether they go with it is for whoever deleted it to say.
pub(super) fn let_all_go(pass: &Pass<'_>, all: &[VirtualMachine], plan: &mut Vec<Action>) {
    all.iter().for_each(|machine| let_go(pass, machine, None, plan));
}

/// Deletes machines that do not come up, so that others take their place.
pub(super) fn heal(pass: &Pass<'_>, all: &[VirtualMachine], plan: &mut Vec<Action>) {
    let Some(healing) = &pass.observed.pool.spec.autohealing else {
        return;
    };
    let strategy = pass.observed.pool.spec.scale_in_strategy.as_ref();
    let keep = strategy.and_then(|s| s.proactive.as_ref()).and_then(|p| p.state_preservation.as_ref());
    for machine in all.iter().filter(|m| m.metadata.deletion_timestamp.is_none()) {
        if has_failed_often(machine, healing) || has_failed_long(pass, machine, healing) {
            delete(pass, machine, keep, plan);
        } else if is_failing(machine) {
            plan.push(Action::LookAgain { seconds: RECHECK_SECONDS });
        }
    }
}

fn has_failed_often(machine: &VirtualMachine, healing: &Healing) -> bool {
    let failures = machine.status.start_failure.as_ref().map_or(0, |f| f.consecutive_fail_count);
    failures >= i64::from(healing.start_up_failure_threshold.unwrap_or(FAILURES))
}

fn is_failing(machine: &VirtualMachine) -> bool {
    matches!(
        machine.status.printable_status,
        Status::CrashLoopBackOff
            | Status::ErrorUnschedulable
            | Status::DataVolumeError
            | Status::ErrorPvcNotFound
            | Status::ErrImagePull
            | Status::ImagePullBackOff
    )
}

fn has_failed_long(pass: &Pass<'_>, machine: &VirtualMachine, healing: &Healing) -> bool {
    let patience = healing.min_failing_to_start_duration.as_ref().map_or(FAILING, |d| SignedDuration::from_nanos(d.nanoseconds()));
    let ready = conditions::find(&machine.status.conditions, &Kind::Ready).filter(|c| c.status == "False");
    let since = ready.and_then(|c| c.last_probe_time.as_ref().or(c.last_transition_time.as_ref()));
    is_failing(machine) && since.is_some_and(|since| pass.now.duration_since(since.0) >= patience)
}
