//! Reviews at every path of the configurations that the operator installs.

use hyper::Method;
use kubevirt_rs::install::webhooks::{self, Asks, Webhook, configurations};
use serde_json::{Value, json};

use super::Role;

/// Every path that the configurations of the api role name.
fn paths() -> Vec<String> {
    let objects = configurations(true).map(|configuration| configuration.object("kubevirt", "Q0E="));
    let of_api = |webhook: &Value| webhook.pointer("/clientConfig/service/name").is_some_and(|name| name == "virt-api");
    let webhooks = objects.flat_map(|object| object["webhooks"].as_array().cloned().unwrap_or_default()).filter(of_api);
    let mut paths: Vec<String> = webhooks.map(|webhook| webhook["clientConfig"]["service"]["path"].as_str().unwrap().to_owned()).collect();
    paths.sort();
    paths.dedup();
    paths
}

/// A review that the API server could send to that webhook, with this object.
fn review(webhook: &Webhook, object: &Value) -> String {
    let whole = webhook.resources[0];
    let (resource, part) = whole.split_once('/').unwrap_or((whole, ""));
    let kind = kubevirt_rs::api::kinds::ALL.iter().find(|kind| kind.plural == resource).map_or("Pod", |kind| kind.kind);
    let operation = webhook.operations.iter().find(|o| **o != "*").copied().unwrap_or("CREATE");
    json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {
            "uid": "7a1b", "kind": {"group": webhook.group, "version": "v1", "kind": kind},
            "resource": {"group": webhook.group, "version": "v1", "resource": resource}, "subResource": part,
            "name": "a", "namespace": "lab", "operation": operation, "userInfo": {"username": "somebody"},
            "object": object, "oldObject": if operation == "UPDATE" { object.clone() } else { Value::Null },
        },
    })
    .to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_path_answers_whatever_it_is_sent() {
    let role = Role::start(json!({}), 1).await;
    let paths = paths();
    assert!(paths.len() >= 26, "{paths:?}");
    for path in &paths {
        let webhook = webhooks::at(path).unwrap();
        let objects = [
            json!({"metadata": {"name": "a", "namespace": "lab"}, "spec": {}}),
            json!({"metadata": {"name": "a", "namespace": "lab"}, "spec": {"template": {"spec": {"domain": {"devices": {"disks": 7}}}}}}),
            json!({"metadata": [], "spec": "x"}),
            json!({}),
            json!([1]),
            json!(null),
        ];
        for object in &objects {
            let (code, body) = role.ask(None, Method::POST, &format!("{path}?timeout=10s"), &review(webhook, object)).await;
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!(
                (code, answer["kind"].as_str(), answer["response"]["uid"].as_str()),
                (200, Some("AdmissionReview"), Some("7a1b")),
                "{path}"
            );
            let is_allowed = answer["response"]["allowed"].as_bool().unwrap();
            if !is_allowed {
                assert!(answer["response"]["status"]["message"].as_str().is_some_and(|text| !text.is_empty()), "{path} {body}");
            }
            if !object.is_object() && !matches!(webhook.asks, Asks::LauncherPod) && (webhook.asks != Asks::Eviction || !object.is_array()) {
                assert!(!is_allowed, "{path} {object}: {body}");
            }
        }
        for garbage in [
            "\0\u{1}{[",
            "{\"kind\":\"AdmissionReview\"",
            "",
            "[[[[",
            "{\"apiVersion\":\"admission.k8s.io/v1\",\"kind\":\"AdmissionReview\",\"request\":{}}",
        ] {
            let (code, body) = role.ask(None, Method::POST, path, garbage).await;
            let answer: Value = serde_json::from_str(&body).unwrap();
            assert_eq!((code, &answer["response"]["allowed"]), (400, &json!(false)), "{path} {garbage:?}: {body}");
        }
        // what belongs to another path
        let other = json!({"uid": "7a1b", "operation": "CREATE", "resource": {"group": "apps", "version": "v1", "resource": "deployments"}, "object": {}});
        let body = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": other}).to_string();
        let (code, body) = role.ask(None, Method::POST, path, &body).await;
        assert!(code == 200 && body.contains("\"allowed\":false"), "{path}: {body}");
    }
    let big = "x".repeat(10 * 1024 * 1024);
    let (code, body) = role.ask(None, Method::POST, &paths[0], &big).await;
    assert!(code == 413 && body.contains("\"allowed\":false"), "{code} {body}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn defaults_come_as_a_patch_and_faults_name_their_fields() {
    let kubevirt = json!({"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "namespace": "kubevirt", "resourceVersion": "7"},
        "spec": {"configuration": {"machineType": "pc-q35-9.9"}}, "status": {"defaultArchitecture": "amd64"}});
    let instancetype = json!({"apiVersion": "instancetype.kubevirt.io/v1beta1", "kind": "VirtualMachineInstancetype",
        "metadata": {"name": "tiny", "namespace": "lab"}, "spec": {"cpu": {"guest": 1}, "memory": {"guest": "64Mi"}}});
    let role = Role::start(
        json!({
            "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt": kubevirt,
            "/apis/instancetype.kubevirt.io/v1beta1/namespaces/lab/virtualmachineinstancetypes/tiny": instancetype,
        }),
        1,
    )
    .await;
    let ask = |path: &'static str, object: Value| {
        let role = &role;
        async move {
            let body = role.ask(None, Method::POST, path, &review(webhooks::at(path).unwrap(), &object)).await.1;
            serde_json::from_str::<Value>(&body).unwrap()["response"].take()
        }
    };
    let machine = |instancetype: &str, domain: Value| {
        json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": "a", "namespace": "lab"},
            "spec": {"runStrategy": "Halted", "instancetype": {"name": instancetype, "kind": "VirtualMachineInstancetype"},
                "template": {"spec": {"domain": domain}}}})
    };
    let good = machine("tiny", json!({"devices": {}}));
    let answer = ask(webhooks::path::VM_MUTATE, good.clone()).await;
    assert_eq!((&answer["allowed"], &answer["patchType"]), (&json!(true), &json!("JSONPatch")), "{answer}");
    let patch = base64::Engine::decode(&base64::engine::general_purpose::STANDARD, answer["patch"].as_str().unwrap()).unwrap();
    let patch: json_patch::Patch = serde_json::from_slice(&patch).unwrap();
    assert!(patch.0.iter().all(|step| !matches!(step, json_patch::PatchOperation::Remove(_))), "{patch}");
    let mut object = good.clone();
    json_patch::patch(&mut object, &patch).unwrap();
    assert_eq!(object["spec"]["template"]["spec"]["domain"]["machine"]["type"], "pc-q35-9.9");
    assert_eq!(ask(webhooks::path::VM_VALIDATE, object.clone()).await["allowed"], true);
    // what has its defaults already is not changed again
    assert_eq!(ask(webhooks::path::VM_MUTATE, object).await["patch"], Value::Null);

    for (object, field) in [
        (machine("", json!({"devices": {}})), "spec.instancetype"),
        (machine("tiny", json!({"devices": {}, "cpu": {"cores": 4}})), "spec.template.spec.domain.cpu.cores"),
        (machine("tiny", json!({"devices": {"disks": [{"name": "none", "disk": {}}]}})), "spec.template.spec.domain.devices.disks[0].name"),
    ] {
        let answer = ask(webhooks::path::VM_VALIDATE, object).await;
        let fields: Vec<_> =
            answer["status"]["details"]["causes"].as_array().into_iter().flatten().map(|cause| cause["field"].clone()).collect();
        assert_eq!((&answer["allowed"], &answer["status"]["code"]), (&json!(false), &json!(422)), "{answer}");
        assert!(fields.contains(&json!(field)), "{field}: {answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_evicted_guest_is_marked_first() {
    let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "lab", "labels": {"kubevirt.io": "virt-launcher"},
        "annotations": {"kubevirt.io/domain": "vm"}}, "spec": {"nodeName": "node01", "containers": []}, "status": {"phase": "Running"}});
    let instance = json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "vm", "namespace": "lab"},
        "spec": {"evictionStrategy": "LiveMigrate", "domain": {}},
        "status": {"nodeName": "node01", "phase": "Running", "conditions": [{"type": "LiveMigratable", "status": "True"}]}});
    let role = Role::start(
        json!({
            "/api/v1/namespaces/lab/pods/a": pod,
            "/apis/kubevirt.io/v1/namespaces/lab/virtualmachineinstances/vm": instance,
        }),
        1,
    )
    .await;
    let eviction = json!({"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a", "namespace": "lab"}});
    let webhook = webhooks::at(webhooks::path::POD_EVICTION_VALIDATE).unwrap();
    let (_, body) = role.ask(None, Method::POST, webhook.path, &review(webhook, &eviction)).await;
    let answer: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(answer["response"]["status"]["code"], 429, "{body}");
    assert!(body.contains("Eviction triggered evacuation of VMI"), "{body}");
    let written = role.cluster.written();
    assert_eq!(written[0].0.split('?').next(), Some("PATCH /apis/kubevirt.io/v1/namespaces/lab/virtualmachineinstances/vm"));
    assert_eq!(written[0].1[0]["path"], "/status/evacuationNodeName");
}
