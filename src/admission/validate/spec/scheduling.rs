//! Where the pod may run: affinities and topology spread constraints, judged as Kubernetes judges them in pods.

use k8s_openapi::api::core::v1::{
    NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, TopologySpreadConstraint, WeightedPodAffinityTerm,
};

use super::{Rule, Subject};
use crate::admission::validate::{naming, selectors};
use crate::admission::{Cause, Path};

pub(super) const RULES: &[Rule] = &[affinity, topology_spread, tolerations];

fn affinity(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(affinity) = &s.spec.affinity else { return };
    if let Some(node) = &affinity.node_affinity {
        let at = s.at.key("affinity.nodeAffinity");
        if let Some(required) = &node.required_during_scheduling_ignored_during_execution {
            let at = at.key("requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms");
            if required.node_selector_terms.is_empty() {
                causes.push(Cause::invalid(at, "the list is empty, so no node fits; give at least one term"));
            }
            for (i, term) in required.node_selector_terms.iter().enumerate() {
                node_term(&at.index(i), term, causes);
            }
        }
        let at = at.key("preferredDuringSchedulingIgnoredDuringExecution");
        for (i, preferred) in node.preferred_during_scheduling_ignored_during_execution.iter().flatten().enumerate() {
            let at = at.index(i);
            weight(&at, preferred.weight, causes);
            node_term(&at.key("preference"), &preferred.preference, causes);
        }
    }
    if let Some(pods) = &affinity.pod_affinity {
        let at = s.at.key("affinity.podAffinity");
        required_pods(&at, pods.required_during_scheduling_ignored_during_execution.as_deref(), causes);
        preferred_pods(&at, pods.preferred_during_scheduling_ignored_during_execution.as_deref(), causes);
    }
    if let Some(pods) = &affinity.pod_anti_affinity {
        let at = s.at.key("affinity.podAntiAffinity");
        required_pods(&at, pods.required_during_scheduling_ignored_during_execution.as_deref(), causes);
        preferred_pods(&at, pods.preferred_during_scheduling_ignored_during_execution.as_deref(), causes);
    }
}

fn weight(at: &Path, weight: i32, causes: &mut Vec<Cause>) {
    if !(1..=100).contains(&weight) {
        causes.push(Cause::invalid(at.key("weight"), format!("{weight} is no weight; give 1 to 100")));
    }
}

fn node_term(at: &Path, term: &NodeSelectorTerm, causes: &mut Vec<Cause>) {
    let expressions = at.key("matchExpressions");
    for (i, requirement) in term.match_expressions.iter().flatten().enumerate() {
        node_requirement(&expressions.index(i), requirement, causes);
    }
    let fields = at.key("matchFields");
    for (i, requirement) in term.match_fields.iter().flatten().enumerate() {
        node_field(&fields.index(i), requirement, causes);
    }
}

fn node_requirement(at: &Path, requirement: &NodeSelectorRequirement, causes: &mut Vec<Cause>) {
    let values = requirement.values.as_deref().unwrap_or_default();
    let operator = requirement.operator.as_str();
    match operator {
        "In" | "NotIn" if values.is_empty() => {
            causes.push(Cause::invalid(at.key("values"), format!("{operator} compares with values; give some")));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            causes.push(Cause::invalid(at.key("values"), format!("{operator} compares with nothing; leave the values out")));
        }
        "Gt" | "Lt" if values.len() != 1 => {
            causes.push(Cause::invalid(at.key("values"), format!("{operator} compares with one value, not {}", values.len())));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" | "Gt" | "Lt" => {}
        other => {
            causes.push(Cause::invalid(
                at.key("operator"),
                format!("{other:?} is no operator; give In, NotIn, Exists, DoesNotExist, Gt or Lt"),
            ));
        }
    }
    selectors::key(&at.key("key"), &requirement.key, causes);
}

fn node_field(at: &Path, requirement: &NodeSelectorRequirement, causes: &mut Vec<Cause>) {
    let values = requirement.values.as_deref().unwrap_or_default();
    match requirement.operator.as_str() {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            causes.push(Cause::invalid(at.key("values"), format!("a field of a node is compared with one value, not {}", values.len())));
        }
        other => causes.push(Cause::invalid(at.key("operator"), format!("{other:?} does not work on fields of nodes; give In or NotIn"))),
    }
    if requirement.key != "metadata.name" {
        let message = format!("nodes cannot be selected by their field {:?}, only by metadata.name", requirement.key);
        causes.push(Cause::invalid(at.key("key"), message));
        return;
    }
    let list = at.key("values");
    for (i, name) in values.iter().enumerate() {
        if let Err(right) = naming::dns_subdomain(name) {
            causes.push(Cause::invalid(list.index(i), format!("{name:?} is no name of a node; {right}")));
        }
    }
}

