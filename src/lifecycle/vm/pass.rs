//! One pass over a machine: the copies that it works on, and what comes out of it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;

use super::{
    Observed, data_volumes, firmware, generation, instancetypes, live_update, memory_dump, power, quiet, run_strategy, volume_requests,
};
use crate::api::names;
use crate::api::v1::{VirtualMachine, VirtualMachineInstance, VirtualMachineRunStrategy as Strategy, VirtualMachineStatus};
use crate::config::ClusterConfig;
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::owner;
use crate::lifecycle::patch::Patch;

/// The finalizer by which a deletion leaves what belongs to the machine alone.
const ORPHAN: &str = "orphan";

/// What a pass works on.
pub(super) struct Pass<'a> {
    pub(super) observed: &'a Observed,
    pub(super) config: &'a ClusterConfig,
    pub(super) now: Timestamp,
    /// The machine as it shall be.
    pub(super) machine: VirtualMachine,
    /// The instance as it shall be, if it is the machine's own.
    pub(super) instance: Option<VirtualMachineInstance>,
    /// What is made and changed besides the two.
    pub(super) actions: Vec<Action>,
    /// The instance that is made.
    pub(super) start: Option<Box<VirtualMachineInstance>>,
    /// Whether the instance is deleted.
    pub(super) stop: bool,
    /// Whether the instance need not be held any longer.
    pub(super) release: bool,
    /// What is said as long as it is so; only worth an event when something else changes, too.
    pub(super) standing: Vec<Action>,
    /// When to look again.
    pub(super) look_again: Option<u64>,
}

impl<'a> Pass<'a> {
    pub(super) fn new(observed: &'a Observed, config: &'a ClusterConfig, now: Timestamp) -> Self {
        let mut pass = Self {
            observed,
            config,
            now,
            machine: observed.machine.clone(),
            instance: None,
            actions: Vec::new(),
            start: None,
            stop: false,
            release: false,
            standing: Vec::new(),
            look_again: None,
        };
        pass.claim_instance();
        pass
    }

