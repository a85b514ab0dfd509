//! Scenes from the life of machines, followed to their end, and what holds for every scene.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::api::v1::KubeVirtConfiguration;

fn config() -> ClusterConfig {
    ClusterConfig::new(&KubeVirtConfiguration::default())
}

fn now() -> Timestamp {
    "2026-12-01T00:00:00Z".parse().unwrap()
}

fn yaml(text: &str) -> Value {
    serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
}

/// Lays a document over another.
fn over(base: &mut Value, top: &Value) {
    match (base, top) {
        (Value::Object(base), Value::Object(top)) => {
            top.iter().for_each(|(key, value)| over(base.entry(key.clone()).or_insert(Value::Null), value));
        }
        (base, top) => base.clone_from(top),
    }
}

const MACHINE: &str = "
apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a, namespace: lab, uid: m, generation: 1}
spec:
  runStrategy: Always
  template:
    spec:
      architecture: amd64
      domain:
        cpu: {cores: 1, sockets: 2, threads: 1}
        memory: {guest: 1Gi}
        firmware: {uuid: u}
        devices:
          disks: [{name: root, disk: {bus: virtio}}]
          interfaces: [{name: net, masquerade: {}}]
      networks: [{name: net, pod: {}}]
      volumes: [{name: root, containerDisk: {image: i}}]
";

const RUNNING: &str = "
metadata: {uid: i}
spec: {domain: {cpu: {maxSockets: 8}, memory: {maxGuest: 4Gi}}}
status:
  phase: Running
  nodeName: n
  memory: {guestAtBoot: 1Gi, guestCurrent: 1Gi, guestRequested: 1Gi}
  conditions: [{type: Ready, status: 'True'}, {type: LiveMigratable, status: 'True'}]
";

/// A machine whose guest runs.
fn running(of_machine: &str, of_guest: &str) -> Store {
    let mut store = Store { machine: Some(yaml(MACHINE)), ..Store::default() };
    over(store.machine.as_mut().unwrap(), &yaml(of_machine));
    machine(&mut store, &config(), now()).unwrap();
    let instance = store.instance.as_mut().expect("the guest was not started");
    over(instance, &yaml(RUNNING));
    over(instance, &yaml(of_guest));
    store
}

/// Changes the machine while its guest runs, and follows what comes of it.
fn change(mut store: Store, of_machine: &str) -> Store {
    over(store.machine.as_mut().unwrap(), &yaml(of_machine));
    store.machine.as_mut().unwrap()["metadata"]["generation"] = json!(2);
    machine(&mut store, &config(), now()).unwrap();
    store
}

fn condition<'a>(of: &'a Option<Value>, kind: &str) -> Option<&'a Value> {
    of.as_ref()?.pointer("/status/conditions")?.as_array()?.iter().find(|c| c["type"] == kind)
}

fn at<'a>(of: &'a Option<Value>, pointer: &str) -> &'a Value {
    of.as_ref().and_then(|o| o.pointer(pointer)).unwrap_or(&Value::Null)
}

#[test]
fn a_machine_starts_its_guest_and_remembers_from_what() {
    let store = running("{}", "{}");
    assert_eq!(at(&store.instance, "/metadata/annotations/kubevirt.io~1vm-generation"), "1");
    assert_eq!(at(&store.instance, "/status/virtualMachineRevisionName"), "revision-start-vm-m-1");
    assert!(store.revisions.contains_key("revision-start-vm-m-1"));
    let mut store = store;
    let log = machine(&mut store, &config(), now()).unwrap();
    assert_eq!(log.events, []);
    assert_eq!(at(&store.machine, "/status/printableStatus"), "Running");
}

