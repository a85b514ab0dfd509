//! Changes of an instance that nobody waits for are not worth a write of their own: they go along with the next one.

use k8s_openapi::jiff::Timestamp;

use super::pass::Pass;
use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase as Phase};
use crate::lifecycle::{owner, patience};

/// A guest whose pod runs within so many seconds need not tell that it was being scheduled. For as long one that is being
/// scheduled need not tell where its pod went, which it tells when the node takes over.
const SOON: u64 = 8;

/// Whether what has changed is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wait {
    /// Now.
    No,
    /// When so many seconds have passed and nothing else has come up.
    Seconds(u64),
}

/// Whether what a pass has changed can wait.
pub(super) fn wait(pass: &Pass<'_>) -> Wait {
    let (old, new) = (&pass.observed.instance, &pass.instance);
    if old == new {
        return Wait::No;
    }
    let held = |instance: &VirtualMachineInstance| owner::has_finalizer(&instance.metadata, names::VIRTUAL_MACHINE_INSTANCE_FINALIZER);
    let (since, patience) = if pass.is_deleted() {
        // What is left to tell is that it is gone; or, as long as it runs, what is still asked of it.
        let waits = held(old) && held(new) && (pass.is_final() || told(old) == told(new));
        (old.metadata.deletion_timestamp.as_ref().filter(|_| waits).map(|t| t.0), patience::GOING)
    } else {
        let since = match (&old.status.phase, &new.status.phase) {
            (_, Phase::Scheduling) if pass.is_unprocessed() => old.metadata.creation_timestamp.as_ref().map(|t| t.0),
            (Phase::Scheduling, Phase::Scheduling) => entered(old),
            _ => None,
        };
        (since.filter(|_| told(old) == told(new)), SOON)
    };
    since.and_then(|since| patience::left(since, pass.now, patience)).map_or(Wait::No, Wait::Seconds)
}

/// When the instance came into its phase.
fn entered(instance: &VirtualMachineInstance) -> Option<Timestamp> {
    let times = &instance.status.phase_transition_timestamps;
    let entered = times.iter().find(|t| t.phase == instance.status.phase)?;
    Some(entered.phase_transition_timestamp.as_ref()?.0)
}

/// What a user or another component asks an instance that is on its way. That it is not ready is no news.
fn told(instance: &VirtualMachineInstance) -> VirtualMachineInstance {
    let mut told = instance.clone();
    told.metadata.annotations = None;
    let status = &mut told.status;
    status.phase = Phase::default();
    status.phase_transition_timestamps.clear();
    status.active_pods.clear();
    status.qos_class = None;
    status.memory = None;
    status.launcher_container_image_version.clear();
    status.conditions.retain(|c| c.type_.as_str() != "Ready");
    told
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::config::ClusterConfig;
    use crate::lifecycle::action::Action;
    use crate::lifecycle::vmi::{Observed, plan};

    fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
        serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// Whether the plan for an instance and its pod writes the instance, and when it looks again.
    fn planned(meta: &str, status: &str, pod: &str) -> (bool, Option<u64>) {
        let instance: VirtualMachineInstance = yaml(&format!(
            "{{metadata: {{name: a, namespace: n, uid: i, finalizers: [kubevirt.io/foregroundDeleteVirtualMachine]{meta}}},
               spec: {{architecture: amd64, domain: {{devices: {{}}}}}}, status: {{{status}}}}}"
        ));
        let pod = yaml(&format!(
            "{{metadata: {{name: p, namespace: n, uid: p, ownerReferences: [{{apiVersion: v, kind: VirtualMachineInstance, name: a, uid: i, controller: true}}]}},
               spec: {{containers: [{{name: compute}}], nodeName: x}}, status: {{{pod}}}}}"
        ));
        let observed = Observed { instance, pods: vec![pod], owner_exists: true, ..Observed::default() };
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let plan = plan(&observed, &config, "2026-12-01T00:00:10Z".parse().unwrap());
        let writes = plan.iter().any(|a| matches!(a, Action::UpdateInstance(_) | Action::PatchInstance(_)));
        (writes, plan.iter().find_map(|a| if let Action::LookAgain { seconds } = a { Some(*seconds) } else { None }))
    }

    const NEW: &str = ", creationTimestamp: '2026-12-01T00:00:09Z'";
    const DELETED: &str = ", deletionTimestamp: '2026-12-01T00:00:08Z'";
    const OLD: &str = ", creationTimestamp: '2026-12-01T00:00:00Z'";

    #[test]
    fn what_nobody_waits_for_waits_itself() {
        let scheduling =
            "phase: Scheduling, phaseTransitionTimestamps: [{phase: Scheduling, phaseTransitionTimestamp: '2026-12-01T00:00:07Z'}]";
        let stuck = "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]";
        let running = "phase: Running, containerStatuses: [{name: compute, image: i, imageID: i, ready: true, restartCount: 0, state: {running: {}}}]";
        for (meta, status, pod, expected) in [
            (NEW, "phase: Pending", "phase: Pending", (false, Some(7))),
            (OLD, "phase: Pending", "phase: Pending", (true, None)),
            (NEW, "phase: Pending", stuck, (true, None)),
            (NEW, "phase: Pending", running, (true, None)),
            (OLD, scheduling, "phase: Pending, qosClass: Burstable", (false, Some(5))),
            (OLD, &scheduling.replace("07Z", "01Z"), "phase: Pending, qosClass: Burstable", (true, None)),
            (OLD, scheduling, stuck, (true, None)),
            (OLD, scheduling, running, (true, None)),
            (DELETED, "phase: Succeeded", running, (false, Some(8))),
            (DELETED, "phase: Running, conditions: [{type: Ready, status: 'True'}]", running, (false, Some(8))),
            (", deletionTimestamp: '2026-12-01T00:00:00Z'", "phase: Succeeded", "phase: Succeeded", (true, None)),
        ] {
            assert_eq!(planned(meta, status, pod), expected, "{meta} {status} {pod}");
        }
    }
}
