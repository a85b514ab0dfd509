//! How far the components have come.

use serde_json::Value;

use super::kinds::Kind;
use super::live::Live;

/// The component on every node, and the deployments of the control plane, in the order of an update.
pub(super) const HANDLER: &str = "virt-handler";
const CONTROLLER: &str = "virt-controller";
const API: &str = "virt-api";

/// The components: kind and name, in the order in which they are updated. Whoever is told what to do comes before whoever
/// tells: a handler knows what an older controller asks for, and the API lets in only what everyone knows.
pub(super) const COMPONENTS: [(&str, &str); 3] = [("DaemonSet", HANDLER), ("Deployment", CONTROLLER), ("Deployment", API)];

fn number(object: &Value, path: &str) -> i64 {
    object.pointer(path).and_then(Value::as_i64).unwrap_or_default()
}

/// Whether nothing runs but what was written last, and enough of it.
pub(super) fn is_ready(object: &Value) -> bool {
    let status = |field: &str| number(object, &format!("/status/{field}"));
    if number(object, "/metadata/generation") > status("observedGeneration") {
        return false;
    }
    if object.pointer("/kind").and_then(Value::as_str) == Some("DaemonSet") {
        let nodes = status("desiredNumberScheduled");
        nodes > 0 && status("numberReady") == nodes && status("updatedNumberScheduled") == nodes
    } else {
        let all = status("replicas");
        all > 0 && status("updatedReplicas") == all && status("readyReplicas") > 0
    }
}

/// The live object of a component.
pub(super) fn component<'a>(live: &'a Live, kind: &str, name: &str, namespace: &str) -> Option<&'a Value> {
    let kind = Kind::named(kind)?;
    live.iter().find(|(id, _)| id.kind == kind && id.name == name && id.namespace.as_deref() == Some(namespace)).map(|(_, object)| object)
}

/// The components that are not ready, as people call them.
pub(super) fn missing(live: &Live, namespace: &str) -> Vec<&'static str> {
    let is_missing = |(kind, name): &(&'static str, &'static str)| !component(live, kind, name, namespace).is_some_and(is_ready);
    COMPONENTS.into_iter().filter(is_missing).map(|(_, name)| name).collect()
}

/// How many handlers of an update may be away at once: one, until the first new one has shown that it can do its work;
/// then a tenth of them.
pub(super) fn max_unavailable(live: Option<&Value>) -> Value {
    let Some(live) = live else { return 1.into() };
    let status = |field: &str| number(live, &format!("/status/{field}"));
    let (nodes, updated) = (status("desiredNumberScheduled"), status("updatedNumberScheduled"));
    let begun = number(live, "/metadata/generation") <= status("observedGeneration") && updated > 0 && updated < nodes;
    let is_fast = live.pointer("/spec/updateStrategy/rollingUpdate/maxUnavailable").is_some_and(Value::is_string);
    // Once it goes fast it does so until the end: some are always away then.
    if begun && (is_fast || status("numberReady") == nodes) { "10%".into() } else { 1.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_component_is_ready_when_nothing_else_runs() {
        let deployment = |all: i64, updated: i64, ready: i64| json!({"kind": "Deployment", "metadata": {"generation": 2}, "status": {"observedGeneration": 2, "replicas": all, "updatedReplicas": updated, "readyReplicas": ready}});
        for (object, wanted) in [
            (deployment(2, 2, 1), true),
            (deployment(2, 2, 0), false),
            (deployment(3, 2, 3), false),
            (deployment(0, 0, 0), false),
            (
                json!({"kind": "Deployment", "metadata": {"generation": 3}, "status": {"observedGeneration": 2, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1}}),
                false,
            ),
            (json!({"kind": "DaemonSet", "status": {"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 2}}), true),
            (json!({"kind": "DaemonSet", "status": {"desiredNumberScheduled": 2, "numberReady": 2, "updatedNumberScheduled": 1}}), false),
            (json!({"kind": "DaemonSet", "status": {}}), false),
        ] {
            assert_eq!(is_ready(&object), wanted, "{object}");
        }
    }

    #[test]
    fn a_first_handler_goes_ahead() {
        let daemon_set = |updated: i64, ready: i64, most: Value| {
            json!({
                "metadata": {"generation": 2},
                "spec": {"updateStrategy": {"rollingUpdate": {"maxUnavailable": most}}},
                "status": {"observedGeneration": 2, "desiredNumberScheduled": 20, "updatedNumberScheduled": updated, "numberReady": ready},
            })
        };
        for (updated, ready, most, wanted) in [
            (0, 20, json!(1), json!(1)),
            (1, 19, json!(1), json!(1)),
            (1, 20, json!(1), json!("10%")),
            (5, 18, json!("10%"), json!("10%")),
            (20, 20, json!("10%"), json!(1)),
        ] {
            assert_eq!(max_unavailable(Some(&daemon_set(updated, ready, most.clone()))), wanted, "{updated} {ready} {most}");
        }
        assert_eq!(max_unavailable(None), json!(1));
    }
}
