//! Which other objects a judgement needs to know, told before it is made, so that nothing else is read.
//!
//! A reference may lead to another: whoever reads asks again with what was found, until nothing new is asked for. What
//! was looked for and is not there stays unknown, and the judgement says so.

use serde::Deserialize as _;
use serde_json::Value;

use super::validate::naming::label_value;
use super::{Operation, Request};
use crate::api::kinds::{ALL, Kind};
use crate::api::names::MIGRATION_SELECTOR_LABEL;
use crate::api::v1::VirtualMachine;
use crate::instancetype::{self, FindError, Given, InferError, Objects};

/// Objects that are needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Need {
    /// The kind.
    pub kind: &'static str,
    /// The namespace, for kinds that live in one; none for all of them.
    pub namespace: Option<String>,
    /// Which ones.
    pub which: Which,
}

/// Which objects of a kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Which {
    /// The one of that name.
    Named(String),
    /// All, or those with that label.
    All(Option<(&'static str, String)>),
    /// One is enough.
    Any,
}

/// The kinds of others that are looked for: kind, group, version, plural.
const OTHERS: [(&str, &str, &str, &str); 6] = [
    ("PersistentVolumeClaim", "", "v1", "persistentvolumeclaims"),
    ("ControllerRevision", "apps", "v1", "controllerrevisions"),
    ("DataVolume", "cdi.kubevirt.io", "v1beta1", "datavolumes"),
    ("DataSource", "cdi.kubevirt.io", "v1beta1", "datasources"),
    ("VolumeSnapshot", "snapshot.storage.k8s.io", "v1", "volumesnapshots"),
    ("Pod", "", "v1", "pods"),
];

impl Need {
    /// The group, the version and the plural name of the kind.
    pub fn resource(&self) -> Option<(&'static str, &'static str, &'static str)> {
        let own = ALL.iter().find(|kind| kind.kind == self.kind);
        let own = own.map(|Kind { group, version, plural, .. }| (*group, *version, *plural));
        own.or_else(|| OTHERS.iter().find(|other| other.0 == self.kind).map(|(_, group, version, plural)| (*group, *version, *plural)))
    }

    fn named(kind: &'static str, namespace: Option<&str>, name: &str) -> Self {
        Self { kind, namespace: namespace.map(str::to_owned), which: Which::Named(name.to_owned()) }
    }

    fn all(kind: &'static str, namespace: &str) -> Self {
        Self { kind, namespace: Some(namespace.to_owned()), which: Which::All(None) }
    }
}

/// What is needed beyond what [`Request::cluster`] has. An object that cannot be read needs nothing: it is refused.
pub fn needs(request: &Request) -> Vec<Need> {
    let text = |pointer: &str| request.object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    let home = text("/metadata/namespace");
    let is_new = request.operation == Operation::Create;
    match request.kind {
        "VirtualMachine" if request.operation != Operation::Delete => of_machine(request, home),
        "VirtualMachineInstance" if is_new => vec![Need::all("VirtualMachineInstancePreset", home)],
        "VirtualMachineInstanceMigration" if is_new => {
            let of = text("/spec/vmiName");
            if of.is_empty() {
                return Vec::new();
            }
            let others = Which::All(Some((MIGRATION_SELECTOR_LABEL, of.to_owned())));
            let others = Need { kind: "VirtualMachineInstanceMigration", namespace: Some(home.to_owned()), which: others };
            // what is no label cannot be looked for, and is refused
            let others = label_value(of).is_ok().then_some(others);
            [Need::named("VirtualMachineInstance", Some(home), of)].into_iter().chain(others).collect()
        }
        "VirtualMachineRestore" if is_new => of_restore(request, home),
        "VirtualMachineBackup" if is_new => vec![Need::all("VirtualMachineBackup", home)],
        "KubeVirt" => of_installation(request.operation),
        _ => Vec::new(),
    }
}

/// What a judgement of the status needs.
pub fn status_needs(request: &Request) -> Vec<Need> {
    let at = |pointer: &str| request.object.pointer(pointer);
    let name = |pointer: &str| at(pointer).and_then(Value::as_str).unwrap_or_default();
    let is_asked = at("/status/volumeRequests").and_then(Value::as_array).is_some_and(|requests| !requests.is_empty());
    if request.kind == "VirtualMachine" && is_asked && at("/status/ready") == Some(&Value::Bool(true)) {
        return vec![Need::named("VirtualMachineInstance", Some(name("/metadata/namespace")), name("/metadata/name"))];
    }
    Vec::new()
}

fn of_installation(operation: Operation) -> Vec<Need> {
    let everywhere = |kind, which| Need { kind, namespace: None, which };
    match operation {
        Operation::Create => vec![everywhere("KubeVirt", Which::Any)],
        Operation::Update => Vec::new(),
        Operation::Delete => ["VirtualMachineInstance", "VirtualMachine", "VirtualMachineInstanceReplicaSet"]
            .map(|kind| everywhere(kind, Which::Any))
            .to_vec(),
    }
}

fn of_restore(request: &Request, home: &str) -> Vec<Need> {
    let text = |object: &Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned();
    let snapshot = text(request.object, "/spec/virtualMachineSnapshotName");
    let mut needs = vec![
        Need::all("VirtualMachineRestore", home),
        Need::named("VirtualMachineSnapshot", Some(home), &snapshot),
        Need::named("VirtualMachine", Some(home), &text(request.object, "/spec/target/name")),
    ];
    if let Some(snapshot) = Given(request.cluster).get("VirtualMachineSnapshot", Some(home), &snapshot) {
        let content = text(snapshot, "/status/virtualMachineSnapshotContentName");
        needs.push(Need::named("VirtualMachineSnapshotContent", Some(home), &content));
    }
    needs.retain(|need| need.which != Which::Named(String::new()));
    needs
}

/// A machine needs what its references lead to: step by step, as the defaults and the judgement will go.
fn of_machine(request: &Request, home: &str) -> Vec<Need> {
    let spec = |key: &str| request.object.pointer("/spec").and_then(|spec| spec.get(key)).is_some_and(|value| !value.is_null());
    if !spec("instancetype") && !spec("preference") && !spec("dataVolumeTemplates") {
        return Vec::new();
    }
    let Ok(mut vm) = VirtualMachine::deserialize(request.object) else { return Vec::new() };
    let mut needs = sources(&vm, request, home);
    if infers(&vm) {
        needs.extend(volumes(&vm, home));
        if let Err(error) = instancetype::infer(&mut vm, Objects(request.cluster)) {
            if let InferError::Missing { kind, namespace, name, .. } = error {
                needs.push(Need::named(kind, Some(&namespace), &name));
            }
            return needs;
        }
    }
    let known = Given(request.cluster);
    let missing = [instancetype::find(&vm, &known).err(), instancetype::find_preference(&vm, &known).err()];
    for error in missing.into_iter().flatten() {
        if let FindError::Missing { kind, name, .. } = error {
            let namespace = (!kind.starts_with("VirtualMachineCluster")).then_some(home);
            needs.push(Need::named(kind, namespace, &name));
        }
    }
    needs.retain(|need| need.which != Which::Named(String::new()));
    needs
}

fn infers(vm: &VirtualMachine) -> bool {
    vm.spec.instancetype.as_ref().is_some_and(|matcher| !matcher.infer_from_volume.is_empty())
        || vm.spec.preference.as_ref().is_some_and(|matcher| !matcher.infer_from_volume.is_empty())
}

/// The DataVolumes of a machine that are there already: one that is not is looked for as a claim.
fn volumes(vm: &VirtualMachine, home: &str) -> Vec<Need> {
    let volumes = vm.spec.template.iter().flat_map(|template| &template.spec.volumes).filter_map(|volume| volume.data_volume.as_ref());
    let own = |name: &str| vm.spec.data_volume_templates.iter().any(|template| template.metadata.name.as_deref() == Some(name));
    volumes.filter(|volume| !own(&volume.name)).map(|volume| Need::named("DataVolume", Some(home), &volume.name)).collect()
}

/// The sources of a machine's disks, which may tell its architecture.
fn sources(vm: &VirtualMachine, request: &Request, home: &str) -> Vec<Need> {
    const KIND: &str = "DataSource";
    let mut needs = Vec::new();
    if vm.spec.template.as_ref().is_none_or(|template| !template.spec.architecture.is_empty()) {
        return needs;
    }
    let references = vm.spec.data_volume_templates.iter().filter_map(|template| template.spec.source_ref.as_ref());
    for reference in references.filter(|reference| reference.kind.eq_ignore_ascii_case(KIND)) {
        let namespace = reference.namespace.as_deref().filter(|namespace| !namespace.is_empty()).unwrap_or(home);
        needs.push(Need::named(KIND, Some(namespace), &reference.name));
        let source = Given(request.cluster).get(KIND, Some(namespace), &reference.name);
        if let Some(other) = source.and_then(|source| source.pointer("/spec/source/dataSource")) {
            let text = |key: &str| other.get(key).and_then(Value::as_str).unwrap_or_default();
            needs.push(Need::named(KIND, Some(text("namespace")), text("name")));
        }
    }
    needs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::Seed;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::config::ClusterConfig;
    use serde_json::json;

    /// What is needed, in short: kind/namespace/which.
    fn asked(kind: &str, operation: Operation, object: &Value, cluster: &[Value]) -> Vec<String> {
        let request = Request {
            kind,
            operation,
            config: &ClusterConfig::new(&KubeVirtConfiguration::default()),
            object,
            old: None,
            user: "somebody",
            user_node: None,
            namespace: "kubevirt",
            cluster,
            seed: Seed(1),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let needs = needs(&request);
        assert!(needs.iter().all(|need| need.resource().is_some()), "{needs:?}");
        let which = |which: &Which| match which {
            Which::Named(name) => name.clone(),
            Which::All(label) => label.as_ref().map_or("*".to_owned(), |(key, value)| format!("{key}={value}")),
            Which::Any => "?".to_owned(),
        };
        needs.iter().map(|n| format!("{}/{}/{}", n.kind, n.namespace.as_deref().unwrap_or("-"), which(&n.which))).collect()
    }

    #[test]
    fn a_machine_is_followed_step_by_step() {
        let meta = |name: &str| json!({"namespace": "lab", "name": name});
        let machine = json!({"metadata": meta("a"), "spec": {
            "instancetype": {"inferFromVolume": "root"}, "preference": {"name": "p", "kind": "VirtualMachinePreference"},
            "template": {"spec": {"architecture": "amd64", "domain": {}, "volumes": [{"name": "root", "dataVolume": {"name": "d"}}]}},
        }});
        let ask = |cluster: &[Value]| asked("VirtualMachine", Operation::Create, &machine, cluster);
        assert_eq!(ask(&[]), ["DataVolume/lab/d", "PersistentVolumeClaim/lab/d"]);
        let claim = json!({"kind": "PersistentVolumeClaim", "metadata": {"namespace": "lab", "name": "d",
            "labels": {"instancetype.kubevirt.io/default-instancetype": "u1.small"}}});
        let found = ask(std::slice::from_ref(&claim));
        assert_eq!(found, ["DataVolume/lab/d", "VirtualMachineClusterInstancetype/-/u1.small", "VirtualMachinePreference/lab/p"]);
        let small = json!({"kind": "VirtualMachineClusterInstancetype", "metadata": {"name": "u1.small"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "1Gi"}}});
        assert_eq!(ask(&[claim, small]), ["DataVolume/lab/d", "VirtualMachinePreference/lab/p"]);
    }

    #[test]
    fn what_refers_to_nothing_needs_nothing() {
        let machine = json!({"metadata": {"namespace": "lab", "name": "a"}, "spec": {"template": {"spec": {"domain": {}}}}});
        assert!(asked("VirtualMachine", Operation::Create, &machine, &[]).is_empty());
        assert!(asked("VirtualMachine", Operation::Create, &json!({"spec": {"instancetype": 1}}), &[]).is_empty());
        assert!(asked("MigrationPolicy", Operation::Create, &json!({}), &[]).is_empty());
    }

    #[test]
    fn others_of_a_namespace_are_looked_at() {
        let object = |spec: Value| json!({"metadata": {"namespace": "lab", "name": "a"}, "spec": spec});
        let new = |kind: &str, spec: Value, cluster: &[Value]| asked(kind, Operation::Create, &object(spec), cluster);
        assert_eq!(
            new("VirtualMachineInstanceMigration", json!({"vmiName": "vm"}), &[]),
            ["VirtualMachineInstance/lab/vm", "VirtualMachineInstanceMigration/lab/kubevirt.io/vmi-name=vm"]
        );
        assert_eq!(new("VirtualMachineInstanceMigration", json!({"vmiName": "no label!"}), &[]), ["VirtualMachineInstance/lab/no label!"]);
        let restore = json!({"virtualMachineSnapshotName": "s", "target": {"name": "vm"}});
        let snapshot = json!({"kind": "VirtualMachineSnapshot", "metadata": {"namespace": "lab", "name": "s"},
            "status": {"virtualMachineSnapshotContentName": "c"}});
        assert_eq!(new("VirtualMachineRestore", restore.clone(), &[]).len(), 3);
        assert_eq!(new("VirtualMachineRestore", restore, &[snapshot])[3], "VirtualMachineSnapshotContent/lab/c");
        assert_eq!(new("KubeVirt", json!({}), &[]), ["KubeVirt/-/?"]);
        assert_eq!(asked("KubeVirt", Operation::Delete, &object(json!({})), &[]).len(), 3);
    }
}
