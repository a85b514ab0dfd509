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
