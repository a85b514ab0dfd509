//! Launcher pods: the containers that share what other webhooks have mounted into the launcher.
//!
//! Nothing here keeps a pod from starting: what cannot be found out is left as it is, and the instance's status tells
//! which containers are missing.

use k8s_openapi::api::core::v1::Pod;
use kube::{Api, Client};
use kubevirt_rs::api::names::APP_LABEL;
use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::pod::container_paths;
use serde::Deserialize as _;
use serde_json::{Value, json};

use crate::serve::review::{Question, Reply, guarded};

/// Answers with the containers that the pod misses.
pub(super) async fn complete(client: &Client, config: &ClusterConfig, question: &Question) -> Reply {
    let Ok(pod) = Pod::deserialize(&question.object) else { return Reply::allow() };
    let is_launcher = pod.metadata.labels.as_ref().and_then(|labels| labels.get(APP_LABEL)).is_some_and(|app| app == "virt-launcher");
    let owners = pod.metadata.owner_references.iter().flatten();
    let owner = owners.into_iter().find(|owner| owner.kind == "VirtualMachineInstance" && owner.api_version == "kubevirt.io/v1");
    let Some(owner) = owner.filter(|_| is_launcher) else { return Reply::allow() };
    let instances: Api<VirtualMachineInstance> = Api::namespaced(client.clone(), &question.namespace);
    match instances.get_opt(&owner.name).await {
        Ok(Some(instance)) => guarded(|| added(&instance, &pod, config)),
        Ok(None) => Reply::allow(),
        Err(error) => {
            tracing::warn!(%error, namespace = question.namespace, name = owner.name, "the instance of a launcher cannot be read");
            Reply::allow()
        }
    }
}

fn added(instance: &VirtualMachineInstance, pod: &Pod, config: &ClusterConfig) -> Reply {
    let missing = container_paths::missing(instance, pod, config);
    let add = |container| json!({"op": "add", "path": "/spec/containers/-", "value": container});
    Reply::change(&missing.iter().map(add).collect::<Vec<Value>>())
}
