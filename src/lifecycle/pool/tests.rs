use serde_json::json;

use super::*;

const NOW: &str = "2026-12-01T00:00:00Z";

fn yaml<T: serde::de::DeserializeOwned>(text: &str) -> T {
    serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn pool(generation: i64, spec: &str, cores: u32) -> VirtualMachinePool {
    yaml(&format!(
        "{{metadata: {{name: p, namespace: n, uid: pool, generation: {generation}, finalizers: [{FINALIZER}]}}, spec: {{selector: {{matchLabels: {{app: a}}}},
           virtualMachineTemplate: {{metadata: {{labels: {{app: a}}}}, spec: {{runStrategy: Always,
             dataVolumeTemplates: [{{metadata: {{name: d}}, spec: {{}}}}],
             template: {{spec: {{domain: {{cpu: {{cores: {cores}}}, devices: {{}}}}, volumes: [{{name: v, dataVolume: {{name: d}}}}, {{name: c, configMap: {{name: c}}}}]}}}}}}}}, {spec}}}}}"
    ))
}

/// A pool with machines as it makes them: all up, with their guests.
fn settled(pool: VirtualMachinePool) -> Observed {
    let mut observed = Observed { pool, ..Observed::default() };
    for _ in 0..3 {
        follow(&mut observed);
    }
    observed
}

/// Carries a plan out.
fn follow(observed: &mut Observed) -> Vec<Action> {
    let plan = plan(observed, NOW.parse().unwrap()).unwrap();
    for action in &plan {
        match action {
            Action::PatchPool(patch) | Action::PatchStatus(patch) => observed.pool = patched(&observed.pool, patch),
            Action::CreateRevision(revision) => observed.revisions.push((**revision).clone()),
            Action::DeleteRevision { name } => observed.revisions.retain(|r| r.metadata.name.as_ref() != Some(name)),
            Action::CreateMachine(machine) => {
                let mut machine = (**machine).clone();
                machine.metadata.uid = machine.metadata.name.clone();
                machine.status.conditions = yaml("[{type: Ready, status: 'True'}]");
                observed.instances.push(guest(&machine));
                observed.machines.push(machine);
            }
            Action::PatchMachine { name, patch } => {
                let machine = observed.machines.iter_mut().find(|m| m.metadata.name.as_ref() == Some(name)).unwrap();
                *machine = patched(machine, patch);
            }
            Action::DeleteMachine { name, .. } => {
                observed.machines.retain(|m| m.metadata.name.as_ref() != Some(name));
                observed.instances.retain(|i| i.metadata.name.as_ref() != Some(name));
                break;
            }
            Action::PatchInstance { name, patch } => {
                let instance = observed.instances.iter_mut().find(|m| m.metadata.name.as_ref() == Some(name)).unwrap();
                *instance = patched(instance, patch);
            }
            Action::DeleteInstance { name, .. } => {
                let machine = observed.machines.iter().find(|m| m.metadata.name.as_ref() == Some(name)).unwrap();
                let started = guest(machine);
                observed.instances.retain(|i| i.metadata.name.as_ref() != Some(name));
                observed.instances.push(started);
            }
            _ => {}
        }
    }
    plan
}

fn patched<T: serde::Serialize + serde::de::DeserializeOwned>(object: &T, patch: &Patch) -> T {
    let mut value = serde_json::to_value(object).unwrap();
    patch.apply(&mut value).unwrap();
    serde_json::from_value(value).unwrap()
}

fn guest(machine: &VirtualMachine) -> VirtualMachineInstance {
    let mut instance: VirtualMachineInstance =
        yaml("{spec: {domain: {devices: {}}}, status: {phase: Running, conditions: [{type: Ready, status: 'True'}]}}");
    instance.metadata = machine.spec.template.as_ref().unwrap().metadata.clone();
    instance.metadata.name.clone_from(&machine.metadata.name);
    instance
}

fn short(plan: &[Action]) -> Vec<String> {
    let each = plan.iter().filter_map(|action| match action {
        Action::CreateMachine(machine) => Some(format!("make {}", name(machine))),
        Action::DeleteMachine { name, foreground, .. } => Some(format!("{} {name}", if *foreground { "replace" } else { "delete" })),
        Action::PatchMachine { name, .. } => Some(format!("change {name}")),
        Action::PatchInstance { name, .. } => Some(format!("rename {name}")),
        Action::DeleteInstance { name, .. } => Some(format!("restart {name}")),
        Action::CreateRevision(revision) => Some(format!("keep {}", revision.metadata.name.as_deref().unwrap_or_default())),
        Action::DeleteRevision { name } => Some(format!("forget {name}")),
        Action::PatchClaim { name, .. } | Action::PatchDataVolume { name, .. } => Some(format!("free {name}")),
        _ => None,
    });
    each.collect()
}

