//! What is to be done next: a pass looks at everything that there is, and goes as far as it can.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;
use serde::Serialize;
use serde_json::{Value, json};

use super::certificates::{self, Lifetimes, Make};
use super::definitions::{Definition, definitions};
use super::live::{Live, goes, is_current};
use super::readiness::{COMPONENTS, HANDLER, component, is_ready, max_unavailable};
use super::{Id, Installation, Object, removal};
use crate::api::names::{DEPRECATED_KUBEVIRT_FINALIZER, KUBEVIRT_FINALIZER};
use crate::api::v1::KubeVirt;

/// What a pass looks at.
#[derive(Clone, Debug)]
pub struct Observed<'a> {
    /// The object that asks for an installation.
    pub kubevirt: &'a KubeVirt,
    /// Everything that an operator installed.
    pub live: &'a Live,
    /// The certificates.
    pub certificates: &'a certificates::Observed,
    /// The generations that objects had when they were written last.
    pub generations: &'a BTreeMap<Id, i64>,
    /// Labels and annotations of nodes, for those that have any of ours.
    pub nodes: &'a [Node],
    /// The time.
    pub now: Timestamp,
}

/// A node, and what handlers wrote on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Node {
    /// Its name.
    pub name: String,
    /// The labels that handlers set.
    pub labels: BTreeSet<String>,
    /// The annotations that handlers set.
    pub annotations: BTreeSet<String>,
}

/// One thing to do.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Action {
    /// Keep the object until all is removed.
    Hold,
    /// Let the object go.
    Release,
    /// Make a certificate.
    Make(Make),
    /// Make a kind be defined like this.
    Define(Box<Definition>),
    /// Make an object be like this.
    Apply(Box<Object>),
    /// Remove an object.
    Delete(Id),
    /// Take from a node what handlers wrote on it.
    Clean(Node),
}

/// What a pass comes to.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Plan {
    /// What to do, in this order.
    pub actions: Vec<Action>,
    /// What is waited for, if anything is.
    pub waiting: Vec<String>,
}

impl Plan {
    /// Whether everything is as it is to be, so that only the components can be waited for.
    pub fn is_complete(&self) -> bool {
        self.actions.is_empty() && self.waiting.is_empty()
    }
}

/// What to do about an installation.
pub fn plan(observed: &Observed, installation: &Installation) -> Plan {
    let kubevirt = observed.kubevirt;
    if kubevirt.metadata.deletion_timestamp.is_some() {
        return removal::plan(observed);
    }
    let finalizers = kubevirt.metadata.finalizers.as_deref().unwrap_or_default();
    let held = finalizers.iter().any(|f| f == KUBEVIRT_FINALIZER) && !finalizers.iter().any(|f| f == DEPRECATED_KUBEVIRT_FINALIZER);
    let mut plan = Plan { actions: if held { Vec::new() } else { vec![Action::Hold] }, ..Plan::default() };
    let lifetimes = Lifetimes::new(kubevirt.spec.certificate_rotate_strategy.self_signed.as_ref());
    let makes = certificates::plan(observed.certificates, &lifetimes, &installation.namespace, observed.now);
    if !makes.is_empty() {
        // What vouches for them goes into the objects, once they are there.
        plan.actions.extend(makes.into_iter().map(Action::Make));
        plan.waiting.push("certificates".to_owned());
        return plan;
    }
    install(observed, installation, &mut plan);
    plan
}

fn install(observed: &Observed, installation: &Installation, plan: &mut Plan) {
    let status = &observed.kubevirt.status;
    let is_update = !status.observed_deployment_id.is_empty() && status.observed_deployment_id != installation.id;
    let bundle = certificates::bundle(observed.certificates, observed.now);
    let wanted = super::objects(installation, &certificates::text(&bundle));
    let mut names = BTreeSet::new();
    for definition in definitions(installation) {
        names.insert(definition.id.clone());
        if !definition.is_current(observed.live, observed.generations) {
            plan.actions.push(Action::Define(Box::new(definition)));
        }
    }
    for mut object in wanted {
        let Some(id) = object.id() else { continue };
        let live = observed.live.get(&id);
        if object.kind() == "DaemonSet" && object.name() == HANDLER {
            paced(&mut object, live);
        }
        names.insert(id.clone());
        if !is_current(&object, live, observed.generations.get(&id).copied()) {
            plan.actions.push(Action::Apply(Box::new(object)));
        }
        if is_update && let Some((kind, name)) = COMPONENTS.into_iter().find(|(kind, name)| id.kind.kind == *kind && id.name == *name) {
            let changes =
                plan.actions.last().is_some_and(|action| matches!(action, Action::Apply(object) if object.id().as_ref() == Some(&id)));
            let is_done = !changes && component(observed.live, kind, name, &installation.namespace).is_some_and(is_ready);
            if !is_done {
                plan.waiting.push(format!("the update of {name}"));
                return;
            }
        }
    }
    // Nothing that is used is taken away before what takes its place is there.
    if plan.actions.is_empty() {
        let is_left = |(id, live): &(&Id, &Value)| !names.contains(*id) && !is_certificate(id) && !goes(live);
        plan.actions.extend(observed.live.iter().filter(is_left).map(|(id, _)| Action::Delete(id.clone())));
    }
}

