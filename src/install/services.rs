//! The services by which components are reached, and the API that one of them stands for.

use serde_json::{Value, json};

use super::Object;
use crate::api::names::{APP_LABEL, PROMETHEUS_LABEL, SUBRESOURCE_GROUP};

fn service(namespace: &str, name: &str, labels: &Value, spec: &Value) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": spec,
    }))
}

/// The services.
pub(super) fn services(namespace: &str) -> Vec<Object> {
    let common = json!({APP_LABEL: "", PROMETHEUS_LABEL: "true"});
    let of = |component: &str| json!({APP_LABEL: component});
    vec![
        service(
            namespace,
            "kubevirt-prometheus-metrics",
            &common,
            &json!({
                "type": "ClusterIP",
                "clusterIP": "None",
                "selector": {PROMETHEUS_LABEL: "true"},
                "ports": [{"name": "metrics", "port": 443, "targetPort": "metrics", "protocol": "TCP"}],
            }),
        ),
        service(
            namespace,
            "virt-api",
            &of("virt-api"),
            &json!({"type": "ClusterIP", "selector": of("virt-api"), "ports": [{"port": 443, "targetPort": 8443, "protocol": "TCP"}]}),
        ),
        service(
            namespace,
            "kubevirt-operator-webhook",
            &common,
            &json!({
                "type": "ClusterIP",
                "selector": of("virt-operator"),
                "ports": [{"name": "webhooks", "port": 443, "targetPort": "webhooks", "protocol": "TCP"}],
            }),
        ),
    ]
}

/// The aggregated API: the API server hands requests for these versions to the api role.
pub(super) fn api_services(namespace: &str, ca_bundle: &str) -> impl Iterator<Item = Object> {
    ["v1", "v1alpha3"].into_iter().map(move |version| {
        Object::new(json!({
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {
                "name": format!("{version}.{SUBRESOURCE_GROUP}"),
                "labels": {APP_LABEL: "virt-api-aggregator"},
                "annotations": {"certificates.kubevirt.io/secret": "kubevirt-virt-api-certs"},
            },
            "spec": {
                "group": SUBRESOURCE_GROUP,
                "version": version,
                "service": {"namespace": namespace, "name": "virt-api", "port": 443},
                "caBundle": ca_bundle,
                "groupPriorityMinimum": 1000,
                "versionPriority": 15,
            },
        }))
    })
}
