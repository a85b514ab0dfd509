//! Placements on trial: whether nodes can be chosen so, only the API server can tell, by the pods that it takes.

use serde_json::json;

use super::placement;
use crate::api::names::APP_LABEL;
use crate::api::v1::{ComponentConfig, KubeVirtSpec};
use crate::install::Object;

/// A deployment that is never made, with a placement that a KubeVirt object asks for.
#[derive(Clone, Debug, PartialEq)]
pub struct Trial {
    /// The field of the KubeVirt object.
    pub field: &'static str,
    /// The deployment.
    pub deployment: Object,
}

/// The placements that a change brings, on trial.
pub fn trials(new: &KubeVirtSpec, old: &KubeVirtSpec, namespace: &str) -> Vec<Trial> {
    let parts = [("spec.infra.nodePlacement", &new.infra, &old.infra), ("spec.workloads.nodePlacement", &new.workloads, &old.workloads)];
    let placed = |part: &Option<ComponentConfig>| part.as_ref().and_then(|part| part.node_placement.clone());
    let mut trials = Vec::new();
    for (field, new, old) in parts {
        let Some(wanted) = placed(new).filter(|wanted| placed(old).as_ref() != Some(wanted)) else { continue };
        let mut pod = json!({"containers": [{"name": "placement", "image": "placement"}]});
        placement::place(&mut pod, Some(&wanted));
        let labels = json!({APP_LABEL: "placement-trial"});
        let deployment = Object::new(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "kubevirt-placement-trial", "namespace": namespace, "labels": labels},
            "spec": {"selector": {"matchLabels": labels}, "template": {"metadata": {"labels": labels}, "spec": pod}},
        }));
        trials.push(Trial { field, deployment });
    }
    trials
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_new_placement_is_tried() {
        let spec = |infra: &str, workloads: &str| -> KubeVirtSpec {
            let part = |label: &str| json!({"nodePlacement": {"nodeSelector": {"a": label}}});
            serde_json::from_value(json!({"infra": part(infra), "workloads": part(workloads)})).unwrap()
        };
        let fields =
            |new: &KubeVirtSpec, old: &KubeVirtSpec| trials(new, old, "n").into_iter().map(|trial| trial.field).collect::<Vec<_>>();
        assert_eq!(fields(&spec("1", "1"), &spec("1", "2")), ["spec.workloads.nodePlacement"]);
        assert_eq!(fields(&spec("1", "1"), &KubeVirtSpec::default()).len(), 2);
        assert!(fields(&KubeVirtSpec::default(), &spec("1", "1")).is_empty());
        let deployment = trials(&spec("1", "1"), &spec("1", "2"), "n").remove(0).deployment;
        assert_eq!(deployment.value()["spec"]["template"]["spec"]["nodeSelector"]["a"], "1");
    }
}
