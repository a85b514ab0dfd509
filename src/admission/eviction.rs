//! May a pod be evicted? A launcher's pod leaves by a migration of its guest, not before it.
//!
//! The answer to such a request is "not now", and the instance is marked, so that the controller moves it away and
//! whoever drains the node asks again until the pod is gone.

use crate::api::names::{APP_LABEL, DOMAIN_ANNOTATION, EVICTION_SOURCE_ANNOTATION};
use crate::api::v1::{EvictionStrategy, VirtualMachineInstance, VirtualMachineInstanceConditionType};
use crate::config::ClusterConfig;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use serde_json::{Value, json};

/// The annotation of a request that tells who makes it, and the one who is known.
const REQUESTED_BY: &str = "requested-by";
const DESCHEDULER: &str = "sigs.k8s.io/descheduler";

/// What the decision is made from.
#[derive(Clone, Copy, Debug)]
pub struct Observed<'a> {
    /// The request.
    pub eviction: &'a Eviction,
    /// The pod that is to go.
    pub pod: &'a Pod,
    /// The launcher's pod that owns it, if it holds a volume that was plugged in.
    pub owner: Option<&'a Pod>,
    /// The instance of the launcher.
    pub instance: Option<&'a VirtualMachineInstance>,
    /// Whether nothing is to be changed.
    pub dry_run: bool,
}

/// The answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Decision {
    /// The pod may go.
    Allow,
    /// The pod may not go (now).
    Deny {
        /// The reason. Tools match on some of the words.
        message: String,
        /// How to mark the instance first.
        mark: Option<Mark>,
    },
}

/// A JSON patch that marks an instance for evacuation.
#[derive(Clone, Debug, PartialEq)]
pub struct Mark {
    /// The operations.
    pub patch: Value,
    /// Whether the API server is only to try them.
    pub dry_run: bool,
}

fn deny(message: String) -> Decision {
    Decision::Deny { message, mark: None }
}

/// Decides a request for an eviction. Pods that are not KubeVirt's, and finished ones, may go.
pub fn decide(observed: &Observed, config: &ClusterConfig) -> Decision {
    match observed.pod.metadata.labels.as_ref().and_then(|labels| labels.get(APP_LABEL)).map(String::as_str) {
        Some("hotplug-disk") if observed.pod.metadata.owner_references.as_ref().is_some_and(|owners| owners.len() == 1) => {
            attachment(observed)
        }
        Some("virt-launcher") if !has_ended(observed.pod) => launcher(observed, config),
        _ => Decision::Allow,
    }
}

fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_deref());
    matches!(phase, Some("Succeeded" | "Failed"))
}

fn guest(pod: &Pod) -> Option<&String> {
    pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(DOMAIN_ANNOTATION))
}

/// A pod that holds a plugged-in volume stays as long as the guest that uses it runs.
fn attachment(observed: &Observed) -> Decision {
    let running = observed.owner.is_some_and(|owner| {
        let launcher = owner.metadata.labels.as_ref().and_then(|labels| labels.get(APP_LABEL)).is_some_and(|app| app == "virt-launcher");
        launcher && !has_ended(owner) && guest(owner).is_some()
    });
    match observed.instance.filter(|_| running) {
        None => Decision::Allow,
        Some(instance) => {
            let (namespace, name) = identity(instance);
            let pod = observed.pod.metadata.name.as_deref().unwrap_or_default();
            deny(format!("the pod {pod} holds a volume of the running instance {namespace}/{name}, and goes with it"))
        }
    }
}

fn identity(instance: &VirtualMachineInstance) -> (&str, &str) {
    (instance.metadata.namespace.as_deref().unwrap_or_default(), instance.metadata.name.as_deref().unwrap_or_default())
}