#[test]
fn machines_get_the_lowest_numbers_that_are_free_and_what_is_their_own() {
    let mut observed =
        Observed { pool: pool(1, "replicas: 2, nameGeneration: {appendIndexToConfigMapRefs: true}", 1), ..Observed::default() };
    observed.machines.push(yaml("{metadata: {name: p-0, namespace: n}}"));
    let plan = follow(&mut observed);
    assert_eq!(short(&plan), ["keep p-1", "make p-1", "make p-2"]);
    let made = observed.machines.last().unwrap();
    let spec = &made.spec.template.as_ref().unwrap().spec;
    assert_eq!(made.spec.data_volume_templates[0].metadata.name.as_deref(), Some("d-2"));
    assert_eq!(spec.volumes[0].data_volume.as_ref().unwrap().name, "d-2");
    assert_eq!(spec.volumes[1].config_map.as_ref().unwrap().name, "c-2");
    assert_eq!(made.metadata.finalizers.as_deref(), Some(&[FINALIZER.to_owned()][..]));
}

#[test]
fn a_settled_pool_is_left_alone() {
    let mut observed = settled(pool(1, "replicas: 3", 1));
    assert_eq!((observed.pool.status.replicas, observed.pool.status.ready_replicas), (3, 3));
    assert_eq!(follow(&mut observed), []);
}

#[test]
fn machines_go_by_the_policy_and_keep_their_state_if_asked() {
    let proactive = |policy: &str| format!("replicas: 1, scaleInStrategy: {{proactive: {{{policy}}}}}");
    for (spec, expected) in [
        (proactive("selectionPolicy: {sortPolicy: DescendingOrder}"), vec!["change p-2", "delete p-2", "change p-1", "delete p-1"]),
        (proactive("selectionPolicy: {sortPolicy: AscendingOrder}"), vec!["change p-0", "delete p-0", "change p-1", "delete p-1"]),
        (proactive("selectionPolicy: {sortPolicy: DescendingOrder, selectors: {labelSelector: {matchLabels: {no: such}}}}"), vec![]),
        (
            proactive("selectionPolicy: {sortPolicy: DescendingOrder}, statePreservation: Offline"),
            vec!["free c-2", "change p-2", "delete p-2", "change p-1", "delete p-1"],
        ),
        ("replicas: 1, scaleInStrategy: {unmanaged: {}}".to_owned(), vec![]),
        ("replicas: 1, scaleInStrategy: {opportunistic: {}}".to_owned(), vec![]),
        ("replicas: 1, paused: true".to_owned(), vec![]),
    ] {
        let mut observed = settled(pool(1, "replicas: 3", 1));
        observed.pool.spec = pool(1, &spec, 1).spec;
        observed.claims = vec![yaml(
            "{metadata: {name: c-2, ownerReferences: [{apiVersion: v, kind: VirtualMachine, name: p-2, uid: p-2, controller: true}]}}",
        )];
        assert_eq!(short(&plan(&observed, NOW.parse().unwrap()).unwrap()), expected, "{spec}");
    }
}

#[test]
fn an_update_reaches_machines_first_and_then_so_many_guests_as_may_be_down() {
    let mut observed = settled(pool(1, "replicas: 3", 1));
    observed.pool.spec =
        pool(2, "replicas: 3, maxUnavailable: 34%, updateStrategy: {proactive: {selectionPolicy: {sortPolicy: AscendingOrder}}}", 2).spec;
    observed.pool.metadata.generation = Some(2);
    assert_eq!(short(&follow(&mut observed)), ["keep p-2", "change p-0", "change p-1", "change p-2"]);
    for expected in [vec!["restart p-0"], vec!["restart p-1"]] {
        assert_eq!(short(&follow(&mut observed)), expected);
    }
    assert_eq!(short(&follow(&mut observed)), ["restart p-2"]);
    assert_eq!(short(&follow(&mut observed)), ["forget p-1"]);
    assert_eq!(follow(&mut observed), []);
}

