//! The pods of the components. All run the same program from the same image; they differ in what they are told, what
//! they may, and what they see of the node.

mod api;
mod controller;
mod handler;
mod operator;
mod placement;
mod trial;

use serde_json::{Value, json};

pub(super) use operator::deployment as operator;
pub use trial::{Trial, trials};

use super::object::set;
use super::{Installation, Object};
use crate::api::names::{ALLOW_ACCESS_CLUSTER_SERVICES_NP_LABEL, APP_LABEL, APP_NAME_LABEL, PROMETHEUS_LABEL};

/// The program in the image.
const PROGRAM: &str = "/usr/bin/kubevirt-rs";
/// The class of pods that the cluster needs more than others.
pub(super) const PRIORITY_CLASS: &str = "kubevirt-cluster-critical";
/// Where health, metrics, webhooks and the API are served.
const PORT: u16 = 8443;

/// What runs, in the order of a first installation.
pub(super) fn objects(installation: &Installation) -> Vec<Object> {
    let mut objects = vec![handler::daemon_set(installation)];
    for mut deployment in [controller::deployment(installation), api::deployment(installation)] {
        placement::place(&mut deployment.value_mut()["spec"]["template"]["spec"], Some(&infra(installation)));
        let budget = budget(&deployment);
        objects.push(deployment);
        objects.push(budget);
    }
    objects
}

fn infra(installation: &Installation) -> crate::api::v1::NodePlacement {
    installation.infra.clone().unwrap_or_else(placement::of_infra)
}

/// A container of a role, and what its pod needs for it.
struct Role {
    /// The name of pod, container and label.
    name: &'static str,
    /// The role of the program.
    role: &'static str,
    account: &'static str,
    image: String,
    pull_policy: String,
    arguments: Vec<String>,
    /// Secrets with certificates, and where they are mounted.
    certificates: &'static [(&'static str, &'static str)],
    cpu: &'static str,
    memory: &'static str,
}

impl Role {
    /// The template of the pods: what every role has.
    fn template(&self, pull_secrets: &Value) -> Value {
        let mounts: Vec<Value> =
            self.certificates.iter().map(|(secret, path)| json!({"name": secret, "mountPath": path, "readOnly": true})).collect();
        let volumes: Vec<Value> = self
            .certificates
            .iter()
            .map(|(secret, _)| json!({"name": secret, "secret": {"secretName": secret, "optional": true}}))
            .collect();
        let mut command = vec![PROGRAM.to_owned(), self.role.to_owned()];
        command.extend(self.arguments.iter().cloned());
        let mut spec = json!({
            "priorityClassName": PRIORITY_CLASS,
            "serviceAccountName": self.account,
            "tolerations": [{"key": "CriticalAddonsOnly", "operator": "Exists"}],
            "containers": [{
                "name": self.name,
                "image": self.image,
                "imagePullPolicy": self.pull_policy,
                "command": command,
                "env": [
                    {"name": "KUBEVIRT_RS_IMAGE", "value": self.image},
                    field("POD_NAME", "metadata.name"),
                    field("POD_NAMESPACE", "metadata.namespace"),
                    field("MY_POD_IP", "status.podIP"),
                    field("NODE_NAME", "spec.nodeName"),
                ],
                "ports": [{"name": "metrics", "containerPort": PORT, "protocol": "TCP"}],
                // The program answers within the first second or not at all.
                "startupProbe": probe("/healthz", &json!({"periodSeconds": 1, "failureThreshold": 60, "timeoutSeconds": 5})),
                "livenessProbe": probe("/healthz", &json!({"periodSeconds": 30, "failureThreshold": 3, "timeoutSeconds": 10})),
                "readinessProbe": probe("/readyz", &json!({"periodSeconds": 5, "failureThreshold": 3, "timeoutSeconds": 5})),
                "resources": {"requests": {"cpu": self.cpu, "memory": self.memory}},
                "terminationMessagePolicy": "FallbackToLogsOnError",
                "volumeMounts": mounts,
            }],
            "volumes": volumes,
        });
        if pull_secrets.as_array().is_some_and(|secrets| !secrets.is_empty()) {
            spec["imagePullSecrets"] = pull_secrets.clone();
        }
        json!({
            "metadata": {
                "name": self.name,
                "labels": {
                    APP_LABEL: self.name,
                    PROMETHEUS_LABEL: "true",
                    ALLOW_ACCESS_CLUSTER_SERVICES_NP_LABEL: "true",
                },
            },
            "spec": spec,
        })
    }

    /// A deployment of pods that need nothing of their node.
    fn deployment(&self, namespace: &str, replicas: i64, pull_secrets: &Value) -> Object {
        let mut template = self.template(pull_secrets);
        set(&mut template, "annotations", "openshift.io/required-scc", "restricted-v2");
        let spec = &mut template["spec"];
        spec["securityContext"] = json!({"runAsNonRoot": true, "runAsUser": 107, "seccompProfile": {"type": "RuntimeDefault"}});
        spec["containers"][0]["securityContext"] = json!({
            "allowPrivilegeEscalation": false,
            "readOnlyRootFilesystem": true,
            "capabilities": {"drop": ["ALL"]},
            "seccompProfile": {"type": "RuntimeDefault"},
        });
        spec["affinity"] = json!({"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [{
            "weight": 1,
            "podAffinityTerm": {
                "labelSelector": {"matchExpressions": [{"key": APP_LABEL, "operator": "In", "values": [self.name]}]},
                "topologyKey": "kubernetes.io/hostname",
            },
        }]}});
        Object::new(json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": self.name, "namespace": namespace, "labels": {APP_LABEL: self.name, APP_NAME_LABEL: self.name}},
            "spec": {
                "replicas": replicas,
                "selector": {"matchLabels": {APP_LABEL: self.name}},
                "template": template,
            },
        }))
    }
}

fn field(name: &str, path: &str) -> Value {
    json!({"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}})
}

fn probe(path: &str, times: &Value) -> Value {
    let mut probe = times.clone();
    probe["httpGet"] = json!({"path": path, "port": PORT, "scheme": "HTTPS"});
    probe
}

/// Draining a node leaves one replica of several.
fn budget(deployment: &Object) -> Object {
    let name = format!("{}-pdb", deployment.name());
    let replicas = deployment.value()["spec"]["replicas"].as_i64().unwrap_or(2);
    Object::new(json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": name, "namespace": deployment.value()["metadata"]["namespace"], "labels": {APP_LABEL: name}},
        "spec": {"minAvailable": (replicas - 1).max(0), "selector": deployment.value()["spec"]["selector"]},
    }))
}
