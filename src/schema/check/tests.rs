//! Tables: a document and what is wrong with it.

use kubevirt_api::schema::Schema as _;
use proptest::prelude::*;
use serde_json::json;

use super::*;

fn faults(kind: &str, document: &Value) -> Vec<(String, FaultKind)> {
    check(kind, document).into_iter().map(|f| (f.path, f.kind)).collect()
}

fn vmi(spec: &Value) -> Value {
    json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "a"}, "spec": spec})
}

#[test]
fn a_good_document_has_no_faults() {
    let document = vmi(&json!({
        "domain": {"devices": {"disks": [{"name": "a", "disk": {}}]}, "resources": {"requests": {"memory": "1.5Gi", "cpu": 2}}},
        "volumes": [{"name": "a", "containerDisk": {"image": "x"}}],
        "readinessProbe": {"tcpSocket": {"port": "http"}},
        "affinity": null,
    }));
    assert_eq!(check("VirtualMachineInstance", &document), []);
}

#[test]
fn each_kind_of_fault_is_found_where_it_is() {
    let disks: Vec<_> = (0..257).map(|i| json!({"name": i.to_string()})).collect();
    let domain = |domain: Value| {
        let mut domain = domain;
        domain.as_object_mut().unwrap().entry("devices").or_insert(json!({}));
        json!({"domain": domain})
    };
    for (spec, path, kind) in [
        (json!({}), "spec.domain", FaultKind::Required),
        (json!({"domain": null}), "spec.domain", FaultKind::Required),
        (json!({"domain": {}}), "spec.domain.devices", FaultKind::Required),
        (json!([]), "spec", FaultKind::Type),
        (domain(json!({"cpu": {"cores": "2"}})), "spec.domain.cpu.cores", FaultKind::Type),
        (domain(json!({"cpu": {"cores": 1.5}})), "spec.domain.cpu.cores", FaultKind::Type),
        (domain(json!({"cpu": {"cores": 5_000_000_000_u64}})), "spec.domain.cpu.cores", FaultKind::Bounds),
        (domain(json!({"cpu": {"cores": -1}})), "spec.domain.cpu.cores", FaultKind::Bounds),
        (
            domain(json!({"ioThreads": {"supplementalPoolThreadCount": u64::MAX}})),
            "spec.domain.ioThreads.supplementalPoolThreadCount",
            FaultKind::Type,
        ),
        (domain(json!({"memory": {"guest": 1e300}})), "spec.domain.memory.guest", FaultKind::Type),
        (domain(json!({"memory": {"guest": "1.5Gib"}})), "spec.domain.memory.guest", FaultKind::Format),
        (domain(json!({"memory": {"guest": true}})), "spec.domain.memory.guest", FaultKind::Type),
        (domain(json!({"rebootPolicy": "Sometimes"})), "spec.domain.rebootPolicy", FaultKind::Value),
        (domain(json!({"devices": {"disks": disks}})), "spec.domain.devices.disks", FaultKind::Length),
        (domain(json!({"devices": {"disks": [null]}})), "spec.domain.devices.disks[0]", FaultKind::Type),
        (domain(json!({"resources": {"requests": {"memory": "lots"}}})), "spec.domain.resources.requests[memory]", FaultKind::Format),
        (domain(json!({"cpus": {}})), "spec.domain.cpus", FaultKind::UnknownField),
        (
            json!({"domain": {"devices": {}}, "utilityVolumes": [{"name": "a", "claimName": "b"}, {"name": "a", "claimName": "c"}]}),
            "spec.utilityVolumes[1]",
            FaultKind::Duplicate,
        ),
    ] {
        assert_eq!(faults("VirtualMachineInstance", &vmi(&spec)), [(path.to_owned(), kind)], "{spec}");
    }
}

#[test]
fn durations_are_checked_although_no_definition_says_what_they_are() {
    let snapshot = |deadline: &str| json!({"spec": {"source": {"kind": "VirtualMachine", "name": "a"}, "failureDeadline": deadline}});
    assert_eq!(faults("VirtualMachineSnapshot", &snapshot("5m")), []);
    assert_eq!(faults("VirtualMachineSnapshot", &snapshot("5 min")), [("spec.failureDeadline".to_owned(), FaultKind::Format)]);
}

