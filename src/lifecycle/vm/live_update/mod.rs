//! Changes to a machine whose guest runs: what reaches the guest at once, what takes a migration, and what a restart.

mod annotations;
mod cpu;
mod declarative;
mod interfaces;
mod memory;
mod migrated;
mod placement;
mod restart;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::pass::Pass;
use crate::api::v1::{
    VirtualMachine, VirtualMachineCondition as Condition, VirtualMachineConditionType as Kind, VirtualMachineInstanceSpec as Spec,
    VirtualMachineRunStrategy as Strategy,
};
use crate::lifecycle::action::Failure;
use crate::lifecycle::conditions;

pub(super) use migrated::report as report_migrated_volumes;

/// Brings to the guest what can be brought, before volumes and dumps are seen to.
pub(super) fn before_volumes(pass: &mut Pass<'_>) -> bool {
    let required = restart::compare(pass);
    interfaces::follow(pass);
    required
}

/// Brings to the guest what can be brought, once volumes and dumps are seen to.
pub(super) fn after_volumes(pass: &mut Pass<'_>, restart_required: bool) -> Result<(), Failure> {
    annotations::follow(pass);
    annotations::keep_pci_topology(pass);
    let waits = conditions::find(&pass.machine.status.conditions, &Kind::RestartRequired).is_some();
    if !pass.config.live_update() || restart_required || waits {
        return Ok(());
    }
    cpu::follow(pass)?;
    placement::follow(pass)?;
    memory::follow(pass)?;
    if pass.machine.spec.run_strategy == Some(Strategy::WaitAsReceiver) {
        migrated::receive(pass);
        return Ok(());
    }
    migrated::follow(pass)
}

/// Plugs volumes in and out as the template has them, where the cluster works that way.
pub(super) fn plug_volumes(pass: &mut Pass<'_>) {
    declarative::follow(pass);
}

/// Tells that the guest has to be restarted for a change to count.
fn require_restart(pass: &mut Pass<'_>, why: impl Into<String>) {
    let told = Condition {
        type_: Kind::RestartRequired,
        status: "True".to_owned(),
        message: why.into(),
        last_transition_time: Some(Time(pass.now)),
        ..Condition::default()
    };
    conditions::set(&mut pass.machine.status.conditions, told);
}

/// The spec of a machine's guest, instance type and preference applied.
fn effective_spec(pass: &Pass<'_>, machine: &VirtualMachine) -> Option<Spec> {
    let mut machine = machine.clone();
    super::instancetypes::apply(pass, &mut machine)?;
    machine.spec.template.map(|template| template.spec)
}

/// The spec that the guest should have by now, if there is a guest to have it.
fn wanted(pass: &Pass<'_>) -> Option<Spec> {
    pass.instance.as_ref().filter(|i| i.metadata.deletion_timestamp.is_none())?;
    effective_spec(pass, &pass.machine)
}
