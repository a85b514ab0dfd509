//! Carries plans out: one `match` for each controller. The first action that fails ends the plan.

use std::sync::{Mutex, PoisonError};

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::names;
use kubevirt_rs::api::pool::VirtualMachinePool;
use kubevirt_rs::api::v1::{VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceReplicaSet};
use kubevirt_rs::lifecycle::action::Action;
use kubevirt_rs::lifecycle::patch::Patch;
use kubevirt_rs::lifecycle::{node, owner, pool, replicaset, vmi};
use kubevirt_rs::pod::{Claim, Context, Purpose, attachment};
use serde_json::json;

use super::Controller;
use super::item::Item;
use super::settings::Effective;
use super::validate::{self, Asker};
use crate::cluster::{Deletion, Error, Key, Object, Store};

/// Around whom a plan is carried out.
pub(super) struct Scene<'a> {
    /// The object of the pass.
    pub(super) item: &'a Item,
    /// Its key.
    pub(super) key: &'a Key,
    /// What the events are about.
    pub(super) about: k8s_openapi::api::core::v1::ObjectReference,
    /// The configuration that the pass began with.
    pub(super) effective: &'a Effective,
    /// Around the instance, if the pass is about one.
    pub(super) instance: Option<&'a vmi::Observed>,
    /// The versions that the pass has decided by, or has written since.
    pub(super) versions: Versions,
}

/// The resource versions of the objects of a pass. A change that someone else makes in between makes ours fail.
#[derive(Default)]
pub(super) struct Versions {
    object: Mutex<Option<String>>,
    instance: Mutex<Option<String>>,
}

impl Versions {
    /// The versions of the object of the pass, and of the instance of a machine.
    pub(super) fn of(object: &ObjectMeta, instance: Option<&ObjectMeta>) -> Self {
        let versions = Self::default();
        note(&versions.object, object);
        instance.into_iter().for_each(|meta| note(&versions.instance, meta));
        versions
    }
}

fn note(version: &Mutex<Option<String>>, meta: &ObjectMeta) {
    version.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&meta.resource_version);
}

/// The patch for the version that was decided by.
fn locked(patch: &Patch, version: &Mutex<Option<String>>) -> Patch {
    match version.lock().unwrap_or_else(PoisonError::into_inner).as_deref() {
        Some(version) => patch.locked(version),
        None => patch.clone(),
    }
}

impl Controller {
    /// The next pass of the item waits until this write is seen.
    fn expect<K: Object>(&self, item: &Item, store: &Store<K>, written: &K) {
        self.expectations.expect(item.clone(), store.seen(), written.meta().resource_version.as_deref());
    }

    /// Deletes an object. The next pass of the item waits until it is seen that it goes.
    async fn delete<K: Object>(
        &self,
        item: &Item,
        store: &Store<K>,
        namespace: &str,
        name: &str,
        deletion: &Deletion,
    ) -> Result<(), Error> {
        let version = self.cluster.delete::<K>(Some(namespace), name, deletion).await?;
        self.expectations.expect(item.clone(), store.seen(), version.as_deref());
        Ok(())
    }

    /// Carries out an action of the machine's or the instance's controller.
    pub(super) async fn apply(&self, scene: &Scene<'_>, action: &Action) -> Result<(), Error> {
        let Scene { item, key, .. } = *scene;
        let (namespace, name, stores) = (Some(&*key.namespace), &*key.name, &self.stores);
        match action {
            Action::PatchMachine(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch::<VirtualMachine>(namespace, name, &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &stores.machines, &written);
            }
            Action::PatchMachineStatus(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch_subresource::<VirtualMachine>(namespace, name, "status", &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &stores.machines, &written);
            }
            Action::CreateInstance(instance) => {
                let written = self.create_instance(scene, instance).await?;
                self.expect(item, &stores.instances, &written);
            }
            Action::PatchInstance(patch) => {
                let version = if matches!(item, Item::Machine(_)) { &scene.versions.instance } else { &scene.versions.object };
                let patch = locked(patch, version);
                let written = self.cluster.patch::<VirtualMachineInstance>(namespace, name, &patch).await?;
                note(version, &written.metadata);
                self.expect(item, &stores.instances, &written);
            }
            Action::UpdateInstance(instance) => {
                let written = self.cluster.replace::<VirtualMachineInstance>(instance).await?;
                self.expect(item, &stores.instances, &written);
            }
            Action::DeleteInstance { uid } => {
                self.delete(item, &stores.instances, &key.namespace, name, &Deletion::of(Some(uid))).await?;
            }
            Action::CreateDataVolume(made) => {
                let written = self.cluster.create::<DataVolume>(made).await?;
                self.expect(item, &stores.data_volumes, &written);
            }
            Action::PatchDataVolume { name, patch } => {
                let written = self.cluster.patch::<DataVolume>(namespace, name, patch).await?;
                self.expect(item, &stores.data_volumes, &written);
            }
            Action::CreateRevision(made) => self.keep_revision(item, made).await?,
            Action::DeleteRevision { name } => {
                self.cluster.delete::<ControllerRevision>(namespace, name, &Deletion::default()).await?;
            }
            Action::CreateClaim(made) => {
                let written = self.cluster.create::<PersistentVolumeClaim>(made).await?;
                self.expect(item, &stores.claims, &written);
            }
            Action::PatchClaim { name, patch } => {
                let written = self.cluster.patch::<PersistentVolumeClaim>(namespace, name, patch).await?;
                self.expect(item, &stores.claims, &written);
            }
            Action::CreatePod(made) => {
                let written = self.create_pod(scene, made).await?;
                self.expect(item, &stores.pods, &written);
            }
            Action::CreateAttachmentPod { launcher, volumes, populate } => {
                let pod = attachment_pod(scene, launcher, volumes, *populate)?;
                let written = self.cluster.create::<Pod>(&pod).await?;
                self.expect(item, &stores.pods, &written);
            }
            Action::PatchPod { name, patch } => {
                let written = self.cluster.patch::<Pod>(namespace, name, patch).await?;
                self.expect(item, &stores.pods, &written);
            }
            Action::PatchPodStatus { name, patch } => {
                let written = self.cluster.patch_subresource::<Pod>(namespace, name, "status", patch).await?;
                self.expect(item, &stores.pods, &written);
            }
            Action::DeletePod { name, grace_seconds } => {
                let deletion = Deletion { grace_seconds: *grace_seconds, ..Deletion::default() };
                self.delete(item, &stores.pods, &key.namespace, name, &deletion).await?;
            }
            Action::Record(event) => self.tell(&scene.about, event),
            Action::LookAgain { seconds } => self.queue.add_after(item.clone(), std::time::Duration::from_secs(*seconds)),
        }
        Ok(())
    }

