//! Nodes whose handler does not answer any more: no guest is sent there, and guests whose pods are gone have failed.

use k8s_openapi::api::core::v1::{Node, Pod};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use super::action::Event;
use super::owner;
use super::patch::Patch;
use super::vm::is_final;
use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase as Phase};

/// A handler that was not heard of for longer does not answer.
const HEARTBEAT_TIMEOUT: SignedDuration = SignedDuration::from_mins(5);
/// So often a node is looked at although nothing has changed.
const RECHECK_SECONDS: u64 = 60;
/// The reason of events, and of the instances that have failed with their node.
const UNRESPONSIVE: &str = "NodeUnresponsive";
const TSC_FREQUENCY_LABEL: &str = "cpu-timer.node.kubevirt.io/tsc-frequency";

/// A node and what is on it.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// Its name.
    pub name: String,
    /// The node, if it is there.
    pub node: Option<Node>,
    /// The instances that say they are on it.
    pub instances: Vec<VirtualMachineInstance>,
    /// The launcher pods on it.
    pub pods: Vec<Pod>,
}

/// One change, or something to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Keeps guests away from the node.
    MarkUnschedulable,
    /// Moves an instance to its end.
    FailInstance {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Says something about an instance.
    RecordAboutInstance {
        /// Its namespace.
        namespace: String,
        /// Its name.
        name: String,
        /// What.
        event: Event,
    },
    /// Says something about the node.
    Record(Event),
    /// Looks again after that many seconds.
    LookAgain {
        /// The seconds.
        seconds: u64,
    },
}

/// What is to be done about a node.
pub fn plan(observed: &Observed, now: Timestamp) -> Vec<Action> {
    let mut plan = Vec::new();
    if is_unresponsive(observed.node.as_ref(), now) {
        if observed.node.as_ref().is_some_and(is_schedulable) {
            plan.push(Action::MarkUnschedulable);
            plan.push(Action::Record(Event {
                warning: false,
                reason: UNRESPONSIVE,
                message: "the handler on the node does not answer: no guest is sent there until it does".to_owned(),
            }));
        }
        let lost = observed.instances.iter().filter(|i| !is_final(i) && !i.status.phase.is_unset() && !has_pod(i, &observed.pods));
        lost.for_each(|instance| fail(instance, &observed.name, &mut plan));
    }
    if observed.node.is_some() {
        plan.push(Action::LookAgain { seconds: RECHECK_SECONDS });
    }
    plan
}

/// Whether the node's handler does not answer. A node that never had one is not ours; one that is gone has none.
fn is_unresponsive(node: Option<&Node>, now: Timestamp) -> bool {
    let Some(node) = node else {
        return true;
    };
    let heartbeat = node.metadata.annotations.as_ref().and_then(|a| a.get(names::VIRT_HANDLER_HEARTBEAT));
    // What is no time says nothing.
    let heard = heartbeat.and_then(|text| text.parse::<Timestamp>().ok());
    heard.is_some_and(|heard| now.duration_since(heard) > HEARTBEAT_TIMEOUT)
}

/// Whether guests are sent to the node.
pub fn is_schedulable(node: &Node) -> bool {
    node.metadata.labels.as_ref().and_then(|l| l.get(names::NODE_SCHEDULABLE)).is_some_and(|v| v == "true")
}

/// The frequency of the node's time stamp counter, if it tells it.
pub fn tsc_frequency(node: &Node) -> Option<i64> {
    let label = node.metadata.labels.as_ref()?.get(TSC_FREQUENCY_LABEL)?;
    label.parse().ok().filter(|frequency| *frequency > 0)
}

/// Whether a pod of the instance still lives there. One whose containers have all ended may hang on for the sake of the
/// handler that does not answer.
fn has_pod(instance: &VirtualMachineInstance, pods: &[Pod]) -> bool {
    let uid = instance.metadata.uid.as_deref().unwrap_or_default();
    pods.iter().any(|pod| {
        let status = pod.status.as_ref();
        let statuses = status.and_then(|s| s.container_statuses.as_deref()).unwrap_or_default();
        let ended = !statuses.is_empty() && statuses.iter().all(|s| s.state.as_ref().is_some_and(|s| s.terminated.is_some()));
        let phase = status.and_then(|s| s.phase.as_deref()).unwrap_or_default();
        owner::is_controlled_by(&pod.metadata, uid) && !ended && !matches!(phase, "Failed" | "Succeeded")
    })
}

