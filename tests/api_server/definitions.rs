//! What the API server makes of the definitions, and what kubectl prints by them.

use serde_json::{Value, json};

use crate::server::{Server, printed, until};

/// All definitions that the program prints.
pub(crate) fn definitions() -> Vec<Value> {
    let list: Value = serde_json::from_str(&printed(&["schema", "crds", "-o", "json"])).expect("JSON");
    list["items"].as_array().expect("a list").clone()
}

/// The version of a definition that objects are stored in.
pub(crate) fn stored(definition: &Value) -> &Value {
    let versions = definition["spec"]["versions"].as_array().expect("versions");
    versions.iter().find(|version| version["storage"] == true).expect("a version is stored")
}

/// Installs the definitions, and what the examples need beside them.
pub(crate) fn install(server: &Server) {
    let mut items = definitions();
    // Multus has it; what it holds is not looked at
    items.push(json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "network-attachment-definitions.k8s.cni.cncf.io"},
        "spec": {"group": "k8s.cni.cncf.io", "scope": "Namespaced",
            "names": {"plural": "network-attachment-definitions", "kind": "NetworkAttachmentDefinition"},
            "versions": [{"name": "v1", "served": true, "storage": true,
                "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]},
    }));
    let list = json!({"apiVersion": "v1", "kind": "List", "items": items});
    server.ok(&["apply", "--server-side", "--filename", "-"], &list.to_string());
    server.ok(&["wait", "customresourcedefinitions", "--all", "--for", "condition=Established", "--timeout", "60s"], "");
    server.ok(&["create", "namespace", "kubevirt"], "");
    // the last thing that comes about: kubectl asks it what kinds there are
    until("all kinds are served", || {
        let served = server.kubectl(&["get", "vm,vmi,vmpool,vmbackuptracker,migrationpolicy,plugin,network-attachment-definitions"]);
        served.status.success().then_some(())
    });
}

pub(crate) fn every_definition_is_established_and_structural(server: &Server) {
    let expected = definitions();
    assert_eq!(expected.len(), 20);
    let list: Value = serde_json::from_str(&server.ok(&["get", "customresourcedefinitions", "--output", "json"], "")).expect("JSON");
    for definition in &expected {
        let name = &definition["metadata"]["name"];
        let items = list["items"].as_array().expect("a list");
        let there = items.iter().find(|item| item["metadata"]["name"] == *name).unwrap_or_else(|| panic!("{name} is not there"));
        let conditions = there["status"]["conditions"].as_array().expect("conditions");
        for condition in conditions {
            let (kind, status) = (condition["type"].as_str().unwrap_or_default(), condition["status"].as_str().unwrap_or_default());
            match kind {
                "Established" | "NamesAccepted" => assert_eq!(status, "True", "{name}: {condition}"),
                // such as NonStructuralSchema
                _ => assert_eq!(status, "False", "{name}: {condition}"),
            }
        }
        assert!(conditions.iter().any(|condition| condition["type"] == "Established"), "{name}: {conditions:?}");
        let served = |definition: &Value| -> Vec<String> {
            let versions = definition["spec"]["versions"].as_array().expect("versions");
            versions.iter().filter(|v| v["served"] == true).map(|v| v["name"].to_string()).collect()
        };
        assert_eq!(served(there), served(definition), "{name}");
    }
}

/// Fields that are explained: the kind, and the way to the field.
const EXPLAINED: [(&str, &str, &str); 6] = [
    ("VirtualMachine", "vm", "spec.template.spec.domain.cpu"),
    ("VirtualMachineInstance", "vmi", "spec.volumes.containerDisk"),
    ("VirtualMachineInstance", "vmi", "status.phaseTransitionTimestamps"),
    ("KubeVirt", "kv", "spec.configuration.migrations"),
    ("VirtualMachinePool", "vmpool", "spec.scaleInStrategy"),
    ("VirtualMachineBackup", "vmbackup", "spec.mode"),
];

/// The schema of a field.
fn at<'a>(schema: &'a Value, path: &str) -> &'a Value {
    let item = |node: &'a Value| if node["type"] == "array" { &node["items"] } else { node };
    path.split('.').fold(schema, |node, name| &item(node)["properties"][name])
}

