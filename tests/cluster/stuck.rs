//! A machine that cannot start says so at once, and what to do.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::cluster::{Cluster, Namespace, SOON};

/// How long the machine's status may keep silent about what its pod or the API server has said; it takes a second or two where nothing
/// else is going on.
const AT_ONCE: Duration = Duration::from_secs(15);

/// Why a machine does not start.
struct Stuck {
    name: &'static str,
    /// What its template says beyond the smallest.
    spec: Value,
    /// What `kubectl get vm` may say.
    printed: &'static [&'static str],
    /// What `kubectl describe vm` says: the reason, and what tells what to do.
    told: &'static [&'static str],
    /// Whether the pod shows the trouble; otherwise there is no pod, and time counts from the machine's object on.
    cause: Option<fn(&Value) -> bool>,
}

fn unschedulable(pod: &Value) -> bool {
    crate::cluster::condition(pod, "PodScheduled", "False")
}

fn not_pulled(pod: &Value) -> bool {
    let containers = ["initContainerStatuses", "containerStatuses"].into_iter().filter_map(|list| pod["status"][list].as_array());
    let mut waiting = containers.flatten().filter_map(|c| c["state"]["waiting"]["reason"].as_str());
    waiting.any(|reason| matches!(reason, "ErrImagePull" | "ImagePullBackOff"))
}

fn disk(source: &Value) -> Value {
    let mut volume = json!({"name": "root"});
    volume.as_object_mut().expect("an object").extend(source.as_object().cloned().unwrap_or_default());
    json!({"domain": {"devices": {"disks": [{"name": "root", "disk": {"bus": "virtio"}}]}}, "volumes": [volume]})
}

fn stuck() -> [Stuck; 6] {
    [
        Stuck {
            name: "nowhere",
            spec: json!({"nodeSelector": {"no": "node"}}),
            printed: &["ErrorUnschedulable"],
            told: &["Unschedulable", "node affinity/selector"],
            cause: Some(unschedulable),
        },
        Stuck {
            name: "no-image",
            spec: disk(&json!({"containerDisk": {"image": "localhost/kubevirt-rs/absent:latest"}})),
            printed: &["ErrImagePull", "ImagePullBackOff"],
            told: &["kubevirt-rs/absent:latest"],
            cause: Some(not_pulled),
        },
        Stuck {
            name: "no-claim",
            spec: disk(&json!({"persistentVolumeClaim": {"claimName": "missing"}})),
            printed: &["ErrorPvcNotFound"],
            told: &["FailedPvcNotFound", "missing"],
            cause: None,
        },
        Stuck {
            name: "claim-waits",
            spec: disk(&json!({"persistentVolumeClaim": {"claimName": "waits"}})),
            printed: &["ErrorUnschedulable", "WaitingForVolumeBinding"],
            told: &["Unschedulable", "waits", "its events tell why"],
            cause: Some(unschedulable),
        },
        Stuck {
            name: "over-quota",
            spec: json!({"domain": {"memory": {"guest": "64Gi"}}}),
            printed: &["Starting"],
            told: &["FailedCreate", "exceeded quota", "raise the namespace's ResourceQuota"],
            cause: None,
        },
        Stuck {
            name: "held-up",
            spec: json!({}),
            printed: &["Starting"],
            told: &["FailedCreate", "failed calling webhook", "an admission webhook does not answer"],
            cause: None,
        },
    ]
}

/// A quota that one machine is too large for, a claim that nothing binds, and a webhook of somebody else that is away.
const AROUND: &str = r#"
apiVersion: v1
kind: ResourceQuota
metadata: {name: memory}
spec: {hard: {requests.memory: 32Gi}}
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: waits}
spec: {storageClassName: "", accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Mi}}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: somebody-elses}
webhooks:
  - name: pods.somebody.example
    admissionReviewVersions: [v1]
    sideEffects: None
    failurePolicy: Fail
    timeoutSeconds: 1
    objectSelector: {matchLabels: {machine: held-up}}
    rules: [{apiGroups: [""], apiVersions: [v1], operations: [CREATE], resources: [pods]}]
    clientConfig: {service: {name: away, namespace: default, path: /}}
"#;

/// The webhook is of the whole cluster, so it goes by itself.
struct Webhook<'a>(&'a Cluster);