fn required_pods(at: &Path, terms: Option<&[PodAffinityTerm]>, causes: &mut Vec<Cause>) {
    let at = at.key("requiredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in terms.unwrap_or_default().iter().enumerate() {
        pod_term(&at.index(i), term, causes);
    }
}

fn preferred_pods(at: &Path, terms: Option<&[WeightedPodAffinityTerm]>, causes: &mut Vec<Cause>) {
    let at = at.key("preferredDuringSchedulingIgnoredDuringExecution");
    for (i, term) in terms.unwrap_or_default().iter().enumerate() {
        let at = at.index(i);
        weight(&at, term.weight, causes);
        pod_term(&at.key("podAffinityTerm"), &term.pod_affinity_term, causes);
    }
}

fn pod_term(at: &Path, term: &PodAffinityTerm, causes: &mut Vec<Cause>) {
    for (key, selector) in [("labelSelector", &term.label_selector), ("namespaceSelector", &term.namespace_selector)] {
        if let Some(selector) = selector {
            selectors::selector(&at.key(key), selector, causes);
        }
    }
    for name in term.namespaces.iter().flatten() {
        if let Err(right) = naming::dns_label(name) {
            causes.push(Cause::invalid(at.key("namespace"), format!("{name:?} is no name of a namespace; {right}")));
        }
    }
    topology_key(at, &term.topology_key, causes);
}

fn topology_key(at: &Path, key: &str, causes: &mut Vec<Cause>) {
    if key.is_empty() {
        causes.push(Cause::invalid(at.key("topologyKey"), "name the node label that tells places apart, such as kubernetes.io/hostname"));
    } else {
        selectors::key(&at.key("topologyKey"), key, causes);
    }
}

fn topology_spread(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("topologySpreadConstraints");
    for (i, constraint) in s.spec.topology_spread_constraints.iter().enumerate() {
        let at = list.index(i);
        spread(&at, constraint, causes);
        let later = s.spec.topology_spread_constraints.iter().skip(i + 1);
        let same = |other: &&TopologySpreadConstraint| {
            other.topology_key == constraint.topology_key && other.when_unsatisfiable == constraint.when_unsatisfiable
        };
        if later.into_iter().any(|other| same(&other)) {
            let message =
                format!("{:?} with {:?} is given twice; merge the two constraints", constraint.topology_key, constraint.when_unsatisfiable);
            causes.push(Cause::invalid(at.key("{topologyKey, whenUnsatisfiable}"), message));
        }
    }
}

fn spread(at: &Path, constraint: &TopologySpreadConstraint, causes: &mut Vec<Cause>) {
    if constraint.max_skew <= 0 {
        causes.push(Cause::invalid(at.key("maxSkew"), format!("{} is no difference in numbers; give 1 or more", constraint.max_skew)));
    }
    topology_key(at, &constraint.topology_key, causes);
    if !matches!(constraint.when_unsatisfiable.as_str(), "DoNotSchedule" | "ScheduleAnyway") {
        let message = format!("{:?} is no action; give DoNotSchedule or ScheduleAnyway", constraint.when_unsatisfiable);
        causes.push(Cause::invalid(at.key("whenUnsatisfiable"), message));
    }
    for (key, policy) in [("nodeAffinityPolicy", &constraint.node_affinity_policy), ("nodeTaintsPolicy", &constraint.node_taints_policy)] {
        if let Some(policy) = policy.as_ref().filter(|policy| !matches!(policy.as_str(), "Honor" | "Ignore")) {
            causes.push(Cause::not_supported(at.key(key), format!("{policy:?} is no policy; give Honor or Ignore")));
        }
    }
    if let Some(selector) = &constraint.label_selector {
        selectors::selector(&at.key("labelSelector"), selector, causes);
    }
}

