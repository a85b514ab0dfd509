//! What the controllers read, and whom a change concerns.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{Namespace, Node, PersistentVolumeClaim, Pod, ResourceQuota};
use k8s_openapi::api::storage::v1::StorageClass;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::instancetype::{
    VirtualMachineClusterInstancetype, VirtualMachineClusterPreference, VirtualMachineInstancetype, VirtualMachinePreference,
};
use kubevirt_rs::api::names;
use kubevirt_rs::api::pool::VirtualMachinePool;
use kubevirt_rs::api::v1::{
    KubeVirt, VirtualMachine, VirtualMachineInstance, VirtualMachineInstanceMigration, VirtualMachineInstancePhase as Phase,
    VirtualMachineInstancePreset, VirtualMachineInstanceReplicaSet, Volume,
};
use kubevirt_rs::lifecycle::{owner, persistent_state, volumes};

use super::item::Item;
use super::settings::Settings;
use crate::cluster::{Change, Cluster, Index, Key, Object, Queue, Recorder, Selection, Shutdown, Store, pods, reference, revisions};

/// Objects by the uid of what controls them.
pub(super) const OWNER: &str = "owner";
/// Machines and instances by the claims that their volumes name, as `namespace/name`.
pub(super) const CLAIM: &str = "claim";
/// Instances and pods by the node that they are on.
pub(super) const NODE: &str = "node";
/// Migrations by the instance that they move, as `namespace/name`.
const MIGRATED: &str = "migrated";
/// Machines by the instance types and preferences that they name.
const TYPE: &str = "instancetype";

/// So long a machine waits for further changes of its instance before it tells of them.
const SETTLES: Duration = Duration::from_millis(200);

/// So long a machine that is deleted leaves its instance to the instance's own controller.
const GOES: Duration = Duration::from_secs(1);

/// Everything that is read.
pub(super) struct Stores {
    pub(super) machines: Arc<Store<VirtualMachine>>,
    pub(super) instances: Arc<Store<VirtualMachineInstance>>,
    pub(super) sets: Arc<Store<VirtualMachineInstanceReplicaSet>>,
    pub(super) pools: Arc<Store<VirtualMachinePool>>,
    pub(super) pods: Arc<Store<Pod>>,
    pub(super) claims: Arc<Store<PersistentVolumeClaim>>,
    pub(super) data_volumes: Arc<Store<DataVolume>>,
    pub(super) revisions: Arc<Store<ControllerRevision>>,
    pub(super) migrations: Arc<Store<VirtualMachineInstanceMigration>>,
    pub(super) presets: Arc<Store<VirtualMachineInstancePreset>>,
    pub(super) nodes: Arc<Store<Node>>,
    pub(super) namespaces: Arc<Store<Namespace>>,
    pub(super) quotas: Arc<Store<ResourceQuota>>,
    pub(super) storage_classes: Arc<Store<StorageClass>>,
    pub(super) kubevirts: Arc<Store<KubeVirt>>,
    pub(super) instancetypes: Arc<Store<VirtualMachineInstancetype>>,
    pub(super) cluster_instancetypes: Arc<Store<VirtualMachineClusterInstancetype>>,
    pub(super) preferences: Arc<Store<VirtualMachinePreference>>,
    pub(super) cluster_preferences: Arc<Store<VirtualMachineClusterPreference>>,
    /// Whether everything has been listed once.
    listed: AtomicBool,
}

/// What is put into the queue when something changes.
struct Concerns {
    queue: Arc<Queue<Item>>,
    stores: Arc<Stores>,
}

fn index<K>(name: &'static str, of: fn(&K) -> Vec<String>) -> Index<K> {
    Index { name, of }
}

fn owner_of<K: Object>(object: &K) -> Vec<String> {
    owner::controller(object.meta()).map(|owner| owner.uid.clone()).into_iter().collect()
}

