//! The VirtualMachineInstanceReplicaSet controller: so many instances of one template, adopted, made and deleted.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, Time};
use k8s_openapi::jiff::Timestamp;
use serde::Serialize;

use super::action::Event;
use super::patch::Patch;
use super::vm::is_final;
use super::{conditions, owner};
use crate::api::v1::{
    VirtualMachineInstance, VirtualMachineInstanceConditionType as InstanceCondition, VirtualMachineInstancePhase as Phase,
    VirtualMachineInstanceReplicaSet as ReplicaSet, VirtualMachineInstanceReplicaSetCondition as Condition,
    VirtualMachineInstanceReplicaSetConditionType as Kind,
};
use crate::api::{names, selector};

const API_VERSION: &str = "v1";
/// So many are made or deleted in one pass at most, so that a big set does not swamp the cluster.
const BURST: usize = 250;

/// The set and the instances of its namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The set.
    pub set: ReplicaSet,
    /// The instances of the namespace.
    pub instances: Vec<VirtualMachineInstance>,
}

/// One change, or something to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Changes the set.
    PatchSet(Patch),
    /// Changes the status of the set.
    PatchStatus(Patch),
    /// Changes an instance.
    PatchInstance {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Makes an instance.
    Create(Box<VirtualMachineInstance>),
    /// Deletes an instance.
    Delete {
        /// Its name.
        name: String,
        /// Its uid: one that was made meanwhile stays.
        uid: String,
    },
    /// Says something to the user.
    Record(Event),
}

/// A set that cannot be worked with. Admission refuses such a one; one that got in is left alone.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Invalid {
    /// There is nothing to make instances of, or nothing to know them by.
    #[error("set spec.template with labels and spec.selector")]
    Incomplete,
    /// The instances would not belong to the set.
    #[error("spec.selector must match the labels of spec.template")]
    Selector,
}

/// What is to be done about a set.
pub fn plan(observed: &Observed, now: Timestamp) -> Result<Vec<Action>, Invalid> {
    let set = &observed.set;
    let (Some(template), Some(selector)) = (&set.spec.template, &set.spec.selector) else {
        return Err(Invalid::Incomplete);
    };
    let labels = template.metadata.labels.clone().filter(|l| !l.is_empty()).ok_or(Invalid::Incomplete)?;
    if selector::matches(selector, &labels) != Ok(true) {
        return Err(Invalid::Selector);
    }
    let mut plan = Vec::from_iter(mark(set));
    let mut members = claim(observed, selector, &mut plan);
    members.sort_by(|a, b| a.metadata.name.cmp(&b.metadata.name));
    let (gone, mut active): (Vec<_>, Vec<_>) = members.into_iter().partition(|member| is_final(member) || is_lost(member));
    if !set.spec.paused && set.metadata.deletion_timestamp.is_none() {
        let wanted = usize::try_from(set.spec.replicas.unwrap_or(1)).unwrap_or(0);
        let missing = wanted.saturating_sub(active.len()).min(BURST);
        for _ in 0..missing {
            plan.push(Action::Create(Box::new(render(set))));
            plan.push(record("SuccessfulCreate", "started an instance"));
        }
        // Those that are worth least go first.
        active.sort_by_key(worth);
        let surplus = active.len().saturating_sub(wanted).min(BURST);
        for member in active.iter().take(surplus).chain(gone.iter().take(BURST)) {
            let name = member.metadata.name.clone().unwrap_or_default();
            let message = format!("deleted the instance {name:?}");
            plan.push(Action::Delete { name, uid: member.metadata.uid.clone().unwrap_or_default() });
            plan.push(record("SuccessfulDelete", message));
        }
    }
    report(set, selector, &active, now, None, &mut plan);
    Ok(plan)
}

