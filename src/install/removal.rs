//! How an installation goes: the machines first, while those are there who can end them, then everything else.

use super::live::goes;
use super::plan::{Action, Observed, Plan};
use super::{Id, KINDS};

const DEFINITION: &str = "CustomResourceDefinition";
/// What makes instances goes before the instances, and these before what they lean on.
const STAGES: [&[&str]; 2] = [
    &[
        "virtualmachinepools.pool.kubevirt.io",
        "virtualmachineinstancereplicasets.kubevirt.io",
        "virtualmachineclones.clone.kubevirt.io",
        "virtualmachinerestores.snapshot.kubevirt.io",
        "virtualmachines.kubevirt.io",
    ],
    &["virtualmachineinstances.kubevirt.io"],
];
/// Kinds that others are in the way of as long as they are there: the API server asks nobody any more.
const FIRST: [&str; 3] = ["APIService", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"];

/// What to do next about the removal.
pub(super) fn plan(observed: &Observed) -> Plan {
    let held = observed.kubevirt.metadata.finalizers.iter().flatten().next().is_some();
    let of = |kind: &'static str| observed.live.keys().filter(move |id| id.kind.kind == kind);
    let definitions: Vec<&Id> = of(DEFINITION).collect();
    if !definitions.is_empty() {
        let stage = STAGES.iter().find(|stage| definitions.iter().any(|id| stage.contains(&id.name.as_str())));
        let now: Vec<&Id> = definitions.into_iter().filter(|id| stage.is_none_or(|stage| stage.contains(&id.name.as_str()))).collect();
        let waiting = now.iter().map(|id| format!("every object of {} to go", id.name)).collect();
        return Plan {
            actions: now.into_iter().filter(|id| !observed.live.get(*id).is_some_and(goes)).cloned().map(Action::Delete).collect(),
            waiting,
        };
    }
    let order = |id: &Id| {
        let first = FIRST.iter().position(|kind| id.kind.kind == *kind);
        let last = KINDS.iter().position(|kind| kind == id.kind).map(|at| FIRST.len() + KINDS.len() - at);
        first.or(last)
    };
    let mut left: Vec<&Id> = observed.live.keys().collect();
    left.sort_by_key(|id| order(id));
    if !left.is_empty() {
        let waiting = vec![format!("{} objects to go", left.len())];
        return Plan {
            actions: left.into_iter().filter(|id| !observed.live.get(*id).is_some_and(goes)).cloned().map(Action::Delete).collect(),
            waiting,
        };
    }
    // Only now nobody writes them anew.
    let nodes = observed.nodes.iter().cloned().map(Action::Clean);
    Plan { actions: nodes.chain(held.then_some(Action::Release)).collect(), waiting: Vec::new() }
}