fn claims_of(namespace: Option<&str>, of: &[Volume]) -> Vec<String> {
    of.iter().filter_map(volumes::claim_name).map(|name| format!("{}/{name}", namespace.unwrap_or_default())).collect()
}

fn claims_of_machine(machine: &VirtualMachine) -> Vec<String> {
    let namespace = machine.metadata.namespace.as_deref();
    let mut named = machine.spec.template.as_ref().map_or_else(Vec::new, |t| claims_of(namespace, &t.spec.volumes));
    named.extend(
        machine
            .spec
            .data_volume_templates
            .iter()
            .filter_map(|t| t.metadata.name.as_ref())
            .map(|name| format!("{}/{name}", namespace.unwrap_or_default())),
    );
    // What is cloned has to be there first.
    named.extend(machine.spec.data_volume_templates.iter().filter_map(|t| t.spec.source.as_ref()?.pvc.as_ref()).map(|source| {
        let of = Some(source.namespace.as_str()).filter(|n| !n.is_empty()).or(namespace);
        format!("{}/{}", of.unwrap_or_default(), source.name)
    }));
    named.sort();
    named.dedup();
    named
}

fn types_of(machine: &VirtualMachine) -> Vec<String> {
    let spec = &machine.spec;
    let named = spec.instancetype.as_ref().map(|m| m.name.clone()).into_iter().chain(spec.preference.as_ref().map(|m| m.name.clone()));
    named.filter(|name| !name.is_empty()).collect()
}

fn ended(migration: &VirtualMachineInstanceMigration) -> bool {
    use kubevirt_rs::api::v1::VirtualMachineInstanceMigrationPhase as Phase;
    matches!(migration.status.phase, Phase::Succeeded | Phase::Failed)
}

fn trim_nothing<K>(_: &mut K) {}

fn trim_node(node: &mut Node) {
    node.spec = None;
    node.status = None;
}

fn trim_namespace(namespace: &mut Namespace) {
    namespace.metadata.annotations = None;
    namespace.spec = None;
}

fn trim_revision(revision: &mut ControllerRevision) {
    // Those of other controllers, such as DaemonSets, are none of our business, but have the same resource.
    // The groups of machines, pools and instance types all end alike.
    let of_group = |version: &str| version.split('/').next().is_some_and(|group| group.ends_with(names::GROUP));
    let ours = owner::controller(&revision.metadata).is_some_and(|o| of_group(&o.api_version))
        || revision.metadata.labels.iter().flatten().any(|(key, _)| key.ends_with(names::GROUP) || key.contains("kubevirt.io/"));
    if !ours {
        revision.data = None;
    }
}

impl Stores {
    pub(super) fn new() -> Arc<Self> {
        Arc::new(Self {
            machines: Arc::new(Store::new(
                vec![index(OWNER, owner_of), index(CLAIM, claims_of_machine), index(TYPE, types_of)],
                trim_nothing,
            )),
            instances: Arc::new(Store::new(
                vec![
                    index(OWNER, owner_of),
                    index(CLAIM, |i: &VirtualMachineInstance| claims_of(i.metadata.namespace.as_deref(), &i.spec.volumes)),
                    index(NODE, |i: &VirtualMachineInstance| {
                        Some(i.status.node_name.clone()).filter(|n| !n.is_empty()).into_iter().collect()
                    }),
                ],
                trim_nothing,
            )),
            sets: Arc::default(),
            pools: Arc::default(),
            pods: Arc::new(
                Store::new(
                    vec![
                        index(OWNER, owner_of),
                        index(NODE, |p: &Pod| p.spec.as_ref().and_then(|s| s.node_name.clone()).into_iter().collect()),
                    ],
                    pods::trim,
                )
                .listed_in_binary(pods::read_list),
            ),
            claims: Arc::default(),
            data_volumes: Arc::default(),
            revisions: Arc::new(Store::new(vec![index(OWNER, owner_of)], trim_revision).listed_in_binary(revisions::read_list)),
            migrations: Arc::new(Store::new(
                vec![index(MIGRATED, |m: &VirtualMachineInstanceMigration| {
                    let name = format!("{}/{}", m.metadata.namespace.as_deref().unwrap_or_default(), m.spec.vmi_name);
                    Some(name).filter(|_| !ended(m)).into_iter().collect()
                })],
                trim_nothing,
            )),
            presets: Arc::default(),
            nodes: Arc::new(Store::new(Vec::new(), trim_node)),
            namespaces: Arc::new(Store::new(Vec::new(), trim_namespace)),
            quotas: Arc::default(),
            storage_classes: Arc::default(),
            kubevirts: Arc::default(),
            instancetypes: Arc::default(),
            cluster_instancetypes: Arc::default(),
            preferences: Arc::default(),
            cluster_preferences: Arc::default(),
            listed: AtomicBool::new(false),
        })
    }

