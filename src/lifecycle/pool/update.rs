//! Brings machines up to date with the pool's template, and their guests with them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{Action, Pass, change_machine, is_ready, members, name, record, render, scale};
use crate::api::names;
use crate::api::v1::{
    VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceConditionType as Kind, VirtualMachineInstancePhase as Phase,
};
use crate::lifecycle::conditions;
use crate::lifecycle::patch::Patch;

/// When to look again while as many guests are down as may be.
const RETRY_SECONDS: u64 = 3;

/// What it takes to bring a guest up to date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// Nothing.
    None,
    /// Its template has not changed, only the name of the revision.
    Rename,
    /// A restart.
    Restart,
    /// Another machine: its volumes are made of another template.
    Replace,
}

/// Updates machines and their guests. Whether all machines are up to date already.
pub(super) fn update(pass: &Pass<'_>, all: &[VirtualMachine], plan: &mut Vec<Action>) -> bool {
    let strategy = pass.observed.pool.spec.update_strategy.as_ref();
    if strategy.is_some_and(|s| s.unmanaged.is_some()) {
        return true;
    }
    let proactive = strategy.and_then(|s| s.proactive.as_ref());
    let alive = all.iter().filter(|m| m.metadata.deletion_timestamp.is_none());
    let selected = members::select(alive, proactive.and_then(|p| p.selection_policy.as_ref()));
    let (current, outdated): (Vec<_>, Vec<_>) = selected.into_iter().partition(|machine| is_current(pass, machine));
    if !outdated.is_empty() {
        scale::ensure_revision(pass, plan);
    }
    for machine in &outdated {
        // One whose name has no number was not made by this controller, and cannot be made anew.
        let Some(number) = members::number(name(machine)) else { continue };
        let mut updated = VirtualMachine::clone(machine);
        render::bring_up_to_date(pass, &mut updated, number);
        plan.extend(change_machine(machine, &updated));
        plan.push(record("SuccessfulUpdate", format!("updated the machine {:?}", name(machine))));
    }
    if strategy.is_none_or(|s| s.opportunistic.is_none()) {
        update_guests(pass, &current, plan);
    }
    outdated.is_empty()
}

fn revision(meta: &ObjectMeta) -> Option<&str> {
    meta.labels.as_ref()?.get(names::VIRTUAL_MACHINE_POOL_REVISION_NAME).map(String::as_str)
}

/// Whether the machine was made of the template as it is. Its own number in it does not count.
fn is_current(pass: &Pass<'_>, machine: &VirtualMachine) -> bool {
    let made_of = revision(&machine.metadata).and_then(|revision| render::spec_of(pass, revision));
    made_of.is_some_and(|spec| spec.virtual_machine_template == pass.observed.pool.spec.virtual_machine_template)
}

fn step(pass: &Pass<'_>, machine: &VirtualMachine, instance: &VirtualMachineInstance) -> Step {
    let Some(wanted) = revision(&machine.metadata) else {
        return Step::None;
    };
    let Some(started_from) = revision(&instance.metadata) else {
        return Step::Restart;
    };
    if wanted == started_from {
        return Step::None;
    }
    let template = |revision: &str| render::spec_of(pass, revision).and_then(|spec| spec.virtual_machine_template);
    match (template(wanted), template(started_from)) {
        (None, _) => Step::None,
        (Some(_), None) => Step::Restart,
        (Some(new), Some(old)) if new.spec.data_volume_templates != old.spec.data_volume_templates => Step::Replace,
        (Some(new), Some(old)) if new.spec.template != old.spec.template => Step::Restart,
        _ => Step::Rename,
    }
}

/// Guests that are down anyway first, then as many others as may be down at once.
fn update_guests(pass: &Pass<'_>, machines: &[&VirtualMachine], plan: &mut Vec<Action>) {
    let guest = |machine: &VirtualMachine| pass.instance(machine).filter(|i| i.metadata.deletion_timestamp.is_none());
    let outdated = |machine: &VirtualMachine| {
        let instance = guest(machine)?;
        Some((instance, step(pass, machine, instance))).filter(|(_, step)| *step != Step::None)
    };
    for machine in machines.iter().filter(|m| !is_ready(m)) {
        if let Some((instance, step)) = outdated(machine) {
            take(machine, instance, step, plan);
        }
    }
    let down = machines.iter().filter(|m| !guest(m).is_some_and(is_up)).count();
    let mut left = max_unavailable(pass).saturating_sub(down);
    for machine in machines.iter().filter(|m| is_ready(m)) {
        let Some((instance, step)) = outdated(machine) else { continue };
        if step != Step::Rename {
            if left == 0 {
                plan.push(Action::LookAgain { seconds: RETRY_SECONDS });
                return;
            }
            left -= 1;
        }
        take(machine, instance, step, plan);
    }
}

fn is_up(instance: &VirtualMachineInstance) -> bool {
    instance.status.phase == Phase::Running && conditions::has(&instance.status.conditions, &Kind::Ready, "True")
}

/// How many guests may be down at once; one at least.
fn max_unavailable(pass: &Pass<'_>) -> usize {
    let wanted = pass.wanted();
    let most = match &pass.observed.pool.spec.max_unavailable {
        None => wanted,
        Some(IntOrString::Int(number)) => usize::try_from(*number).unwrap_or(0),
        // Admission sees to it that it is a percentage.
        Some(IntOrString::String(text)) => {
            let percent: usize = text.trim_end_matches('%').parse().unwrap_or(100);
            wanted.saturating_mul(percent) / 100
        }
    };
    most.max(1)
}

fn take(machine: &VirtualMachine, instance: &VirtualMachineInstance, step: Step, plan: &mut Vec<Action>) {
    let name = name(machine).to_owned();
    let message = match step {
        Step::None => return,
        Step::Rename => {
            let mut renamed = instance.clone();
            let revision = revision(&machine.metadata).unwrap_or_default().to_owned();
            renamed.metadata.labels.get_or_insert_default().insert(names::VIRTUAL_MACHINE_POOL_REVISION_NAME.to_owned(), revision);
            plan.push(Action::PatchInstance { name: name.clone(), patch: Patch::between(instance, &renamed) });
            format!("the guest of {name:?} is up to date")
        }
        Step::Restart => {
            plan.push(Action::DeleteInstance { name: name.clone(), uid: instance.metadata.uid.clone().unwrap_or_default() });
            format!("restarting the guest of {name:?}, so that it is up to date")
        }
        Step::Replace => {
            let uid = machine.metadata.uid.clone().unwrap_or_default();
            plan.push(Action::DeleteMachine { name: name.clone(), uid, foreground: true });
            format!("deleted the machine {name:?}, whose volumes are out of date")
        }
    };
    plan.push(record("SuccessfulDelete", message));
}

/// Forgets the revisions that no machine and no guest bears.
pub(super) fn forget_revisions(pass: &Pass<'_>, all: &[VirtualMachine], plan: &mut Vec<Action>) {
    let of_machines = all.iter().filter_map(|m| revision(&m.metadata));
    let of_guests = all.iter().filter_map(|m| pass.instance(m)).filter_map(|i| revision(&i.metadata));
    let borne: Vec<_> = of_machines.chain(of_guests).collect();
    for kept in pass.observed.revisions.iter().filter_map(|r| r.metadata.name.as_deref()) {
        if !borne.contains(&kept) {
            plan.push(Action::DeleteRevision { name: kept.to_owned() });
        }
    }
}
