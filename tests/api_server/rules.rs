//! The rules of the definitions in CEL: each denies something, with its own message at its own field, and admits something.

use std::collections::BTreeSet;

use kube::api::{ApiResource, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use kubevirt_rs::api::v1::VirtualMachineInstance;
use serde_json::{Value, json};

use crate::definitions::{definitions, stored};
use crate::server::Server;

/// Of every object here.
const NAME: &str = "ruled";

/// A rule: the kind, the field that it is about (a list as `[]`), and its message.
type Rule = (String, String, String);

/// All rules below a schema.
fn collect(kind: &str, path: &str, schema: &Value, found: &mut BTreeSet<Rule>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let message = rule["message"].as_str().expect("every rule has a message");
        assert!(found.insert((kind.to_owned(), path.to_owned(), message.to_owned())), "{kind} {path} {message}: twice");
    }
    for (name, field) in schema["properties"].as_object().into_iter().flatten() {
        let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
        collect(kind, &path, field, found);
    }
    if schema["items"].is_object() {
        collect(kind, &format!("{path}[]"), &schema["items"], found);
    }
    if schema["additionalProperties"].is_object() {
        collect(kind, &format!("{path}{{}}"), &schema["additionalProperties"], found);
    }
}

/// An object that is admitted, and changes that a rule denies each: where, to what (nothing: it is left out), the field that
/// is named, the message.
struct Case {
    kind: &'static str,
    spec: Value,
    denied: Vec<(String, Option<Value>, String, &'static str)>,
}

/// The kinds that hold an instance, with a volume of a path in a container at that place.
fn container_paths(kind: &'static str, place: &str, outer: impl Fn(Value) -> Value) -> Case {
    let instance = json!({"domain": {"devices": {}}, "volumes": [{"name": "v", "containerPath": {"path": "/a", "readOnly": true}}]});
    let pointer = format!("/{place}").replace('.', "/");
    let denied = |field: &str, value: Value, message| {
        (format!("{pointer}/volumes/0/containerPath/{field}"), Some(value), format!("{place}.volumes[0].containerPath.{field}"), message)
    };
    Case {
        kind,
        spec: outer(instance),
        denied: vec![
            denied("path", json!("a"), "must begin with '/'"),
            denied("path", json!("/a/../b"), "must not contain '..'"),
            denied("readOnly", json!(false), "must be true: the files of a container can only be read"),
        ],
    }
}

fn cases() -> Vec<Case> {
    let machine = |instance: Value| json!({"runStrategy": "Halted", "template": {"spec": instance}});
    let vm = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "m"});
    let denied = |pointer: &str, value: Value, field: &str, message| {
        (format!("/spec{pointer}"), Some(value).filter(|value| !value.is_null()), format!("spec{field}"), message)
    };
    vec![
        container_paths("VirtualMachineInstance", "spec", |instance| instance),
        container_paths("VirtualMachine", "spec.template.spec", machine),
        container_paths(
            "VirtualMachineInstanceReplicaSet",
            "spec.template.spec",
            |instance| json!({"selector": {}, "template": {"spec": instance}}),
        ),
        container_paths(
            "VirtualMachinePool",
            "spec.virtualMachineTemplate.spec.template.spec",
            |instance| json!({"selector": {}, "virtualMachineTemplate": {"spec": machine(instance)}}),
        ),
        container_paths(
            "VirtualMachineSnapshotContent",
            "spec.source.virtualMachine.spec.template.spec",
            |instance| json!({"source": {"virtualMachine": {"spec": machine(instance)}}}),
        ),
        Case {
            kind: "VirtualMachineBackup",
            spec: json!({"source": vm, "pvcName": "p"}),
            denied: vec![
                denied("/pvcName", json!(""), "", "pvcName must name a claim"),
                denied("/mode", json!("Pull"), "", "tokenSecretRef must name a secret when the mode is Pull"),
                denied("/source/apiGroup", Value::Null, ".source", "apiGroup must be given"),
                denied("/source/apiGroup", json!("apps"), ".source", "apiGroup must be kubevirt.io or backup.kubevirt.io"),
                denied(
                    "/source/kind",
                    json!("VirtualMachineBackupTracker"),
                    ".source",
                    "kind must be VirtualMachine of kubevirt.io or VirtualMachineBackupTracker of backup.kubevirt.io",
                ),
                denied("/source/name", json!(""), ".source", "name must be given"),
            ],
        },
        Case {
            kind: "VirtualMachineBackupTracker",
            spec: json!({"source": vm}),
            denied: vec![
                denied("/source/apiGroup", json!("backup.kubevirt.io"), ".source", "apiGroup must be kubevirt.io"),
                denied("/source/kind", json!("VirtualMachineBackup"), ".source", "kind must be VirtualMachine"),
                denied("/source/name", json!(""), ".source", "name must be given"),
            ],
        },
    ]
}

