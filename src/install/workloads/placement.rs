//! On which nodes components run.

use serde_json::{Value, json};

use crate::api::v1::NodePlacement;

const CONTROL_PLANE: &str = "node-role.kubernetes.io/control-plane";
const WORKER: &str = "node-role.kubernetes.io/worker";
const SYSTEM: (&str, &str) = ("kubernetes.io/os", "linux");

/// Where the components of the control plane run if nothing says where. Nodes of the cluster's own control plane are
/// preferred, not demanded: clusters whose control plane is someone else's have none.
pub(super) fn of_infra() -> NodePlacement {
    let toleration = |key: &str| json!({"key": key, "operator": "Exists", "effect": "NoSchedule"});
    let preference = |weight: u8, key: &str, operator: &str| json!({"weight": weight, "preference": {"matchExpressions": [{"key": key, "operator": operator}]}});
    let placement = json!({
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [
            preference(100, CONTROL_PLANE, "Exists"),
            preference(50, WORKER, "DoesNotExist"),
        ]}},
        "tolerations": [toleration(CONTROL_PLANE), toleration("node-role.kubernetes.io/master")],
    });
    serde_json::from_value(placement).unwrap_or_default()
}

/// Adds a placement to a pod. What the pod demands itself stays.
pub(super) fn place(pod: &mut Value, placement: Option<&NodePlacement>) {
    let given = placement.map(|placement| json!(placement)).unwrap_or_default();
    let mut selector = json!({SYSTEM.0: SYSTEM.1});
    add(&mut selector, given.get("nodeSelector"));
    add(&mut selector, pod.get("nodeSelector"));
    pod["nodeSelector"] = selector;
    if let Some(affinity) = given.get("affinity").filter(|affinity| !affinity.is_null()) {
        let mut merged = pod.get("affinity").cloned().unwrap_or_else(|| json!({}));
        merge(&mut merged, affinity);
        pod["affinity"] = merged;
    }
    if let Some(Value::Array(tolerations)) = given.get("tolerations") {
        let own = pod.get("tolerations").and_then(Value::as_array).cloned().unwrap_or_default();
        let new = tolerations.iter().filter(|toleration| !own.contains(toleration)).cloned();
        pod["tolerations"] = own.iter().cloned().chain(new).collect();
    }
}

fn add(to: &mut Value, from: Option<&Value>) {
    if let (Some(to), Some(Value::Object(from))) = (to.as_object_mut(), from) {
        to.extend(from.clone());
    }
}

/// Objects merge, lists grow.
fn merge(to: &mut Value, from: &Value) {
    match (to, from) {
        (Value::Object(to), Value::Object(from)) => {
            for (key, value) in from {
                merge(to.entry(key).or_insert(Value::Null), value);
            }
        }
        (Value::Array(to), Value::Array(from)) => to.extend(from.iter().cloned()),
        (to, from) => *to = from.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_placement_adds_to_what_a_pod_has() {
        let term = |name: &str| json!({"weight": 1, "podAffinityTerm": {"topologyKey": name}});
        let mut pod = json!({
            "nodeSelector": {"own": "1"},
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term("a")]}},
            "tolerations": [{"key": "x", "operator": "Exists"}],
        });
        let placement: NodePlacement = serde_json::from_value(json!({
            "nodeSelector": {"own": "2", "other": "3"},
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term("b")]}},
            "tolerations": [{"key": "x", "operator": "Exists"}, {"key": "y", "operator": "Exists"}],
        }))
        .unwrap();
        place(&mut pod, Some(&placement));
        assert_eq!(pod["nodeSelector"], json!({"own": "1", "other": "3", "kubernetes.io/os": "linux"}));
        assert_eq!(pod["affinity"]["podAntiAffinity"]["preferredDuringSchedulingIgnoredDuringExecution"], json!([term("a"), term("b")]));
        assert_eq!(pod["tolerations"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn the_operating_system_can_be_chosen() {
        let mut pod = json!({});
        place(&mut pod, None);
        assert_eq!(pod, json!({"nodeSelector": {"kubernetes.io/os": "linux"}}));
        assert_eq!(of_infra().tolerations.len(), 2);
    }
}
