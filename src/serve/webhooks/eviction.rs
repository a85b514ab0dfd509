//! Evictions of pods: reads the pod and its guest, marks the guest when it is to move away first, and answers.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::policy::v1::Eviction;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::{Api, Client};
use kubevirt_rs::admission::eviction::{Decision, Mark, Observed, decide};
use kubevirt_rs::api::names::DOMAIN_ANNOTATION;
use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::config::ClusterConfig;
use serde::Deserialize as _;

use crate::serve::review::{Question, Reply};

/// What tools know as "not now": they ask again later.
const NOT_NOW: u16 = 429;

/// Answers an eviction.
pub(super) async fn judge(client: &Client, config: &ClusterConfig, question: &Question) -> Reply {
    let eviction = match Eviction::deserialize(&question.object) {
        Ok(eviction) => eviction,
        Err(error) => return Reply::deny(400, format!("request.object must be an Eviction: {error}")),
    };
    match decided(client, config, question, &eviction).await {
        Ok(Decision::Allow) => Reply::allow(),
        Ok(Decision::Deny { message, .. }) => Reply::deny(NOT_NOW, message),
        Err(error) => Reply::deny(500, format!("find out whether the pod runs a guest: {error}; try again")),
    }
}

async fn decided(client: &Client, config: &ClusterConfig, question: &Question, eviction: &Eviction) -> kube::Result<Decision> {
    let namespace = question.namespace.as_str();
    let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let instances: Api<VirtualMachineInstance> = Api::namespaced(client.clone(), namespace);
    // a pod that is gone can be evicted
    let Some(pod) = pods.get_opt(&question.name).await? else { return Ok(Decision::Allow) };
    let owner = match pod.metadata.owner_references.iter().flatten().find(|owner| owner.kind == "Pod") {
        Some(owner) => pods.get_opt(&owner.name).await?,
        None => None,
    };
    let guest = |pod: &Pod| pod.metadata.annotations.as_ref().and_then(|annotations| annotations.get(DOMAIN_ANNOTATION)).cloned();
    let instance = match guest(&pod).or_else(|| owner.as_ref().and_then(guest)) {
        Some(name) => instances.get_opt(&name).await?,
        None => None,
    };
    let observed =
        Observed { eviction, pod: &pod, owner: owner.as_ref(), instance: instance.as_ref(), dry_run: question.dry_run.unwrap_or_default() };
    let decision = decide(&observed, config);
    if let (Decision::Deny { mark: Some(mark), .. }, Some(instance)) = (&decision, &instance) {
        apply(&instances, instance, mark).await?;
    }
    Ok(decision)
}

async fn apply(instances: &Api<VirtualMachineInstance>, instance: &VirtualMachineInstance, mark: &Mark) -> kube::Result<()> {
    let name = instance.metadata.name.as_deref().unwrap_or_default();
    let patch: json_patch::Patch = serde_json::from_value(mark.patch.clone()).map_err(kube::Error::SerdeError)?;
    let params = PatchParams { dry_run: mark.dry_run, ..PatchParams::default() };
    instances.patch(name, &params, &Patch::<DynamicObject>::Json(patch)).await?;
    let namespace = instance.metadata.namespace.as_deref().unwrap_or_default();
    tracing::info!(kind = "VirtualMachineInstance", namespace, name, dry_run = mark.dry_run, "marked for evacuation");
    Ok(())
}