pub(crate) fn fields_are_explained(server: &Server) {
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    let definitions = definitions();
    for (kind, short, path) in EXPLAINED {
        let definition = definitions.iter().find(|definition| definition["spec"]["names"]["kind"] == kind).expect("a definition");
        let field = at(&stored(definition)["schema"]["openAPIV3Schema"], path);
        let explained = words(&server.ok(&["explain", &format!("{short}.{path}")], ""));
        assert!(explained.contains(&format!("KIND: {kind}")), "{explained}");
        let inner = if field["type"] == "array" { &field["items"] } else { field };
        let below = inner["properties"].as_object().into_iter().flatten();
        let texts = below.map(|(name, node)| (name.as_str(), node)).chain([(path, field)]);
        for (name, node) in texts {
            let description = words(node["description"].as_str().unwrap_or_default());
            assert!(!description.is_empty(), "{path}: {name} has no description");
            assert!(explained.contains(&description), "{path}: {name}: {description:?} is not in {explained}");
        }
        assert!(!explained.contains("<no description>") && !explained.contains("<empty>"), "{explained}");
    }
}

/// The objects whose lists are looked at, with the columns and what is in them; an age is any word.
fn listed() -> Vec<(Value, &'static str, &'static str)> {
    let object = |version: &str, kind: &str, spec: Value, status: Value| {
        let metadata = json!({"name": "a", "namespace": "default"});
        let mut object = json!({"apiVersion": version, "kind": kind, "metadata": metadata, "spec": spec});
        if !status.is_null() {
            object["status"] = status;
        }
        object
    };
    let domain = json!({"domain": {"devices": {}}});
    let condition = |kind: &str| json!({"type": kind, "status": "True"});
    let time = "2026-01-01T00:00:00Z";
    let vm = json!({"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "m"});
    vec![
        (object("kubevirt.io/v1", "KubeVirt", json!({}), json!({"phase": "Deployed"})), "NAME AGE PHASE", "a * Deployed"),
        (
            object(
                "kubevirt.io/v1",
                "VirtualMachine",
                json!({"runStrategy": "Halted", "template": {"spec": domain}}),
                json!({"printableStatus": "Running", "conditions": [condition("Ready")]}),
            ),
            "NAME AGE STATUS READY",
            "a * Running True",
        ),
        (
            object(
                "kubevirt.io/v1",
                "VirtualMachineInstance",
                domain.clone(),
                json!({"phase": "Running", "nodeName": "node01", "interfaces": [{"ipAddress": "10.1.2.3"}],
                    "conditions": [condition("Ready"), condition("LiveMigratable"), condition("Paused")]}),
            ),
            "NAME AGE PHASE IP NODENAME READY LIVE-MIGRATABLE PAUSED",
            "a * Running 10.1.2.3 node01 True True True",
        ),
        (
            object(
                "kubevirt.io/v1",
                "VirtualMachineInstanceReplicaSet",
                json!({"replicas": 3, "selector": {}, "template": {"spec": domain}}),
                json!({"replicas": 2, "readyReplicas": 1}),
            ),
            "NAME DESIRED CURRENT READY AGE",
            "a 3 2 1 *",
        ),
        (
            object("kubevirt.io/v1", "VirtualMachineInstanceMigration", json!({"vmiName": "v"}), json!({"phase": "Succeeded"})),
            "NAME PHASE VMI",
            "a Succeeded v",
        ),
        (
            object(
                "pool.kubevirt.io/v1beta1",
                "VirtualMachinePool",
                json!({"replicas": 3, "selector": {}, "virtualMachineTemplate": {"spec": {"runStrategy": "Halted", "template": {"spec": domain}}}}),
                json!({"replicas": 2, "readyReplicas": 1}),
            ),
            "NAME DESIRED CURRENT READY AGE",
            "a 3 2 1 *",
        ),
        (
            object(
                "snapshot.kubevirt.io/v1beta1",
                "VirtualMachineSnapshot",
                json!({"source": vm}),
                json!({"phase": "Failed", "readyToUse": false, "creationTime": time, "error": {"message": "broken"}}),
            ),
            "NAME SOURCEKIND SOURCENAME PHASE READYTOUSE CREATIONTIME ERROR",
            "a VirtualMachine m Failed false * broken",
        ),
        (
            object(
                "snapshot.kubevirt.io/v1beta1",
                "VirtualMachineSnapshotContent",
                json!({"source": {}}),
                json!({"readyToUse": false, "creationTime": time, "error": {"message": "broken"}}),
            ),
            "NAME READYTOUSE CREATIONTIME ERROR",
            "a false * broken",
        ),
        (
            object(
                "snapshot.kubevirt.io/v1beta1",
                "VirtualMachineRestore",
                json!({"target": vm, "virtualMachineSnapshotName": "s"}),
                json!({"complete": true, "restoreTime": time}),
            ),
            "NAME TARGETKIND TARGETNAME COMPLETE RESTORETIME",
            "a VirtualMachine m true *",
        ),
        (
            object("export.kubevirt.io/v1", "VirtualMachineExport", json!({"source": vm}), json!({"phase": "Ready"})),
            "NAME SOURCEKIND SOURCENAME PHASE",
            "a VirtualMachine m Ready",
        ),
        (
            object(
                "clone.kubevirt.io/v1beta1",
                "VirtualMachineClone",
                json!({"source": vm, "target": {"apiGroup": "kubevirt.io", "kind": "VirtualMachine", "name": "t"}}),
                json!({"phase": "Succeeded"}),
            ),
            "NAME PHASE SOURCEVIRTUALMACHINE TARGETVIRTUALMACHINE",
            "a Succeeded m t",
        ),
        (
            object(
                "backup.kubevirt.io/v1alpha1",
                "VirtualMachineBackup",
                json!({"source": vm, "pvcName": "p"}),
                json!({"type": "Full", "checkpointName": "c"}),
            ),
            "NAME SOURCEKIND SOURCENAME TYPE CHECKPOINTNAME",
            "a VirtualMachine m Full c",
        ),
        (
            object(
                "backup.kubevirt.io/v1alpha1",
                "VirtualMachineBackupTracker",
                json!({"source": vm}),
                json!({"latestCheckpoint": {"name": "c", "creationTime": time}}),
            ),
            "NAME SOURCEKIND SOURCENAME LATESTCHECKPOINT CHECKPOINTTIME",
            "a VirtualMachine m c *",
        ),
        // without columns of its own
        (object("instancetype.kubevirt.io/v1beta1", "VirtualMachinePreference", json!({}), Value::Null), "NAME AGE", "a *"),
    ]
}

pub(crate) fn lists_have_the_columns_of_kubevirt(server: &Server) {
    let definitions = definitions();
    let of = |object: &Value| definitions.iter().find(|d| d["spec"]["names"]["kind"] == object["kind"]).expect("a definition");
    let has_status = |object: &&Value| stored(of(object))["subresources"]["status"].is_object();
    let list = |items: Vec<&Value>| json!({"apiVersion": "v1", "kind": "List", "items": items}).to_string();
    let listed = listed();
    server.ok(&["create", "--filename", "-"], &list(listed.iter().map(|(object, ..)| object).collect()));
    let with_status = list(listed.iter().map(|(object, ..)| object).filter(has_status).collect());
    server.ok(&["apply", "--server-side", "--force-conflicts", "--subresource", "status", "--filename", "-"], &with_status);

    for (object, columns, values) in &listed {
        let short = of(object)["spec"]["names"]["shortNames"][0].as_str().expect("a short name");
        let printed = server.ok(&["get", short, "--output", "wide"], "");
        let lines: Vec<Vec<&str>> = printed.lines().map(|line| line.split_whitespace().collect()).collect();
        let [head, row] = lines.as_slice() else { panic!("{short}: {printed}") };
        assert_eq!(head.join(" "), *columns, "{short}");
        let wanted: Vec<&str> = values.split(' ').collect();
        let same = row.len() == wanted.len() && row.iter().zip(&wanted).all(|(is, want)| *want == "*" || is == want);
        assert!(same, "{short}: {row:?} is not {wanted:?}");
        // the narrow list leaves two columns out
        if short == "vmi" {
            let narrow = server.ok(&["get", short], "");
            assert_eq!(narrow.lines().next().unwrap_or_default().split_whitespace().collect::<Vec<_>>(), head[..6], "{narrow}");
        }
    }
    server.ok(&["delete", "--wait=false", "--filename", "-"], &list(listed.iter().map(|(object, ..)| object).collect()));
}
