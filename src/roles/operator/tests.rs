//! Reviews at every path that is the operator's, in process, with an API server that says what a test wants.

use std::sync::Arc;

use http_body_util::Full;
use hyper::Request;
use hyper::body::Bytes;
use kubevirt_rs::install::webhooks::{Webhook, configurations, path};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::watch;

use super::service::{Metrics, Operator};
use crate::cluster::testing::ApiServer;
use crate::cluster::{Configuration, Shutdown};
use crate::serve::certificates::KeyFiles;
use crate::serve::health::Health;
use crate::serve::testing::{Authority, Folder, ask, dial};
use crate::serve::tls::{Clients, ServerTls, Settings};
use crate::serve::webhooks::{Gate, Presets};
use crate::serve::{Limits, Server};

const KUBEVIRT: &str = "/apis/kubevirt.io/v1/namespaces/kubevirt/kubevirts/kubevirt";

fn kubevirt(strategy: &str) -> Value {
    json!({"apiVersion": "kubevirt.io/v1", "kind": "KubeVirt",
        "metadata": {"name": "kubevirt", "namespace": "kubevirt", "resourceVersion": "7"}, "spec": {"uninstallStrategy": strategy}, "status": {"phase": "Deployed"}})
}

/// The server of the role.
struct Running {
    port: u16,
    authority: Authority,
    _folder: Folder,
    _api_server: Arc<ApiServer>,
}

impl Running {
    async fn start(objects: Value) -> Self {
        let (authority, folder) = (Authority::new("test"), Folder::new("operator"));
        authority.server("kubevirt-operator-webhook").write(folder.path());
        let api_server = ApiServer::start(objects).await;
        let client = api_server.client();
        let configuration = Configuration::follow(client.clone(), "kubevirt");
        let gate = Gate { client, configuration, namespace: "kubevirt".to_owned(), presets: Presets::none() };
        let service = Arc::new(Operator { gate, health: Health::default(), metrics: Metrics::new().unwrap() });
        let tls = ServerTls::follow(KeyFiles::of_secret(folder.path()), Clients::Anyone, watch::channel(Settings::default()).1);
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(Server { listener, tls, service, limits: Limits::default() }.run(Shutdown::new()));
        Self { port, authority, _folder: folder, _api_server: api_server }
    }

    /// The code and the answer to a body.
    async fn post(&self, path: &str, body: String) -> (u16, Value) {
        let request = Request::post(path).header("host", "localhost").body(Full::new(Bytes::from(body))).unwrap();
        let (code, body) = ask(dial(self.port, &self.authority, None, "http/1.1").await.unwrap(), request).await;
        (code, serde_json::from_str(&body).unwrap())
    }

    /// The answer to a review of that object; the one before, for a change.
    async fn review(&self, path: &str, object: &Value, old: &Value) -> Value {
        let operation = match path {
            path::KUBEVIRT_VALIDATE_DELETE => "DELETE",
            path::KUBEVIRT_VALIDATE_UPDATE => "UPDATE",
            _ => "CREATE",
        };
        let body = json!({
            "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
            "request": {
                "uid": "7a1b", "kind": {"group": "kubevirt.io", "version": "v1", "kind": "KubeVirt"},
                "resource": {"group": "kubevirt.io", "version": "v1", "resource": "kubevirts"},
                "name": "kubevirt", "namespace": "kubevirt", "operation": operation, "userInfo": {"username": "somebody"},
                "object": object, "oldObject": old,
            },
        });
        let (code, mut answer) = self.post(&format!("{path}?timeout=10s"), body.to_string()).await;
        assert_eq!((code, &answer["kind"], &answer["response"]["uid"]), (200, &json!("AdmissionReview"), &json!("7a1b")), "{path}");
        answer["response"].take()
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_path_of_the_operator_answers_whatever_it_is_sent() {
    let running = Running::start(json!({})).await;
    let objects = configurations(true).map(|configuration| configuration.object("kubevirt", "Q0E="));
    let webhooks: Vec<Value> = objects.flat_map(|object| object["webhooks"].as_array().cloned().unwrap_or_default()).collect();
    let of_operator = webhooks.iter().map(|webhook| &webhook["clientConfig"]["service"]).filter(|service| service["name"] != "virt-api");
    let paths: Vec<&str> = of_operator.map(|service| service["path"].as_str().unwrap()).collect();
    assert_eq!(paths.len(), 3, "{paths:?}");
    for path in paths {
        let webhook: &Webhook = kubevirt_rs::install::webhooks::at(path).unwrap();
        assert_eq!(webhook.resources, ["kubevirts"]);
        for object in [json!({"metadata": [], "spec": "x"}), json!([1]), json!("x"), json!(null)] {
            let answer = running.review(path, &object, &object).await;
            // what goes need not be good
            let must_be_denied = path != path::KUBEVIRT_VALIDATE_DELETE;
            assert!(!must_be_denied || answer["allowed"] == false, "{path} {object}: {answer}");
        }
        for garbage in ["\0\u{1}{[", "{\"kind\":\"AdmissionReview\"", "", "[[[["] {
            let (code, answer) = running.post(path, garbage.to_owned()).await;
            assert_eq!((code, &answer["response"]["allowed"]), (400, &json!(false)), "{path} {garbage:?}: {answer}");
        }
        let (code, answer) = running.post(path, "x".repeat(10 << 20)).await;
        assert_eq!((code, &answer["response"]["allowed"]), (413, &json!(false)), "{path}: {answer}");
    }
    assert_eq!(running.post("/virtualmachines-validate", "{}".to_owned()).await.0, 404);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_installation_is_judged() {
    let blocked = "BlockUninstallIfWorkloadsExist";
    let instance = json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance", "metadata": {"name": "vm", "namespace": "lab"},
        "spec": {"domain": {"devices": {}}}});
    let at = "/apis/kubevirt.io/v1/namespaces/lab/virtualmachineinstances/vm";
    let (empty, busy) = (Running::start(json!({})).await, Running::start(json!({KUBEVIRT: kubevirt(blocked), at: instance})).await);
    let mut faulty = kubevirt(blocked);
    faulty["spec"]["configuration"] = json!({"tlsConfiguration": {"minTLSVersion": "VersionTLS13", "ciphers": ["TLS_AES_128_GCM_SHA256"]}});
    let nothing = Value::Null;
    for (running, path, object, old, allowed) in [
        (&empty, path::KUBEVIRT_VALIDATE_CREATE, kubevirt(blocked), nothing.clone(), true),
        (&busy, path::KUBEVIRT_VALIDATE_CREATE, kubevirt(blocked), nothing.clone(), false),
        (&busy, path::KUBEVIRT_VALIDATE_UPDATE, kubevirt(""), kubevirt(blocked), true),
        (&busy, path::KUBEVIRT_VALIDATE_UPDATE, faulty, kubevirt(blocked), false),
        (&empty, path::KUBEVIRT_VALIDATE_DELETE, nothing.clone(), kubevirt(blocked), true),
        (&busy, path::KUBEVIRT_VALIDATE_DELETE, nothing.clone(), kubevirt(blocked), false),
    ] {
        let answer = running.review(path, &object, &old).await;
        assert_eq!(answer["allowed"], allowed, "{path}: {answer}");
        if !allowed {
            assert!(answer["status"]["message"].as_str().is_some_and(|message| !message.is_empty()), "{answer}");
        }
    }
}