    /// Keeps all of them as the API server has them, and puts into the queue whom a change concerns.
    pub(super) fn follow(
        self: &Arc<Self>,
        cluster: &Cluster,
        queue: &Arc<Queue<Item>>,
        settings: &Arc<Settings>,
        recorder: &Recorder,
        shutdown: &Shutdown,
    ) {
        let concerns = Arc::new(Concerns { queue: queue.clone(), stores: self.clone() });
        macro_rules! follow {
            ($store:ident, $selection:expr, $concerned:ident) => {{
                let concerns = concerns.clone();
                self.$store.follow(cluster, $selection, shutdown, move |change| concerns.$concerned(change));
            }};
        }
        let every = Selection::default;
        follow!(machines, every(), machine);
        follow!(instances, every(), instance);
        follow!(sets, every(), set);
        follow!(pools, every(), pool);
        follow!(pods, Selection::labels("kubevirt.io in (virt-launcher, hotplug-disk)"), pod);
        follow!(claims, every(), claim);
        follow!(data_volumes, every().optional(), data_volume);
        follow!(revisions, every(), revision);
        follow!(migrations, every(), migration);
        follow!(presets, every(), nobody);
        follow!(nodes, every(), node);
        follow!(namespaces, every(), namespace);
        follow!(quotas, every(), nobody);
        follow!(storage_classes, every(), everyone);
        follow!(instancetypes, every(), instancetype);
        follow!(cluster_instancetypes, every(), instancetype);
        follow!(preferences, every(), instancetype);
        follow!(cluster_preferences, every(), instancetype);
        let (settings, recorder) = (settings.clone(), recorder.clone());
        self.kubevirts.follow(cluster, every(), shutdown, move |change| {
            if change.gone {
                return;
            }
            match settings.take(change.object) {
                Ok(false) => {}
                Ok(true) => {
                    tracing::info!("the configuration has changed");
                    concerns.everyone(change);
                }
                Err(error) => {
                    let message = format!("spec.configuration cannot be used, the one before counts on: {error}");
                    recorder.record(reference(change.object), true, "InvalidConfiguration", &message);
                }
            }
        });
    }

    /// Waits until everything has been listed once.
    pub(super) async fn ready(&self) {
        macro_rules! wait { ($($store:ident)*) => { $(self.$store.ready().await;)* } }
        wait!(machines instances sets pools pods claims data_volumes revisions migrations presets nodes namespaces quotas storage_classes);
        wait!(kubevirts instancetypes cluster_instancetypes preferences cluster_preferences);
        self.listed.store(true, Ordering::Release);
    }

    /// Whether a migration of the instance has not ended.
    pub(super) fn is_migrated(&self, key: &Key) -> bool {
        !self.migrations.keys_by(MIGRATED, &key.to_string()).is_empty()
    }
}

impl Concerns {
    /// Puts an item in. While everything is listed for the first time most of it is as it should be: to see that of very many
    /// takes a while, in which others shall not wait.
    fn add(&self, item: Item) {
        self.add_after(item, Duration::ZERO);
    }

