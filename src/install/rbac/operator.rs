//! What the operator may do: its own work, and all that it gives to others, since nobody can give what he has not.

use super::{Binding, Role, Rule, Subject, components, users};

const MANAGE: &[&str] = &["get", "list", "watch", "create", "update", "patch", "delete"];
const READ: &[&str] = &["get", "list", "watch"];

/// The service account.
pub(super) const ACCOUNT: &str = "kubevirt-operator";

/// Who may administer a namespace may manage an installation in it.
pub(super) const MANAGERS: Role = Role::new(
    "kubevirt.io:operator",
    &[Rule::new("kubevirt.io", &["kubevirts"], &["get", "delete", "create", "update", "patch", "list", "watch", "deletecollection"])],
);

const CLUSTER: &[Rule] = &[
    Rule::new("kubevirt.io", &["kubevirts", "kubevirts/status", "kubevirts/finalizers"], &["get", "list", "watch", "patch", "update"]),
    Rule::new("", &["namespaces", "nodes"], &["get", "list", "watch", "patch"]),
    Rule::new("rbac.authorization.k8s.io", &["clusterroles", "clusterrolebindings", "roles", "rolebindings"], MANAGE),
    Rule::new("apiextensions.k8s.io", &["customresourcedefinitions"], MANAGE),
    Rule::new(
        "admissionregistration.k8s.io",
        &[
            "validatingwebhookconfigurations",
            "mutatingwebhookconfigurations",
            "validatingadmissionpolicybindings",
            "validatingadmissionpolicies",
        ],
        MANAGE,
    ),
    Rule::new("apiregistration.k8s.io", &["apiservices"], MANAGE),
    Rule::new("security.openshift.io", &["securitycontextconstraints"], &["get", "list", "watch", "create"]),
    Rule::new("security.openshift.io", &["securitycontextconstraints"], MANAGE).named(&["kubevirt-handler", "kubevirt-controller"]),
    Rule::new("monitoring.coreos.com", &["servicemonitors", "prometheusrules"], MANAGE),
    Rule::new(
        "instancetype.kubevirt.io",
        &["virtualmachineclusterinstancetypes", "virtualmachineclusterpreferences"],
        &["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"],
    ),
    Rule::new("", &["events"], &["create", "patch"]),
    // what system:auth-delegator and extension-apiserver-authentication-reader give
    Rule::new("authentication.k8s.io", &["tokenreviews"], &["create"]),
    Rule::new("authorization.k8s.io", &["subjectaccessreviews"], &["create"]),
    Rule::new("", &["configmaps"], READ).named(&["extension-apiserver-authentication"]),
    // The policies look at a Deployment. Who writes a policy must be allowed to read every object of that kind.
    Rule::new("apps", &["deployments"], &["get"]),
];

const HOME: &[Rule] = &[
    Rule::new("", &["secrets", "configmaps", "serviceaccounts", "services"], MANAGE),
    Rule::new("apps", &["deployments", "daemonsets"], MANAGE),
    Rule::new("policy", &["poddisruptionbudgets"], MANAGE),
    Rule::new("coordination.k8s.io", &["leases"], MANAGE),
    Rule::new("", &["pods"], READ),
];

/// The rules in the whole cluster.
pub(super) fn cluster() -> Vec<Rule> {
    let given = users::ROLES.iter().chain(components::CLUSTER).flat_map(|role| role.rules);
    CLUSTER.iter().chain(given).copied().collect()
}

/// The rules in the namespace of the installation.
pub(super) fn home() -> Vec<Rule> {
    HOME.iter().chain(components::HOME.iter().flat_map(|role| role.rules)).copied().collect()
}

/// The role of the cluster for the operator.
pub(super) const CLUSTER_BINDING: Binding = Binding { name: ACCOUNT, role: ACCOUNT, subject: Subject::Account(ACCOUNT) };
/// The role of the namespace for the operator.
pub(super) const HOME_BINDING: Binding =
    Binding { name: "kubevirt-operator-rolebinding", role: ACCOUNT, subject: Subject::Account(ACCOUNT) };
