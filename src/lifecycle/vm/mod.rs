//! The VirtualMachine controller: whether the guest shall run, what it starts from, and what the machine tells about it.
//!
//! A pass derives everything from what is there. [`plan`] works on copies of the machine and of its instance; what is
//! different at the end becomes a patch, so a settled state gives no action.

mod data_volumes;
mod firmware;
mod generation;
mod instance;
mod instancetypes;
mod live_update;
mod memory_dump;
mod observe;
mod pass;
mod power;
mod printable;
mod quiet;
mod start_failure;
mod status;
mod strategy;
mod tracking;
mod volume_requests;

pub use data_volumes::service_account;
pub use firmware::legacy_uuid;
pub use observe::Observed;
pub use pass::mark;
pub use strategy::{AmbiguousStrategy, is_final, run_strategy};

use k8s_openapi::jiff::Timestamp;

use crate::api::v1::{VirtualMachine, VirtualMachineConditionType};
use crate::config::ClusterConfig;
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::conditions;
use pass::Pass;

/// What is to be done about a machine.
pub fn plan(observed: &Observed, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    let mut pass = Pass::new(observed, config, now);
    let failure = pass.decide().err();
    status::report(&mut pass, failure.as_ref());
    pass.finish()
}

/// What is told when an action of a plan did not succeed: the plan is not carried on.
pub fn failed(observed: &Observed, config: &ClusterConfig, now: Timestamp, action: &Action, error: &str) -> Vec<Action> {
    let (failure, event) = match action {
        Action::CreateInstance(_) => {
            let message = format!("the instance cannot be made: {error}");
            (Failure::new(FAILED_CREATE, &message), Some(Event::warning(FAILED_CREATE, message)))
        }
        Action::DeleteInstance { .. } => {
            let message = format!("the instance cannot be deleted: {error}");
            (Failure::new(FAILED_DELETE, &message), Some(Event::warning(FAILED_DELETE, message)))
        }
        Action::CreateDataVolume(data_volume) => {
            let name = data_volume.metadata.name.as_deref().unwrap_or_default();
            let message = format!("the DataVolume {name:?} cannot be made: {error}");
            (Failure::new(FAILED_CREATE, &message), Some(Event::warning("FailedDataVolumeCreate", message)))
        }
        Action::CreateRevision(_) | Action::DeleteRevision { .. } => {
            (Failure::new(FAILED_CREATE, format!("the spec that the machine starts from cannot be kept: {error}")), None)
        }
        _ => (Failure::new("FailedUpdateError", format!("a change cannot be written: {error}")), None),
    };
    let mut pass = Pass::new(observed, config, now);
    status::report(&mut pass, Some(&failure));
    event.into_iter().chain(pass.finish_status()).collect()
}

/// The reason of events and conditions about an instance that was not made.
const FAILED_CREATE: &str = "FailedCreate";
/// The reason of events and conditions about an instance that was not deleted.
const FAILED_DELETE: &str = "FailedDelete";

/// Whether the machine has a condition of that type and status.
pub fn has_condition(machine: &VirtualMachine, kind: &str, status: &str) -> bool {
    conditions::has(&machine.status.conditions, &VirtualMachineConditionType::from(kind), status)
}