#[test]
fn a_change_reaches_the_guest_or_asks_for_a_restart() {
    // What of the machine changes; what of the guest is so then; what the restart is for.
    const DOMAIN: &str = "/spec/domain";
    for (changed, pointer, expected, restart) in [
        ("{spec: {template: {spec: {domain: {cpu: {sockets: 4}}}}}}", "/cpu/sockets", json!(4), ""),
        ("{spec: {template: {spec: {domain: {cpu: {sockets: 1}}}}}}", "/cpu/sockets", json!(2), "fewer CPU sockets"),
        ("{spec: {template: {spec: {domain: {cpu: {sockets: 16}}}}}}", "/cpu/sockets", json!(2), "at most 8"),
        ("{spec: {template: {spec: {domain: {cpu: {cores: 2}}}}}}", "/cpu/cores", json!(1), "spec.domain.cpu.cores"),
        ("{spec: {template: {spec: {domain: {memory: {guest: 2Gi}}}}}}", "/memory/guest", json!("2Gi"), ""),
        ("{spec: {template: {spec: {domain: {memory: {guest: 512Mi}}}}}}", "/memory/guest", json!("1Gi"), "1Gi at least"),
        ("{spec: {template: {spec: {domain: {memory: {guest: 8Gi}}}}}}", "/memory/guest", json!("1Gi"), "more than maxGuest"),
        ("{spec: {template: {spec: {domain: {memory: {guest: 1025Mi}}}}}}", "/memory/guest", json!("1Gi"), "multiple"),
    ] {
        let store = change(running("{}", "{}"), changed);
        assert_eq!(*at(&store.instance, &format!("{DOMAIN}{pointer}")), expected, "{changed}");
        match condition(&store.machine, "RestartRequired") {
            None => assert_eq!(restart, "", "{changed}"),
            Some(told) => {
                let message = told["message"].as_str().unwrap();
                assert!(!restart.is_empty() && message.contains(restart), "{changed}: {message}");
            }
        }
        assert!(condition(&store.machine, "Failure").is_none(), "{changed}");
    }
}

#[test]
fn a_restart_is_no_longer_asked_for_once_the_change_is_taken_back() {
    let store = change(running("{}", "{}"), "{spec: {template: {spec: {domain: {cpu: {cores: 2}}}}}}");
    assert!(condition(&store.machine, "RestartRequired").is_some());
    let store = change(store, "{spec: {template: {spec: {domain: {cpu: {cores: 1}}}}}}");
    assert!(condition(&store.machine, "RestartRequired").is_none());
}

#[test]
fn changes_wait_while_the_guest_is_busy() {
    let migrating = "{status: {migrationState: {startTimestamp: '2026-11-30T00:00:00Z', migrationUid: x}}}";
    for (guest, changed, reason) in [
        (migrating, "{spec: {template: {spec: {domain: {cpu: {sockets: 4}}}}}}", "HotPlugCPUError"),
        (migrating, "{spec: {template: {spec: {domain: {memory: {guest: 2Gi}}}}}}", "HotPlugMemoryError"),
        (migrating, "{spec: {template: {spec: {nodeSelector: {zone: a}}}}}", "AffinityChangeError"),
        (migrating, "{spec: {template: {spec: {tolerations: [{key: k, operator: Exists}]}}}}", "TolerationsChangeError"),
        (
            "{status: {conditions: [{type: HotVCPUChange, status: 'True'}]}}",
            "{spec: {template: {spec: {domain: {cpu: {sockets: 4}}}}}}",
            "HotPlugCPUError",
        ),
    ] {
        let store = change(running("{}", guest), changed);
        assert_eq!(condition(&store.machine, "Failure").map(|c| &c["reason"]), Some(&json!(reason)), "{changed}");
        assert_eq!(at(&store.instance, "/spec/domain/cpu/sockets"), 2);
    }
}

#[test]
fn placement_and_interfaces_follow_the_template() {
    let store = change(running("{}", "{}"), "{spec: {template: {spec: {nodeSelector: {zone: a}}}}}");
    assert_eq!(at(&store.instance, "/spec/nodeSelector/zone"), "a");
    assert!(condition(&store.machine, "RestartRequired").is_none());
    let two = "{spec: {template: {spec: {
        domain: {devices: {interfaces: [{name: net, masquerade: {}}, {name: more, bridge: {}}]}},
        networks: [{name: net, pod: {}}, {name: more, multus: {networkName: x}}]}}}}";
    let store = change(running("{}", "{}"), two);
    assert_eq!(at(&store.instance, "/spec/networks/1/multus/networkName"), "x");
    assert!(condition(&store.machine, "RestartRequired").is_none());
    // A link that has another binding is another link.
    let other = "{spec: {template: {spec: {domain: {devices: {interfaces: [{name: net, bridge: {}}]}}}}}}";
    let store = change(running("{}", "{}"), other);
    assert!(condition(&store.machine, "RestartRequired").unwrap()["message"].as_str().unwrap().contains("interfaces"));
}