fn launcher(observed: &Observed, config: &ClusterConfig) -> Decision {
    let Some(wanted) = guest(observed.pod) else { return Decision::Allow };
    let Some(instance) = observed.instance else {
        return deny(format!("the instance {wanted} of the pod cannot be read; ask again"));
    };
    let (namespace, name) = identity(instance);
    let strategy = instance.spec.eviction_strategy.as_ref().or(config.spec().eviction_strategy.as_ref());
    match strategy {
        Some(EvictionStrategy::LiveMigrate) if !is_migratable(instance) => {
            return deny(format!("the instance {namespace}/{name} is to migrate when it is evicted, and cannot be migrated"));
        }
        Some(EvictionStrategy::LiveMigrate | EvictionStrategy::External) => {}
        Some(EvictionStrategy::LiveMigrateIfPossible) if is_migratable(instance) => {}
        _ => return Decision::Allow,
    }
    // the descheduler looks for these words
    let message = format!("Eviction triggered evacuation of VMI \"{namespace}/{name}\"");
    if !instance.status.evacuation_node_name.is_empty() {
        return deny(format!("Evacuation in progress: {message}"));
    }
    let node = observed.pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()).unwrap_or_default();
    if instance.status.node_name != node {
        return deny(format!("the guest of the instance {namespace}/{name} is moving into this pod, which stays until it has"));
    }
    Decision::Deny { message, mark: Some(Mark { patch: patch(observed, instance, node), dry_run: is_trial(observed) }) }
}

fn is_migratable(instance: &VirtualMachineInstance) -> bool {
    let migratable = VirtualMachineInstanceConditionType::LiveMigratable;
    instance.status.conditions.iter().any(|condition| condition.type_ == migratable && condition.status == "True")
}

fn is_trial(observed: &Observed) -> bool {
    let options = observed.eviction.delete_options.as_ref().and_then(|options| options.dry_run.as_ref());
    observed.dry_run || options.and_then(|dry_run| dry_run.first()).is_some_and(|first| first == "All")
}

fn patch(observed: &Observed, instance: &VirtualMachineInstance, node: &str) -> Value {
    let mut operations = vec![json!({"op": "add", "path": "/status/evacuationNodeName", "value": node})];
    let by = observed.eviction.metadata.annotations.as_ref().and_then(|annotations| annotations.get(REQUESTED_BY));
    if by.is_some_and(|by| by == DESCHEDULER) {
        if instance.metadata.annotations.as_ref().is_none_or(|annotations| annotations.is_empty()) {
            operations.push(json!({"op": "add", "path": "/metadata/annotations", "value": {EVICTION_SOURCE_ANNOTATION: "descheduler"}}));
        } else {
            let path = format!("/metadata/annotations/{}", EVICTION_SOURCE_ANNOTATION.replace('~', "~0").replace('/', "~1"));
            operations.push(json!({"op": "add", "path": path, "value": "descheduler"}));
        }
    }
    Value::Array(operations)
}

#[cfg(test)]
mod tests {
    use serde_json::from_value;

    use super::*;

    fn launcher_pod(phase: &str, node: &str) -> Pod {
        from_value(json!({
            "metadata": {"name": "p", "labels": {"kubevirt.io": "virt-launcher"}, "annotations": {"kubevirt.io/domain": "a"}},
            "spec": {"containers": [], "nodeName": node}, "status": {"phase": phase},
        }))
        .unwrap()
    }

    fn instance(strategy: Option<&str>, migratable: bool, status: Value) -> VirtualMachineInstance {
        let mut value = json!({"metadata": {"name": "a", "namespace": "lab"}, "spec": {"evictionStrategy": strategy}, "status": status});
        value["status"]["conditions"] = json!([{"type": "LiveMigratable", "status": if migratable { "True" } else { "False" }}]);
        value["status"]["nodeName"] = json!("n1");
        from_value(value).unwrap()
    }

    fn decided(pod: &Pod, instance: Option<&VirtualMachineInstance>, eviction: Value, settings: Value) -> Decision {
        let eviction = from_value(eviction).unwrap();
        let config = ClusterConfig::new(&from_value(settings).unwrap());
        decide(&Observed { eviction: &eviction, pod, owner: None, instance, dry_run: false }, &config)
    }

    fn text(decision: Decision) -> String {
        match decision {
            Decision::Allow => "allowed".to_owned(),
            Decision::Deny { message, mark } => format!("{}{message}", if mark.is_some() { "marked, " } else { "" }),
        }
    }

