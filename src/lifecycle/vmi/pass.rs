//! One pass over an instance: the copy that it works on, and what comes out of it.

use k8s_openapi::api::core::v1::{Pod, PodCondition};
use k8s_openapi::jiff::Timestamp;

use super::{DELETED, Observed, data_volumes, hotplug, launch, pods, quiet};
use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase as Phase};
use crate::config::ClusterConfig;
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::patch::Patch;
use crate::lifecycle::{owner, patience};

/// What a pass works on.
pub(super) struct Pass<'a> {
    pub(super) observed: &'a Observed,
    pub(super) config: &'a ClusterConfig,
    pub(super) now: Timestamp,
    /// The instance as it shall be.
    pub(super) instance: VirtualMachineInstance,
    /// The pod that the guest is in, as it shall be.
    pub(super) pod: Option<Pod>,
    /// What the pod is told in its status.
    pub(super) pod_condition: Option<PodCondition>,
    /// What is made and changed besides the instance.
    pub(super) actions: Vec<Action>,
    /// What is said as long as it is so; only worth an event when something changes.
    pub(super) standing: Vec<Action>,
    /// When to look again.
    pub(super) look_again: Option<u64>,
    /// Whether the instance is left as it is.
    pub(super) keep_instance: bool,
}

impl<'a> Pass<'a> {
    pub(super) fn new(observed: &'a Observed, config: &'a ClusterConfig, now: Timestamp) -> Self {
        Self {
            observed,
            config,
            now,
            instance: observed.instance.clone(),
            pod: pods::current_pod(&observed.instance, &observed.pods).cloned(),
            pod_condition: None,
            actions: Vec::new(),
            standing: Vec::new(),
            look_again: None,
            keep_instance: false,
        }
    }

    /// The phase at the beginning of the pass: what is decided hangs on it, not on the one that comes out.
    pub(super) fn phase(&self) -> &'a Phase {
        &self.observed.instance.status.phase
    }

    pub(super) fn is_deleted(&self) -> bool {
        self.instance.metadata.deletion_timestamp.is_some()
    }

    pub(super) fn is_final(&self) -> bool {
        matches!(self.phase(), Phase::Failed | Phase::Succeeded)
    }

    /// Whether the guest has not been given a pod yet.
    pub(super) fn is_unprocessed(&self) -> bool {
        self.phase().is_unset() || *self.phase() == Phase::Pending
    }

    /// Whether the node's handler writes the instance, too.
    fn is_handed_over(&self) -> bool {
        matches!(self.phase(), Phase::Running | Phase::Scheduled)
    }

    /// Whether the guest comes from another cluster, and is not expected on a node yet.
    pub(super) fn waits_for_source(&self) -> bool {
        let labels = self.instance.metadata.labels.as_ref();
        self.is_migration_target() && !labels.is_some_and(|l| l.contains_key(names::MIGRATION_TARGET_NODE_NAME_LABEL))
    }

    pub(super) fn is_migration_target(&self) -> bool {
        let annotations = self.instance.metadata.annotations.as_ref();
        annotations.and_then(|a| a.get(names::CREATE_MIGRATION_TARGET)).is_some_and(|v| v == "true")
    }

    /// The launcher pod of the guest, not one that only binds volumes.
    pub(super) fn launcher(&self) -> Option<&Pod> {
        self.pod.as_ref().filter(|pod| !pods::is_temporary(pod))
    }

    /// Decides everything but the status.
    pub(super) fn decide(&mut self) -> Result<(), Failure> {
        owner::note_seen(&mut self.instance.metadata);
        if self.is_deleted() {
            self.delete_pods();
            return Ok(());
        }
        if self.is_final() {
            hotplug::detach_all(self);
            return Ok(());
        }
        hotplug::drop_orphans(self);
        let (ready, waits_for_consumer) = data_volumes::ready(self)?;
        if self.waits_for_source() {
            return Ok(());
        }
        if self.pod.is_none() {
            return launch::launch(self, ready, waits_for_consumer);
        }
        if !waits_for_consumer {
            launch::clean_up(self);
        }
        launch::follow(self)
    }

    /// The pods go with the instance. While the node's handler ends the guest, they need not be told; and those that have
    /// run their course go by themselves once the instance is gone, since it owns them.
    fn delete_pods(&mut self) {
        let observed = self.observed;
        let since = self.instance.metadata.deletion_timestamp.as_ref().filter(|_| self.is_handed_over() || self.is_final());
        if let Some(seconds) = since.and_then(|since| patience::left(since.0, self.now, patience::GOING)) {
            self.look_again = Some(seconds);
            return;
        }
        for pod in observed.pods.iter().filter(|pod| pods::belongs_to(pod, &observed.instance)) {
            self.delete_pod(pod, None, "virtual machine pod");
        }
    }

    /// Deletes a pod, unless it is going already.
    pub(super) fn delete_pod(&mut self, pod: &Pod, grace_seconds: Option<i64>, what: &str) {
        if pod.metadata.deletion_timestamp.is_none() {
            let name = pods::name(pod).to_owned();
            let message = format!("deleted the {what} {name:?}");
            self.actions.push(Action::DeletePod { name, grace_seconds });
            self.actions.push(Event::normal(DELETED, message));
        }
    }

    /// The plan.
    pub(super) fn finish(mut self) -> Vec<Action> {
        let mut plan = std::mem::take(&mut self.actions);
        let instance = match quiet::wait(&self) {
            quiet::Wait::No => self.instance_action(),
            quiet::Wait::Seconds(seconds) => {
                self.look_again = Some(self.look_again.unwrap_or(seconds).min(seconds));
                None
            }
        };
        if instance.is_some() || plan.iter().any(Action::writes) {
            plan.append(&mut self.standing);
        }
        plan.extend(instance);
        plan.extend(self.look_again.map(|seconds| Action::LookAgain { seconds }));
        plan
    }

    /// What is written of the instance, if it changes.
    pub(super) fn instance_action(&self) -> Option<Action> {
        if self.keep_instance || self.instance == self.observed.instance {
            return None;
        }
        if self.is_handed_over() {
            return Some(Action::PatchInstance(Patch::between(&self.observed.instance, &self.instance)));
        }
        Some(Action::UpdateInstance(Box::new(self.instance.clone())))
    }
}
