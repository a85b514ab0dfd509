//! The references of a VM to its instance type and to its preference, which have the same form.

use crate::api::instancetype::{
    VirtualMachineClusterInstancetype, VirtualMachineClusterPreference, VirtualMachineInstancetype, VirtualMachinePreference,
};
use crate::api::names::{CLUSTER_INSTANCETYPE_ANNOTATION, CLUSTER_PREFERENCE_ANNOTATION, INSTANCETYPE_ANNOTATION, PREFERENCE_ANNOTATION};
use crate::api::v1::{InferFromVolumeFailurePolicy, InstancetypeMatcher, PreferenceMatcher, VirtualMachine};
use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

/// What is referred to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Instancetype,
    Preference,
}

/// Where it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scope {
    Namespaced,
    Cluster,
}

/// The two kinds of a role, and the annotations that name an object of them on a VMI.
pub(super) struct Kinds {
    pub(super) namespaced: &'static str,
    pub(super) cluster: &'static str,
    plurals: [&'static str; 2],
    annotations: [&'static str; 2],
}

impl Role {
    /// The field of a VM.
    pub(super) fn field(self) -> &'static str {
        match self {
            Self::Instancetype => "spec.instancetype",
            Self::Preference => "spec.preference",
        }
    }

    pub(super) fn kinds(self) -> Kinds {
        match self {
            Self::Instancetype => Kinds {
                namespaced: VirtualMachineInstancetype::KIND,
                cluster: VirtualMachineClusterInstancetype::KIND,
                plurals: [VirtualMachineInstancetype::URL_PATH_SEGMENT, VirtualMachineClusterInstancetype::URL_PATH_SEGMENT],
                annotations: [INSTANCETYPE_ANNOTATION, CLUSTER_INSTANCETYPE_ANNOTATION],
            },
            Self::Preference => Kinds {
                namespaced: VirtualMachinePreference::KIND,
                cluster: VirtualMachineClusterPreference::KIND,
                plurals: [VirtualMachinePreference::URL_PATH_SEGMENT, VirtualMachineClusterPreference::URL_PATH_SEGMENT],
                annotations: [PREFERENCE_ANNOTATION, CLUSTER_PREFERENCE_ANNOTATION],
            },
        }
    }
}

/// A reference of either role.
#[derive(Clone, Copy, Debug)]
pub(super) struct Matcher<'a> {
    pub(super) role: Role,
    pub(super) name: &'a str,
    pub(super) kind: &'a str,
    pub(super) revision_name: &'a str,
    pub(super) infer_from_volume: &'a str,
    pub(super) failure_policy: Option<&'a InferFromVolumeFailurePolicy>,
}

macro_rules! matcher {
    ($type:ty, $role:expr) => {
        impl<'a> From<&'a $type> for Matcher<'a> {
            fn from(matcher: &'a $type) -> Self {
                Self {
                    role: $role,
                    name: &matcher.name,
                    kind: &matcher.kind,
                    revision_name: &matcher.revision_name,
                    infer_from_volume: &matcher.infer_from_volume,
                    failure_policy: matcher.infer_from_volume_failure_policy.as_ref(),
                }
            }
        }
    };
}
matcher!(InstancetypeMatcher, Role::Instancetype);
matcher!(PreferenceMatcher, Role::Preference);

impl Matcher<'_> {
    /// Where the object is: a kind may be written in the singular or the plural and in any case; none is the cluster's.
    pub(super) fn scope(&self) -> Option<Scope> {
        let kinds = self.role.kinds();
        let is = |kind: &str, plural: &str| self.kind.eq_ignore_ascii_case(kind) || self.kind.eq_ignore_ascii_case(plural);
        if self.kind.is_empty() || is(kinds.cluster, kinds.plurals[1]) {
            Some(Scope::Cluster)
        } else if is(kinds.namespaced, kinds.plurals[0]) {
            Some(Scope::Namespaced)
        } else {
            None
        }
    }

    /// Whether the VM may do without, when nothing can be inferred.
    pub(super) fn ignores_failure(&self) -> bool {
        self.failure_policy == Some(&InferFromVolumeFailurePolicy::Ignore)
    }
}

/// Whether a VM means an instance type of its namespace, not one of the cluster.
pub fn is_namespaced_instancetype(matcher: &InstancetypeMatcher) -> bool {
    Matcher::from(matcher).scope() == Some(Scope::Namespaced)
}

/// Whether a VM means a preference of its namespace, not one of the cluster.
pub fn is_namespaced_preference(matcher: &PreferenceMatcher) -> bool {
    Matcher::from(matcher).scope() == Some(Scope::Namespaced)
}

/// Notes on a VMI which instance type and which preference its VM has.
pub fn annotate(vm: &VirtualMachine, vmi: &mut ObjectMeta) {
    let both = [vm.spec.instancetype.as_ref().map(Matcher::from), vm.spec.preference.as_ref().map(Matcher::from)];
    for matcher in both.into_iter().flatten() {
        let [namespaced, cluster] = matcher.role.kinds().annotations;
        let annotations = vmi.annotations.get_or_insert_default();
        match matcher.scope() {
            Some(Scope::Namespaced) => annotations.insert(namespaced.to_owned(), matcher.name.to_owned()),
            Some(Scope::Cluster) => annotations.insert(cluster.to_owned(), matcher.name.to_owned()),
            None => None,
        };
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, from_value, json};

    use super::*;

    fn vm(spec: Value) -> VirtualMachine {
        from_value(json!({"spec": spec})).unwrap()
    }

    #[test]
    fn a_kind_is_written_in_the_singular_or_the_plural_and_in_any_case() {
        let namespaced = |kind: &str| is_namespaced_preference(&from_value(json!({"name": "p", "kind": kind})).unwrap());
        assert!(namespaced("VirtualMachinePreference") && namespaced("virtualmachinepreferences"));
        assert!(!namespaced("") && !namespaced("virtualMachineClusterPreferences") && !namespaced("VirtualMachineInstancetype"));
    }

    #[test]
    fn a_vmi_tells_where_it_comes_from() {
        let mut vmi = ObjectMeta::default();
        let vm = vm(json!({"instancetype": {"name": "i", "kind": "VirtualMachineInstancetype"}, "preference": {"name": "p"}}));
        annotate(&vm, &mut vmi);
        let want = json!({"kubevirt.io/instancetype-name": "i", "kubevirt.io/cluster-preference-name": "p"});
        assert_eq!(json!(vmi.annotations), want);
    }
}
