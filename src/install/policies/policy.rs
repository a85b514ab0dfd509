//! A table of rules as the objects that the API server takes.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::rule::{self, Area, Rule};
use super::variables::{self, Table, Variable};
use super::{Scope, copies, instance, instancetype, kubevirt, machine, migration, plugin, pool, update};
use crate::api::names;
use crate::config::ClusterConfig;
use crate::install::webhooks::{self, Webhook, path};

/// Who serves a webhook: while he does, he judges, and knows more to say. A policy judges when none of his pods is ready.
const JUDGES: [(&str, &[Webhook]); 2] = [("virt-api", webhooks::API_VALIDATING), ("virt-operator", webhooks::OPERATOR)];
const NOBODY_SERVES: &str = "params.?status.?readyReplicas.orValue(0) == 0";

/// The rules of one webhook that need nothing but the object, what it was and the configuration.
#[derive(Clone, Copy, Debug)]
pub struct Policy {
    /// The path of the webhook, which says what is judged and when.
    path: &'static str,
    scope: Scope,
    /// Whether it is the configuration itself that is judged.
    itself: bool,
    variables: &'static [Table],
    areas: &'static [&'static [&'static [Area]]],
}

impl Policy {
    const fn new(path: &'static str, areas: &'static [&'static [&'static [Area]]]) -> Self {
        Self { path, scope: Scope::new(&[]), itself: false, variables: &[], areas }
    }
}

const VMI: Table = &[("spec", "object.?spec.orValue({})"), ("metadata", "object.metadata"), ("complete", "true"), ("defaulted", "true")];
/// What an instance gets that does not say it.
const VMI_DEFAULTS: Table = &[("default_bus", "$architecture == 'amd64' ? 'sata' : 'virtio'")];
const SET: Table = &[
    ("spec", "$template.?spec.orValue({})"),
    ("metadata", "$template.?metadata.orValue({})"),
    ("complete", "true"),
    ("defaulted", "false"),
    ("default_bus", "''"),
];
const MACHINE: Table =
    &[("vm", "object.?spec.orValue({})"), ("old_vm", "$creates ? {} : oldObject.?spec.orValue({})"), ("defaulted", "true")];
const POOLED: Table = &[("vm", "object.spec.?virtualMachineTemplate.?spec.orValue({})"), ("defaulted", "false")];

/// Every policy.
pub(super) const ALL: &[Policy] = &[
    Policy {
        variables: &[VMI, instance::VARIABLES, instance::PLACES, VMI_DEFAULTS],
        ..Policy::new(path::VMI_VALIDATE_CREATE, &[instance::TEMPLATE, &[instance::METADATA, instance::INSTANCE]])
    },
    Policy::new(path::VMI_VALIDATE_UPDATE, &[&[&[Area::always(update::RULES)]]]),
    Policy {
        scope: Scope::new(&[("vm", "spec"), ("spec", "spec.template.spec"), ("metadata", "spec.template.metadata")]),
        variables: &[MACHINE, machine::VARIABLES, instance::VARIABLES, instance::PLACES, machine::GROWING],
        ..Policy::new(path::VM_VALIDATE, &[&[machine::MACHINE], instance::TEMPLATE, &[instance::METADATA, machine::TEMPLATE]])
    },
    Policy {
        scope: Scope::new(&[("set", "spec"), ("spec", "spec.template.spec")]),
        variables: &[pool::SET_VARIABLES, SET, instance::VARIABLES, instance::PLACES],
        ..Policy::new(path::REPLICASET_VALIDATE, &[&[&[Area::always(pool::SELECTOR)]], instance::TEMPLATE])
    },
    Policy {
        scope: Scope::new(&[
            ("set", "spec"),
            ("vm", "spec.virtualMachineTemplate.spec"),
            ("spec", "spec.virtualMachineTemplate.spec.template.spec"),
            ("metadata", "spec.virtualMachineTemplate.spec.template.metadata"),
        ]),
        variables: &[pool::POOL_VARIABLES, POOLED, machine::VARIABLES, instance::VARIABLES, instance::PLACES, machine::GROWING],
        ..Policy::new(
            path::POOL_VALIDATE,
            &[&[&[Area::always(pool::POOL), Area::always(pool::SELECTOR)]], instance::TEMPLATE, &[instance::METADATA, machine::TEMPLATE]],
        )
    },
    Policy::new(path::MIGRATION_VALIDATE_CREATE, &[&[&[Area::always(migration::NEW)]]]),
    Policy::new(path::MIGRATION_VALIDATE_UPDATE, &[&[&[Area::always(migration::CHANGED)]]]),
    Policy::new(path::MIGRATION_POLICY_VALIDATE, &[&[&[Area::always(migration::POLICY)]]]),
    Policy::new(path::SNAPSHOT_VALIDATE, &[&[&[Area::always(copies::SNAPSHOT)]]]),
    Policy::new(path::RESTORE_VALIDATE, &[&[&[Area::always(copies::RESTORE)]]]),
    Policy::new(path::EXPORT_VALIDATE, &[&[&[Area::always(copies::EXPORT)]]]),
    Policy::new(path::CLONE_VALIDATE, &[&[&[Area::always(copies::CLONE)]]]),
    Policy::new(path::BACKUP_VALIDATE, &[&[&[Area::always(copies::BACKUP)]]]),
    Policy::new(path::BACKUP_TRACKER_VALIDATE, &[&[&[Area::always(copies::BACKUP)]]]),
    Policy::new(path::INSTANCETYPE_VALIDATE, &[&[&[Area::always(instancetype::INSTANCETYPE)]]]),
    Policy::new(path::CLUSTER_INSTANCETYPE_VALIDATE, &[&[&[Area::always(instancetype::INSTANCETYPE)]]]),
    Policy::new(path::PREFERENCE_VALIDATE, &[&[&[Area::always(instancetype::PREFERENCE)]]]),
    Policy::new(path::CLUSTER_PREFERENCE_VALIDATE, &[&[&[Area::always(instancetype::PREFERENCE)]]]),
    Policy::new(path::PLUGIN_VALIDATE, &[&[&[Area::always(plugin::RULES)]]]),
    Policy {
        itself: true,
        variables: &[kubevirt::VARIABLES],
        ..Policy::new(path::KUBEVIRT_VALIDATE_UPDATE, &[&[&[Area::always(kubevirt::RULES)]]])
    },
];