#[test]
fn hotplug_volumes_follow_the_template() {
    let with = "{spec: {template: {spec: {
        domain: {devices: {disks: [{name: root, disk: {bus: virtio}}, {name: data, disk: {bus: scsi}}]}},
        volumes: [{name: root, containerDisk: {image: i}}, {name: data, dataVolume: {name: d, hotpluggable: true}}]}}}}";
    let store = change(running("{}", "{}"), with);
    assert_eq!(at(&store.instance, "/spec/volumes/1/dataVolume/name"), "d");
    assert_eq!(at(&store.instance, "/spec/domain/devices/disks/1/name"), "data");
    assert!(condition(&store.machine, "RestartRequired").is_none());
    let without = "{spec: {template: {spec: {
        domain: {devices: {disks: [{name: root, disk: {bus: virtio}}]}}, volumes: [{name: root, containerDisk: {image: i}}]}}}}";
    let store = change(store, without);
    assert_eq!(at(&store.instance, "/spec/volumes").as_array().unwrap().len(), 1);
    assert!(condition(&store.machine, "RestartRequired").is_none());
}

#[test]
fn volumes_move_to_other_claims_with_a_migration() {
    let claim = |name: &str| {
        let text =
            format!("{{metadata: {{name: {name}, namespace: lab}}, spec: {{accessModes: [ReadWriteOnce]}}, status: {{phase: Bound}}}}");
        serde_json::from_value(yaml(&text)).unwrap()
    };
    let on = |claim: &str| {
        format!(
            "{{spec: {{updateVolumesStrategy: Migration, template: {{spec: {{volumes: [{{name: root, persistentVolumeClaim: {{claimName: {claim}}}}}]}}}}}}}}"
        )
    };
    let mut store = running(&on("old"), "{}");
    store.claims.insert("old".to_owned(), claim("old"));
    let missing = change(store.clone(), &on("new"));
    assert_eq!(condition(&missing.instance, "VolumesChange").unwrap()["status"], "False");
    store.claims.insert("new".to_owned(), claim("new"));
    let mut moving = change(store, &on("new"));
    assert_eq!(at(&moving.instance, "/spec/volumes/0/persistentVolumeClaim/claimName"), "new");
    assert_eq!(at(&moving.instance, "/status/migratedVolumes/0/sourcePVCInfo/claimName"), "old");
    assert_eq!(at(&moving.machine, "/status/volumeUpdateState/volumeMigrationState/migratedVolumes/0/volumeName"), "root");
    // Back to the old claim before it arrived: the move is called off.
    over(moving.instance.as_mut().unwrap(), &yaml("{status: {conditions: [{type: VolumesChange, status: 'True'}]}}"));
    let back = change(moving, &on("old"));
    assert_eq!(at(&back.instance, "/spec/volumes/0/persistentVolumeClaim/claimName"), "old");
    assert_eq!(condition(&back.instance, "VolumesChange").unwrap()["reason"], "VolumesChangeCancellation");
    assert!(at(&back.machine, "/status/volumeUpdateState/volumeMigrationState").is_null());
}

#[test]
fn a_memory_dump_comes_and_goes() {
    let request = |phase: &str| format!("{{status: {{memoryDumpRequest: {{claimName: dump, phase: {phase}}}}}}}");
    let store = change(running("{}", "{}"), &request("Associating"));
    assert_eq!(at(&store.instance, "/spec/volumes/1/memoryDump/claimName"), "dump");
    assert_eq!(at(&store.machine, "/status/memoryDumpRequest/phase"), "InProgress");
    let mut store = store;
    let done = "{status: {volumeStatus: [{name: dump, target: '', phase: MemoryDumpCompleted, memoryDumpVolume: {targetFileName: f}}]}}";
    over(store.instance.as_mut().unwrap(), &yaml(done));
    store.claims.insert("dump".to_owned(), serde_json::from_value(yaml("{metadata: {name: dump, namespace: lab}}")).unwrap());
    let mut store = change(store, "{}");
    assert_eq!(at(&store.machine, "/status/memoryDumpRequest/phase"), "Unmounting");
    assert_eq!(store.claims["dump"].metadata.annotations.as_ref().unwrap()["kubevirt.io/memory-dump"], "f");
    over(store.instance.as_mut().unwrap(), &json!({"status": {"volumeStatus": []}}));
    let store = change(store, "{}");
    assert_eq!(at(&store.machine, "/status/memoryDumpRequest/phase"), "Completed");
}