    /// The same for an item that shall wait anyway.
    fn add_after(&self, item: Item, delay: Duration) {
        if !self.stores.listed.load(Ordering::Acquire) {
            self.queue.add_unhurried(item);
        } else if delay.is_zero() {
            self.queue.add(item);
        } else {
            self.queue.add_after(item, delay);
        }
    }

    fn machine(&self, change: Change<'_, VirtualMachine>) {
        let key = Key::of(&change.object.metadata);
        if change.gone && self.stores.instances.contains(&key) {
            self.add(Item::Instance(key.clone()));
        }
        if let Some(owner) = owner::controller(&change.object.metadata).filter(|o| o.kind == "VirtualMachinePool") {
            self.add(Item::Pool(Key::new(&key.namespace, &owner.name)));
        }
        let machine = change.object;
        let settled = machine.status.state_change_requests.is_empty()
            && machine.metadata.deletion_timestamp.is_none()
            && machine.metadata.generation == Some(machine.status.observed_generation);
        if settled {
            // Most changes of a status are our own.
            self.add_after(Item::Machine(key), SETTLES);
        } else {
            self.queue.add(Item::Machine(key));
        }
    }

    fn instance(&self, change: Change<'_, VirtualMachineInstance>) {
        let meta = &change.object.metadata;
        let key = Key::of(meta);
        match owner::controller(meta) {
            Some(owner) if owner.kind == "VirtualMachineInstanceReplicaSet" => {
                self.add(Item::Set(Key::new(&key.namespace, &owner.name)));
            }
            // It may be one that a set takes for its own.
            None if meta.labels.as_ref().is_some_and(|l| !l.is_empty()) => {
                let sets = self.stores.sets.keys().into_iter().filter(|set| set.namespace == key.namespace);
                sets.for_each(|set| self.add(Item::Set(set)));
            }
            _ => {}
        }
        if let Some(machine) = self.stores.machines.get(&key) {
            let ends = meta.deletion_timestamp.is_some() || matches!(change.object.status.phase, Phase::Succeeded | Phase::Failed);
            let delay = match (ends, machine.metadata.deletion_timestamp.is_some()) {
                _ if change.gone => Duration::ZERO,
                // How its guest ends is nothing to a machine that goes; it only waits for the end.
                (_, true) => GOES,
                (true, false) => Duration::ZERO,
                // While a guest starts, its instance changes several times in a moment: the machine tells of them at once.
                (false, false) => SETTLES,
            };
            self.add_after(Item::Machine(key.clone()), delay);
        }
        let node = change.object.status.node_name.as_str();
        if !node.is_empty() && !self.stores.nodes.contains(&Key::new("", node)) {
            self.add(Item::Node(node.into()));
        }
        match change.object.status.phase {
            Phase::Running => self.add(Item::Instance(key)),
            _ => self.queue.add(Item::Instance(key)),
        }
    }

    fn pool(&self, change: Change<'_, VirtualMachinePool>) {
        self.add(Item::Pool(Key::of(&change.object.metadata)));
    }

    fn set(&self, change: Change<'_, VirtualMachineInstanceReplicaSet>) {
        self.add(Item::Set(Key::of(&change.object.metadata)));
    }

    fn pod(&self, change: Change<'_, Pod>) {
        if let Some(key) = self.instance_of(&change.object.metadata) {
            self.add(Item::Instance(key));
        }
    }

    /// The instance that a pod is there for: its owner, or that of the launcher pod which is its owner.
    fn instance_of(&self, meta: &ObjectMeta) -> Option<Key> {
        let namespace = meta.namespace.as_deref().unwrap_or_default();
        let owner = owner::controller(meta)?;
        match owner.kind.as_str() {
            "VirtualMachineInstance" => Some(Key::new(namespace, &owner.name)),
            "Pod" => {
                let launcher = self.stores.pods.get(&Key::new(namespace, &owner.name))?;
                let owner = owner::controller(&launcher.metadata).filter(|o| o.kind == "VirtualMachineInstance")?;
                Some(Key::new(namespace, &owner.name))
            }
            _ => None,
        }
    }

