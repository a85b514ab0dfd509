//! The VirtualMachinePool controller: so many machines of one template, each with a number of its own, made, brought up to
//! date and taken away.
//!
//! The revisions of a pool keep what its spec was. A machine bears the revision that it was made of, its instance the one
//! that it was started from; by comparing the two it is known what an update has to do.

mod members;
mod render;
mod scale;
mod status;
mod update;

use std::collections::BTreeSet;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::action::Event;
use super::owner;
use super::patch::Patch;
use super::vm::has_condition;
use crate::api::cdi::DataVolume;
use crate::api::pool::VirtualMachinePool;
use crate::api::v1::{VirtualMachine, VirtualMachineInstance};

/// The finalizer of a pool and of its machines.
pub const FINALIZER: &str = "pool.kubevirt.io/finalizer";

/// The pool, and what there is in its namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The pool.
    pub pool: VirtualMachinePool,
    /// The machines of the namespace, whoever they belong to.
    pub machines: Vec<VirtualMachine>,
    /// The instances of the pool's machines.
    pub instances: Vec<VirtualMachineInstance>,
    /// The revisions that belong to the pool.
    pub revisions: Vec<ControllerRevision>,
    /// The claims of the machines that may go.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The DataVolumes of the machines that may go.
    pub data_volumes: Vec<DataVolume>,
}

