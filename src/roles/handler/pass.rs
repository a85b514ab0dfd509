//! One pass over an instance: observe, plan, apply.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::api::v1::VirtualMachineInstancePhase as Phase;
use kubevirt_rs::api::v1::{VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::guest::order::Volumes;
use kubevirt_rs::guest::status::FaultReason;
use kubevirt_rs::lifecycle::owner;
use kubevirt_rs::lifecycle::patch::Patch;
use kubevirt_rs::node::instance::{Action, Observed, RefusedDump, Start, plan};

use super::guests::{Guest, Guests, Item};
use super::host::Host;
use super::{hotplug, link, prepare, shown};
use crate::cluster::{Cluster, Configuration, Error, Expectations, Queue, Recorder, Store, reference};
use crate::wire::launcher::{ClientError, DumpMemory, Shutdown};

/// How long what was written may take to come back.
const SEEN_AGAIN: Duration = Duration::from_secs(1);
/// How long it takes until a launcher that could not be told something is told it again.
const UNTIL_TOLD: Duration = Duration::from_secs(10);
/// How long it takes until a pod is looked for again that the instance does not name yet.
const UNTIL_POD: Duration = Duration::from_secs(1);

/// One node and what it takes to serve it.
pub(super) struct Node {
    pub(super) name: String,
    pub(super) kubelet: PathBuf,
    pub(super) cluster: Cluster,
    pub(super) configuration: Configuration,
    pub(super) instances: Arc<Store<VirtualMachineInstance>>,
    pub(super) queue: Arc<Queue<Item>>,
    pub(super) guests: Guests,
    pub(super) expectations: Expectations<Item>,
    pub(super) recorder: Recorder,
    pub(super) host: Arc<Host>,
}

impl Node {
    /// The instance, if it is still that one.
    pub(super) fn instance(&self, item: &Item) -> Option<VirtualMachineInstance> {
        self.instances.get(&item.key).filter(|found| found.metadata.uid.as_deref() == Some(&*item.uid))
    }

    /// Makes a pass.
    pub(super) async fn pass(self: &Arc<Self>, item: &Item) {
        if !self.expectations.met(item) {
            return self.queue.add_after(item.clone(), SEEN_AGAIN);
        }
        let mut observed = self.observe(item);
        if let Some(instance) = observed.instance.as_ref().filter(|_| observed.goes()) {
            observed.unread = self.is_unread(instance).await;
        }
        let config = self.configuration.now();
        for action in plan(&observed, &config, now()) {
            if let Err(error) = self.apply(item, &observed, action).await {
                if error.is_conflict() {
                    tracing::debug!(namespace = %item.key.namespace, name = %item.key.name, %error, "decide again");
                } else if !error.is_not_found() {
                    tracing::warn!(namespace = %item.key.namespace, name = %item.key.name, "patch the instance: {error}");
                }
                return self.queue.add_failed(item.clone());
            }
        }
        self.queue.forget(item);
    }

    /// What is known; a launcher that nobody follows yet is followed from here on.
    fn observe(self: &Arc<Self>, item: &Item) -> Observed {
        let instance = self.instance(item);
        if let Some(instance) = instance.as_ref().filter(|i| !is_final(i)) {
            self.follow(item, instance);
        }
        let guests = self.guests.lock();
        let Some(guest) = guests.get(&item.uid) else {
            // an instance that ended before this handler began may have left something behind
            let left = instance.as_ref().and_then(|i| pod_of(i, &self.name)).is_some_and(|pod| shown::are_left(&self.kubelet, pod));
            return Observed { traces: left, instance, ..Observed::default() };
        };
        Observed {
            instance,
            launcher: guest.launcher.clone(),
            start: guest.start.clone(),
            may_retry: guest.may_retry(),
            networks: guest.networks.clone(),
            asked_to_end: guest.asked_to_end,
            traces: true,
            host_model: self.host.has_model(),
            selinux_context: guest.selinux_context.clone(),
            unread: false,
            shown: guest.shown.clone(),
            refused: guest.refused.clone(),
        }
    }

    /// Whether the instance belongs to no machine, or to one that goes, too.
    async fn is_unread(&self, instance: &VirtualMachineInstance) -> bool {
        let Some(machine) = owner::controller(&instance.metadata).filter(|o| o.kind == "VirtualMachine") else {
            return true;
        };
        match self.cluster.get::<VirtualMachine>(instance.metadata.namespace.as_deref(), &machine.name).await {
            Ok(found) => found.metadata.deletion_timestamp.is_some() || found.metadata.uid.as_deref() != Some(&machine.uid),
            Err(error) => error.is_not_found(),
        }
    }

    fn follow(self: &Arc<Self>, item: &Item, instance: &VirtualMachineInstance) {
        let Some(pod) = pod_of(instance, &self.name).map(str::to_owned) else {
            return self.queue.add_after(item.clone(), UNTIL_POD);
        };
        if self.guests.lock().contains_key(&item.uid) {
            return;
        }
        // nothing is shown to a guest that does not run yet; to one that does an earlier handler may have shown something
        let shown = if instance.status.phase == Phase::Running { shown::folders(&self.kubelet, &pod) } else { BTreeSet::new() };
        self.guests.lock().entry(item.uid.clone()).or_insert_with(|| {
            let task = tokio::spawn(link::follow(self.clone(), item.clone(), pod.clone()));
            Guest::new(pod, shown, task.abort_handle())
        });
    }

    async fn apply(self: &Arc<Self>, item: &Item, observed: &Observed, action: Action) -> Result<(), Error> {
        match action {
            Action::Start => {
                let begins = self.guests.change(item, |guest| std::mem::replace(&mut guest.start, Start::Running) != Start::Running);
                if begins == Some(true) {
                    tokio::spawn(prepare::start(self.clone(), item.clone()));
                }
            }
            Action::Tell(volumes) => self.tell(item, &volumes).await,
            Action::Shutdown => self.end(item, observed, false).await,
            Action::Destroy => self.end(item, observed, true).await,
            Action::Show { volume, pod } => {
                if self.guests.change(item, |guest| guest.in_hand.insert(volume.clone())) == Some(true) {
                    tokio::spawn(hotplug::show(self.clone(), item.clone(), volume, pod));
                }
            }
            Action::Hide { volume } => self.hide(item, volume).await,
            Action::DumpMemory { volume, file } => self.dump_memory(item, DumpMemory { volume, file }).await,
            Action::CleanUp => self.clean_up(item, observed).await,
            Action::Patch(patch) => self.patch(item, observed, &patch).await?,
            Action::Record(event) => {
                if let Some(instance) = &observed.instance {
                    self.recorder.record(reference(instance), event.warning, event.reason, &event.message);
                }
            }
            Action::LookAgain { seconds } => self.queue.add_after(item.clone(), Duration::from_secs(seconds)),
        }
        Ok(())
    }

    async fn patch(&self, item: &Item, observed: &Observed, patch: &Patch) -> Result<(), Error> {
        let (namespace, name) = (&*item.key.namespace, &*item.key.name);
        let version = observed.instance.as_ref().and_then(|i| i.metadata.resource_version.as_deref());
        let patch = version.map(|version| patch.locked(version)).unwrap_or_else(|| patch.clone());
        let written: VirtualMachineInstance = self.cluster.patch(Some(namespace), name, &patch).await?;
        self.expectations.expect(item.clone(), self.instances.seen(), written.metadata.resource_version.as_deref());
        Ok(())
    }

    /// Tells the launcher what is known of the volumes of its guest.
    async fn tell(&self, item: &Item, volumes: &Volumes) {
        let Some(line) = self.guests.line(&item.uid) else {
            return self.queue.add_after(item.clone(), SEEN_AGAIN);
        };
        if let Err(error) = line.client.volumes(volumes).await {
            let (namespace, name) = (&item.key.namespace, &item.key.name);
            tracing::warn!(%namespace, %name, "tell what is known of the volumes: {error}");
            self.queue.add_after(item.clone(), UNTIL_TOLD);
        }
    }

    /// Tells the launcher to end its guest.
    async fn end(&self, item: &Item, observed: &Observed, at_once: bool) {
        let Some(line) = self.guests.line(&item.uid) else {
            return self.queue.add_after(item.clone(), SEEN_AGAIN);
        };
        let told = match at_once {
            true => line.client.destroy().await,
            false => line.client.shutdown(&Shutdown::default()).await,
        };
        let (namespace, name) = (&item.key.namespace, &item.key.name);
        match told {
            // one that has ended meanwhile needs not be told
            Ok(()) | Err(ClientError::Unreachable { .. } | ClientError::Broken(_)) => {
                self.guests.change(item, |guest| guest.asked_to_end = true);
                tracing::info!(kind = "VirtualMachineInstance", %namespace, %name, "{}", if at_once { "destroyed" } else { "asked to power off" });
                if let Some(instance) = &observed.instance {
                    let (reason, message) =
                        if at_once { ("Deleted", "the guest is ended") } else { ("ShuttingDown", "the guest was asked to power off") };
                    self.recorder.record(reference(instance), false, reason, message);
                }
            }
            Err(error) => {
                tracing::warn!(%namespace, %name, "end the guest: {error}");
                self.queue.add_after(item.clone(), SEEN_AGAIN);
            }
        }
    }

    /// Takes the folder of a claim out of the launcher's pod.
    async fn hide(&self, item: &Item, volume: String) {
        let Some(pod) = self.guests.change(item, |guest| guest.pod.clone()) else { return };
        let (kubelet, name) = (self.kubelet.clone(), volume.clone());
        let hidden = tokio::task::spawn_blocking(move || hotplug::hide(&kubelet, &pod, &name)).await;
        let (namespace, name) = (&item.key.namespace, &item.key.name);
        match hidden.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
            Ok(()) => {
                self.guests.change(item, |guest| guest.shown.remove(&volume));
                tracing::info!(kind = "VirtualMachineInstance", %namespace, %name, volume, "taken out of the launcher's pod");
                self.queue.add(item.clone());
            }
            Err(error) => {
                tracing::warn!(%namespace, %name, volume, "take the folder of a volume out of the launcher's pod: {error}");
                self.queue.add_after(item.clone(), prepare::AGAIN);
            }
        }
    }

    /// Has the launcher write the guest's memory to a file; it tells itself how that goes.
    async fn dump_memory(&self, item: &Item, to: DumpMemory) {
        let Some(line) = self.guests.line(&item.uid) else {
            return self.queue.add_after(item.clone(), prepare::AGAIN);
        };
        let (namespace, name) = (&item.key.namespace, &item.key.name);
        match line.client.dump_memory(&to).await {
            Ok(()) => tracing::info!(kind = "VirtualMachineInstance", %namespace, %name, file = to.file, "memory dump ordered"),
            Err(ClientError::Refused(fault)) if !matches!(fault.reason, FaultReason::Conflict | FaultReason::NotRunning) => {
                tracing::warn!(%namespace, %name, file = to.file, "dump the guest's memory: {fault}");
                self.guests.change(item, |guest| guest.refused = Some(RefusedDump { file: to.file, why: fault.sentence() }));
                self.queue.add(item.clone());
            }
            Err(error) => {
                tracing::debug!(%namespace, %name, file = to.file, "dump the guest's memory: {error}");
                self.queue.add_after(item.clone(), prepare::AGAIN);
            }
        }
    }

    /// Takes away what lies on the node.
    async fn clean_up(self: &Arc<Self>, item: &Item, observed: &Observed) {
        let known = self.guests.lock().get(&item.uid).map(|guest| guest.pod.clone());
        let pod = known.or_else(|| Some(pod_of(observed.instance.as_ref()?, &self.name)?.to_owned()));
        if let Some(pod) = pod {
            let kubelet = self.kubelet.clone();
            let taken = tokio::task::spawn_blocking(move || shown::take_away(&kubelet, &pod)).await;
            let (namespace, name) = (&item.key.namespace, &item.key.name);
            match taken.unwrap_or_else(|error| Err(std::io::Error::other(error))) {
                Ok(0) => {}
                Ok(count) => tracing::info!(kind = "VirtualMachineInstance", %namespace, %name, count, "mounts taken away"),
                Err(error) => {
                    tracing::warn!(%namespace, %name, "take the mounts of disks away: {error}");
                    return self.queue.add_failed(item.clone());
                }
            }
        }
        self.guests.lock().remove(&item.uid);
    }
}

/// Whether a text is a UID, which becomes part of a path.
pub(super) fn is_uid(uid: &str) -> bool {
    !uid.is_empty() && uid.chars().all(|c| c.is_ascii_alphanumeric() || c == '-')
}

/// The UID of an instance's pod on a node.
pub(super) fn pod_of<'a>(instance: &'a VirtualMachineInstance, node: &str) -> Option<&'a str> {
    instance.status.active_pods.iter().find(|(uid, on)| on.as_str() == node && is_uid(uid)).map(|(uid, _)| uid.as_str())
}

fn is_final(instance: &VirtualMachineInstance) -> bool {
    matches!(instance.status.phase, Phase::Succeeded | Phase::Failed)
}

/// The time as conditions tell it: to the second, as every other controller does.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