    fn users_of_claim(&self, key: &Key) {
        let claim = key.to_string();
        self.stores.machines.keys_by(CLAIM, &claim).into_iter().for_each(|key| self.add(Item::Machine(key)));
        self.stores.instances.keys_by(CLAIM, &claim).into_iter().for_each(|key| self.add(Item::Instance(key)));
    }

    fn claim(&self, change: Change<'_, PersistentVolumeClaim>) {
        let meta = &change.object.metadata;
        self.users_of_claim(&Key::of(meta));
        if let Some(name) = meta.labels.as_ref().and_then(|l| l.get(persistent_state::PREFIX)) {
            self.add(Item::Instance(Key::new(meta.namespace.as_deref().unwrap_or_default(), name)));
        }
    }

    fn data_volume(&self, change: Change<'_, DataVolume>) {
        self.users_of_claim(&Key::of(&change.object.metadata));
    }

    fn revision(&self, change: Change<'_, ControllerRevision>) {
        let meta = &change.object.metadata;
        let Some(owner) = owner::controller(meta) else { return };
        let key = Key::new(meta.namespace.as_deref().unwrap_or_default(), &owner.name);
        match owner.kind.as_str() {
            "VirtualMachine" => self.add(Item::Machine(key)),
            "VirtualMachinePool" => self.add(Item::Pool(key)),
            _ => {}
        }
    }

    fn migration(&self, change: Change<'_, VirtualMachineInstanceMigration>) {
        let namespace = change.object.metadata.namespace.as_deref().unwrap_or_default();
        let key = Key::new(namespace, &change.object.spec.vmi_name);
        self.add(Item::Machine(key.clone()));
        self.add(Item::Instance(key));
    }

    fn node(&self, change: Change<'_, Node>) {
        self.add(Item::Node(change.object.metadata.name.as_deref().unwrap_or_default().into()));
    }

    fn namespace(&self, change: Change<'_, Namespace>) {
        let name = change.object.metadata.name.as_deref().unwrap_or_default();
        let machines = self.stores.machines.keys().into_iter().filter(|key| *key.namespace == *name);
        machines.for_each(|key| self.add(Item::Machine(key)));
    }

    fn instancetype<K: Object>(&self, change: Change<'_, K>) {
        let name = change.object.meta().name.as_deref().unwrap_or_default();
        self.stores.machines.keys_by(TYPE, name).into_iter().for_each(|key| self.add(Item::Machine(key)));
    }

    fn everyone<K>(&self, _: Change<'_, K>) {
        self.stores.machines.keys().into_iter().for_each(|key| self.add(Item::Machine(key)));
        self.stores.instances.keys().into_iter().for_each(|key| self.add(Item::Instance(key)));
    }

    fn nobody<K>(&self, _: Change<'_, K>) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_pod_stays_what_is_read() {
        let pod = |container: &str, status: &str, rest: &str| -> Pod {
            serde_yaml::from_str(&format!(
                "{{metadata: {{name: p}}, spec: {{nodeName: n, tolerations: [{{key: t}}], volumes: [{{name: v}}],
                   containers: [{{name: compute, image: i{container}}}]{rest}}},
                   status: {{phase: Running, conditions: [{{type: Ready, status: 'True'}}],
                   containerStatuses: [{{name: compute, ready: true, state: {{terminated: {{exitCode: 1}}}}, {status}}}]}}}}"
            ))
            .unwrap()
        };
        let mut whole = pod(
            ", env: [{name: e}], volumeMounts: [{name: v, mountPath: /v}]",
            "image: i, imageID: sha256, restartCount: 2, containerID: c",
            ", initContainers: [{name: x}], affinity: {podAffinity: {}}, hostname: h",
        );
        pods::trim(&mut whole);
        assert_eq!(whole, pod("", "image: '', imageID: '', restartCount: 0", ""));
    }
}
