//! What the state of a pod says about the guest in it.

use k8s_openapi::api::core::v1::{ContainerStatus, Pod, PodCondition};

use crate::api::names;
use crate::api::v1::VirtualMachineInstance;
use crate::lifecycle::owner;
use crate::lifecycle::patch::Patch;
use crate::pod::COMPUTE;

/// A proxy that becomes ready only once something points to the pod: the guest does not wait for it.
const ISTIO_PROXY: &str = "istio-proxy";

/// The pod that the guest is in: the newest on the instance's node, or the newest of all as long as it is on none.
pub fn current_pod<'a>(instance: &VirtualMachineInstance, pods: &'a [Pod]) -> Option<&'a Pod> {
    let node = instance.status.node_name.as_str();
    let ours = pods.iter().filter(|pod| belongs_to(pod, instance));
    let here = ours.filter(|pod| node.is_empty() || node_name(pod) == node);
    // Of pods of the same second the first counts, whatever the order they come in.
    here.max_by(|a, b| {
        let (a, b) = (&a.metadata, &b.metadata);
        let time = |m: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta| m.creation_timestamp.as_ref().map(|t| t.0);
        time(a).cmp(&time(b)).then_with(|| b.name.cmp(&a.name))
    })
}

/// Whether the pod is one of the instance's.
pub(super) fn belongs_to(pod: &Pod, instance: &VirtualMachineInstance) -> bool {
    owner::is_controlled_by(&pod.metadata, instance.metadata.uid.as_deref().unwrap_or_default())
}

pub(super) fn name(pod: &Pod) -> &str {
    pod.metadata.name.as_deref().unwrap_or_default()
}

pub(super) fn node_name(pod: &Pod) -> &str {
    pod.spec.as_ref().and_then(|s| s.node_name.as_deref()).unwrap_or_default()
}

pub(super) fn annotation<'a>(pod: &'a Pod, key: &str) -> Option<&'a str> {
    pod.metadata.annotations.as_ref()?.get(key).map(String::as_str)
}

/// Whether the pod is only there so that volumes get bound.
pub(super) fn is_temporary(pod: &Pod) -> bool {
    annotation(pod, names::EPHEMERAL_PROVISIONING_OBJECT).is_some()
}

pub(super) fn phase(pod: &Pod) -> &str {
    pod.status.as_ref().and_then(|s| s.phase.as_deref()).unwrap_or_default()
}

fn statuses(pod: &Pod) -> &[ContainerStatus] {
    pod.status.as_ref().and_then(|s| s.container_statuses.as_deref()).unwrap_or_default()
}

fn is_running(status: &ContainerStatus) -> bool {
    status.state.as_ref().is_some_and(|s| s.running.is_some())
}

fn compute_exit_code(pod: &Pod) -> Option<i32> {
    let compute = statuses(pod).iter().find(|s| s.name == COMPUTE)?;
    Some(compute.state.as_ref()?.terminated.as_ref()?.exit_code)
}

/// Whether the guest in the pod has ended, whatever else still runs in it.
pub(super) fn has_ended(pod: &Pod) -> bool {
    is_down(pod) || compute_exit_code(pod).is_some()
}

/// Whether it has ended well.
pub(super) fn has_succeeded(pod: &Pod) -> bool {
    compute_exit_code(pod).map_or(phase(pod) == "Succeeded", |code| code == 0)
}

/// Whether the pod has run its course.
pub fn is_down(pod: &Pod) -> bool {
    matches!(phase(pod), "Succeeded" | "Failed")
}

/// Whether the pod, or the guest in it, has ended or is about to.
pub fn is_going_down(pod: &Pod) -> bool {
    has_ended(pod) || pod.metadata.deletion_timestamp.is_some()
}

/// Whether the pod failed, or goes.
pub(super) fn has_failed(pod: &Pod) -> bool {
    phase(pod) == "Failed" || compute_exit_code(pod).is_some_and(|code| code != 0) || pod.metadata.deletion_timestamp.is_some()
}

/// Whether the handler can take over. The readiness of the launcher's own container is that of the guest, so it only has
/// to run.
pub fn is_ready(pod: &Pod) -> bool {
    let started = |status: &ContainerStatus| match status.name.as_str() {
        COMPUTE | ISTIO_PROXY => is_running(status),
        _ => status.ready,
    };
    !is_going_down(pod) && statuses(pod).iter().all(started) && phase(pod) == "Running"
}

/// Why an image cannot be had, if so: the reason and the words of the kubelet.
pub(super) fn image_problem(pod: &Pod) -> Option<(&'static str, String)> {
    let status = pod.status.as_ref()?;
    let all = status.init_container_statuses.iter().flatten().chain(status.container_statuses.iter().flatten());
    all.filter_map(|s| s.state.as_ref()?.waiting.as_ref()).find_map(|waiting| {
        let reason = ["ErrImagePull", "ImagePullBackOff"].into_iter().find(|r| waiting.reason.as_deref() == Some(r))?;
        Some((reason, waiting.message.clone().unwrap_or_default()))
    })
}

pub(super) fn condition<'a>(pod: &'a Pod, kind: &str) -> Option<&'a PodCondition> {
    pod.status.as_ref()?.conditions.iter().flatten().find(|c| c.type_ == kind)
}

/// What puts a condition into the status of a pod, in the place of the one of its type. Only that one is touched: the
/// kubelet writes the others.
pub(super) fn condition_patch(pod: &Pod, condition: &PodCondition) -> Patch {
    const PATH: &str = "/status/conditions";
    let conditions = pod.status.as_ref().and_then(|s| s.conditions.as_deref()).unwrap_or_default();
    match conditions.iter().position(|c| c.type_ == condition.type_) {
        Some(at) => Patch::default().test(&format!("{PATH}/{at}/type"), &condition.type_).replace(&format!("{PATH}/{at}"), condition),
        None if conditions.is_empty() => Patch::default().add(PATH, [condition]),
        None => Patch::default().add(&format!("{PATH}/-"), condition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(status: &str) -> Pod {
        serde_yaml::from_str(&format!("{{metadata: {{name: p}}, status: {{{status}}}}}")).unwrap()
    }

    #[test]
    fn the_state_of_the_pod_is_that_of_its_parts() {
        let compute =
            |state: &str, ready: bool| format!("{{name: compute, image: i, imageID: i, restartCount: 0, ready: {ready}, state: {state}}}");
        let disk =
            |ready: bool| format!("{{name: volumeroot, image: i, imageID: i, restartCount: 0, ready: {ready}, state: {{running: {{}}}}}}");
        for (status, ready, going, failed) in [
            ("phase: Pending".to_owned(), false, false, false),
            (format!("phase: Running, containerStatuses: [{}, {}]", compute("{running: {}}", false), disk(true)), true, false, false),
            (format!("phase: Running, containerStatuses: [{}, {}]", compute("{running: {}}", true), disk(false)), false, false, false),
            (format!("phase: Running, containerStatuses: [{}]", compute("{terminated: {exitCode: 0}}", false)), false, true, false),
            (format!("phase: Running, containerStatuses: [{}]", compute("{terminated: {exitCode: 1}}", false)), false, true, true),
            ("phase: Succeeded".to_owned(), false, true, false),
            ("phase: Failed".to_owned(), false, true, true),
        ] {
            let pod = pod(&status);
            assert_eq!((is_ready(&pod), is_going_down(&pod), has_failed(&pod)), (ready, going, failed), "{status}");
        }
    }
}