/// One change, or something to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Changes the pool.
    PatchPool(Patch),
    /// Changes the status of the pool.
    PatchStatus(Patch),
    /// Keeps the spec of the pool as it is.
    CreateRevision(Box<ControllerRevision>),
    /// Forgets such a spec.
    DeleteRevision {
        /// Its name.
        name: String,
    },
    /// Makes a machine.
    CreateMachine(Box<VirtualMachine>),
    /// Changes a machine.
    PatchMachine {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Deletes a machine.
    DeleteMachine {
        /// Its name.
        name: String,
        /// Its uid: one that was made meanwhile stays.
        uid: String,
        /// Whether it stays until all that belongs to it is gone.
        foreground: bool,
    },
    /// Changes an instance.
    PatchInstance {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Deletes an instance, so that its machine starts another one.
    DeleteInstance {
        /// Its name.
        name: String,
        /// Its uid.
        uid: String,
    },
    /// Changes a claim.
    PatchClaim {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Changes a DataVolume.
    PatchDataVolume {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Says something to the user.
    Record(Event),
    /// Looks again after that many seconds.
    LookAgain {
        /// The seconds.
        seconds: u64,
    },
}

/// A pool that cannot be worked with. Admission refuses such a one; one that got in is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is nothing to make machines of, or nothing to know them by.
    #[error("set spec.virtualMachineTemplate with a template and spec.selector")]
    Incomplete,
    /// The machines would not belong to the pool.
    #[error("spec.selector must match the labels of spec.virtualMachineTemplate")]
    Selector,
}

/// What is to be done about a pool.
pub fn plan(observed: &Observed, now: Timestamp) -> Result<Vec<Action>, Invalid> {
    let pass = Pass::new(observed, now)?;
    let mut plan = Vec::new();
    let members = members::claim(&pass, &mut plan);
    plan.extend(left_behind(observed.pool.metadata.name.as_deref().unwrap_or_default(), Some(pass.uid()), &observed.machines));
    let paused = observed.pool.spec.paused;
    if pass.is_deleted() {
        scale::let_all_go(&pass, &members, &mut plan);
    } else {
        plan.extend(pass.hold());
        if !paused {
            scale::heal(&pass, &members, &mut plan);
            // One thing at a time: what is made or deleted now is seen in the next pass.
            let stable = !changes_members(&plan) && scale::scale(&pass, &members, &mut plan);
            if stable && update::update(&pass, &members, &mut plan) {
                update::forget_revisions(&pass, &members, &mut plan);
            }
        }
    }
    status::report(&pass, &members, None, &mut plan);
    if pass.is_deleted() {
        plan.extend(pass.release());
    }
    Ok(plan)
}

/// Lets go of the machines of a pool of that name which is gone: it did not know of them when it let its own go. Of a pool
/// that is there, `uid` is its own.
pub fn left_behind(pool: &str, uid: Option<&str>, machines: &[VirtualMachine]) -> Vec<Action> {
    let of_another = |machine: &&VirtualMachine| {
        let owner = owner::controller(&machine.metadata).filter(|o| o.kind == "VirtualMachinePool" && o.name == pool);
        owner.is_some_and(|owner| Some(owner.uid.as_str()) != uid)
    };
    let free = |machine: &VirtualMachine| {
        let mut free = machine.clone();
        owner::remove_finalizer(&mut free.metadata, FINALIZER);
        change_machine(machine, &free)
    };
    machines.iter().filter(of_another).filter_map(free).collect()
}

/// What is told when an action of a plan did not succeed.
pub fn failed(observed: &Observed, now: Timestamp, action: &Action, error: &str) -> Vec<Action> {
    let (reason, doing) = match action {
        Action::CreateMachine(_) | Action::CreateRevision(_) => ("FailedScaleOut", "a machine cannot be made"),
        Action::DeleteMachine { .. } | Action::PatchClaim { .. } | Action::PatchDataVolume { .. } => {
            ("FailedScaleIn", "a machine cannot be taken away")
        }
        Action::PatchMachine { .. } | Action::PatchInstance { .. } | Action::DeleteInstance { .. } => {
            ("FailedUpdate", "a machine cannot be brought up to date")
        }
        Action::DeleteRevision { .. } => ("FailedRevisionPruning", "an old revision cannot be deleted"),
        _ => return Vec::new(),
    };
    let Ok(pass) = Pass::new(observed, now) else {
        return Vec::new();
    };
    let members = members::claim(&pass, &mut Vec::new());
    let mut plan = Vec::new();
    status::report(&pass, &members, Some((reason, format!("{doing}: {error}"))), &mut plan);
    plan
}

fn changes_members(plan: &[Action]) -> bool {
    plan.iter().any(|action| matches!(action, Action::CreateMachine(_) | Action::DeleteMachine { .. }))
}

fn record(reason: &'static str, message: impl Into<String>) -> Action {
    Action::Record(Event { warning: false, reason, message: message.into() })
}

/// What a pass works on.
struct Pass<'a> {
    observed: &'a Observed,
    now: Timestamp,
    selector: &'a k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector,
    template: &'a crate::api::pool::VirtualMachineTemplateSpec,
}

impl<'a> Pass<'a> {
    fn new(observed: &'a Observed, now: Timestamp) -> Result<Self, Invalid> {
        let spec = &observed.pool.spec;
        let (Some(selector), Some(template)) = (&spec.selector, &spec.virtual_machine_template) else {
            return Err(Invalid::Incomplete);
        };
        if template.spec.template.is_none() {
            return Err(Invalid::Incomplete);
        }
        let labels = template.metadata.labels.clone().unwrap_or_default();
        if crate::api::selector::matches(selector, &labels) != Ok(true) {
            return Err(Invalid::Selector);
        }
        Ok(Self { observed, now, selector, template })
    }

    fn is_deleted(&self) -> bool {
        self.observed.pool.metadata.deletion_timestamp.is_some()
    }

    fn uid(&self) -> &str {
        self.observed.pool.metadata.uid.as_deref().unwrap_or_default()
    }

    fn wanted(&self) -> usize {
        usize::try_from(self.observed.pool.spec.replicas.unwrap_or(1)).unwrap_or(0)
    }

    fn instance(&self, machine: &VirtualMachine) -> Option<&'a VirtualMachineInstance> {
        self.observed.instances.iter().find(|i| i.metadata.name == machine.metadata.name)
    }

    /// The pool is held until its machines are let go.
    fn hold(&self) -> Option<Action> {
        let mut held = self.observed.pool.clone();
        owner::add_finalizer(&mut held.metadata, FINALIZER);
        self.change(&held)
    }

    fn release(&self) -> Option<Action> {
        let mut released = self.observed.pool.clone();
        owner::remove_finalizer(&mut released.metadata, FINALIZER);
        self.change(&released)
    }

    fn change(&self, to: &VirtualMachinePool) -> Option<Action> {
        let patch = Patch::between(&self.observed.pool, to);
        (!patch.is_empty()).then_some(Action::PatchPool(patch))
    }

    fn names_taken(&self) -> BTreeSet<&str> {
        self.observed.machines.iter().filter_map(|m| m.metadata.name.as_deref()).collect()
    }
}

fn name(machine: &VirtualMachine) -> &str {
    machine.metadata.name.as_deref().unwrap_or_default()
}

fn is_ready(machine: &VirtualMachine) -> bool {
    has_condition(machine, "Ready", "True")
}

/// What makes one machine of another.
fn change_machine(from: &VirtualMachine, to: &VirtualMachine) -> Option<Action> {
    let patch = Patch::between(from, to);
    let lock = |patch: Patch| match &from.metadata.resource_version {
        Some(version) => patch.locked(version),
        None => patch,
    };
    (!patch.is_empty()).then(|| Action::PatchMachine { name: name(from).to_owned(), patch: lock(patch) })
}

#[cfg(test)]
mod tests;