#[test]
fn metadata_is_checked_too() {
    let mut document = vmi(&json!({"domain": {"devices": {}}}));
    document["metadata"] = json!({"lables": {}, "annotations": {"a": 1}, "creationTimestamp": null});
    let found = check("kubevirt.io/v1/VirtualMachineInstance", &document);
    assert_eq!(found.iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["metadata.annotations[a]", "metadata.lables"]);
    assert!(found[1].message.contains("\"labels\""), "{}", found[1].message);
}

#[test]
fn a_slip_of_the_pen_gets_a_suggestion() {
    for (domain, meant) in [
        (json!({"devices": {"disk": []}}), "\"disks\""),
        (json!({"devices": {}, "Cpu": {}}), "\"cpu\""),
        (json!({"devices": {}, "guest": "1Gi"}), "memory.guest"),
    ] {
        let found = check("VirtualMachineInstance", &vmi(&json!({"domain": domain})));
        assert!(found.len() == 1 && found[0].is_warning() && found[0].message.contains(meant), "{found:?}");
    }
}

#[test]
fn kinds_are_found_with_and_without_their_group() {
    assert!(node("VirtualMachine").is_some());
    assert!(node("kubevirt.io/v1/VirtualMachine").is_some());
    assert!(node("apps/v1/VirtualMachine").is_none());
    assert_eq!(check("Pod", &json!({}))[0].kind, FaultKind::Kind);
}

/// Every rule of the schemas, with a value that it takes and one that it does not; the value before, for transitions.
#[test]
fn every_rule_decides() {
    let path = |container: Value| json!({"volumes": [{"name": "v", "containerPath": container}], "domain": {"devices": {}}});
    let backup = |spec: Value| json!({"spec": spec});
    let vm = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "a"});
    let source = |field: &str, value: Option<&str>| {
        let mut source = vm.clone();
        match value {
            Some(value) => source[field] = value.into(),
            None => drop(source.as_object_mut().and_then(|s| s.remove(field))),
        }
        source
    };
    let tracker = json!({"apiGroup": "backup.kubevirt.io", "kind": "VirtualMachineBackupTracker", "name": "a"});
    let push = |source: &Value| backup(json!({"source": source, "pvcName": "p"}));
    let track = |source: &Value| json!({"spec": {"source": source}});
    let vmi = |container: Value| json!({"spec": path(container)});
    for (kind, document, denied) in [
        ("VirtualMachineInstance", vmi(json!({"path": "/a"})), None),
        ("VirtualMachineInstance", vmi(json!({"path": "a"})), Some("spec.volumes[0].containerPath.path")),
        ("VirtualMachineInstance", vmi(json!({"path": "/a/../b"})), Some("spec.volumes[0].containerPath.path")),
        ("VirtualMachineInstance", vmi(json!({"path": "/a", "readOnly": true})), None),
        ("VirtualMachineInstance", vmi(json!({"path": "/a", "readOnly": false})), Some("spec.volumes[0].containerPath.readOnly")),
        ("VirtualMachineBackup", push(&vm), None),
        ("VirtualMachineBackup", push(&tracker), None),
        ("VirtualMachineBackup", push(&source("apiGroup", None)), Some("spec.source")),
        ("VirtualMachineBackup", push(&source("apiGroup", Some("apps"))), Some("spec.source")),
        ("VirtualMachineBackup", push(&source("kind", Some("VirtualMachineBackupTracker"))), Some("spec.source")),
        ("VirtualMachineBackup", push(&source("name", Some(""))), Some("spec.source")),
        ("VirtualMachineBackup", backup(json!({"source": vm})), Some("spec")),
        ("VirtualMachineBackup", backup(json!({"source": vm, "pvcName": ""})), Some("spec")),
        ("VirtualMachineBackup", backup(json!({"source": vm, "pvcName": "p", "mode": "Pull"})), Some("spec")),
        ("VirtualMachineBackup", backup(json!({"source": vm, "pvcName": "p", "mode": "Pull", "tokenSecretRef": ""})), Some("spec")),
        ("VirtualMachineBackup", backup(json!({"source": vm, "pvcName": "p", "mode": "Pull", "tokenSecretRef": "t"})), None),
        ("VirtualMachineBackup", backup(json!({"source": vm, "pvcName": "p", "mode": "Push"})), None),
        ("VirtualMachineBackupTracker", track(&vm), None),
        ("VirtualMachineBackupTracker", track(&source("apiGroup", None)), Some("spec.source")),
        ("VirtualMachineBackupTracker", track(&source("apiGroup", Some("backup.kubevirt.io"))), Some("spec.source")),
        ("VirtualMachineBackupTracker", track(&source("kind", Some("Pod"))), Some("spec.source")),
        ("VirtualMachineBackupTracker", track(&source("name", Some(""))), Some("spec.source")),
    ] {
        let found = check(kind, &document);
        assert!(found.iter().all(|f| f.kind == FaultKind::Rule), "{document} {found:?}");
        let paths: std::collections::BTreeSet<_> = found.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths.into_iter().collect::<Vec<_>>(), denied.into_iter().collect::<Vec<_>>(), "{document}");
    }
    for (kind, old) in [("VirtualMachineBackup", push(&vm)), ("VirtualMachineBackupTracker", track(&vm))] {
        let mut new = old.clone();
        assert_eq!(check_update(kind, &new, Some(&old)), []);
        new["spec"]["source"]["name"] = "b".into();
        assert_eq!(check_update(kind, &new, Some(&old)).iter().map(|f| f.path.as_str()).collect::<Vec<_>>(), ["spec"]);
    }
}

