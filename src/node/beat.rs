//! The heartbeat of a node: what is written to the node object, now and then, in one patch.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::labels;
use crate::api::names;

/// The older name of the label about CPUs of one's own.
const DEPRECATED_CPU_MANAGER: &str = "cpumanager";
/// The least time between two beats.
const INTERVAL: Duration = Duration::from_secs(60);
/// How much longer it may be, as a share of it.
const JITTER: f64 = 1.2;

/// What a beat says.
#[derive(Clone, Debug, PartialEq)]
pub struct Beat {
    /// Whether guests can come.
    pub schedulable: bool,
    /// Whether the kubelet gives CPUs to a guest alone.
    pub cpu_manager: bool,
    /// What the node's guests can have; `None` leaves the labels as they are.
    pub labels: Option<BTreeMap<String, String>>,
}

/// What is written now to a node that has those labels and annotations: the time, and what differs.
pub fn patch(beat: &Beat, labels: &BTreeMap<String, String>, annotations: &BTreeMap<String, String>, now: Timestamp) -> Value {
    let mut wanted = BTreeMap::from([
        (names::NODE_SCHEDULABLE.to_owned(), beat.schedulable.to_string()),
        (names::CPU_MANAGER.to_owned(), beat.cpu_manager.to_string()),
        (DEPRECATED_CPU_MANAGER.to_owned(), beat.cpu_manager.to_string()),
    ]);
    let mut changes = Map::new();
    let skipped = annotations.contains_key(names::LABELLER_SKIP_NODE_ANNOTATION);
    if let Some(of_host) = beat.labels.as_ref().filter(|_| !skipped) {
        let gone = labels.keys().filter(|label| labels::is_ours(label) && !of_host.contains_key(*label));
        changes.extend(gone.map(|label| (label.clone(), Value::Null)));
        wanted.extend(of_host.clone());
    }
    changes
        .extend(wanted.into_iter().filter(|(label, value)| labels.get(label) != Some(value)).map(|(label, value)| (label, json!(value))));
    let mut metadata = json!({ "annotations": { names::VIRT_HANDLER_HEARTBEAT: now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string() } });
    if !changes.is_empty() {
        metadata["labels"] = Value::Object(changes);
    }
    json!({ "metadata": metadata })
}

/// How long it is until the next beat; `lot` is drawn from 0 to 1, so that the nodes of a cluster do not beat together.
pub fn pause(lot: f64) -> Duration {
    INTERVAL.mul_f64(1.0 + JITTER * lot.clamp(0.0, 1.0))
}

/// Whether the kubelet gives CPUs to a container alone, by the state that it keeps.
pub fn has_cpu_manager(state: &str) -> bool {
    serde_json::from_str::<Value>(state).is_ok_and(|state| state["policyName"] == "static")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect()
    }

    fn written(beat: &Beat, labels: &[(&str, &str)], annotations: &[(&str, &str)]) -> Value {
        patch(beat, &map(labels), &map(annotations), "2026-12-01T16:00:00.5Z".parse().unwrap())["metadata"].take()
    }

    #[test]
    fn only_what_differs_is_written() {
        let features = map(&[("cpu-feature.node.kubevirt.io/vmx", "true"), ("kubevirt.io/realtime", "true")]);
        let beat = Beat { schedulable: true, cpu_manager: false, labels: Some(features) };
        let there = [
            ("cpu-feature.node.kubevirt.io/old", "true"),
            ("kubevirt.io/realtime", "true"),
            ("kubevirt.io/schedulable", "false"),
            ("cpumanager", "false"),
            ("zone", "a"),
        ];
        assert_eq!(
            written(&beat, &there, &[]),
            json!({
                "annotations": { "kubevirt.io/heartbeat": "2026-12-01T16:00:00Z" },
                "labels": {
                    "cpu-feature.node.kubevirt.io/old": null,
                    "cpu-feature.node.kubevirt.io/vmx": "true",
                    "kubevirt.io/cpumanager": "false",
                    "kubevirt.io/schedulable": "true",
                },
            })
        );
        let same = [("kubevirt.io/schedulable", "true"), ("kubevirt.io/cpumanager", "false"), ("cpumanager", "false")];
        let beat = Beat { labels: None, ..beat };
        assert_eq!(written(&beat, &same, &[]), json!({ "annotations": { "kubevirt.io/heartbeat": "2026-12-01T16:00:00Z" } }));
    }

    #[test]
    fn a_node_may_ask_to_be_left_without_labels() {
        let beat = Beat { schedulable: false, cpu_manager: true, labels: Some(map(&[("kubevirt.io/sev", "true")])) };
        let found = written(&beat, &[("kubevirt.io/tdx", "true")], &[("node-labeller.kubevirt.io/skip-node", "")]);
        let labels = json!({ "kubevirt.io/schedulable": "false", "kubevirt.io/cpumanager": "true", "cpumanager": "true" });
        assert_eq!(found["labels"], labels);
    }

    #[test]
    fn the_kubelets_state_says_whether_cpus_are_given_away() {
        assert!(has_cpu_manager(r#"{"policyName":"static","defaultCpuSet":"0-3"}"#));
        assert!(!has_cpu_manager(r#"{"policyName":"none"}"#) && !has_cpu_manager(""));
        assert_eq!((pause(0.0), pause(1.0), pause(7.0)), (INTERVAL, Duration::from_secs(132), Duration::from_secs(132)));
    }
}
