//! The kinds of objects that are installed.

/// A kind of object, as the API server knows it.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The version.
    pub version: &'static str,
    /// The kind.
    pub kind: &'static str,
    /// The resource.
    pub plural: &'static str,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether ours live in the namespace of the installation only.
    pub home: bool,
    /// Whether only some clusters have the kind.
    pub optional: bool,
    /// Whether the generation tells that someone changed the object, so that nobody has to read all of it.
    pub generation: bool,
}

impl Kind {
    /// Group and version as objects name them.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.to_owned() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The kind of that name.
    pub fn named(kind: &str) -> Option<&'static Self> {
        KINDS.iter().find(|known| known.kind == kind)
    }
}

/// Every kind, in the order in which objects are made: what others lean on comes first.
pub const KINDS: &[Kind] = &[
    Kind { generation: true, ..cluster("apiextensions.k8s.io", "v1", "CustomResourceDefinition", "customresourcedefinitions") },
    home("", "v1", "ServiceAccount", "serviceaccounts"),
    cluster("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles"),
    namespaced("rbac.authorization.k8s.io", "v1", "Role", "roles"),
    cluster("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings"),
    namespaced("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings"),
    Kind { optional: true, ..cluster("security.openshift.io", "v1", "SecurityContextConstraints", "securitycontextconstraints") },
    home("", "v1", "Secret", "secrets"),
    home("", "v1", "ConfigMap", "configmaps"),
    home("", "v1", "Service", "services"),
    cluster("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
    cluster("admissionregistration.k8s.io", "v1", "ValidatingAdmissionPolicyBinding", "validatingadmissionpolicybindings"),
    cluster("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration", "validatingwebhookconfigurations"),
    cluster("admissionregistration.k8s.io", "v1", "MutatingWebhookConfiguration", "mutatingwebhookconfigurations"),
    cluster("apiregistration.k8s.io", "v1", "APIService", "apiservices"),
    Kind { generation: true, ..home("apps", "v1", "DaemonSet", "daemonsets") },
    Kind { generation: true, ..home("apps", "v1", "Deployment", "deployments") },
    home("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets"),
    Kind {
        generation: true,
        ..cluster("instancetype.kubevirt.io", "v1beta1", "VirtualMachineClusterInstancetype", "virtualmachineclusterinstancetypes")
    },
    Kind {
        generation: true,
        ..cluster("instancetype.kubevirt.io", "v1beta1", "VirtualMachineClusterPreference", "virtualmachineclusterpreferences")
    },
];

const fn cluster(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { group, version, kind, plural, namespaced: false, home: false, optional: false, generation: false }
}

const fn namespaced(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { namespaced: true, ..cluster(group, version, kind, plural) }
}

const fn home(group: &'static str, version: &'static str, kind: &'static str, plural: &'static str) -> Kind {
    Kind { home: true, ..namespaced(group, version, kind, plural) }
}
