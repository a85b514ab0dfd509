//! The machines of a pool: which they are, and in which order they come.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::NodeSelectorRequirement;

use super::{Action, Pass, change_machine, name};
use crate::api::pool::{VirtualMachinePoolSelectionPolicy as Policy, VirtualMachinePoolSortPolicy as Sort};
use crate::api::selector;
use crate::api::v1::VirtualMachine;
use crate::lifecycle::owner;

/// The machines of the pool, by their numbers. One that does not match any more is let go.
pub(super) fn claim(pass: &Pass<'_>, plan: &mut Vec<Action>) -> Vec<VirtualMachine> {
    let mut members = Vec::new();
    for machine in pass.observed.machines.iter().filter(|m| owner::is_controlled_by(&m.metadata, pass.uid())) {
        let labels = machine.metadata.labels.clone().unwrap_or_default();
        if selector::matches(pass.selector, &labels) == Ok(true) {
            members.push(machine.clone());
        } else if !pass.is_deleted() {
            let mut free = machine.clone();
            free.metadata.owner_references = free
                .metadata
                .owner_references
                .map(|owners| owners.into_iter().filter(|o| o.uid != pass.uid()).collect::<Vec<_>>())
                .filter(|owners| !owners.is_empty());
            owner::remove_finalizer(&mut free.metadata, super::FINALIZER);
            plan.extend(change_machine(machine, &free));
        }
    }
    members.sort_by_key(|m| (number(name(m)), m.metadata.name.clone()));
    members
}

/// The number at the end of a machine's name.
pub(super) fn number(name: &str) -> Option<u64> {
    name.rsplit_once('-')?.1.parse().ok()
}

/// Those that a policy selects, in its order.
pub(super) fn select<'m>(members: impl Iterator<Item = &'m VirtualMachine>, policy: Option<&Policy>) -> Vec<&'m VirtualMachine> {
    let selectors = policy.and_then(|p| p.selectors.as_ref());
    let selected = |machine: &&VirtualMachine| {
        let template = machine.spec.template.as_ref();
        let labels = template.and_then(|t| t.metadata.labels.clone()).unwrap_or_default();
        let nodes = template.map(|t| t.spec.node_selector.clone()).unwrap_or_default();
        let by_labels = selectors.and_then(|s| s.label_selector.as_ref());
        let by_nodes = selectors.and_then(|s| s.node_selector_requirement_matcher.as_deref());
        by_labels.is_none_or(|s| selector::matches(s, &labels) == Ok(true))
            && by_nodes.is_none_or(|all| all.iter().all(|requirement| holds(requirement, &nodes)))
    };
    let mut selected: Vec<_> = members.filter(selected).collect();
    let made = |machine: &VirtualMachine| machine.metadata.creation_timestamp.as_ref().map(|t| t.0);
    match policy.and_then(|p| p.sort_policy.as_ref()) {
        Some(Sort::AscendingOrder) => selected.sort_by_key(|m| number(name(m))),
        Some(Sort::DescendingOrder) => selected.sort_by_key(|m| Reverse(number(name(m)))),
        Some(Sort::Newest) => selected.sort_by_key(|m| Reverse(made(m))),
        Some(Sort::Oldest) => selected.sort_by_key(|m| made(m)),
        _ => selected.sort_by_key(|m| chance(m)),
    }
    selected
}

/// A number that stands for chance: the same for a machine in every pass, so that a pass which is made again chooses again
/// what it chose.
fn chance(machine: &VirtualMachine) -> u64 {
    let uid = machine.metadata.uid.as_deref().unwrap_or_default();
    uid.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// Whether the requirement holds for the node selector of a machine.
fn holds(requirement: &NodeSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let value = labels.get(&requirement.key);
    let values = requirement.values.as_deref().unwrap_or_default();
    let named = value.is_some_and(|v| values.contains(v));
    let compared = || Some((value?.parse::<i64>().ok()?, values.first()?.parse::<i64>().ok()?));
    match requirement.operator.as_str() {
        "In" => named,
        "NotIn" => !named,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        "Gt" => compared().is_some_and(|(a, b)| a > b),
        "Lt" => compared().is_some_and(|(a, b)| a < b),
        _ => false,
    }
}
