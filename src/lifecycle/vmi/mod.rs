//! The VirtualMachineInstance controller: the launcher pod of a guest, and what the instance tells of it until the node's
//! handler takes over.
//!
//! Up to phase `Scheduling` the instance belongs to this controller, which writes it as a whole. From `Scheduled` to the
//! guest's end the handler writes it, too: then only what differs is patched, and only if it is still what it was.

mod data_volumes;
mod hotplug;
mod launch;
mod live_update;
mod network;
mod observe;
mod pass;
mod phase;
mod pods;
mod status;
mod topology;
mod volume_status;

pub(crate) use live_update::cpu_count;
pub(crate) use network::is_ordinal as is_ordinal_link;
pub use observe::Observed;
pub use pods::{current_pod, is_down, is_going_down, is_ready};

pub(crate) use volume_status::claim_info;

use k8s_openapi::jiff::Timestamp;

use crate::config::ClusterConfig;
use crate::lifecycle::action::{Action, Event, Failure};
use pass::Pass;

/// What is to be done about an instance.
pub fn plan(observed: &Observed, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    let mut pass = Pass::new(observed, config, now);
    let failure = pass.decide().err();
    status::report(&mut pass, failure);
    pass.finish()
}

/// What is told when an action of a plan did not succeed: the plan is not carried on.
pub fn failed(observed: &Observed, config: &ClusterConfig, now: Timestamp, action: &Action, error: &str) -> Vec<Action> {
    let (reason, message, event) = match action {
        Action::CreatePod(_) if error.contains("violates PodSecurity") => {
            let message = format!("the launcher pod needs a namespace whose Pod Security level is privileged: {error}");
            (FAILED_CREATE, message, true)
        }
        Action::CreatePod(_) => (FAILED_CREATE, format!("the launcher pod cannot be made: {error}"), true),
        Action::DeletePod { name, .. } => (FAILED_DELETE, format!("the pod {name:?} cannot be deleted: {error}"), true),
        Action::CreateClaim(_) => {
            ("FailedBackendStorageCreate", format!("the claim for the guest's own state cannot be made: {error}"), false)
        }
        Action::PatchPod { .. } | Action::SetPodCondition { .. } => {
            ("FailedPodPatch", format!("a change of the pod cannot be written: {error}"), false)
        }
        // The instance itself could not be written: so neither could this be.
        _ => return Vec::new(),
    };
    let mut pass = Pass::new(observed, config, now);
    let event = event.then(|| Event::warning(reason, &message));
    status::report(&mut pass, Some(Failure::new(reason, message)));
    event.into_iter().chain(pass.instance_action()).collect()
}

const FAILED_CREATE: &str = "FailedCreate";
const FAILED_DELETE: &str = "FailedDelete";
const CREATED: &str = "SuccessfulCreate";
const DELETED: &str = "SuccessfulDelete";
const CLAIM_MISSING: &str = "FailedPvcNotFound";
const CLAIM_NOT_READY: &str = "PVCNotReady";
