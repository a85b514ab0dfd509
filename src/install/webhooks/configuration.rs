//! The table as objects that the API server takes.

use serde_json::{Value, json};

use super::{API_MUTATING, API_VALIDATING, Asks, LAUNCHER_PODS, OPERATOR, Webhook};
use crate::api::names;

/// A configuration: webhooks of one kind that one service serves.
#[derive(Clone, Copy, Debug)]
pub struct Configuration {
    /// Its name.
    pub name: &'static str,
    kind: &'static str,
    /// The service that is asked.
    service: &'static str,
    /// The secret with the certificate of that service.
    secret: &'static str,
    webhooks: &'static [Webhook],
}

const VALIDATING: &str = "ValidatingWebhookConfiguration";
const MUTATING: &str = "MutatingWebhookConfiguration";
const API: (&str, &str) = ("virt-api", "kubevirt-virt-api-certs");

/// The configurations. That for launcher pods is of use where guests may share paths of containers.
pub fn configurations(container_paths: bool) -> impl Iterator<Item = Configuration> {
    let of = |name, kind, (service, secret), webhooks| Configuration { name, kind, service, secret, webhooks };
    let operator = ("kubevirt-operator-webhook", "kubevirt-operator-certs");
    [
        of("virt-operator-validator", VALIDATING, operator, OPERATOR),
        of("virt-api-validator", VALIDATING, API, API_VALIDATING),
        of("virt-api-mutator", MUTATING, API, API_MUTATING),
    ]
    .into_iter()
    .chain(container_paths.then(|| of("virt-launcher-pod-mutator", MUTATING, API, LAUNCHER_PODS)))
}

impl Configuration {
    /// The object, for services in that namespace whose certificates that bundle (in PEM, encoded as Base64) vouches for.
    pub fn object(&self, namespace: &str, ca_bundle: &str) -> Value {
        let webhooks: Vec<Value> = self.webhooks.iter().map(|webhook| self.webhook(webhook, namespace, ca_bundle)).collect();
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": self.kind,
            "metadata": {
                "name": self.name,
                "labels": {names::APP_LABEL: self.name},
                "annotations": {"certificates.kubevirt.io/secret": self.secret},
            },
            "webhooks": webhooks,
        })
    }

    fn webhook(&self, webhook: &Webhook, namespace: &str, ca_bundle: &str) -> Value {
        let mut object = json!({
            "name": webhook.name,
            "admissionReviewVersions": ["v1"],
            "clientConfig": {
                "service": {"namespace": namespace, "name": self.service, "path": webhook.path, "port": 443},
                "caBundle": ca_bundle,
            },
            "rules": [{
                "apiGroups": [webhook.group],
                "apiVersions": webhook.versions,
                "resources": webhook.resources,
                "operations": webhook.operations,
                "scope": "*",
            }],
            "failurePolicy": "Fail",
            "matchPolicy": "Equivalent",
            "namespaceSelector": {},
            "objectSelector": {},
            "sideEffects": if webhook.asks == Asks::Eviction { "NoneOnDryRun" } else { "None" },
            "timeoutSeconds": 10,
        });
        if let Some(condition) = webhook.need.condition(namespace) {
            object["matchConditions"] = json!([{"name": condition.name, "expression": condition.expression}]);
        }
        if self.kind == MUTATING {
            object["reinvocationPolicy"] = json!("Never");
        }
        if webhook.asks == Asks::LauncherPod {
            // A pod starts without the shares rather than not at all, and whoever changes pods comes first.
            object["failurePolicy"] = json!("Ignore");
            object["reinvocationPolicy"] = json!("IfNeeded");
            object["objectSelector"] = json!({"matchLabels": {names::APP_LABEL: "virt-launcher"}});
        }
        object
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_webhook_is_configured_with_its_path() {
        let objects: Vec<Value> = configurations(true).map(|configuration| configuration.object("virt", "Q0E=")).collect();
        let webhooks: Vec<&Value> = objects.iter().flat_map(|object| object["webhooks"].as_array().unwrap()).collect();
        assert_eq!(webhooks.len(), 31);
        for webhook in webhooks {
            let path = webhook["clientConfig"]["service"]["path"].as_str().unwrap();
            assert!(super::super::at(path).is_some(), "{path}");
            assert_eq!(webhook["clientConfig"]["service"]["namespace"], "virt");
            assert_eq!(webhook["clientConfig"]["caBundle"], "Q0E=");
        }
        assert_eq!(configurations(false).count(), 3);
    }
}