impl Policy {
    /// The webhook that judges the same.
    pub(super) fn webhook(&self) -> Option<&'static Webhook> {
        webhooks::at(self.path)
    }

    /// Its rules with the fields that they name, a line each.
    #[cfg(test)]
    pub(super) fn listing(&self) -> String {
        let name = self.webhook().map_or("", |webhook| webhook.name);
        let rules = self.rules().map(|rule| format!("  {}  {}\n", rule.id, rule.place(&self.scope)));
        format!("{name}\n{}", rules.collect::<String>())
    }

    fn areas(&self) -> impl Iterator<Item = &'static Area> {
        self.areas.iter().copied().flatten().copied().flatten()
    }

    /// Its rules.
    pub(super) fn rules(&self) -> impl Iterator<Item = &'static Rule> {
        self.areas().flat_map(|area| area.rules)
    }

    /// Every variable that its rules may use, each after those that it uses itself.
    fn known(&self, namespace: &str, config: &ClusterConfig) -> Vec<Variable> {
        let mut known = if self.itself { variables::itself() } else { variables::decided(config) };
        known.extend(variables::request(namespace));
        known.extend(self.variables.iter().copied().flat_map(variables::table));
        known
    }

    /// The names of the variables that its rules use.
    pub(super) fn used(&self, config: &ClusterConfig) -> BTreeSet<String> {
        let mut used: BTreeSet<String> = self.areas().filter_map(Area::guard).flat_map(rule::used).map(str::to_owned).collect();
        for rule in self.rules().filter(|rule| self.counts(rule, config)) {
            used.extend(rule.sources().flat_map(rule::used).map(str::to_owned));
            used.extend(rule.list().map(str::to_owned));
            used.extend(rule.gate().map(variables::gate_name));
        }
        used
    }

    /// Whether a rule can be broken: what needs a feature that is on is permitted.
    fn counts(&self, rule: &Rule, config: &ClusterConfig) -> bool {
        self.itself || !rule.gate().is_some_and(|gate| config.enabled(gate))
    }

    /// The variables that its rules use, and those that these use.
    pub(super) fn variables(&self, namespace: &str, config: &ClusterConfig) -> Vec<Variable> {
        let known = self.known(namespace, config);
        let mut needed = self.used(config);
        // Those further down lean on those above.
        let mut kept: Vec<Variable> = Vec::new();
        for variable in known.into_iter().rev() {
            if needed.contains(&variable.name) {
                needed.extend(rule::used(&variable.cel).map(str::to_owned));
                kept.push(variable);
            }
        }
        kept.reverse();
        kept
    }

    /// The policy and what binds it to the installation in that namespace.
    pub(super) fn objects(&self, namespace: &str, config: &ClusterConfig) -> Option<[Value; 2]> {
        let webhook = self.webhook()?;
        let judge = JUDGES.iter().find(|(_, webhooks)| webhooks.iter().any(|w| w.path == webhook.path)).map(|(name, _)| *name)?;
        let name = webhook.name.replacen("-validator.", "-policy.", 1);
        let variables = self.variables(namespace, config);
        let validations: Vec<Value> = self
            .areas()
            .flat_map(|area| area.validations(&self.scope, |rule| self.counts(rule, config)))
            .map(|validation| {
                json!({
                    "expression": validation.expression,
                    "message": validation.plain_message,
                    "messageExpression": validation.message,
                    "reason": "Invalid",
                })
            })
            .collect();
        let metadata = json!({"name": name, "labels": {names::APP_LABEL: ""}});
        let mut conditions = vec![json!({"name": "nobody-else-judges", "expression": NOBODY_SERVES})];
        conditions.extend(webhook.need.condition(namespace).map(|c| json!({"name": c.name, "expression": c.expression})));
        let policy = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicy",
            "metadata": metadata,
            "spec": {
                // What cannot be decided here is decided by the webhook.
                "failurePolicy": "Ignore",
                "paramKind": {"apiVersion": "apps/v1", "kind": "Deployment"},
                "matchConditions": conditions,
                "matchConstraints": {
                    "matchPolicy": "Equivalent",
                    "resourceRules": [{
                        "apiGroups": [webhook.group],
                        "apiVersions": webhook.versions,
                        "resources": webhook.resources,
                        "operations": webhook.operations,
                        "scope": "*",
                    }],
                },
                "variables": variables.iter().map(|v| json!({"name": v.name, "expression": rule::variables(&v.cel)})).collect::<Vec<_>>(),
                "validations": validations,
            },
        });
        let binding = json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": metadata,
            "spec": {
                "policyName": name,
                "validationActions": ["Deny"],
                "paramRef": {"name": judge, "namespace": namespace, "parameterNotFoundAction": "Allow"},
            },
        });
        Some([policy, binding])
    }
}