    /// Takes the instance of the machine's name for its own, if it is, or if it belongs to nobody.
    fn claim_instance(&mut self) {
        let Some(instance) = &self.observed.instance else {
            return;
        };
        let uid = self.machine.metadata.uid.as_deref().unwrap_or_default();
        let mut instance = instance.clone();
        match owner::controller(&instance.metadata) {
            Some(controller) if controller.uid == uid => {}
            Some(_) => return,
            None if self.is_deleted() || instance.metadata.deletion_timestamp.is_some() => return,
            None => {
                let reference = owner::reference("kubevirt.io/v1", "VirtualMachine", &self.machine.metadata);
                instance.metadata.owner_references.get_or_insert_default().push(reference);
            }
        }
        self.instance = Some(instance);
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.machine.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn name(&self) -> &str {
        self.machine.metadata.name.as_deref().unwrap_or_default()
    }

    /// Decides everything but the status.
    pub(super) fn decide(&mut self) -> Result<(), Failure> {
        data_volumes::adopt(self);
        if self.is_deleted() {
            if self.instance.is_none() || owner::has_finalizer(&self.machine.metadata, ORPHAN) {
                owner::remove_finalizer(&mut self.machine.metadata, names::VIRTUAL_MACHINE_CONTROLLER_FINALIZER);
            } else {
                power::stop(self);
            }
            return Ok(());
        }
        mark(&mut self.machine.metadata);
        generation::bump(self);
        memory_dump::annotate(self);
        let strategy = run_strategy(&self.machine).map_err(|e| Failure::new(super::FAILED_CREATE, e.to_string()))?;
        if !instancetypes::sync(self)? {
            // What was written is the ground that the next pass stands on.
            return Ok(());
        }
        let immediate = self.annotation(names::IMMEDIATE_DATA_VOLUME_CREATION) != Some("false");
        if immediate && !data_volumes::ready(self)? && strategy != Strategy::Halted {
            return Ok(());
        }
        firmware::complete(&mut self.machine);
        power::follow(self, &strategy)?;
        if self.start.is_some() || self.stop {
            return Ok(());
        }
        let restart_required = live_update::before_volumes(self);
        volume_requests::carry_out(self)?;
        live_update::plug_volumes(self);
        memory_dump::carry_out(self)?;
        live_update::after_volumes(self, restart_required)
    }

    pub(super) fn annotation(&self, key: &str) -> Option<&str> {
        self.machine.metadata.annotations.as_ref()?.get(key).map(String::as_str)
    }

    /// The plan. What the machine says of itself goes first, then what is made, then the guest; the spec follows the guest,
    /// since what the guest has taken over may be forgotten there; the status follows the spec, since what is done may be
    /// forgotten in it; and only when it is noted how a guest ended, its instance may go.
    pub(super) fn finish(mut self) -> Vec<Action> {
        // A machine that nothing holds any more is gone with this write; one that starts has an instance to tell of next.
        let held = |machine: &VirtualMachine| machine.metadata.finalizers.is_some();
        let released = self.is_deleted() && held(&self.observed.machine) && !held(&self.machine);
        let starts = self.start.is_some();
        let before = VirtualMachine { status: VirtualMachineStatus::default(), ..self.observed.machine.clone() };
        let marked = VirtualMachine { metadata: self.machine.metadata.clone(), ..before.clone() };
        let after = VirtualMachine { spec: self.machine.spec.clone(), ..marked.clone() };
        let machine = |from: &VirtualMachine, to: &VirtualMachine| Some(Patch::between(from, to)).filter(|p| !p.is_empty());
        let acts = self.start.is_some() || self.stop || self.release || self.actions.iter().any(Action::writes);
        if !acts && self.instance == self.observed.instance && before.spec != after.spec {
            // Nothing comes in between, so one write will do; and the next pass, which that leads to, tells the status.
            let mut plan = Vec::from_iter(machine(&before, &after).map(Action::PatchMachine));
            plan.append(&mut self.actions);
            plan.append(&mut self.standing);
            plan.extend(self.look_again.map(|seconds| Action::LookAgain { seconds }));
            return plan;
        }
        let mut plan = Vec::from_iter(machine(&before, &marked).map(Action::PatchMachine));
        plan.append(&mut self.actions);
        if let Some(instance) = self.start.take() {
            let message = format!("started by making the instance {:?}", self.name());
            plan.push(Action::CreateInstance(instance));
            plan.push(Event::normal("SuccessfulCreate", message));
        }
        plan.extend(self.observed.instance.as_ref().zip(self.instance.as_ref()).and_then(|(old, new)| change_instance(old, new)));
        plan.extend(machine(&marked, &after).map(Action::PatchMachine));
        let status = self.finish_status();
        let told_later = status.as_ref().and_then(|_| quiet::wait(&self));
        plan.extend(status.filter(|_| !released && !starts && told_later.is_none()));
        self.look_again = self.look_again.into_iter().chain(told_later).min();
        if let (true, Some(instance)) = (self.release, &self.instance) {
            let mut released = instance.clone();
            owner::remove_finalizer(&mut released.metadata, names::VIRTUAL_MACHINE_CONTROLLER_FINALIZER);
            plan.extend(change_instance(instance, &released));
        }
        if let (true, Some(observed)) = (self.stop, &self.observed.instance) {
            let uid = observed.metadata.uid.clone().unwrap_or_default();
            let message = format!("stopped by deleting the instance {uid}");
            plan.push(Action::DeleteInstance { uid });
            plan.push(Event::normal("SuccessfulDelete", message));
        }
        if plan.iter().any(Action::writes) {
            plan.append(&mut self.standing);
        }
        plan.extend(self.look_again.map(|seconds| Action::LookAgain { seconds }));
        plan
    }

    /// The status alone.
    pub(super) fn finish_status(&self) -> Option<Action> {
        Patch::of_status(&self.observed.machine.status, &self.machine.status).map(Action::PatchMachineStatus)
    }
}

/// Marks a machine as one that this controller looks after: it does not go before its guest.
pub fn mark(meta: &mut ObjectMeta) {
    owner::note_seen(meta);
    owner::add_finalizer(meta, names::VIRTUAL_MACHINE_CONTROLLER_FINALIZER);
}

fn change_instance(from: &VirtualMachineInstance, to: &VirtualMachineInstance) -> Option<Action> {
    let patch = Patch::between(from, to);
    (!patch.is_empty()).then_some(Action::PatchInstance(patch))
}