/// Secrets are the business of [`certificates`].
fn is_certificate(id: &Id) -> bool {
    id.kind.kind == "Secret"
}

fn paced(object: &mut Object, live: Option<&Value>) {
    let most = max_unavailable(live);
    if let Some(field) = object.value_mut().pointer_mut("/spec/updateStrategy/rollingUpdate/maxUnavailable") {
        *field = json!(most);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::certificates::testing::make;
    use crate::install::settings::testing;
    use crate::install::{Cluster, Kind};

    /// A cluster in memory: what is written is there.
    struct World {
        kubevirt: KubeVirt,
        installation: Installation,
        live: Live,
        certificates: certificates::Observed,
        generations: BTreeMap<Id, i64>,
        nodes: Vec<Node>,
        count: u8,
    }

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

    impl World {
        fn new(spec: Value) -> Self {
            let mut kubevirt = KubeVirt::default();
            kubevirt.metadata.name = Some("kubevirt".to_owned());
            Self {
                kubevirt,
                installation: testing(spec, Cluster::default()).unwrap(),
                live: Live::new(),
                certificates: certificates::Observed::default(),
                generations: BTreeMap::new(),
                nodes: Vec::new(),
                count: 0,
            }
        }

        fn plan(&self) -> Plan {
            let observed = Observed {
                kubevirt: &self.kubevirt,
                live: &self.live,
                certificates: &self.certificates,
                generations: &self.generations,
                nodes: &self.nodes,
                now: NOW,
            };
            plan(&observed, &self.installation)
        }

        fn apply(&mut self, plan: Plan) {
            for action in plan.actions {
                match action {
                    Action::Hold => self.kubevirt.metadata.finalizers = Some(vec![KUBEVIRT_FINALIZER.to_owned()]),
                    Action::Release => self.kubevirt.metadata.finalizers = None,
                    Action::Make(it) => {
                        make(&mut self.certificates, &[it], &Lifetimes::new(None), "kubevirt", NOW, &mut self.count);
                        let kind = Kind::named("Secret").unwrap();
                        let id = Id { kind, namespace: Some("kubevirt".to_owned()), name: it.secret().to_owned() };
                        self.live.insert(id, json!({"metadata": {}, "data": {}}));
                    }
                    Action::Define(definition) => {
                        let object = definition.object().unwrap();
                        self.live.insert(definition.id.clone(), json!({"metadata": object.value()["metadata"]}));
                    }
                    Action::Apply(object) => {
                        self.live.insert(object.id().unwrap(), object.into_value());
                    }
                    Action::Delete(id) => {
                        self.live.remove(&id);
                    }
                    Action::Clean(node) => self.nodes.retain(|other| other.name != node.name),
                }
            }
        }

        /// Passes until nothing is left to do, and gives what was done.
        fn settle(&mut self) -> Vec<Action> {
            let mut done = Vec::new();
            for _ in 0..12 {
                let plan = self.plan();
                if plan.actions.is_empty() {
                    return done;
                }
                done.extend(plan.actions.clone());
                self.apply(plan);
            }
            panic!("there is no end to it: {:?}", self.plan());
        }

        fn set_ready(&mut self, name: &str, ready: bool) {
            let (id, object) = self.live.iter_mut().find(|(id, _)| id.name == name && id.kind.group == "apps").unwrap();
            object["status"] = match (id.kind.kind, ready) {
                (_, false) => json!({}),
                ("DaemonSet", true) => json!({"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 2}),
                (_, true) => json!({"replicas": 2, "updatedReplicas": 2, "readyReplicas": 2}),
            };
        }
    }

    fn written(actions: &[Action], group: &str) -> Vec<String> {
        let ids = actions.iter().filter_map(|action| match action {
            Action::Apply(object) => object.id(),
            Action::Delete(id) => Some(id.clone()),
            _ => None,
        });
        ids.filter(|id| id.kind.group == group).map(|id| id.name).collect()
    }

    #[test]
    fn what_was_installed_gives_nothing_to_do() {
        let mut world = World::new(json!({}));
        let done = world.settle();
        assert_eq!(done.first(), Some(&Action::Hold));
        assert_eq!(done.iter().filter(|action| matches!(action, Action::Define(_))).count(), 19);
        assert_eq!(written(&done, "apps"), ["virt-handler", "virt-controller", "virt-api"]);
        assert_eq!(written(&done, "instancetype.kubevirt.io").len(), 65 + 54);
        assert!(world.plan().is_complete());
    }

    #[test]
    fn what_someone_changes_or_takes_away_is_mended() {
        let mut world = World::new(json!({}));
        world.settle();
        let view = world.live.keys().find(|id| id.name == "kubevirt.io:view").cloned().unwrap();
        world.live.remove(&view);
        let service = world.live.iter_mut().find(|(id, _)| id.kind.kind == "Service" && id.name == "virt-api").unwrap().1;
        service["spec"]["selector"] = json!({});
        let names: Vec<String> = world
            .settle()
            .iter()
            .filter_map(|action| if let Action::Apply(object) = action { Some(object.name().to_owned()) } else { None })
            .collect();
        assert_eq!(names, ["kubevirt.io:view", "virt-api"]);
    }

    #[test]
    fn what_is_wanted_no_longer_goes() {
        let mut world = World::new(json!({}));
        world.settle();
        world.installation =
            testing(json!({"configuration": {"commonInstancetypesDeployment": {"enabled": false}}}), Cluster::default()).unwrap();
        let done = world.settle();
        assert_eq!(done.len(), 65 + 54);
        assert!(done.iter().all(|action| matches!(action, Action::Delete(id) if id.kind.group == "instancetype.kubevirt.io")));
    }

    #[test]
    fn an_update_goes_from_the_nodes_to_the_api() {
        let mut world = World::new(json!({}));
        world.settle();
        world.kubevirt.status.observed_deployment_id = world.installation.id.clone();
        for name in ["virt-handler", "virt-controller", "virt-api"] {
            world.set_ready(name, true);
        }
        world.installation = testing(json!({"imageTag": "v2"}), Cluster::default()).unwrap();
        for name in ["virt-handler", "virt-controller", "virt-api"] {
            let done = world.settle();
            assert_eq!(written(&done, "apps"), [name]);
            assert_eq!(world.plan().waiting, [format!("the update of {name}")]);
            world.set_ready(name, true);
        }
        world.settle();
        assert!(world.plan().is_complete());
    }

    #[test]
    fn machines_go_before_those_who_end_them() {
        let mut world = World::new(json!({}));
        world.settle();
        world.nodes = vec![Node { name: "n".to_owned(), ..Node::default() }];
        world.kubevirt.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOW));
        let first = world.plan();
        let deleted = |plan: &Plan| -> Vec<String> {
            plan.actions.iter().filter_map(|action| if let Action::Delete(id) = action { Some(id.name.clone()) } else { None }).collect()
        };
        assert!(deleted(&first).contains(&"virtualmachines.kubevirt.io".to_owned()));
        assert!(!deleted(&first).contains(&"virtualmachineinstances.kubevirt.io".to_owned()));
        world.apply(first);
        assert_eq!(deleted(&world.plan()), ["virtualmachineinstances.kubevirt.io"]);
        // A machine that takes its time holds all else up.
        let instances = world.live.keys().find(|id| id.name == "virtualmachineinstances.kubevirt.io").cloned().unwrap();
        world.live.get_mut(&instances).unwrap()["metadata"]["deletionTimestamp"] = json!("2026-12-01T00:00:00Z");
        assert_eq!((world.plan().actions, world.plan().waiting.len()), (vec![], 1));
        world.live.remove(&instances);
        let done = world.settle();
        assert_eq!(done.last(), Some(&Action::Release));
        let at = |wanted: &str| done.iter().position(|action| matches!(action, Action::Delete(id) if id.name == wanted)).unwrap();
        assert!(at("v1.subresources.kubevirt.io") < at("virt-api"));
        assert!(world.live.is_empty() && world.nodes.is_empty() && world.kubevirt.metadata.finalizers.is_none());
    }
}
