//! An instance on this node: from the controller's hand-over, through the guest's life, to its end.
//!
//! ```text
//!   Scheduled ──Start──▶ (launcher: Preparing) ──▶ Running ──guest powers off──▶ Succeeded
//!       │                                            │ └─crash, or destroyed after its grace period──▶ Failed
//!       └── launcher gone ──▶ Failed                 └─ deleted: Shutdown, once; the launcher keeps the time
//! ```
//!
//! The controller brings the instance to `Scheduled`, follows its pod (condition Ready, active pods, the launcher's image)
//! and takes the finalizers away when no pod is left. What happens in the pod is told here.

mod agent;
mod interfaces;
mod memory_dump;
mod migratable;
mod order;
mod phase;
mod report;
mod volumes;

use std::collections::BTreeSet;

use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

pub use order::order;
pub use report::failure_event;

use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase as Phase};
use crate::config::ClusterConfig;
use crate::guest::order::Volumes;
use crate::guest::status::{Fault, FaultReason, Stage, Status};
use crate::lifecycle::action::Event;
use crate::lifecycle::patch::Patch;
use crate::network::Network;

/// What is known of the launcher.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Launcher {
    /// It has not been reached yet.
    #[default]
    Unknown,
    /// It answers.
    Alive(Box<Status>),
    /// It has ended; with the last that it said, if that is known.
    Gone(Option<Box<Status>>),
}

/// How the start of the guest goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Start {
    /// Nobody has tried.
    #[default]
    NotTried,
    /// It is being tried.
    Running,
    /// It has failed, and is tried again later unless it cannot succeed.
    Failed(Fault),
    /// The launcher has taken it.
    Done,
}

/// What a pass is decided by.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The instance; `None` when it is gone.
    pub instance: Option<VirtualMachineInstance>,
    /// Its launcher.
    pub launcher: Launcher,
    /// How its start goes.
    pub start: Start,
    /// Whether a start that failed may be tried again now.
    pub may_retry: bool,
    /// Its networks in the pod, once they have been looked at.
    pub networks: Vec<Network>,
    /// Whether the launcher was asked to end already.
    pub asked_to_end: bool,
    /// Whether something of it may still lie on the node: mounts, an open connection.
    pub traces: bool,
    /// The model of the host's CPU, if guests can have it and keep it when they migrate.
    pub host_model: bool,
    /// The SELinux context of the launcher; `None` where there is no SELinux.
    pub selinux_context: Option<String>,
    /// Whether nobody takes note of how the guest ends: it belongs to no machine, or to one that goes, too.
    pub unread: bool,
    /// The volumes whose folders are shown in the launcher's pod.
    pub shown: BTreeSet<String>,
    /// The dump of memory that the launcher has refused to make.
    pub refused: Option<RefusedDump>,
}

/// A dump of memory that the launcher has refused to make.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RefusedDump {
    /// The file that it should be in.
    pub file: String,
    /// Why it is not.
    pub why: String,
}

impl Observed {
    /// Whether the guest of an instance that is deleted has ended.
    pub fn goes(&self) -> bool {
        let over = |status: &Status| status.stage == Stage::Ended || status.domain.as_ref().is_some_and(phase::is_over);
        let deleted = self.instance.as_ref().is_some_and(|i| i.metadata.deletion_timestamp.is_some());
        deleted
            && match &self.launcher {
                Launcher::Unknown => false,
                Launcher::Alive(status) => over(status),
                Launcher::Gone(_) => true,
            }
    }
}