fn tolerations(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("tolerations");
    for (i, toleration) in s.spec.tolerations.iter().enumerate() {
        let words = [
            ("operator", &toleration.operator, &["Exists", "Equal"][..]),
            ("effect", &toleration.effect, &["NoSchedule", "PreferNoSchedule", "NoExecute"]),
        ];
        for (key, word, known) in words {
            let word = word.as_deref().unwrap_or_default();
            if !word.is_empty() && !known.contains(&word) {
                let message = format!("{word:?} is no {key} of a toleration; give one of {}", known.join(", "));
                causes.push(Cause::not_supported(list.index(i).key(key), message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

    fn node(term: Value) -> Value {
        json!({"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 1, "preference": term}]}}})
    }

    fn pod(term: Value) -> Value {
        json!({"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 1, "podAffinityTerm": term}]}}})
    }

    #[test]
    fn nodes_are_selected_by_what_they_have() {
        const TERM: &str = "s.affinity.nodeAffinity.preferredDuringSchedulingIgnoredDuringExecution[0].preference";
        let under = |key: &str| format!("{TERM}.{key}");
        for (spec, wanted) in [
            (node(json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]})), vec![]),
            (node(json!({"matchExpressions": [{"key": "a", "operator": "In"}]})), vec![under("matchExpressions[0].values")]),
            (
                node(json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]})),
                vec![under("matchExpressions[0].values")],
            ),
            (node(json!({"matchExpressions": [{"key": "-", "operator": "Gt", "values": ["1"]}]})), vec![under("matchExpressions[0].key")]),
            (node(json!({"matchExpressions": [{"key": "a", "operator": "Like"}]})), vec![under("matchExpressions[0].operator")]),
            (
                node(json!({"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["B"]}]})),
                vec![under("matchFields[0].values[0]")],
            ),
            (node(json!({"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["b"]}]})), vec![under("matchFields[0].key")]),
        ] {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            check(RULES, &[], &[(spec, &wanted)]);
        }
        let none = json!({"affinity": {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": []}}}});
        check(RULES, &[], &[(none, &["s.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms"])]);
    }

    #[test]
    fn pods_are_kept_apart_in_places_with_names() {
        const AT: &str = "s.affinity.podAntiAffinity.preferredDuringSchedulingIgnoredDuringExecution[0]";
        for (spec, wanted) in [
            (pod(json!({"topologyKey": "a/b"})), vec![]),
            (pod(json!({"topologyKey": ""})), vec![format!("{AT}.podAffinityTerm.topologyKey")]),
            (pod(json!({"topologyKey": "a", "namespaces": ["B"]})), vec![format!("{AT}.podAffinityTerm.namespace")]),
            (
                json!({"affinity": {"podAntiAffinity": {PREFERRED: [{"weight": 101, "podAffinityTerm": {"topologyKey": "a"}}]}}}),
                vec![format!("{AT}.weight")],
            ),
        ] {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            check(RULES, &[], &[(spec, &wanted)]);
        }
    }

    #[test]
    fn tolerations_use_words_of_taints() {
        check(
            RULES,
            &[],
            &[
                (json!({"tolerations": [{"key": "a", "operator": "Exists", "effect": "NoExecute"}, {"key": "b"}]}), &[]),
                (
                    json!({"tolerations": [{"operator": "Like", "effect": "Never"}]}),
                    &["s.tolerations[0].operator", "s.tolerations[0].effect"],
                ),
            ],
        );
    }

    #[test]
    fn a_spread_is_possible_and_given_once() {
        let good = json!({"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": "DoNotSchedule"});
        check(
            RULES,
            &[],
            &[
                (json!({"topologySpreadConstraints": [good]}), &[]),
                (json!({"topologySpreadConstraints": [good, good]}), &["s.topologySpreadConstraints[0].{topologyKey, whenUnsatisfiable}"]),
                (
                    json!({"topologySpreadConstraints": [{"maxSkew": 0, "topologyKey": "", "whenUnsatisfiable": "Panic"}]}),
                    &[
                        "s.topologySpreadConstraints[0].maxSkew",
                        "s.topologySpreadConstraints[0].topologyKey",
                        "s.topologySpreadConstraints[0].whenUnsatisfiable",
                    ],
                ),
            ],
        );
    }
}