/// What is told when instances could not be made or deleted.
pub fn failed(observed: &Observed, now: Timestamp, action: &Action, error: &str) -> Vec<Action> {
    let (reason, doing) = match action {
        Action::Create(_) => ("FailedCreate", "made"),
        Action::Delete { .. } => ("FailedDelete", "deleted"),
        _ => return Vec::new(),
    };
    let Some(selector) = &observed.set.spec.selector else {
        return Vec::new();
    };
    let message = format!("an instance cannot be {doing}: {error}");
    let mut plan = vec![Action::Record(Event { warning: true, reason, message: message.clone() })];
    let mut members = claim(observed, selector, &mut Vec::new());
    members.retain(|member| !is_final(member) && !is_lost(member));
    report(&observed.set, selector, &members, now, Some((reason, message)), &mut plan);
    plan
}

fn record(reason: &'static str, message: impl Into<String>) -> Action {
    Action::Record(Event { warning: false, reason, message: message.into() })
}

/// Marks the set as seen by this controller.
fn mark(set: &ReplicaSet) -> Option<Action> {
    let mut seen = set.clone();
    let annotations = seen.metadata.annotations.get_or_insert_default();
    for key in [names::CONTROLLER_API_LATEST_VERSION_OBSERVED_ANNOTATION, names::CONTROLLER_API_STORAGE_VERSION_OBSERVED_ANNOTATION] {
        annotations.insert(key.to_owned(), API_VERSION.to_owned());
    }
    let patch = Patch::between(set, &seen);
    (!patch.is_empty()).then_some(Action::PatchSet(patch))
}

/// The instances of the set: its own, and those that match and belong to nobody. One of its own that does not match any
/// more is let go.
fn claim(observed: &Observed, selector: &LabelSelector, plan: &mut Vec<Action>) -> Vec<VirtualMachineInstance> {
    let set = &observed.set.metadata;
    let uid = set.uid.as_deref().unwrap_or_default();
    let mut members = Vec::new();
    for instance in observed.instances.iter().filter(|i| i.metadata.deletion_timestamp.is_none()) {
        let labels = instance.metadata.labels.clone().unwrap_or_default();
        let matches = selector::matches(selector, &labels) == Ok(true);
        let mut claimed = instance.clone();
        let references = claimed.metadata.owner_references.get_or_insert_default();
        match (owner::controller(&instance.metadata).map(|o| o.uid == uid), matches) {
            (Some(true), true) => {}
            (Some(true), false) if set.deletion_timestamp.is_none() => references.retain(|o| o.uid != uid),
            (None, true) if set.deletion_timestamp.is_none() => {
                references.push(owner::reference("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", set));
            }
            _ => continue,
        }
        if references.is_empty() {
            claimed.metadata.owner_references = None;
        }
        let patch = Patch::between(instance, &claimed);
        if !patch.is_empty() {
            plan.push(Action::PatchInstance { name: instance.metadata.name.clone().unwrap_or_default(), patch });
        }
        if matches {
            members.push(claimed);
        }
    }
    members
}

/// Whether the pod of an instance is going, and the guest with it.
fn is_lost(instance: &VirtualMachineInstance) -> bool {
    conditions::has_reason(&instance.status.conditions, &InstanceCondition::Ready, "False", names::POD_TERMINATING_REASON)
}

fn is_ready(instance: &VirtualMachineInstance) -> bool {
    conditions::has(&instance.status.conditions, &InstanceCondition::Ready, "True")
}

/// What an instance is worth: one that runs more than one that does not, an old one more than a new one.
fn worth(instance: &VirtualMachineInstance) -> (bool, bool, std::cmp::Reverse<Option<Timestamp>>) {
    let made = instance.metadata.creation_timestamp.as_ref().map(|t| t.0);
    (is_ready(instance), instance.status.phase == Phase::Running, std::cmp::Reverse(made))
}