fn fail(instance: &VirtualMachineInstance, node: &str, plan: &mut Vec<Action>) {
    let mut failed = instance.clone();
    failed.status.phase = Phase::Failed;
    failed.status.reason = UNRESPONSIVE.to_owned();
    let (namespace, name) = (instance.metadata.namespace.clone().unwrap_or_default(), instance.metadata.name.clone().unwrap_or_default());
    let message = format!("the handler on the node {node:?} does not answer, and the pod is gone: the guest is lost");
    let event = Event { warning: false, reason: UNRESPONSIVE, message };
    plan.push(Action::RecordAboutInstance { namespace: namespace.clone(), name: name.clone(), event });
    plan.push(Action::FailInstance { namespace, name, patch: Patch::between(instance, &failed) });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
        serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    fn node(heartbeat: &str, schedulable: &str) -> Node {
        yaml(&format!(
            "{{metadata: {{name: n, annotations: {{kubevirt.io/heartbeat: '{heartbeat}'}}, labels: {{kubevirt.io/schedulable: '{schedulable}'}}}}}}"
        ))
    }

    fn instance(phase: &str) -> VirtualMachineInstance {
        yaml(&format!(
            "{{metadata: {{namespace: a, name: b, uid: u}}, spec: {{domain: {{devices: {{}}}}}}, status: {{nodeName: n, phase: {phase}}}}}"
        ))
    }

    fn pod(phase: &str, state: &str) -> Pod {
        yaml(&format!(
            "{{metadata: {{name: p, ownerReferences: [{{apiVersion: v, kind: VirtualMachineInstance, name: b, uid: u, controller: true}}]}},
              status: {{phase: {phase}, containerStatuses: [{{name: compute, image: i, imageID: i, ready: false, restartCount: 0, state: {state}}}]}}}}"
        ))
    }

    #[test]
    fn a_handler_that_is_not_heard_of_is_found_out() {
        let now: Timestamp = "2026-12-01T12:00:00Z".parse().unwrap();
        let alive = vec![pod("Running", "{running: {}}")];
        let ended = vec![pod("Running", "{terminated: {exitCode: 0}}")];
        for (node, pods, phase, marks, fails) in [
            (Some(node("2026-12-01T11:56:00Z", "true")), vec![], "Running", false, false),
            (Some(node("2026-12-01T11:54:00Z", "true")), vec![], "Running", true, true),
            (Some(node("2026-12-01T11:54:00Z", "false")), vec![], "Running", false, true),
            (Some(node("2026-12-01T11:54:00Z", "true")), alive.clone(), "Running", true, false),
            (Some(node("2026-12-01T11:54:00Z", "true")), ended, "Running", true, true),
            (Some(node("2026-12-01T11:54:00Z", "true")), vec![], "Succeeded", true, false),
            (Some(node("not a time", "true")), vec![], "Running", false, false),
            (None, vec![], "Scheduled", false, true),
            (None, alive, "Scheduled", false, false),
        ] {
            let there = node.is_some();
            let observed = Observed { name: "n".to_owned(), node, instances: vec![instance(phase)], pods };
            let plan = plan(&observed, now);
            let failed = plan.iter().find_map(|a| if let Action::FailInstance { patch, .. } = a { Some(patch) } else { None });
            assert_eq!((plan.contains(&Action::MarkUnschedulable), failed.is_some()), (marks, fails), "{observed:?}");
            assert_eq!(plan.contains(&Action::LookAgain { seconds: RECHECK_SECONDS }), there);
            if let Some(patch) = failed {
                let mut changed = serde_json::json!(observed.instances[0]);
                patch.apply(&mut changed).unwrap();
                assert_eq!((&changed["status"]["phase"], &changed["status"]["reason"]), (&"Failed".into(), &UNRESPONSIVE.into()));
            }
        }
    }
}