#[test]
fn an_update_that_concerns_no_guest_restarts_none_and_volumes_take_another_machine() {
    let mut observed = settled(pool(1, "replicas: 1", 1));
    observed.pool.metadata.generation = Some(2);
    observed.pool.spec.virtual_machine_template.as_mut().unwrap().metadata.annotations = yaml("{a: b}");
    assert_eq!(short(&follow(&mut observed)), ["keep p-2", "change p-0"]);
    assert_eq!(short(&follow(&mut observed)), ["rename p-0"]);
    assert_eq!(short(&follow(&mut observed)), ["forget p-1"]);
    observed.pool.metadata.generation = Some(3);
    observed.pool.spec.virtual_machine_template.as_mut().unwrap().spec.data_volume_templates[0].metadata.labels = yaml("{a: b}");
    follow(&mut observed);
    assert_eq!(short(&follow(&mut observed)), ["replace p-0"]);
    observed.pool.spec.update_strategy = yaml("{opportunistic: {}}");
    let mut waits = settled(pool(1, "replicas: 1, updateStrategy: {opportunistic: {}}", 1));
    waits.pool.spec.virtual_machine_template = pool(1, "replicas: 1", 9).spec.virtual_machine_template;
    waits.pool.metadata.generation = Some(2);
    follow(&mut waits);
    assert_eq!(short(&follow(&mut waits)), Vec::<String>::new());
}

#[test]
fn machines_that_do_not_come_up_are_replaced() {
    for (status, healed) in [
        ("startFailure: {consecutiveFailCount: 3}", true),
        ("startFailure: {consecutiveFailCount: 2}", false),
        ("printableStatus: ErrImagePull, conditions: [{type: Ready, status: 'False', lastProbeTime: '2026-11-30T23:00:00Z'}]", true),
        ("printableStatus: ErrImagePull, conditions: [{type: Ready, status: 'False', lastProbeTime: '2026-11-30T23:59:00Z'}]", false),
    ] {
        let mut observed = settled(pool(1, "replicas: 1, autohealing: {}", 1));
        observed.machines[0].status = yaml(&format!("{{{status}}}"));
        let plan = plan(&observed, NOW.parse().unwrap()).unwrap();
        assert_eq!(short(&plan).contains(&"delete p-0".to_owned()), healed, "{status}");
    }
}

#[test]
fn a_pool_that_goes_lets_its_machines_go_and_one_that_cannot_know_its_own_is_left_alone() {
    let mut observed = settled(pool(1, "replicas: 1", 1));
    observed.pool.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOW.parse().unwrap()));
    let plan_of_end = plan(&observed, NOW.parse().unwrap()).unwrap();
    assert_eq!(short(&plan_of_end), ["change p-0"]);
    assert!(matches!(plan_of_end.last(), Some(Action::PatchPool(_))));
    observed.pool.spec.selector = yaml("{matchLabels: {app: b}}");
    assert_eq!(plan(&observed, NOW.parse().unwrap()), Err(Invalid::Selector));
}

#[test]
fn what_fails_is_told_once() {
    let mut observed = settled(pool(1, "replicas: 1", 1));
    let action = Action::DeleteRevision { name: "p-0".to_owned() };
    let told = failed(&observed, NOW.parse().unwrap(), &action, "no");
    assert!(matches!(told.as_slice(), [Action::PatchStatus(_), Action::Record(_)]), "{told:?}");
    if let Some(Action::PatchStatus(patch)) = told.first() {
        observed.pool = patched(&observed.pool, patch);
    }
    assert_eq!(failed(&observed, NOW.parse().unwrap(), &action, "no"), []);
}

#[test]
fn the_machines_of_a_pool_that_is_gone_are_let_go() {
    let machines = settled(pool(1, "replicas: 2", 1)).machines;
    let freed = |name: &str, uid: Option<&str>| {
        let plan = left_behind(name, uid, &machines);
        plan.iter().filter(|a| matches!(a, Action::PatchMachine { patch, .. } if json!(patch).to_string().contains("finalizers"))).count()
    };
    for (name, uid, count) in [("p", None, 2), ("p", Some("another"), 2), ("p", Some("pool"), 0), ("q", None, 0)] {
        assert_eq!(freed(name, uid), count, "{name} {uid:?}");
    }
}