fn render(set: &ReplicaSet) -> VirtualMachineInstance {
    let template = set.spec.template.clone().unwrap_or_default();
    let named = template.metadata.name.clone().filter(|n| !n.is_empty());
    let generated = || template.metadata.generate_name.clone().filter(|n| !n.is_empty());
    let prefix = named.or_else(generated).or_else(|| set.metadata.name.clone());
    let mut instance = VirtualMachineInstance {
        api_version: "kubevirt.io/v1".to_owned(),
        kind: "VirtualMachineInstance".to_owned(),
        metadata: template.metadata,
        spec: template.spec,
        ..VirtualMachineInstance::default()
    };
    instance.metadata.name = None;
    instance.metadata.generate_name = prefix;
    instance.metadata.namespace.clone_from(&set.metadata.namespace);
    instance.metadata.owner_references = Some(vec![owner::reference("kubevirt.io/v1", "VirtualMachineInstanceReplicaSet", &set.metadata)]);
    instance
}

fn report(
    set: &ReplicaSet,
    selector: &LabelSelector,
    active: &[VirtualMachineInstance],
    now: Timestamp,
    failure: Option<(&str, String)>,
    plan: &mut Vec<Action>,
) {
    let mut status = set.status.clone();
    let count = |n: usize| i32::try_from(n).unwrap_or(i32::MAX);
    status.replicas = count(active.len());
    status.ready_replicas = count(active.iter().filter(|i| is_ready(i)).count());
    status.label_selector = written(selector);
    let mut tell = |kind: Kind, told: Option<(&str, String)>| {
        let before = status.conditions.iter().position(|c| c.type_ == kind);
        match (before, told) {
            (None, Some((reason, message))) => status.conditions.push(Condition {
                type_: kind,
                status: "True".to_owned(),
                reason: reason.to_owned(),
                message,
                last_transition_time: Some(Time(now)),
                ..Condition::default()
            }),
            (Some(_), None) => status.conditions.retain(|c| c.type_ != kind),
            _ => return false,
        }
        true
    };
    let paused = set.spec.paused.then(|| ("Paused", "the set is paused: nothing is made or deleted".to_owned()));
    let toggled = tell(Kind::ReplicaPaused, paused);
    tell(Kind::ReplicaFailure, failure);
    plan.extend(Patch::of_status(&set.status, &status).map(Action::PatchStatus));
    if toggled {
        plan.push(if set.spec.paused { record("SuccessfulPaused", "paused") } else { record("SuccessfulResumed", "resumed") });
    }
}