    #[test]
    fn a_guest_leaves_by_migration() {
        let evacuation = "Eviction triggered evacuation of VMI \"lab/a\"";
        for (strategy, migratable, status, phase, node, want) in [
            (Some("LiveMigrate"), true, json!({}), "Running", "n1", format!("marked, {evacuation}")),
            (
                Some("LiveMigrate"),
                false,
                json!({}),
                "Running",
                "n1",
                "the instance lab/a is to migrate when it is evicted, and cannot be migrated".to_owned(),
            ),
            (Some("LiveMigrateIfPossible"), true, json!({}), "Running", "n1", format!("marked, {evacuation}")),
            (Some("LiveMigrateIfPossible"), false, json!({}), "Running", "n1", "allowed".to_owned()),
            (Some("External"), false, json!({}), "Running", "n1", format!("marked, {evacuation}")),
            (Some("None"), true, json!({}), "Running", "n1", "allowed".to_owned()),
            (
                Some("LiveMigrate"),
                true,
                json!({"evacuationNodeName": "n1"}),
                "Running",
                "n1",
                format!("Evacuation in progress: {evacuation}"),
            ),
            (
                Some("LiveMigrate"),
                true,
                json!({}),
                "Running",
                "n2",
                "the guest of the instance lab/a is moving into this pod, which stays until it has".to_owned(),
            ),
            (Some("LiveMigrate"), true, json!({}), "Succeeded", "n1", "allowed".to_owned()),
            (None, true, json!({}), "Running", "n1", "allowed".to_owned()),
        ] {
            let got = decided(
                &launcher_pod(phase, node),
                Some(&instance(strategy, migratable, status)),
                json!({}),
                json!({"evictionStrategy": "None"}),
            );
            assert_eq!(text(got), want, "{strategy:?} {migratable} {phase} {node}");
        }
        let cluster_wide = decided(
            &launcher_pod("Running", "n1"),
            Some(&instance(None, true, json!({}))),
            json!({}),
            json!({"evictionStrategy": "LiveMigrate"}),
        );
        assert_eq!(text(cluster_wide), format!("marked, {evacuation}"));
        assert!(text(decided(&launcher_pod("Running", "n1"), None, json!({}), json!({}))).contains("cannot be read"));
        assert_eq!(decided(&Pod::default(), None, json!({}), json!({})), Decision::Allow, "others' pods are not ours to keep");
    }

    #[test]
    fn the_mark_tells_from_where_and_by_whom() {
        let vmi = instance(Some("LiveMigrate"), true, json!({}));
        let eviction =
            json!({"metadata": {"annotations": {"requested-by": "sigs.k8s.io/descheduler"}}, "deleteOptions": {"dryRun": ["All"]}});
        let Decision::Deny { mark: Some(mark), .. } = decided(&launcher_pod("Running", "n1"), Some(&vmi), eviction, json!({})) else {
            panic!("the instance is marked")
        };
        assert!(mark.dry_run);
        assert_eq!(
            mark.patch,
            json!([
                {"op": "add", "path": "/status/evacuationNodeName", "value": "n1"},
                {"op": "add", "path": "/metadata/annotations", "value": {"kubevirt.io/eviction-source": "descheduler"}},
            ])
        );
    }

    #[test]
    fn a_volume_stays_with_its_guest() {
        let pod: Pod = from_value(json!({"metadata": {"name": "hp", "labels": {"kubevirt.io": "hotplug-disk"}, "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "u"},
        ]}}))
        .unwrap();
        let vmi = instance(None, true, json!({}));
        let config = ClusterConfig::new(&Default::default());
        let eviction = Eviction::default();
        let ask = |owner: Option<&Pod>, instance| {
            decide(&Observed { eviction: &eviction, pod: &pod, owner, instance, dry_run: false }, &config) == Decision::Allow
        };
        let (running, ended) = (launcher_pod("Running", "n1"), launcher_pod("Failed", "n1"));
        assert!(!ask(Some(&running), Some(&vmi)));
        assert!(ask(Some(&running), None) && ask(Some(&ended), Some(&vmi)) && ask(None, Some(&vmi)));
    }
}
