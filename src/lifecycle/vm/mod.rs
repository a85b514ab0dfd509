//! The VirtualMachine controller.

use crate::api::v1::{VirtualMachine, VirtualMachineConditionType, VirtualMachineRunStrategy as Strategy};
use crate::lifecycle::conditions;

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

/// Whether the machine has a condition of that type and status.
pub fn has_condition(machine: &VirtualMachine, kind: &str, status: &str) -> bool {
    conditions::has(&machine.status.conditions, &VirtualMachineConditionType::from(kind), status)
}
