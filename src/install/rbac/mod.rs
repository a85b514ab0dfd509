//! Who may do what: users, the components, and the operator, as tables of rules.

mod components;
mod operator;
mod users;

use serde_json::{Value, json};

use super::Object;
use crate::api::names::APP_LABEL;

/// What may be done to which resources.
#[derive(Clone, Copy, Debug)]
struct Rule {
    group: &'static str,
    resources: &'static [&'static str],
    /// Only the objects of these names, if there are any.
    names: &'static [&'static str],
    verbs: &'static [&'static str],
}

impl Rule {
    const fn new(group: &'static str, resources: &'static [&'static str], verbs: &'static [&'static str]) -> Self {
        Self { group, resources, names: &[], verbs }
    }

    const fn named(self, names: &'static [&'static str]) -> Self {
        Self { names, ..self }
    }

    fn object(&self) -> Value {
        let mut rule = json!({"apiGroups": [self.group], "resources": self.resources, "verbs": self.verbs});
        if !self.names.is_empty() {
            rule["resourceNames"] = json!(self.names);
        }
        rule
    }
}

/// Rules by a name, with labels and annotations beside the usual ones.
#[derive(Clone, Copy, Debug)]
struct Role {
    name: &'static str,
    labels: &'static [(&'static str, &'static str)],
    annotations: &'static [(&'static str, &'static str)],
    rules: &'static [Rule],
}

impl Role {
    const fn new(name: &'static str, rules: &'static [Rule]) -> Self {
        Self { name, labels: &[], annotations: &[], rules }
    }
}

/// Who gets a role.
#[derive(Clone, Copy, Debug)]
enum Subject {
    /// Everyone whose name is known.
    Everyone,
    /// A service account of the installation.
    Account(&'static str),
}

/// A role for someone.
#[derive(Clone, Copy, Debug)]
struct Binding {
    name: &'static str,
    role: &'static str,
    subject: Subject,
}

const RBAC: &str = "rbac.authorization.k8s.io";
const RBAC_V1: &str = "rbac.authorization.k8s.io/v1";
/// The labels by which the roles that every namespace has include others.
const AGGREGATION: &str = "rbac.authorization.k8s.io/aggregate-to-";
const AUTOUPDATE: &str = "rbac.authorization.kubernetes.io/autoupdate";

/// Where a role counts.
#[derive(Clone, Copy)]
enum Scope<'a> {
    Cluster,
    Namespace(&'a str),
}

impl Scope<'_> {
    fn kind(self, kind: &str) -> String {
        match self {
            Scope::Cluster => format!("Cluster{kind}"),
            Scope::Namespace(_) => kind.to_owned(),
        }
    }

    fn metadata(self, name: &str) -> Value {
        let mut metadata = json!({"name": name, "labels": {APP_LABEL: ""}});
        if let Scope::Namespace(namespace) = self {
            metadata["namespace"] = json!(namespace);
        }
        metadata
    }
}

fn role(role: &Role, scope: Scope, aggregated: bool) -> Object {
    let mut metadata = scope.metadata(role.name);
    for (key, value) in role.labels.iter().filter(|(key, _)| aggregated || !key.starts_with(AGGREGATION)) {
        metadata["labels"][key] = json!(value);
    }
    for (key, value) in role.annotations {
        metadata["annotations"][key] = json!(value);
    }
    let rules: Vec<Value> = role.rules.iter().map(Rule::object).collect();
    Object::new(json!({"apiVersion": RBAC_V1, "kind": scope.kind("Role"), "metadata": metadata, "rules": rules}))
}

/// A binding in `scope` of a role that counts in `of`, for an account in `home`.
fn binding(binding: &Binding, scope: Scope, of: &str, home: &str) -> Object {
    let mut metadata = scope.metadata(binding.name);
    let subject = match binding.subject {
        Subject::Everyone => {
            metadata["annotations"] = json!({AUTOUPDATE: "true"});
            json!({"kind": "Group", "apiGroup": RBAC, "name": "system:authenticated"})
        }
        Subject::Account(name) => json!({"kind": "ServiceAccount", "namespace": home, "name": name}),
    };
    Object::new(json!({
        "apiVersion": RBAC_V1,
        "kind": scope.kind("RoleBinding"),
        "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": of, "name": binding.role},
        "subjects": [subject],
    }))
}

fn account(name: &str, namespace: &str) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "ServiceAccount",
        "metadata": {"name": name, "namespace": namespace, "labels": {APP_LABEL: ""}},
    }))
}

