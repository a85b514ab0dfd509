//! ValidatingAdmissionPolicies: what the API server judges by itself, so that it is judged whether an api runs or not.
//!
//! ```text
//!  tables of rules (one file a kind or area) ─▶ Policy (one a webhook) ─▶ ValidatingAdmissionPolicy + Binding
//! ```
//!
//! These are the rules of `admission::validate` which need nothing but the object, what it was before, and the
//! configuration, said once more in the API server's own language. A policy judges what its webhook judges and exempts
//! what that exempts. It never denies what the webhook admits: where a rule cannot be said exactly, it is said so that
//! it misses rather than denies too much, and an expression that fails denies nothing. Rules of instances are tables
//! that become policies of machines, pools and replica sets as well.
//!
//! Policies come before webhooks, and tell one area of faults at a time, without causes. So they judge while nobody
//! serves the webhook, which the Deployment of who should tells them, and keep still while somebody does. What the
//! configuration permits is decided when they are made; the operator makes them anew when it changes.

mod copies;
mod forms;
mod instance;
mod instancetype;
mod kubevirt;
mod machine;
mod migration;
mod plugin;
mod policy;
mod pool;
mod rule;
mod update;
mod variables;

pub use policy::Policy;
pub use rule::{Area, Rule};

use serde_json::Value;

use crate::config::ClusterConfig;

/// Where the parts of an object are that rules name: the first segment of a field, and the path that it stands for.
#[derive(Clone, Copy, Debug)]
struct Scope(&'static [(&'static str, &'static str)]);

impl Scope {
    const fn new(places: &'static [(&'static str, &'static str)]) -> Self {
        Self(places)
    }

    /// The path of a field.
    fn path(&self, field: &str) -> String {
        let (first, rest) = field.split_at(field.find('.').unwrap_or(field.len()));
        let place = self.0.iter().find(|(name, _)| *name == first).map_or(first, |(_, place)| place);
        format!("{place}{rest}")
    }
}

/// Every policy with its binding, for the installation in that namespace with that configuration.
pub fn policies(namespace: &str, config: &ClusterConfig) -> Vec<Value> {
    policy::ALL.iter().filter_map(|policy| policy.objects(namespace, config)).flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::install::webhooks::{API_VALIDATING, OPERATOR};

    #[test]
    fn fields_are_named_as_they_are_in_the_object() {
        let scope = Scope::new(&[("spec", "spec.template.spec"), ("vm", "spec")]);
        for (field, wanted) in [
            ("spec.domain.cpu", "spec.template.spec.domain.cpu"),
            ("vm", "spec"),
            ("vm.running", "spec.running"),
            ("metadata.labels", "metadata.labels"),
        ] {
            assert_eq!(scope.path(field), wanted);
        }
    }

    #[test]
    fn every_policy_stands_beside_a_webhook_and_is_bound() {
        let objects = policies("virt", &ClusterConfig::new(&Default::default()));
        assert_eq!(objects.len(), 2 * policy::ALL.len());
        let webhooks: BTreeSet<&str> = OPERATOR.iter().chain(API_VALIDATING).map(|webhook| webhook.name).collect();
        for pair in objects.chunks(2) {
            let [policy, binding] = pair else { panic!("a policy and a binding") };
            let name = policy["metadata"]["name"].as_str().unwrap();
            assert!(webhooks.contains(name.replacen("-policy.", "-validator.", 1).as_str()), "{name}");
            assert_eq!(binding["spec"]["policyName"], name);
            assert_eq!(policy["spec"]["failurePolicy"], "Ignore", "{name}");
            assert_eq!(policy["spec"]["matchConditions"][0]["name"], "nobody-else-judges", "{name}");
            assert_eq!(binding["spec"]["paramRef"]["name"], if name.starts_with("kubevirt-") { "virt-operator" } else { "virt-api" });
            let operations = policy["spec"]["matchConstraints"]["resourceRules"][0]["operations"].as_array().unwrap();
            assert!(operations.iter().all(|operation| operation == "CREATE" || operation == "UPDATE"), "{name} holds up a deletion");
        }
    }

    /// An expression that names what is not there would never deny anything.
    #[test]
    fn variables_come_before_those_that_use_them() {
        let config = ClusterConfig::new(&Default::default());
        for policy in policy::ALL {
            let variables = policy.variables("virt", &config);
            let mut known = BTreeSet::new();
            for variable in &variables {
                for name in rule::used(&variable.cel) {
                    assert!(known.contains(name), "{policy:?}: {} uses {name}", variable.name);
                }
                assert!(known.insert(variable.name.as_str()), "{policy:?}: {} stands twice", variable.name);
            }
            for name in policy.used(&config) {
                assert!(known.contains(name.as_str()), "{policy:?}: nothing is called {name}");
            }
        }
    }

    #[test]
    fn what_is_enabled_is_permitted() {
        let settings = serde_json::json!({"developerConfiguration": {"featureGates": ["HostDisk"]}});
        let messages = |settings| {
            let config = ClusterConfig::new(&serde_json::from_value(settings).unwrap());
            let of_instances = policies("virt", &config).into_iter().next().unwrap();
            of_instances["spec"]["validations"].to_string()
        };
        assert!(messages(serde_json::json!({})).contains("feature gate HostDisk"));
        let enabled = messages(settings);
        assert!(!enabled.contains("feature gate HostDisk") && enabled.contains("feature gate VSOCK"));
    }

    #[test]
    fn a_rule_has_a_name_of_its_own_and_says_what_is_right() {
        for policy in policy::ALL {
            let mut names = BTreeSet::new();
            for rule in policy.rules() {
                assert!(names.insert(rule.id), "{policy:?}: {} stands twice", rule.id);
            }
        }
        for policy in policies("virt", &ClusterConfig::new(&Default::default())).iter().step_by(2) {
            for validation in policy["spec"]["validations"].as_array().unwrap() {
                let message = validation["message"].as_str().unwrap();
                assert!(message.contains(": ") && !message.contains('\n') && !message.contains('#'), "{message}");
            }
        }
    }

    /// `UPDATE_GOLDEN=1` remakes the files: every rule by its name and field, and two policies as they are installed.
    /// Whether the API server takes them and judges as the webhooks do, says `tests/conformance/without_api.py`.
    #[test]
    fn the_policies_are_those_that_were_read() {
        let rules: String = policy::ALL.iter().map(Policy::listing).collect();
        let whole = ["migration-create-policy.kubevirt.io", "virtualmachinesnapshot-policy.snapshot.kubevirt.io"];
        let objects: Vec<Value> = policies("kubevirt", &ClusterConfig::new(&Default::default()))
            .into_iter()
            .filter(|object| whole.iter().any(|name| object["metadata"]["name"] == *name))
            .collect();
        for (file, made) in [("out.rules.txt", rules), ("out.objects.json", format!("{:#}\n", Value::Array(objects)))] {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/policies").join(file);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &made).unwrap();
            }
            assert!(fs::read_to_string(&path).unwrap() == made, "{file}: the policies have changed; UPDATE_GOLDEN=1 remakes it");
        }
    }
}