/// A selector as one line, as the scale subresource wants it.
pub(super) fn written(selector: &LabelSelector) -> String {
    let exact = selector.match_labels.iter().flatten().map(|(key, value)| (key.clone(), format!("{key}={value}")));
    let others = selector.match_expressions.iter().flatten().map(|expression| {
        let key = &expression.key;
        let mut values = expression.values.clone().unwrap_or_default();
        values.sort();
        let values = values.join(",");
        let text = match expression.operator.as_str() {
            "In" => format!("{key} in ({values})"),
            "NotIn" => format!("{key} notin ({values})"),
            "DoesNotExist" => format!("!{key}"),
            _ => key.clone(),
        };
        (key.clone(), text)
    });
    let mut all: Vec<_> = exact.chain(others).collect();
    all.sort();
    all.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(spec: &str) -> ReplicaSet {
        let text = format!(
            "{{metadata: {{name: s, namespace: lab, uid: s}}, spec: {{selector: {{matchLabels: {{app: a}}}},
               template: {{metadata: {{labels: {{app: a}}}}, spec: {{domain: {{devices: {{}}}}}}}}, {spec}}}}}"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    fn instance(name: &str, rest: &str, status: &str) -> VirtualMachineInstance {
        let owner = "[{apiVersion: v, kind: VirtualMachineInstanceReplicaSet, name: s, uid: s, controller: true}]";
        let rest = rest.replace("OURS", owner);
        serde_yaml::from_str(&format!("{{metadata: {{name: {name}, uid: {name}, labels: {{app: a}}{rest}}}, status: {{{status}}}}}"))
            .unwrap()
    }

    fn short(plan: &[Action]) -> Vec<String> {
        let each = plan.iter().filter_map(|action| match action {
            Action::Create(instance) => Some(format!("make {}", instance.metadata.generate_name.as_deref().unwrap_or_default())),
            Action::Delete { name, .. } => Some(format!("delete {name}")),
            Action::PatchInstance { name, .. } => Some(format!("change {name}")),
            _ => None,
        });
        each.collect()
    }

    fn now() -> Timestamp {
        "2026-12-01T00:00:00Z".parse().unwrap()
    }

    #[test]
    fn as_many_as_wanted_are_kept() {
        let ours = ", ownerReferences: OURS";
        let ready = "phase: Running, conditions: [{type: Ready, status: 'True'}]";
        for (spec, instances, expected) in [
            ("replicas: 2", vec![], vec!["make s", "make s"]),
            ("replicas: 1", vec![instance("x", "", ready)], vec!["change x"]),
            ("replicas: 1", vec![instance("x", ours, ready), instance("y", ours, "phase: Pending")], vec!["delete y"]),
            ("replicas: 1", vec![instance("x", ours, "phase: Failed")], vec!["make s", "delete x"]),
            (
                "replicas: 0",
                vec![instance("x", ", ownerReferences: [{apiVersion: v, kind: K, name: n, uid: n, controller: true}]", ready)],
                vec![],
            ),
            ("replicas: 3, paused: true", vec![instance("x", ours, ready)], vec![]),
            ("replicas: 0", vec![instance("x", ", ownerReferences: OURS, deletionTimestamp: '2026-01-01T00:00:00Z'", ready)], vec![]),
        ] {
            let observed = Observed { set: set(spec), instances };
            assert_eq!(short(&plan(&observed, now()).unwrap()), expected, "{spec}");
        }
    }

    #[test]
    fn a_settled_set_is_left_alone() {
        let mut observed =
            Observed { set: set("replicas: 1"), instances: vec![instance("x", ", ownerReferences: OURS", "phase: Running")] };
        let settle = |observed: &mut Observed| {
            let plan = plan(observed, now()).unwrap();
            let mut value = serde_json::to_value(&observed.set).unwrap();
            for action in &plan {
                if let Action::PatchSet(patch) | Action::PatchStatus(patch) = action {
                    patch.apply(&mut value).unwrap();
                }
            }
            observed.set = serde_json::from_value(value).unwrap();
            plan
        };
        settle(&mut observed);
        assert_eq!((observed.set.status.replicas, observed.set.status.label_selector.as_str()), (1, "app=a"));
        assert_eq!(settle(&mut observed), []);
        let told = failed(&observed, now(), &Action::Delete { name: String::new(), uid: String::new() }, "no");
        assert!(serde_json::to_string(&told).unwrap().contains("FailedDelete"));
    }

    #[test]
    fn a_set_that_cannot_know_its_own_is_left_alone() {
        let mut broken = set("replicas: 1");
        broken.spec.selector = serde_yaml::from_str("{matchLabels: {app: b}}").unwrap();
        assert_eq!(plan(&Observed { set: broken.clone(), ..Observed::default() }, now()), Err(Invalid::Selector));
        broken.spec.template = None;
        assert_eq!(plan(&Observed { set: broken, ..Observed::default() }, now()), Err(Invalid::Incomplete));
    }

    #[test]
    fn a_selector_is_written_as_kubernetes_writes_it() {
        let text = "{matchLabels: {z: '1'}, matchExpressions: [{key: a, operator: In, values: [y, x]}, {key: b, operator: DoesNotExist}, {key: c, operator: Exists}]}";
        assert_eq!(written(&serde_yaml::from_str(text).unwrap()), "a in (x,y),!b,c,z=1");
    }
}
