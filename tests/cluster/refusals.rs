//! What may not enter, and what is said of it.

use std::process::Command;

use serde_json::{Value, json};

use crate::cluster::{Cluster, repository, text};
use crate::containers::role_pods;

/// Files of tests/invalid that are another matter in a cluster: kubectl reads the first in its own way, the API server has no such
/// version, and a machine may come before the instance type or preference that it names, which it then waits for.
const OTHERWISE: [&str; 6] = [
    "key-twice.yaml",
    "api-version-old.yaml",
    "vm-instancetype-conflict.yaml",
    "vm-instancetype-kind.yaml",
    "vm-instancetype-unknown.yaml",
    "vm-preference-unknown.yaml",
];

pub(crate) fn invalid_objects_are_refused_by_their_field(cluster: &Cluster) {
    let namespace = cluster.namespace("refusals");
    let mut faults = Vec::new();
    let mut refused = 0;
    let mut files: Vec<_> = std::fs::read_dir(repository("tests/invalid")).expect("the folder").flatten().map(|e| e.path()).collect();
    files.sort();
    for path in files {
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if OTHERWISE.contains(&name.as_str()) {
            continue;
        }
        let manifest = std::fs::read_to_string(&path).expect("a text");
        let first = manifest.lines().next().unwrap_or_default();
        let fields: Vec<&str> = first.strip_prefix("# fields: ").unwrap_or_default().split(", ").collect();
        let output = namespace.kubectl(&["create", "--validate=strict", "--dry-run=server", "--filename", &path.display().to_string()]);
        let said = text(&output.stderr);
        if output.status.success() {
            faults.push(format!("{name} was taken"));
            continue;
        }
        refused += 1;
        for field in fields.iter().filter(|f| !said.contains(**f)) {
            faults.push(format!("{name}: {field} is not in: {}", said.trim()));
        }
    }
    assert!(refused > 50, "only {refused} were refused");
    assert!(faults.is_empty(), "{} faults:\n{}", faults.len(), faults.join("\n"));

    // by the API: an Invalid status of 422, with the field as a cause of its own
    let output = namespace.kubectl(&[
        "create",
        "--output",
        "json",
        "-v",
        "8",
        "--filename",
        &repository("tests/invalid/cpu-sockets-above-maximum.yaml").display().to_string(),
    ]);
    let said = text(&output.stderr);
    assert!(said.contains("422") && said.contains("\"causes\""), "{said}");
}

/// Posts a body to a webhook of the api's pod, as an API server would; gives the status code and the body.
fn post(address: &str, path: &str, body: &[u8]) -> (String, Vec<u8>) {
    let file = std::env::temp_dir().join(format!("kubevirt-rs-body-{}", std::process::id()));
    std::fs::write(&file, body).expect("a file");
    let url = format!("https://{address}:8443{path}");
    let data = format!("@{}", file.display());
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--insecure", "--max-time", "10", "--write-out", "\n%{http_code}"])
        .args(["--header", "Content-Type: application/json", "--data-binary", &data, &url])
        .output()
        .expect("curl runs; `deploy/setup.sh test` installs it");
    let _ = std::fs::remove_file(&file);
    assert!(output.status.success(), "no answer from {url}: {}", text(&output.stderr));
    let at = output.stdout.iter().rposition(|b| *b == b'\n').expect("the status code");
    (text(&output.stdout[at + 1..]), output.stdout[..at].to_vec())
}

pub(crate) fn a_garbled_webhook_body_is_denied(cluster: &Cluster) {
    let pods = role_pods(cluster, "api");
    let address = pods.first().and_then(|p| p["status"]["podIP"].as_str()).expect("a pod of the api").to_owned();
    let mut paths = Vec::new();
    for kind in ["mutatingwebhookconfigurations", "validatingwebhookconfigurations"] {
        let list = cluster.find(&[kind]).unwrap_or_default();
        let webhooks = list["items"].as_array().cloned().unwrap_or_default();
        for webhook in webhooks.iter().flat_map(|c| c["webhooks"].as_array().cloned().unwrap_or_default()) {
            let service = &webhook["clientConfig"]["service"];
            if service["name"] == "virt-api" {
                paths.push(service["path"].as_str().unwrap_or_default().to_owned());
            }
        }
    }
    assert!(paths.iter().any(|p| p.contains("virtualmachine")), "webhooks of the api: {paths:?}");

    let request = |object: Value| {
        json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {"uid": "u-1", "operation": "CREATE",
            "kind": {"group": "kubevirt.io", "version": "v1", "kind": "VirtualMachineInstance"},
            "resource": {"group": "kubevirt.io", "version": "v1", "resource": "virtualmachineinstances"},
            "namespace": "default", "name": "x", "userInfo": {"username": "someone"}, "object": object}})
        .to_string()
        .into_bytes()
    };
    let bodies: [(&str, Vec<u8>); 6] = [
        ("nothing", Vec::new()),
        ("no JSON", b"\x00\xff{{{".to_vec()),
        ("half a review", br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionRev"#.to_vec()),
        ("a review without a request", br#"{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview"}"#.to_vec()),
        ("an object of another shape", request(json!({"spec": {"domain": "none"}}))),
        ("no object", request(Value::Null)),
    ];
    for path in &paths {
        for (what, body) in &bodies {
            let (code, answer) = post(&address, path, body);
            let review: Value = serde_json::from_slice(&answer).unwrap_or_default();
            assert_eq!(review["kind"], "AdmissionReview", "{path}, {what}: {code} {}", text(&answer));
            assert_eq!(review["response"]["allowed"], false, "{path}, {what}: {}", text(&answer));
            assert!(review["response"]["status"]["message"].as_str().is_some_and(|m| !m.is_empty()), "{path}, {what}: {}", text(&answer));
        }
    }
}
