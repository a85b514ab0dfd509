//! `evacuate/cancel`: the guest is no longer asked to leave its node.

use k8s_openapi::api::core::v1::Node;

use super::{Answer, Case, Patch, Race, Refusal, Success, Target};
use crate::api::v1::{EvacuateCancelOptions, VirtualMachineInstance};

const PATH: &str = "/status/evacuationNodeName";

pub(super) fn cancel(case: &mut Case<'_>) -> Answer {
    let instance = case.instance_of_kind()?;
    refuse_on_drained_node(case, instance)?;
    if instance.status.evacuation_node_name.is_empty() {
        return Ok(Success::Done);
    }
    if case.request.body.is_none() {
        return Err(Refusal::bad_request("a body with evacuationNodeName is needed: the node that the guest shall stay on"));
    }
    let options: EvacuateCancelOptions = case.options()?;
    let patch = Patch::default().test(PATH, &options.evacuation_node_name).remove(PATH);
    case.patch(Target::Instance, patch, &options.dry_run, Race::Internal);
    Ok(Success::Done)
}

/// A node that is drained by a taint would be evacuated again at once.
fn refuse_on_drained_node(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    let migrations = case.config.spec().migrations.as_ref();
    let Some(key) = migrations.and_then(|m| m.node_drain_taint_key.as_deref()) else {
        return Ok(());
    };
    let status = &instance.status;
    let name = if status.evacuation_node_name.is_empty() { &status.node_name } else { &status.evacuation_node_name };
    let node = case.observed.nodes.iter().find(|n| n.metadata.name.as_ref() == Some(name));
    let node = node.ok_or_else(|| Refusal::internal(format_args!("the node {name:?} of the guest is not there")))?;
    if is_tainted(node, key) {
        return Err(Refusal::bad_request(format!("the node {name:?} is being drained: take the taint {key} away first")));
    }
    Ok(())
}

fn is_tainted(node: &Node, key: &str) -> bool {
    let taints = node.spec.as_ref().and_then(|s| s.taints.as_ref());
    taints.into_iter().flatten().any(|t| t.key == key && t.effect == "NoSchedule")
}
