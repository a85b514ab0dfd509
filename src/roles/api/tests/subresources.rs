//! What is done to machines: who may, what is written, what is answered.

use hyper::Method;
use serde_json::{Value, json};

use super::Role;

const V1: &str = "/apis/subresources.kubevirt.io/v1";

fn machine(name: &str, strategy: &str) -> Value {
    json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": name, "namespace": "lab", "uid": "m"},
        "spec": {"runStrategy": strategy, "template": {"spec": {"domain": {"devices": {}}}}}})
}

async fn role() -> Role {
    Role::start(
        json!({
            "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines/halted": machine("halted", "Halted"),
            "/apis/kubevirt.io/v1/namespaces/lab/virtualmachines/always": machine("always", "Always"),
        }),
        1,
    )
    .await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_decided_is_written_and_answered() {
    let role = role().await;
    for (user, method, path, body, code, words) in [
        (Some("joe"), Method::PUT, "virtualmachines/halted/start", "", 202, ""),
        (Some("joe"), Method::PUT, "virtualmachines/halted/start", r#"{"dryRun": ["All"]}"#, 202, ""),
        (Some("joe"), Method::PUT, "virtualmachines/always/start", "", 409, "Always"),
        (Some("joe"), Method::PUT, "virtualmachines/always/stop", "", 202, ""),
        (Some("joe"), Method::PUT, "virtualmachines/none/start", "", 404, "none"),
        (Some("joe"), Method::PUT, "virtualmachines/halted/start", "{", 400, "body"),
        (Some("joe"), Method::GET, "virtualmachines/halted/start", "", 405, "PUT"),
        (Some("joe"), Method::PUT, "virtualmachines/halted/dance", "", 404, "dance"),
        (Some("joe"), Method::GET, "virtualmachines/halted/expand-spec", "", 200, "\"kind\":\"VirtualMachine\""),
        (Some("joe"), Method::PUT, "expand-vm-spec", "{}", 400, "spec"),
        (Some("joe"), Method::GET, "virtualmachineinstances/halted/console", "", 404, "halted"),
        (Some("joe"), Method::PUT, "pods/a/exec", "", 404, "nothing at"),
        (Some("jane"), Method::PUT, "virtualmachines/halted/start", "", 403, "no role binds her"),
        (None, Method::PUT, "virtualmachines/halted/start", "", 401, "vouches"),
    ] {
        let (got, answer) = role.ask(user, method.clone(), &format!("{V1}/namespaces/lab/{path}"), body).await;
        assert!(got == code && answer.contains(words), "{user:?} {method} {path} {body}: {got} {answer}");
        if code >= 400 {
            let status: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!((status["kind"].as_str(), status["code"].as_u64()), (Some("Status"), Some(code.into())), "{answer}");
        }
    }
    let written = role.cluster.written();
    let paths: Vec<&str> = written.iter().map(|(path, _)| path.as_str()).collect();
    assert_eq!(
        paths,
        [
            "PATCH /apis/kubevirt.io/v1/namespaces/lab/virtualmachines/halted",
            "PATCH /apis/kubevirt.io/v1/namespaces/lab/virtualmachines/halted?&dryRun=All",
            "PATCH /apis/kubevirt.io/v1/namespaces/lab/virtualmachines/always",
        ]
    );
    assert_eq!(written[0].1[0]["op"], "test", "a patch says first what it was decided from");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_the_front_proxy_is_believed() {
    let role = role().await;
    let stream = role.dial(Some("other")).await;
    // the certificate is of the authority, and has another name
    let refused = match stream {
        Err(_) => true,
        Ok(mut stream) => {
            use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
            let _ = stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").await;
            let mut answer = Vec::new();
            stream.read_to_end(&mut answer).await.is_err() || answer.is_empty()
        }
    };
    assert!(refused);
    let _ = &role.front_proxy;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn documents_are_for_everyone() {
    let role = role().await;
    for (path, word) in [
        ("/", "/apis/subresources.kubevirt.io/v1"),
        ("/apis", "APIGroupList"),
        ("/apis/subresources.kubevirt.io", "\"kind\":\"APIGroup\""),
        ("/apis/subresources.kubevirt.io/v1", "virtualmachines/start"),
        ("/apis/subresources.kubevirt.io/v1alpha3", "virtualmachines/start"),
        ("/apis/subresources.kubevirt.io/v1/version", "v1.9.0"),
        ("/apis/subresources.kubevirt.io/v1/healthz", "\"connectivity\":\"ok\""),
        ("/openapi/v2", "\"swagger\":\"2.0\""),
        ("/openapi/v3", "serverRelativeURL"),
        ("/openapi/v3/apis/subresources.kubevirt.io/v1alpha3", "\"openapi\":\"3.0.0\""),
        ("/healthz", "ok"),
        ("/metrics", "kubevirt_virt_api_ready_status 1"),
    ] {
        let (code, answer) = role.ask(None, Method::GET, path, "").await;
        assert!(code == 200 && answer.contains(word), "{path}: {code} {answer}");
    }
    assert_eq!(role.ask(Some("joe"), Method::GET, "/apis/subresources.kubevirt.io/v2", "").await.0, 404);
}