/// What is done about an instance.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Prepares disks, devices and network, and tells the launcher what to run.
    Start,
    /// Tells the launcher of the guest what is known of its volumes now.
    Tell(Volumes),
    /// Asks the guest to power off; the launcher destroys it when its grace period is over.
    Shutdown,
    /// Ends the guest, and the launcher with it.
    Destroy,
    /// Shows the folder of a claim in the launcher's pod.
    Show {
        /// The name of the volume.
        volume: String,
        /// The UID of the pod that holds it.
        pod: String,
    },
    /// Takes the folder of a claim out of the launcher's pod.
    Hide {
        /// The name of the volume.
        volume: String,
    },
    /// Has the launcher write the guest's memory to a file.
    DumpMemory {
        /// The name of the volume, whose folder is shown.
        volume: String,
        /// The name of the file.
        file: String,
    },
    /// Takes away what lies on the node.
    CleanUp,
    /// Changes the instance.
    Patch(Patch),
    /// Says something to the user.
    Record(Event),
    /// Looks again after that many seconds, although nothing may have changed.
    LookAgain {
        /// The seconds.
        seconds: u64,
    },
}

/// How long it takes until a launcher that was told to end is looked at again.
const UNTIL_ENDED: u64 = 1;

/// What is to be done about an instance.
pub fn plan(observed: &Observed, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    match &observed.instance {
        Some(instance) if !matches!(instance.status.phase, Phase::Succeeded | Phase::Failed) => alive(observed, instance, config, now),
        // one that never answered is none of whom anything is known
        _ => over(observed),
    }
}

/// The instance has ended, or is not there any more: nothing of it shall stay.
fn over(observed: &Observed) -> Vec<Action> {
    match &observed.launcher {
        Launcher::Alive(status) if status.stage != Stage::Ended => {
            let destroy = (!observed.asked_to_end).then_some(Action::Destroy);
            destroy.into_iter().chain([Action::LookAgain { seconds: UNTIL_ENDED }]).collect()
        }
        _ if observed.traces => vec![Action::CleanUp],
        _ => Vec::new(),
    }
}

fn alive(observed: &Observed, instance: &VirtualMachineInstance, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    let mut plan = Vec::new();
    if instance.metadata.deletion_timestamp.is_some() {
        plan.extend(end(observed, instance));
    } else if starts(observed, instance) {
        plan.push(Action::Start);
    } else {
        plan.extend(news(observed, instance).map(Action::Tell));
        plan.extend(memory_dump::steps(observed, instance));
    }
    plan.extend(report::report(observed, instance, config, now));
    plan
}

/// Whether the guest is to be started now.
fn starts(observed: &Observed, instance: &VirtualMachineInstance) -> bool {
    let waits = matches!(&observed.launcher, Launcher::Alive(status) if matches!(status.stage, Stage::Waiting));
    let may = match &observed.start {
        Start::NotTried => true,
        Start::Failed(fault) => observed.may_retry && !is_final(fault),
        Start::Running | Start::Done => false,
    };
    waits && may && instance.status.phase == Phase::Scheduled
}

/// What is known of the volumes, if the launcher of a guest that runs has been told something else.
fn news(observed: &Observed, instance: &VirtualMachineInstance) -> Option<Volumes> {
    let Launcher::Alive(status) = &observed.launcher else { return None };
    let told = status.volumes.as_ref().filter(|_| status.stage == Stage::Started)?;
    Some(order::volumes(instance)).filter(|known| known != told)
}

/// Whether a start that failed like this can never succeed in this pod.
fn is_final(fault: &Fault) -> bool {
    matches!(fault.reason, FaultReason::InvalidInstance | FaultReason::NodeLacks)
}

/// The instance is deleted: its guest ends, with the time that it has for it.
fn end(observed: &Observed, instance: &VirtualMachineInstance) -> Option<Action> {
    let Launcher::Alive(status) = &observed.launcher else { return None };
    if observed.asked_to_end {
        return None;
    }
    let at_once = instance.spec.termination_grace_period_seconds == Some(0);
    match status.stage {
        Stage::Started | Stage::Preparing if !at_once => Some(Action::Shutdown),
        Stage::Started | Stage::Preparing | Stage::Waiting => Some(Action::Destroy),
        Stage::Stopping | Stage::Ended => None,
    }
}

#[cfg(test)]
mod tests;
