//! What nobody waits for is not worth a write of its own.

use super::pass::Pass;
use crate::api::v1::{
    VirtualMachine, VirtualMachineConditionType as Condition, VirtualMachineInstancePhase as Phase, VirtualMachineStatus,
};
use crate::lifecycle::{conditions, patience};

/// For so many seconds one that starts need not tell what it waits for: it is told by its instance, too.
const SOON: u64 = 5;
/// For so many seconds one whose guest runs may wait for the word that it is ready, too.
const READY: u64 = 2;

/// In how many seconds the status is told, if not now.
pub(super) fn wait(pass: &Pass<'_>) -> Option<u64> {
    let (old, new) = (&pass.observed.machine, &pass.machine);
    let failure = |machine: &VirtualMachine| conditions::find(&machine.status.conditions, &Condition::Failure).cloned();
    if failure(old) != failure(new) {
        return None;
    }
    if let Some(deleted) = &old.metadata.deletion_timestamp {
        return patience::left(deleted.0, pass.now, patience::GOING);
    }
    let status = &pass.instance.as_ref()?.status;
    if new.status.ready || old.status.ready {
        return None;
    }
    let entered = status.phase_transition_timestamps.iter().find(|t| t.phase == status.phase)?.phase_transition_timestamp.as_ref()?;
    let patience = if status.phase == Phase::Running { READY } else { SOON };
    let waits = status.phase == Phase::Running || told(old) == told(new);
    patience::left(entered.0, pass.now, patience).filter(|_| waits)
}

/// What a machine tells beyond why it is not ready.
fn told(machine: &VirtualMachine) -> VirtualMachineStatus {
    let mut told = machine.status.clone();
    told.conditions.retain(|c| c.type_ != Condition::Ready);
    told
}

#[cfg(test)]
mod tests {
    use crate::api::v1::KubeVirtConfiguration;
    use crate::config::ClusterConfig;
    use crate::lifecycle::action::Action;
    use crate::lifecycle::vm::{Observed, plan};

    /// Whether the plan for a machine and its instance tells the status, and when it looks again.
    fn planned(meta: &str, status: &str, instance: &str) -> (bool, Option<u64>) {
        let yaml = |text: &str| serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        let owner = "ownerReferences: [{apiVersion: v, kind: VirtualMachine, name: a, uid: m, controller: true}]";
        let spec = "{architecture: amd64, domain: {devices: {}, firmware: {uuid: u, serial: s}}}";
        let machine = yaml(&format!(
            "{{metadata: {{name: a, namespace: n, uid: m, finalizers: [kubevirt.io/virtualMachineControllerFinalize]{meta}}},
               spec: {{runStrategy: Always, template: {{spec: {spec}}}}}, status: {{{status}}}}}"
        ));
        let instance = serde_json::from_value(yaml(&format!(
            "{{metadata: {{name: a, namespace: n, uid: i, finalizers: [kubevirt.io/foregroundDeleteVirtualMachine], {owner}}},
               spec: {spec}, status: {{{instance}}}}}"
        )));
        let observed =
            Observed { machine: serde_json::from_value(machine).unwrap(), instance: Some(instance.unwrap()), ..Observed::default() };
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let plan = plan(&observed, &config, "2026-12-01T00:00:10Z".parse().unwrap());
        let tells = plan.iter().any(|a| matches!(a, Action::PatchMachineStatus(_)));
        (tells, plan.iter().find_map(|a| if let Action::LookAgain { seconds } = a { Some(*seconds) } else { None }))
    }

    #[test]
    fn what_is_soon_told_better_waits() {
        let running = |at: &str, ready: &str| {
            format!(
                "phase: Running, phaseTransitionTimestamps: [{{phase: Running, phaseTransitionTimestamp: '2026-12-01T00:00:{at}Z'}}],
                 conditions: [{{type: Ready, status: '{ready}'}}]"
            )
        };
        let scheduled = |at: &str| running(at, "False").replace("Running", "Scheduled");
        // all of it but what the instance says of its readiness
        let told = "observedGeneration: 0, created: true, printableStatus: Starting, runStrategy: Always, conditions: [{type: Ready, status: 'False', reason: Old}]";
        let (starting, failed) = ("printableStatus: Starting", "conditions: [{type: Failure, status: 'True'}]");
        let (deleted, long_deleted) = (", deletionTimestamp: '2026-12-01T00:00:09Z'", ", deletionTimestamp: '2026-12-01T00:00:00Z'");
        for (meta, status, instance, expected) in [
            ("", starting, running("09", "False"), (false, Some(1))),
            ("", starting, running("09", "True"), (true, None)),
            ("", starting, running("07", "False"), (true, None)),
            ("", failed, running("09", "False"), (true, None)),
            ("", "ready: true", running("09", "False"), (true, None)),
            ("", "", "phase: Scheduling".to_owned(), (true, None)),
            ("", told, scheduled("08"), (false, Some(3))),
            ("", told, scheduled("02"), (true, None)),
            ("", starting, scheduled("08"), (true, None)),
            (deleted, starting, running("01", "True"), (false, Some(9))),
            (long_deleted, starting, running("01", "True"), (true, None)),
        ] {
            assert_eq!(planned(meta, status, &instance), expected, "{meta} {status} {instance}");
        }
    }
}