#[test]
fn a_clone_from_another_namespace_needs_leave() {
    let text = "{spec: {dataVolumeTemplates: [{metadata: {name: d}, spec: {source: {pvc: {namespace: other, name: s}}, storage: {}}}]}}";
    let mut document = yaml(MACHINE);
    over(&mut document, &yaml(text));
    let mut store = Store { machine: Some(document), ..Store::default() };
    let log = machine(&mut store, &config(), now()).unwrap();
    assert!(store.data_volumes.is_empty());
    assert_eq!(log.events.iter().map(|e| e.reason).collect::<Vec<_>>(), ["UnauthorizedDataVolumeCreate"]);
    let mut observed = observe_machine(&store).unwrap();
    observed.clone_verdicts.insert("d".to_owned(), Ok(()));
    assert!(vm::plan(&observed, &config(), now()).iter().any(|a| matches!(a, Action::CreateDataVolume(_))));
}

#[test]
fn an_instance_type_is_frozen_before_the_start() {
    let store = {
        let mut document = yaml(MACHINE);
        over(&mut document, &yaml("{spec: {instancetype: {name: small, kind: VirtualMachineInstancetype}}}"));
        let domain = document.pointer_mut("/spec/template/spec/domain").unwrap().as_object_mut().unwrap();
        domain.remove("cpu");
        domain.remove("memory");
        Store { machine: Some(document), ..Store::default() }
    };
    let mut observed = observe_machine(&store).unwrap();
    let reason = |plan: &[Action]| {
        let status =
            plan.iter().find_map(|a| if let Action::PatchMachineStatus(patch) = a { Some(json!(patch).to_string()) } else { None });
        status.unwrap()
    };
    assert!(reason(&vm::plan(&observed, &config(), now())).contains("FailedFindInstancetype"));
    observed.instancetypes = vec![yaml(
        "{apiVersion: instancetype.kubevirt.io/v1beta1, kind: VirtualMachineInstancetype, metadata: {name: small, namespace: lab, uid: t, generation: 1},
          spec: {cpu: {guest: 3}, memory: {guest: 2Gi}}}",
    )];
    let plan = vm::plan(&observed, &config(), now());
    let frozen = plan.iter().find_map(|a| if let Action::CreateRevision(r) = a { r.metadata.name.clone() } else { None });
    assert_eq!(frozen.as_deref(), Some("a-small-v1beta1-t-1"));
    assert!(!plan.iter().any(|a| matches!(a, Action::CreateInstance(_))));
    let mut store = store;
    let mut log = Log::default();
    plan.iter().for_each(|action| store.apply(action, &mut log).unwrap());
    let observed = vm::Observed { instancetypes: observed.instancetypes, ..observe_machine(&store).unwrap() };
    let plan = vm::plan(&observed, &config(), now());
    let started = plan.iter().find_map(|a| if let Action::CreateInstance(i) = a { Some(i) } else { None }).expect("not started");
    assert_eq!(started.spec.domain.memory.as_ref().unwrap().guest.as_ref().unwrap().to_string(), "2Gi");
    assert_eq!(started.metadata.annotations.as_ref().unwrap()["kubevirt.io/instancetype-name"], "small");
}

// What holds for every scene.

fn any_of(values: &'static [&'static str]) -> impl Strategy<Value = Value> {
    proptest::sample::select(values).prop_map(yaml)
}