    /// Makes an instance, defaulted and judged.
    async fn create_instance(&self, scene: &Scene<'_>, wanted: &VirtualMachineInstance) -> Result<VirtualMachineInstance, Error> {
        let presets = self.stores.presets.in_namespace(&scene.key.namespace);
        let asker = Asker { namespace: &self.installed.namespace, seed: (self.outside.chance)(), now: (self.outside.now)() };
        let judged = validate::instance(wanted, &presets, &scene.effective.config, &asker).map_err(Error::Refused)?;
        match self.cluster.create(&judged).await {
            // It was made, but nobody said so; or the watch is late.
            Err(Error::AlreadyExists(message)) if !self.stores.instances.contains(scene.key) => Err(Error::Conflict(message)),
            made => made,
        }
    }

    /// Keeps a revision. Its name says what it keeps, so one that is there already will do; but if it is not seen yet, the
    /// pass was decided by what is no longer so.
    async fn keep_revision(&self, item: &Item, made: &ControllerRevision) -> Result<(), Error> {
        match self.cluster.create::<ControllerRevision>(made).await {
            Ok(written) => self.expect(item, &self.stores.revisions, &written),
            Err(Error::AlreadyExists(message)) if !self.stores.revisions.contains(&Key::of(&made.metadata)) => {
                return Err(Error::Conflict(message));
            }
            Err(Error::AlreadyExists(_)) => {}
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// Makes a pod. One that was made before, when the answer was lost, is as good.
    async fn create_pod(&self, scene: &Scene<'_>, made: &Pod) -> Result<Pod, Error> {
        let error = match self.cluster.create::<Pod>(made).await {
            Err(error @ Error::AlreadyExists(_)) => error,
            done => return done,
        };
        let name = made.metadata.name.as_deref().unwrap_or_default();
        let there = self.cluster.get::<Pod>(Some(&scene.key.namespace), name).await?;
        let ours = owner::controller(&made.metadata).map(|o| o.uid.as_str());
        if ours.is_some_and(|uid| owner::is_controlled_by(&there.metadata, uid)) { Ok(there) } else { Err(error) }
    }

    /// Carries out an action of a set's controller.
    pub(super) async fn apply_to_set(&self, scene: &Scene<'_>, action: &replicaset::Action) -> Result<(), Error> {
        use replicaset::Action;
        let Scene { item, key, .. } = *scene;
        let (namespace, name) = (Some(&*key.namespace), &*key.name);
        match action {
            Action::PatchSet(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch::<VirtualMachineInstanceReplicaSet>(namespace, name, &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &self.stores.sets, &written);
            }
            Action::PatchStatus(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch_subresource::<VirtualMachineInstanceReplicaSet>(namespace, name, "status", &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &self.stores.sets, &written);
            }
            Action::PatchInstance { name, patch } => {
                let written = self.cluster.patch::<VirtualMachineInstance>(namespace, name, patch).await?;
                self.expect(item, &self.stores.instances, &written);
            }
            Action::Create(instance) => {
                let written = self.create_instance(scene, instance).await?;
                self.expect(item, &self.stores.instances, &written);
            }
            Action::Delete { name, uid } => {
                self.delete(item, &self.stores.instances, &key.namespace, name, &Deletion::of(Some(uid))).await?;
            }
            Action::Record(event) => self.tell(&scene.about, event),
        }
        Ok(())
    }

    /// Carries out an action of a pool's controller.
    pub(super) async fn apply_to_pool(&self, scene: &Scene<'_>, action: &pool::Action) -> Result<(), Error> {
        use pool::Action;
        let Scene { item, key, .. } = *scene;
        let (namespace, name, stores) = (Some(&*key.namespace), &*key.name, &self.stores);
        match action {
            Action::PatchPool(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch::<VirtualMachinePool>(namespace, name, &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &stores.pools, &written);
            }
            Action::PatchStatus(patch) => {
                let patch = locked(patch, &scene.versions.object);
                let written = self.cluster.patch_subresource::<VirtualMachinePool>(namespace, name, "status", &patch).await?;
                note(&scene.versions.object, &written.metadata);
                self.expect(item, &stores.pools, &written);
            }
            Action::CreateRevision(made) => self.keep_revision(item, made).await?,
            Action::DeleteRevision { name } => {
                self.cluster.delete::<ControllerRevision>(namespace, name, &Deletion::default()).await?;
            }
            Action::CreateMachine(machine) => {
                let written = self.cluster.create::<VirtualMachine>(machine).await?;
                self.expect(item, &stores.machines, &written);
            }
            Action::PatchMachine { name, patch } => {
                let written = self.cluster.patch::<VirtualMachine>(namespace, name, patch).await?;
                self.expect(item, &stores.machines, &written);
            }
            Action::DeleteMachine { name, uid, foreground } => {
                let propagation = foreground.then_some("Foreground");
                let deletion = Deletion { propagation, ..Deletion::of(Some(uid)) };
                self.delete(item, &stores.machines, &key.namespace, name, &deletion).await?;
            }
            Action::PatchInstance { name, patch } => {
                let written = self.cluster.patch::<VirtualMachineInstance>(namespace, name, patch).await?;
                self.expect(item, &stores.instances, &written);
            }
            Action::DeleteInstance { name, uid } => {
                self.delete(item, &stores.instances, &key.namespace, name, &Deletion::of(Some(uid))).await?;
            }
            Action::PatchClaim { name, patch } => {
                let written = self.cluster.patch::<PersistentVolumeClaim>(namespace, name, patch).await?;
                self.expect(item, &stores.claims, &written);
            }
            Action::PatchDataVolume { name, patch } => {
                let written = self.cluster.patch::<DataVolume>(namespace, name, patch).await?;
                self.expect(item, &stores.data_volumes, &written);
            }
            Action::Record(event) => self.tell(&scene.about, event),
            Action::LookAgain { seconds } => self.queue.add_after(item.clone(), std::time::Duration::from_secs(*seconds)),
        }
        Ok(())
    }

    /// Carries out an action of the controller of nodes.
    pub(super) async fn apply_to_node(&self, scene: &Scene<'_>, action: &node::Action) -> Result<(), Error> {
        use node::Action;
        match action {
            Action::MarkUnschedulable => {
                let patch = json!({"metadata": {"labels": {names::NODE_SCHEDULABLE: "false"}}});
                let written = self.cluster.merge::<Node>(None, &scene.key.name, None, &patch).await?;
                self.expect(scene.item, &self.stores.nodes, &written);
            }
            Action::FailInstance { namespace, name, patch } => {
                let written = self.cluster.patch::<VirtualMachineInstance>(Some(namespace), name, patch).await?;
                self.expect(scene.item, &self.stores.instances, &written);
            }
            Action::RecordAboutInstance { namespace, name, event } => {
                if let Some(instance) = self.stores.instances.get(&Key::new(namespace, name)) {
                    self.tell(&crate::cluster::reference(&instance), event);
                }
            }
            Action::Record(event) => self.tell(&scene.about, event),
            Action::LookAgain { seconds } => {
                self.queue.add_after(scene.item.clone(), std::time::Duration::from_secs(*seconds));
            }
        }
        Ok(())
    }
}

/// The pod that holds volumes for a guest that runs.
fn attachment_pod(scene: &Scene<'_>, launcher: &str, names: &[String], populate: bool) -> Result<Pod, Error> {
    let missing = |what: &str| Error::NotFound(format!("{what} of the attachment pod"));
    let observed = scene.instance.ok_or_else(|| missing("the instance"))?;
    let launcher = observed.pods.iter().find(|p| p.metadata.name.as_deref() == Some(launcher)).ok_or_else(|| missing("the launcher"))?;
    let claims = observed.claims.iter().map(|c| (c.metadata.name.clone().unwrap_or_default(), Claim::from(c))).collect();
    let context = Context { claims, ..observed.context.clone() };
    let (instance, config) = (&observed.instance, &scene.effective.config);
    let volumes: Vec<_> = instance.spec.volumes.iter().filter(|v| names.contains(&v.name)).collect();
    let pod = if populate {
        let volume = volumes.first().ok_or_else(|| missing("the volume"))?;
        let claim = kubevirt_rs::lifecycle::volumes::claim_name(volume).unwrap_or_default();
        attachment::trigger(volume, claim, launcher, instance, config, &Context { purpose: Purpose::Run, ..context })
    } else {
        attachment::render(&volumes, launcher, instance, config, &context)
    };
    pod.map_err(|error| Error::Refused(error.to_string()))
}