#[test]
fn every_rule_can_be_read() {
    fn rules(node: &Node) -> Vec<&'static str> {
        let mut found: Vec<_> = node.rules.iter().map(|r| r.rule).collect();
        match &node.shape {
            Shape::Object(fields) => fields.iter().for_each(|f| found.extend(rules(&f.node))),
            Shape::Map(item) | Shape::List { item, .. } => found.extend(rules(item)),
            _ => {}
        }
        found
    }
    let all: Vec<_> = kinds::ALL.iter().flat_map(|kind| rules(&(kind.schema)())).collect();
    assert_eq!(all.len(), 26);
    for rule in all {
        assert!(Program::parse(rule).is_ok(), "{rule}");
    }
}

#[test]
fn a_large_document_gets_a_bounded_answer() {
    let volumes: Vec<_> = (0..200_000).map(|_| json!({"nme": 1})).collect();
    let document = json!({"spec": {"domain": {"devices": {"gpus": volumes}}}});
    assert_eq!(check("VirtualMachineInstance", &document).len(), MOST_FAULTS);
    let names: serde_json::Map<_, _> = (0..MOST_VALUES).map(|i| (i.to_string(), "x".into())).collect();
    let document = json!({"spec": {"domain": {"devices": {}}, "nodeSelector": names}});
    assert_eq!(check("VirtualMachineInstance", &document).iter().map(|f| f.kind).collect::<Vec<_>>(), [FaultKind::TooLarge]);
}

/// JSON of any form, with names that our types know.
fn any_json() -> impl Strategy<Value = Value> {
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        ".{0,8}".prop_map(Value::from),
        "(/|\\.\\.|1Gi|Push|True)".prop_map(Value::from),
    ];
    let name = prop_oneof![
        Just("spec"),
        Just("status"),
        Just("metadata"),
        Just("template"),
        Just("domain"),
        Just("devices"),
        Just("disks"),
        Just("volumes"),
        Just("name"),
        Just("conditions"),
        Just("source"),
        Just("labels"),
        Just("resources"),
        Just("requests"),
        Just("containerPath"),
    ];
    scalar.prop_recursive(6, 64, 6, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(name.clone().prop_map(str::to_owned), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_document_makes_the_check_panic(document in any_json(), old in any_json()) {
        for kind in kinds::ALL {
            let _ = check_update(kind.kind, &document, Some(&old));
        }
    }

    /// What decodes and has no faults encodes to a document that has none either.
    #[test]
    fn decoding_keeps_a_document_free_of_faults(document in any_json()) {
        for kind in kinds::ALL {
            if let Ok(again) = (kind.recode)(&document) && check(kind.kind, &document).is_empty() {
                let faults: Vec<_> = check(kind.kind, &again).into_iter().filter(|f| f.kind != FaultKind::Required && f.kind != FaultKind::Rule).collect();
                prop_assert!(faults.is_empty(), "{} {document} {again} {faults:?}", kind.kind);
            }
        }
    }
}

#[test]
fn what_every_kind_has_is_known() {
    let condition = k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition::schema();
    let found = check_value(
        &condition,
        &json!({"type": "Ready", "status": "Yes", "reason": "a b", "message": "", "lastTransitionTime": "now"}),
        None,
    );
    assert_eq!(found.iter().map(|f| f.kind).collect::<Vec<_>>(), [FaultKind::Format, FaultKind::Pattern, FaultKind::Value]);
}