/// Rules about a change: the kind, where it is made, and what is said of the specification.
const CHANGES: [(&str, &str, &str); 2] = [
    ("VirtualMachineBackup", "/spec/pvcName", "must not change once the backup is made"),
    ("VirtualMachineBackupTracker", "/spec/source/name", "must not change once the tracker is made"),
];

/// Other objects that rules with an alternative admit.
fn also_admitted() -> Vec<(&'static str, Value)> {
    let vm = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "m"});
    let tracker = json!({"apiGroup": "backup.kubevirt.io", "kind": "VirtualMachineBackupTracker", "name": "t"});
    vec![
        ("VirtualMachineBackup", json!({"source": tracker, "pvcName": "p", "mode": "Push"})),
        ("VirtualMachineBackup", json!({"source": vm, "pvcName": "p", "mode": "Pull", "tokenSecretRef": "s"})),
    ]
}

/// The server's answers about objects of a kind.
struct Kind {
    api: Api<DynamicObject>,
    version: String,
    kind: &'static str,
}

impl Kind {
    fn new(client: &Client, definitions: &[Value], kind: &'static str) -> Self {
        let definition = definitions.iter().find(|definition| definition["spec"]["names"]["kind"] == kind).expect("a definition");
        let text = |value: &Value| value.as_str().expect("a name").to_owned();
        let (group, version) = (text(&definition["spec"]["group"]), text(&stored(definition)["name"]));
        let plural = text(&definition["spec"]["names"]["plural"]);
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(&group, &version, kind), &plural);
        Self { api: Api::default_namespaced_with(client.clone(), &resource), version: format!("{group}/{version}"), kind }
    }

    fn object(&self, spec: &Value) -> Value {
        json!({"apiVersion": self.version, "kind": self.kind, "metadata": {"name": NAME}, "spec": spec})
    }

    async fn create(&self, object: &Value, dry_run: bool) -> Result<DynamicObject, kube::Error> {
        let object = serde_json::from_value(object.clone()).expect("an object");
        self.api.create(&PostParams { dry_run, ..PostParams::default() }, &object).await
    }

    async fn replace(&self, object: &Value) -> Result<DynamicObject, kube::Error> {
        let object = serde_json::from_value(object.clone()).expect("an object");
        self.api.replace(NAME, &PostParams { dry_run: true, ..PostParams::default() }, &object).await
    }

    /// Asserts that the answer is no, for that field, in those words; other rules may have something to say, too.
    fn assert_denied(&self, answer: Result<DynamicObject, kube::Error>, field: &str, message: &str) {
        let status = match answer {
            Err(kube::Error::Api(status)) => status,
            other => panic!("{}: {field} should be denied with {message:?}: {other:?}", self.kind),
        };
        let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
        let is_said = causes.iter().any(|cause| cause.field == field && cause.message.ends_with(&format!(": {message}")));
        assert!(status.code == 422 && is_said, "{}: {field}: {message:?} is not in {causes:#?}", self.kind);
    }
}

/// The object with another value at a place, or without one.
fn changed(object: &Value, pointer: &str, value: Option<&Value>) -> Value {
    let mut object = object.clone();
    let (parent, name) = pointer.rsplit_once('/').expect("a pointer");
    let parent = object.pointer_mut(parent).and_then(Value::as_object_mut).expect("an object");
    match value {
        Some(value) => drop(parent.insert(name.to_owned(), value.clone())),
        None => drop(parent.remove(name).expect("a field")),
    }
    object
}

