//! What the KubeVirt object says counts from then on, without anything being started anew; what cannot be used counts never.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, SOON, condition, repository, text};
use crate::containers::role_pods;

const KUBEVIRT: [&str; 3] = ["kubevirt/kubevirt", "--namespace", "kubevirt"];

/// The object's spec as it was, which comes back whatever happens.
pub(crate) struct Before<'a> {
    cluster: &'a Cluster,
    spec: Value,
}

impl Drop for Before<'_> {
    fn drop(&mut self) {
        let patch = json!([{"op": "replace", "path": "/spec", "value": self.spec}]).to_string();
        let _ = self.cluster.kubectl(&[&["patch", "--type", "json", "--patch", &patch][..], &KUBEVIRT].concat());
    }
}

impl<'a> Before<'a> {
    pub(crate) fn of(cluster: &'a Cluster) -> Self {
        let kubevirt = cluster.find(&KUBEVIRT).expect("the KubeVirt object");
        Self { cluster, spec: kubevirt["spec"].clone() }
    }

    pub(crate) fn configure(&self, configuration: &Value) {
        let patch = json!({"spec": {"configuration": configuration}}).to_string();
        self.cluster.ok(&[&["patch", "--type", "merge", "--patch", &patch][..], &KUBEVIRT].concat());
    }

    fn until(&self, what: &str, wanted: impl Fn(&Value) -> bool) -> Duration {
        let begin = Instant::now();
        self.cluster.until(what, SOON, || self.cluster.find(&KUBEVIRT).filter(&wanted));
        begin.elapsed()
    }
}

/// Every role's pods, and how often their containers were started.
fn roles(cluster: &Cluster) -> Vec<(String, u64)> {
    let pods = ["operator", "api", "controller", "handler"].iter().flat_map(|role| role_pods(cluster, role));
    let mut all: Vec<(String, u64)> = pods
        .map(|pod| {
            let restarts = pod["status"]["containerStatuses"].as_array().into_iter().flatten().filter_map(|c| c["restartCount"].as_u64());
            (pod["metadata"]["uid"].as_str().unwrap_or_default().to_owned(), restarts.sum())
        })
        .collect();
    all.sort();
    all
}

/// Whether an instance with a disk image of its node is let in; what is said if not.
fn host_disk(namespace: &Namespace<'_>) -> Result<(), String> {
    let file = repository("examples/vmi-host-disk.yaml").display().to_string();
    let output = namespace.kubectl(&["create", "--dry-run=server", "--filename", &file]);
    if output.status.success() { Ok(()) } else { Err(text(&output.stderr)) }
}

/// When the launcher pod of a new instance gets its image from the registry. No node fits, so that none is started.
fn pull_policy(namespace: &Namespace<'_>, name: &str) -> String {
    namespace.apply(&format!(
        r#"
apiVersion: kubevirt.io/v1
kind: VirtualMachineInstance
metadata: {{name: {name}, labels: {{guest: {name}}}}}
spec: {{nodeSelector: {{no: node}}, domain: {{memory: {{guest: 64Mi}}, devices: {{}}}}}}
"#
    ));
    let selector = format!("guest={name}");
    let arguments = ["pods", "--namespace", &namespace.name, "--selector", &selector];
    let pod = namespace.cluster.until(&format!("{name} has a launcher pod"), SOON, || {
        namespace.cluster.find(&arguments).and_then(|list| list["items"].as_array()?.first().cloned())
    });
    let containers = pod["spec"]["containers"].as_array().cloned().unwrap_or_default();
    let compute = containers.iter().find(|c| c["name"] == "compute").expect("the container of the guest");
    compute["imagePullPolicy"].as_str().unwrap_or_default().to_owned()
}

/// Values that the API server takes, since KubeVirt takes them, and that no machine could be run by.
fn unusable() -> [(Value, Value, &'static str); 3] {
    [
        (json!({"imagePullPolicy": "Sometimes"}), json!({"imagePullPolicy": "Always"}), "imagePullPolicy"),
        (json!({"evictionStrategy": "Whatever"}), json!({"evictionStrategy": null}), "evictionStrategy"),
        (
            json!({"architectureConfiguration": {"amd64": {"machineType": "bogus"}}}),
            json!({"architectureConfiguration": null}),
            "architectureConfiguration.amd64.machineType",
        ),
    ]
}

/// Whether the object tells of a fault in that field: by its conditions, as `kubectl wait` sees them, and their message.
fn tells(kubevirt: &Value, field: &str) -> bool {
    let conditions = kubevirt["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let said = conditions.iter().any(|c| c["type"] == "Degraded" && c["message"].as_str().is_some_and(|m| m.contains(field)));
    said && condition(kubevirt, "Degraded", "True")
        && condition(kubevirt, "Synchronized", "False")
        && condition(kubevirt, "Available", "True")
}

pub(crate) fn the_configuration_counts_at_once_and_a_bad_one_never(cluster: &Cluster) {
    let namespace = cluster.namespace("live-config");
    let before = Before::of(cluster);
    let started = roles(cluster);
    assert!(started.len() >= 4, "roles: {started:?}");

    let refusal = host_disk(&namespace).expect_err("a host disk is refused without its gate");
    assert!(refusal.contains("HostDisk"), "it names the gate: {refusal}");
    assert_eq!(pull_policy(&namespace, "before"), "IfNotPresent");

    before.configure(&json!({"developerConfiguration": {"featureGates": ["HostDisk"]}, "imagePullPolicy": "Always"}));
    let begin = Instant::now();
    cluster.until("a host disk is let in once its gate is open", SOON, || host_disk(&namespace).ok());
    println!("a feature gate counts after {:.1} s", begin.elapsed().as_secs_f64());
    let mut tried = 0;
    cluster.until("launcher pods get their image always", SOON, || {
        tried += 1;
        (pull_policy(&namespace, &format!("after-{tried}")) == "Always").then_some(())
    });
    println!("imagePullPolicy counts after {:.1} s, for pod {tried}", begin.elapsed().as_secs_f64());

    for (bad, good, field) in unusable() {
        before.configure(&bad);
        let told = before.until(&format!("the object tells that {field} is wrong"), |kubevirt| tells(kubevirt, field));
        cluster.until(&format!("an event tells that {field} is wrong"), SOON, || {
            let events = cluster.find(&["events", "--namespace", "kubevirt", "--field-selector", "reason=InvalidConfiguration"])?;
            events["items"].as_array()?.iter().any(|e| e["message"].as_str().is_some_and(|m| m.contains(field))).then_some(())
        });
        assert_eq!(host_disk(&namespace), Ok(()), "the settings before a wrong {field} count on");
        let name = format!("beside-{}", field.to_lowercase());
        assert_eq!(pull_policy(&namespace, &name), "Always", "the settings before a wrong {field} count on");
        before.configure(&good);
        let mended = before.until(&format!("nothing is wrong once {field} is right"), |kubevirt| {
            condition(kubevirt, "Degraded", "False")
                && condition(kubevirt, "Available", "True")
                && !condition(kubevirt, "Synchronized", "False")
        });
        println!("a wrong {field} is told after {:.1} s; its end after {:.1} s", told.as_secs_f64(), mended.as_secs_f64());
    }

    drop(before);
    let begin = Instant::now();
    cluster.until("a host disk is refused once its gate is closed", SOON, || host_disk(&namespace).err());
    println!("a gate is closed after {:.1} s", begin.elapsed().as_secs_f64());
    assert_eq!(roles(cluster), started, "no role was started anew");
}