prop_compose! {
    /// A machine, its instance and what is around them, in any state, likely or not.
    fn scene()(
        strategy in any_of(&["Always", "Halted", "Manual", "RerunOnFailure", "Once", "WaitAsReceiver", "Sometimes"]),
        requests in any_of(&["[]", "[{action: Start}]", "[{action: Start, data: {paused: 'true'}}]", "[{action: Stop, uid: i}]",
            "[{action: Stop, uid: i}, {action: Start}]", "[{action: Stop}]", "[{action: Dance}]"]),
        failure in any_of(&["null", "{consecutiveFailCount: 2, lastFailedVMIUID: x, retryAfterTimestamp: '2027-01-01T00:00:00Z'}",
            "{consecutiveFailCount: 2, lastFailedVMIUID: i}"]),
        phase in any_of(&["''", "Pending", "Scheduling", "Scheduled", "Running", "Succeeded", "Failed", "WaitingForSync", "Unknown", "Odd"]),
        conditions in any_of(&["[{type: Ready, status: 'True'}]", "[{type: Paused, status: 'True'}, {type: Ready, status: 'False'}]",
            "[{type: Synchronized, status: 'False', reason: ErrImagePull}]", "[{type: HotMemoryChange, status: 'False'}]"]),
        owner in any_of(&["[]", "[{apiVersion: v, kind: VirtualMachine, name: a, uid: m, controller: true}]",
            "[{apiVersion: v, kind: Other, name: x, uid: o, controller: true}]"]),
        change in any_of(&["{}", "{domain: {cpu: {sockets: 4}}}", "{domain: {memory: {guest: 2Gi}}}", "{nodeSelector: {a: b}}",
            "{volumes: [{name: root, dataVolume: {name: d}}]}", "{volumes: [{name: root, persistentVolumeClaim: {claimName: c}}]}",
            "{volumes: [{name: root, dataVolume: {name: d, hotpluggable: true}}]}", "{domain: {devices: {interfaces: [{name: net, masquerade: {}, state: absent}]}}}"]),
        dump in any_of(&["null", "{claimName: c, phase: Associating}", "{claimName: c, phase: Unmounting, fileName: f}", "{claimName: c, phase: Dissociating, remove: true}"]),
        deletions in (any::<bool>(), any::<bool>(), any::<bool>()),
        volume in any_of(&["Pending", "Succeeded", "Failed", "WaitForFirstConsumer"]),
        claim in any_of(&["Pending", "Bound", "Lost"]),
        pod in any_of(&["{}", "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]}",
            "{phase: Running, containerStatuses: [{name: compute, image: i, imageID: i, ready: true, restartCount: 0, state: {running: {}}}], conditions: [{type: Ready, status: 'True'}]}",
            "{phase: Running, containerStatuses: [{name: compute, image: i, imageID: i, ready: false, restartCount: 0, state: {terminated: {exitCode: 1}}}]}",
            "{phase: Succeeded}", "{phase: Failed}"]),
        there in (any::<bool>(), any::<bool>(), any::<bool>(), any::<bool>()),
    ) -> Store {
        let mut machine = yaml(MACHINE);
        let mut instance = machine["spec"]["template"].clone();
        over(&mut machine, &json!({"spec": {"runStrategy": strategy, "template": {"spec": change}},
            "status": {"stateChangeRequests": requests, "startFailure": failure, "memoryDumpRequest": dump}}));
        over(&mut instance, &yaml(RUNNING));
        over(&mut instance, &json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
            "metadata": {"name": "a", "namespace": "lab", "ownerReferences": owner, "finalizers": ["kubevirt.io/foregroundDeleteVirtualMachine"]},
            "status": {"phase": phase, "conditions": conditions}}));
        let gone = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
        if deletions.0 { over(&mut machine, &gone); }
        if deletions.1 { over(&mut instance, &gone); }
        let mut launcher = json!({"metadata": {"name": "p", "namespace": "lab", "uid": "p",
            "ownerReferences": [{"apiVersion": "v", "kind": "VirtualMachineInstance", "name": "a", "uid": "i", "controller": true}]},
            "spec": {"nodeName": "n", "containers": [{"name": "compute", "image": "x"}]}, "status": pod});
        if deletions.2 { over(&mut launcher, &gone); }
        let mut store = Store { machine: Some(machine), ..Store::default() };
        if there.0 { store.instance = Some(instance); }
        if there.1 { store.data_volumes.insert("d".to_owned(), serde_json::from_value(json!({"metadata": {"name": "d", "namespace": "lab"}, "spec": {}, "status": {"phase": volume}})).unwrap()); }
        if there.2 { store.claims.insert("c".to_owned(), serde_json::from_value(json!({"metadata": {"name": "c", "namespace": "lab"}, "spec": {}, "status": {"phase": claim}})).unwrap()); }
        if there.3 { store.pods.insert("p".to_owned(), serde_json::from_value(launcher).unwrap()); }
        store
    }
}