impl Drop for Webhook<'_> {
    fn drop(&mut self) {
        let _ = self.0.kubectl(&["delete", "validatingwebhookconfiguration", "somebody-elses", "--ignore-not-found"]);
    }
}

fn merge(into: &mut Value, from: &Value) {
    match (into.as_object_mut(), from.as_object()) {
        (Some(into), Some(from)) => from.iter().for_each(|(key, value)| merge(into.entry(key).or_insert(Value::Null), value)),
        _ => into.clone_from(from),
    }
}

fn machine(stuck: &Stuck) -> Value {
    let mut spec = json!({"terminationGracePeriodSeconds": 0, "domain": {"memory": {"guest": "64Mi"}, "devices": {}}});
    merge(&mut spec, &stuck.spec);
    let labels = json!({"machine": stuck.name});
    json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": {"name": stuck.name},
        "spec": {"runStrategy": "Always", "template": {"metadata": {"labels": labels}, "spec": spec}}})
}

/// When the trouble was there to be seen, and when the machine told of it.
#[derive(Clone, Copy, Default)]
struct Seen {
    cause: Option<Instant>,
    told: Option<Instant>,
}

fn look(namespace: &Namespace<'_>, all: &[Stuck], seen: &mut [Seen]) {
    let Some(list) = namespace.cluster.find(&["pods,vm", "--namespace", &namespace.name]) else { return };
    let now = Instant::now();
    let items = list["items"].as_array().cloned().unwrap_or_default();
    for (stuck, seen) in all.iter().zip(seen) {
        let pod = items.iter().find(|o| o["kind"] == "Pod" && o["metadata"]["labels"]["machine"] == stuck.name);
        if stuck.cause.is_some_and(|cause| pod.is_some_and(cause)) {
            seen.cause.get_or_insert(now);
        }
        let vm = items.iter().find(|o| o["kind"] == "VirtualMachine" && o["metadata"]["name"] == stuck.name);
        let status = vm.map(|vm| vm["status"].clone()).unwrap_or_default();
        let printed = stuck.printed.iter().any(|word| status["printableStatus"] == *word);
        let conditions = status["conditions"].to_string();
        if printed && stuck.told.iter().all(|word| conditions.contains(word)) {
            seen.told.get_or_insert(now);
        }
    }
}

pub(crate) fn what_cannot_start_says_why_and_what_to_do(cluster: &Cluster) {
    let namespace = cluster.namespace("stuck");
    let webhook = Webhook(cluster);
    namespace.apply(AROUND);
    // a quota counts from when it has been counted once
    namespace.until("resourcequota/memory", "counted", SOON, |quota| quota["status"]["hard"].is_object());
    let all = stuck();
    namespace.apply(&all.iter().map(|stuck| machine(stuck).to_string()).collect::<Vec<_>>().join("\n"));
    let begin = Instant::now();
    let mut seen = vec![Seen::default(); all.len()];
    let names = all.iter().map(|stuck| stuck.name).collect::<Vec<_>>().join(", ");
    cluster.until(&format!("each of {names} tells what keeps it from starting"), SOON, || {
        look(&namespace, &all, &mut seen);
        let silent: Vec<&str> = all.iter().zip(&seen).filter(|(_, seen)| seen.told.is_none()).map(|(stuck, _)| stuck.name).collect();
        if begin.elapsed() + Duration::from_secs(2) > SOON {
            println!("silent: {silent:?}");
        }
        silent.is_empty().then_some(())
    });
    for (stuck, seen) in all.iter().zip(&seen) {
        let from = if stuck.cause.is_some() { seen.cause } else { Some(begin) };
        let after = seen.told.zip(from).map(|(told, from)| told.saturating_duration_since(from)).unwrap_or_default();
        println!("{} tells why after {:.1} s", stuck.name, after.as_secs_f64());
        assert!(after < AT_ONCE, "{} told why only after {} s", stuck.name, after.as_secs());
        let described = namespace.ok(&["describe", "vm", stuck.name]);
        for word in stuck.told {
            assert!(described.contains(word), "{}: {word:?} is not in what is described:\n{described}", stuck.name);
        }
    }
    drop(webhook);
    // what is gone is not in the way any more
    namespace.until("vm/held-up", "it goes on, the webhook being gone", SOON, |vm| {
        !vm["status"]["conditions"].to_string().contains("failed calling webhook")
    });
}