pub(crate) fn every_rule_of_the_definitions_denies_and_admits(server: &Server) {
    let definitions = definitions();
    let mut rules = BTreeSet::new();
    for definition in &definitions {
        let kind = definition["spec"]["names"]["kind"].as_str().expect("a kind");
        collect(kind, "", &stored(definition)["schema"]["openAPIV3Schema"], &mut rules);
    }
    assert_eq!(rules.len(), 26);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    let mut seen = BTreeSet::new();
    runtime.block_on(async {
        let client = server.client();
        let mut denied = |kind: &Kind, answer, field: &str, message: &str| {
            kind.assert_denied(answer, field, message);
            seen.insert((kind.kind.to_owned(), field.replace("[0]", "[]"), message.to_owned()));
        };
        for case in cases() {
            let kind = Kind::new(&client, &definitions, case.kind);
            let object = kind.object(&case.spec);
            kind.create(&object, true).await.unwrap_or_else(|error| panic!("{}: {error}", case.kind));
            for (pointer, value, field, message) in &case.denied {
                let answer = kind.create(&changed(&object, pointer, value.as_ref()), true).await;
                denied(&kind, answer, field, message);
            }
            for (_, pointer, message) in CHANGES.iter().filter(|(name, ..)| *name == case.kind) {
                let live = kind.create(&object, false).await.unwrap_or_else(|error| panic!("{}: {error}", case.kind));
                let live = serde_json::to_value(live).expect("JSON");
                let same = changed(&live, "/metadata/labels", Some(&json!({"a": "b"})));
                kind.replace(&same).await.unwrap_or_else(|error| panic!("{}: {error}", case.kind));
                denied(&kind, kind.replace(&changed(&live, pointer, Some(&json!("other")))).await, "spec", message);
                kind.api.delete(NAME, &kube::api::DeleteParams::default()).await.expect("it goes");
            }
        }
        for (kind, spec) in also_admitted() {
            let kind = Kind::new(&client, &definitions, kind);
            kind.create(&kind.object(&spec), true).await.unwrap_or_else(|error| panic!("{}: {error}", kind.kind));
        }
    });
    assert_eq!(seen, rules);
}

/// Whole numbers may be written with a fraction of zero, and come back without it: what our own types and checks assume.
pub(crate) fn a_whole_number_may_have_a_fraction_of_zero(server: &Server) {
    let definitions = definitions();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    runtime.block_on(async {
        let kind = Kind::new(&server.client(), &definitions, "VirtualMachineInstance");
        let field = "spec.domain.cpu.cores";
        // the largest of the last three is one more than what doubles can tell apart
        for (cores, taken) in [("2.0", Some(2)), ("1e1", Some(10)), ("-0.0", Some(0)), ("1.5", None), ("9007199254740992.0", None)] {
            let cores: Value = serde_json::from_str(cores).expect("a number");
            let object = kind.object(&json!({"domain": {"devices": {}, "cpu": {"cores": cores}}}));
            let faults = kubevirt_rs::schema::check("VirtualMachineInstance", &object);
            let ours = serde_json::from_value::<VirtualMachineInstance>(object.clone());
            match (kind.create(&object, true).await, taken) {
                (Ok(answer), Some(whole)) => {
                    let came_back = answer.data["spec"]["domain"]["cpu"]["cores"].as_i64();
                    let ours = ours.expect("we read it").spec.domain.cpu.expect("a CPU").cores;
                    assert_eq!((came_back, i64::from(ours)), (Some(whole), whole), "{cores}");
                    assert!(faults.is_empty(), "{cores}: {faults:?}");
                }
                (Err(kube::Error::Api(status)), None) => {
                    let causes = status.details.as_ref().map(|details| details.causes.as_slice()).unwrap_or_default();
                    assert!(causes.iter().any(|cause| cause.field == field), "{cores}: {causes:#?}");
                    assert!(ours.is_err(), "{cores}: {ours:?}");
                    assert!(faults.iter().any(|fault| fault.path == field), "{cores}: {faults:?}");
                }
                (answer, _) => panic!("{cores}: {answer:?}"),
            }
        }
    });
}
