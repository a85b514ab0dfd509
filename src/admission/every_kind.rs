//! What holds for every kind: a plain object passes, and no document makes a judgement fail.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::testing::{request, update};
use super::{Operation, Request, review};

/// A plain object of every kind, which a cluster of its own would take.
fn plain() -> Vec<(&'static str, Value)> {
    let domain = json!({"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}, "memory": {"guest": "1Gi"}});
    let volumes = json!([{"name": "root", "containerDisk": {"image": "example/image:1"}}]);
    let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"domain": domain, "volumes": volumes}});
    let machine = json!({"runStrategy": "Halted", "template": template});
    let selector = json!({"matchLabels": {"a": "b"}});
    let vm = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "vm"});
    let size = json!({"cpu": {"guest": 2}, "memory": {"guest": "4Gi"}});
    let likes = json!({"cpu": {"preferredCPUTopology": "spread"}, "devices": {"preferredDiskBus": "virtio"}});
    let kinds = [
        ("VirtualMachineInstance", json!({"domain": domain, "volumes": volumes})),
        ("VirtualMachine", machine.clone()),
        ("VirtualMachineInstanceReplicaSet", json!({"selector": selector, "template": template})),
        ("VirtualMachineInstancePreset", json!({"selector": selector, "domain": domain})),
        (
            "VirtualMachinePool",
            json!({"selector": selector, "virtualMachineTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": machine}}),
        ),
        ("KubeVirt", json!({"configuration": {"developerConfiguration": {"featureGates": ["Snapshot"]}}})),
        ("MigrationPolicy", json!({"selectors": {"namespaceSelector": {"a": "b"}}, "completionTimeoutPerGiB": 5})),
        ("VirtualMachineInstancetype", size.clone()),
        ("VirtualMachineClusterInstancetype", size),
        ("VirtualMachinePreference", likes.clone()),
        ("VirtualMachineClusterPreference", likes),
        ("VirtualMachineSnapshot", json!({"source": vm})),
        ("VirtualMachineRestore", json!({"target": vm, "virtualMachineSnapshotName": "s"})),
        ("VirtualMachineExport", json!({"source": vm})),
        ("VirtualMachineClone", json!({"source": vm})),
    ];
    kinds.into_iter().map(|(kind, spec)| (kind, json!({"metadata": {"name": "x", "namespace": "lab"}, "spec": spec}))).collect()
}

/// Kinds that need a gate or something that exists.
const OTHERS: [&str; 4] = ["VirtualMachineInstanceMigration", "VirtualMachineBackup", "VirtualMachineBackupTracker", "Plugin"];

#[test]
fn a_plain_object_of_every_kind_passes() {
    for (kind, object) in plain() {
        let verdict = request(kind, &object, review);
        assert!(verdict.allowed, "{kind}: {:?}", verdict.causes);
        let again = request(kind, &verdict.object, review);
        assert!(again.allowed, "{kind} after defaulting: {:?}", again.causes);
    }
}

#[test]
fn what_is_of_no_kind_of_ours_passes_as_it_is() {
    let object = json!({"anything": [1, 2]});
    assert_eq!(request("Secret", &object, review).object, object);
}

fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z0-9.:/*!{}\"-]{0,12}".prop_map(Value::from),
        prop_oneof![Just("1Gi"), Just("-1"), Just("VirtualMachine"), Just("spread"), Just("{\"op\":\"add\"}")].prop_map(Value::from),
    ];
    leaf.prop_recursive(2, 8, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("name|kind|spec|source|cpu|x", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// The pointers to every value of a document.
fn pointers(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| pointers(value, format!("{at}/{key}"), all)),
        Value::Array(list) => list.iter().enumerate().for_each(|(i, value)| pointers(value, format!("{at}/{i}"), all)),
        _ => {}
    }
    all.push(at);
}

fn spoil(object: &mut Value, place: usize, with: Value) {
    let mut all = Vec::new();
    pointers(object, String::new(), &mut all);
    if let Some(target) = object.pointer_mut(&all[place % all.len()]) {
        *target = with;
    }
}

/// The verdict is one of two, and says why.
fn sound(request: &Request) {
    let verdict = review(request);
    assert_eq!(verdict.allowed, verdict.causes.is_empty());
    assert!(verdict.causes.iter().all(|cause| !cause.message.is_empty()));
}

proptest! {
    #[test]
    fn a_document_that_is_spoilt_anywhere_is_judged(
        kind in 0usize..15, places in proptest::collection::vec((any::<usize>(), anything()), 1..3), old in any::<bool>(),
    ) {
        let (kind, good) = plain().swap_remove(kind);
        let mut spoilt = good.clone();
        for (place, with) in places {
            spoil(&mut spoilt, place, with);
        }
        if old {
            update(kind, &spoilt, &good, sound);
            update(kind, &good, &spoilt, sound);
        } else {
            request(kind, &spoilt, sound);
            request(kind, &spoilt, |request| sound(&Request { operation: Operation::Delete, ..*request }));
        }
    }

    #[test]
    fn anything_is_judged(document in anything(), other in 0usize..4) {
        for kind in plain().iter().map(|(kind, _)| *kind).chain([OTHERS[other]]) {
            request(kind, &document, sound);
            request(kind, &json!({"metadata": {"name": "x"}, "spec": document}), sound);
        }
    }
}
