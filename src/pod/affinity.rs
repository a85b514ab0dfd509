//! Which nodes the pod keeps off, and which it would rather have.

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, PodAffinityTerm, PreferredSchedulingTerm,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

use crate::api::names;
use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::nodes;

/// The affinity of the pod: the user's, and what the guest and its disks add.
///
/// `reservations` are the labels of the LUNs that the guest may reserve: two guests that share one must not share
/// a node, since a reservation is the node's.
pub(super) fn affinity<'a>(
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    reservations: impl Iterator<Item = &'a str>,
) -> Option<Affinity> {
    let mut affinity = vmi.spec.affinity.clone();
    for label in unwanted(vmi) {
        keep_off(affinity.get_or_insert_default(), &label);
    }
    for label in reservations {
        keep_apart(affinity.get_or_insert_default(), label);
    }
    if config.enabled(Gate::CrossArchitectureVirtualization) && !vmi.spec.architecture.is_empty() {
        prefer_architecture(affinity.get_or_insert_default(), &vmi.spec.architecture);
    }
    affinity
}

/// Labels of nodes that the guest cannot run on.
fn unwanted(vmi: &VirtualMachineInstance) -> Vec<String> {
    let cpu = vmi.spec.domain.cpu.as_ref();
    let mut labels = Vec::new();
    if cpu.is_none_or(|cpu| matches!(cpu.model.as_str(), "" | "host-model")) {
        labels.push(names::NODE_HOST_MODEL_IS_OBSOLETE_LABEL.to_owned());
    }
    let forbidden = cpu.into_iter().flat_map(|cpu| &cpu.features).filter(|f| f.policy == "forbid");
    labels.extend(forbidden.map(|f| format!("{}{}", names::CPU_FEATURE_LABEL, f.name)));
    labels
}

fn keep_off(affinity: &mut Affinity, label: &str) {
    let requirement = NodeSelectorRequirement { key: label.to_owned(), operator: "DoesNotExist".to_owned(), values: None };
    let required = &mut affinity.node_affinity.get_or_insert_default().required_during_scheduling_ignored_during_execution;
    match required {
        // a node has to meet one of the terms, so each of them has to say it
        Some(selector) => {
            for term in &mut selector.node_selector_terms {
                term.match_expressions.get_or_insert_default().push(requirement.clone());
            }
        }
        None => {
            let term = NodeSelectorTerm { match_expressions: Some(vec![requirement]), match_fields: None };
            *required = Some(NodeSelector { node_selector_terms: vec![term] });
        }
    }
}

fn keep_apart(affinity: &mut Affinity, label: &str) {
    let exists = LabelSelectorRequirement { key: label.to_owned(), operator: "Exists".to_owned(), values: None };
    let selector = LabelSelector { match_expressions: Some(vec![exists]), match_labels: None };
    let terms = &mut affinity.pod_anti_affinity.get_or_insert_default().required_during_scheduling_ignored_during_execution;
    terms.get_or_insert_default().push(PodAffinityTerm {
        label_selector: Some(selector),
        topology_key: "kubernetes.io/hostname".to_owned(),
        ..PodAffinityTerm::default()
    });
}

/// Emulating another architecture is slow; a node that need not is better.
fn prefer_architecture(affinity: &mut Affinity, architecture: &str) {
    let requirement = NodeSelectorRequirement {
        key: nodes::ARCHITECTURE.to_owned(),
        operator: "In".to_owned(),
        values: Some(vec![architecture.to_lowercase()]),
    };
    let preference = NodeSelectorTerm { match_expressions: Some(vec![requirement]), match_fields: None };
    let node = affinity.node_affinity.get_or_insert_default();
    let preferred = node.preferred_during_scheduling_ignored_during_execution.get_or_insert_default();
    preferred.push(PreferredSchedulingTerm { weight: 100, preference });
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::fixture::{config, vmi};

    fn found(spec: &str, settings: &str, reservations: &[&str]) -> Value {
        json!(affinity(&vmi(spec), &config(settings), reservations.iter().copied()))
    }

    #[test]
    fn every_term_of_the_user_keeps_off_what_the_guest_cannot_run_on() {
        let spec = "{domain: {cpu: {model: a, features: [{name: x, policy: forbid}]}, devices: {}}, affinity: {nodeAffinity: \
            {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: f, operator: Exists}]}, {}]}}}}";
        let terms = &found(spec, "{}", &[])["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        let keep_off = json!([{"key": "cpu-feature.node.kubevirt.io/x", "operator": "DoesNotExist"}]);
        assert_eq!((&terms[0]["matchExpressions"], &terms[1]["matchExpressions"]), (&keep_off, &keep_off));
    }

    #[test]
    fn affinity_comes_only_from_a_reason() {
        assert_eq!(found("{domain: {cpu: {model: a}, devices: {}}}", "{}", &[]), Value::Null);
        let apart = found("{domain: {cpu: {model: a}, devices: {}}}", "{}", &["pr.kubevirt.io/u"]);
        let term = &apart["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0];
        assert_eq!(term["labelSelector"]["matchExpressions"][0]["key"], "pr.kubevirt.io/u");
        let cross = "{developerConfiguration: {featureGates: [CrossArchitectureVirtualization]}}";
        let other = found("{architecture: arm64, domain: {cpu: {model: a}, devices: {}}}", cross, &[]);
        assert_eq!(other["nodeAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"][0]["weight"], 100);
    }
}