/// Accounts, roles and bindings of users and components. `aggregated`: admin, edit and view of a namespace include ours.
pub(super) fn objects(namespace: &str, aggregated: bool) -> Vec<Object> {
    let mut objects: Vec<Object> = components::ACCOUNTS.iter().map(|name| account(name, namespace)).collect();
    objects.extend(users::ROLES.iter().map(|it| role(it, Scope::Cluster, aggregated)));
    objects.extend(users::BINDINGS.iter().map(|it| binding(it, Scope::Cluster, "ClusterRole", namespace)));
    objects.extend(components::CLUSTER.iter().map(|it| role(it, Scope::Cluster, true)));
    objects.extend(components::CLUSTER_BINDINGS.iter().map(|it| binding(it, Scope::Cluster, "ClusterRole", namespace)));
    let home = Scope::Namespace(namespace);
    objects.extend(components::HOME.iter().map(|it| role(it, home, true)));
    objects.extend(components::HOME_BINDINGS.iter().map(|it| binding(it, home, "Role", namespace)));
    let system = Scope::Namespace("kube-system");
    objects.push(binding(&components::AUTHENTICATION, system, "Role", namespace));
    // A role can be given when it is there.
    objects.sort_by_key(|object| object.kind().ends_with("Binding"));
    objects
}

/// Account, roles and bindings of the operator, and the role of those who manage installations.
pub(super) fn operator(namespace: &str) -> Vec<Object> {
    let of = |rules: Vec<Rule>, scope: Scope| {
        let rules: Vec<Value> = rules.iter().map(Rule::object).collect();
        let metadata = scope.metadata(operator::ACCOUNT);
        Object::new(json!({"apiVersion": RBAC_V1, "kind": scope.kind("Role"), "metadata": metadata, "rules": rules}))
    };
    let home = Scope::Namespace(namespace);
    let mut managers = role(&operator::MANAGERS, Scope::Cluster, true).into_value();
    managers["metadata"]["labels"] = json!({"operator.kubevirt.io": "", "rbac.authorization.k8s.io/aggregate-to-admin": "true"});
    vec![
        Object::new(managers),
        account(operator::ACCOUNT, namespace),
        of(operator::home(), home),
        binding(&operator::HOME_BINDING, home, "Role", namespace),
        of(operator::cluster(), Scope::Cluster),
        binding(&operator::CLUSTER_BINDING, Scope::Cluster, "ClusterRole", namespace),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// Every single permission: group, resource, verb and name of the object (empty for all).
    fn permissions(rules: &[Value]) -> BTreeSet<[String; 4]> {
        let list = |rule: &Value, key: &str| -> Vec<String> {
            let list = rule.get(key).and_then(Value::as_array).into_iter().flatten();
            list.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let mut all = BTreeSet::new();
        for rule in rules {
            let names = if rule.get("resourceNames").is_some() { list(rule, "resourceNames") } else { vec![String::new()] };
            for group in list(rule, "apiGroups") {
                for resource in list(rule, "resources") {
                    for verb in list(rule, "verbs") {
                        all.extend(names.iter().map(|name| [group.clone(), resource.clone(), verb.clone(), name.clone()]));
                    }
                }
            }
        }
        all
    }

    fn rules(object: &Object) -> &[Value] {
        object.value().get("rules").and_then(Value::as_array).unwrap()
    }

    #[test]
    fn the_operator_may_give_what_it_gives() {
        let held: Vec<Object> =
            operator("virt").into_iter().filter(|o| o.name() == operator::ACCOUNT && o.value().get("rules").is_some()).collect();
        let of = |kind: &str| permissions(rules(held.iter().find(|o| o.kind() == kind).unwrap()));
        let (cluster, home) = (of("ClusterRole"), of("Role"));
        for object in objects("virt", true) {
            let own = if object.kind() == "Role" { &home } else { &cluster };
            let given = if object.value().get("rules").is_some() { permissions(rules(&object)) } else { continue };
            for permission in given {
                let any = [permission[0].clone(), permission[1].clone(), permission[2].clone(), String::new()];
                let holds = |set: &BTreeSet<[String; 4]>| set.contains(&permission) || set.contains(&any);
                assert!(holds(own) || holds(&cluster), "{} {}: {permission:?}", object.kind(), object.name());
            }
        }
    }

    #[test]
    fn aggregation_can_be_left_to_the_administrator() {
        let aggregating = |aggregated| {
            let all = objects("virt", aggregated);
            all.iter().filter(|o| o.value()["metadata"]["labels"].to_string().contains(AGGREGATION)).count()
        };
        assert_eq!((aggregating(true), aggregating(false)), (3, 0));
    }

    #[test]
    fn no_component_may_do_everything() {
        for role in components::CLUSTER.iter().chain(components::HOME) {
            for rule in role.rules {
                assert!(!rule.verbs.contains(&"*") && !rule.resources.contains(&"*"), "{}: {rule:?}", role.name);
                let secrets = rule.group.is_empty() && rule.resources.contains(&"secrets");
                assert!(
                    !secrets || components::HOME.iter().any(|home| std::ptr::eq(home, role)) || rule.verbs == ["create"],
                    "{}",
                    role.name
                );
            }
        }
    }
}