fn context() -> Context {
    Context { image: "x".to_owned(), ..Context::default() }
}

fn writes(plan: &[Action]) -> Vec<&Action> {
    plan.iter().filter(|a| a.writes()).collect()
}

fn named(meta: &ObjectMeta) -> String {
    meta.name.clone().unwrap_or_default()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_settled_machine_is_left_alone(mut store in scene()) {
        machine(&mut store, &config(), now()).unwrap();
        let failed = condition(&store.machine, "Failure").is_some();
        let plan = vm::plan(&observe_machine(&store).unwrap(), &config(), now());
        // What failed is tried again, but nothing comes of it.
        let before = store.clone();
        prop_assert!(failed || writes(&plan).is_empty(), "{plan:?}");
        machine(&mut store, &config(), now()).unwrap();
        prop_assert_eq!(store, before);
    }

    #[test]
    fn a_settled_instance_is_left_alone(mut store in scene()) {
        let log = instance(&mut store, &config(), now(), &context()).unwrap();
        if let (false, Some(observed)) = (log.made.contains(&"pod"), observe_instance(&store, &context()).unwrap()) {
            let plan = vmi::plan(&observed, &config(), now());
            prop_assert!(writes(&plan).is_empty(), "{plan:?}");
        }
    }

    #[test]
    fn the_order_of_what_is_read_does_not_count(store in scene(), other in scene()) {
        let mut observed = observe_machine(&store).unwrap();
        observed.data_volumes.extend(other.data_volumes.into_values().filter(|d| named(&d.metadata) != "d"));
        observed.claims.push(serde_json::from_value(json!({"metadata": {"name": "z", "namespace": "lab"}})).unwrap());
        let plan = vm::plan(&observed, &config(), now());
        observed.claims.reverse();
        observed.data_volumes.reverse();
        observed.revisions.reverse();
        prop_assert_eq!(&plan, &vm::plan(&observed, &config(), now()));
        if let Some(mut observed) = observe_instance(&store, &context()).unwrap() {
            let mut second = observed.pods.first().cloned().unwrap_or_default();
            second.metadata.name = Some("q".to_owned());
            second.metadata.uid = Some("q".to_owned());
            observed.pods.push(second);
            let plan = vmi::plan(&observed, &config(), now());
            observed.pods.reverse();
            observed.claims.reverse();
            let sorted = |plan: &[Action]| { let mut all: Vec<_> = plan.iter().map(|a| json!(a).to_string()).collect(); all.sort(); all };
            prop_assert_eq!(sorted(&plan), sorted(&vmi::plan(&observed, &config(), now())));
        }
    }

    #[test]
    fn a_restart_of_the_controller_at_any_point_ends_the_same(store in scene(), cut in 0_usize..6) {
        let mut whole = store.clone();
        machine(&mut whole, &config(), now()).unwrap();
        let mut broken = store;
        let mut log = Log::default();
        let observed = observe_machine(&broken).unwrap();
        // The first pass ends before its plan does.
        let _ = vm::plan(&observed, &config(), now()).iter().take(cut).try_for_each(|action| broken.apply(action, &mut log));
        machine(&mut broken, &config(), now()).unwrap();
        let differs = [
            crate::lifecycle::patch::Patch::between(&whole.machine, &broken.machine),
            crate::lifecycle::patch::Patch::between(&whole.instance, &broken.instance),
            crate::lifecycle::patch::Patch::between(&whole.revisions, &broken.revisions),
            crate::lifecycle::patch::Patch::between(&whole.claims, &broken.claims),
        ];
        prop_assert!(whole == broken, "{}", json!(differs));
    }
}
