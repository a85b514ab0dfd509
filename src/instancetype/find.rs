//! Which instance type and which preference a VM means.

use std::borrow::Cow;

use crate::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::names::CONTROLLER_REVISION_OBJECT_NAME_LABEL;
use crate::api::v1::{InstancetypeStatusRef, VirtualMachine};
use k8s_openapi::api::apps::v1::ControllerRevision;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::matcher::{Matcher, Role, Scope};
use super::{RevisionError, bundle, stashed_instancetype, stashed_preference};

/// What instance types, preferences and revisions of them there are.
pub trait Catalog {
    /// An instance type: of the namespace, or of the cluster where none is given.
    fn instancetype(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachineInstancetypeSpec>>;
    /// A preference: of the namespace, or of the cluster where none is given.
    fn preference(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachinePreferenceSpec>>;
    /// A revision that holds one of them as it once was.
    fn revision(&self, namespace: &str, name: &str) -> Option<Cow<'_, ControllerRevision>>;
}

/// Why the instance type or preference of a VM is not to be had.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum FindError {
    /// The kind is none that there is.
    #[error("{field}.kind {kind:?} is unknown; it must be {namespaced} or {cluster}")]
    Kind {
        /// The matcher.
        field: &'static str,
        /// The kind that it gives.
        kind: String,
        /// The kind for objects of a namespace.
        namespaced: &'static str,
        /// The kind for objects of the cluster.
        cluster: &'static str,
    },
    /// There is no such object.
    #[error("{field} names the {kind} {name:?}, which does not exist; create it or name another")]
    Missing {
        /// The matcher.
        field: &'static str,
        /// The kind of object.
        kind: &'static str,
        /// Its name.
        name: String,
    },
    /// The revision holds something else.
    #[error("{field} refers to the revision {name:?}, which cannot be used")]
    Revision {
        /// The matcher.
        field: &'static str,
        /// The name of the revision.
        name: String,
        /// What is wrong with it.
        source: RevisionError,
    },
}

impl FindError {
    /// The reference of the VM that leads nowhere.
    pub fn field(&self) -> &'static str {
        match self {
            Self::Kind { field, .. } | Self::Missing { field, .. } | Self::Revision { field, .. } => field,
        }
    }
}

/// Finds the instance type of a VM: the revision that the VM is bound to, or else the object that it names.
pub fn find<'c>(vm: &VirtualMachine, catalog: &'c impl Catalog) -> Result<Option<Cow<'c, VirtualMachineInstancetypeSpec>>, FindError> {
    let Some(matcher) = vm.spec.instancetype.as_ref().map(Matcher::from) else { return Ok(None) };
    let by_name = |namespace: Option<&str>, name: &str| catalog.instancetype(namespace, name);
    resolve(vm, &matcher, vm.status.instancetype_ref.as_ref(), catalog, stashed_instancetype, by_name).map(Some)
}

/// Finds the preference of a VM in the same way.
pub fn find_preference<'c>(
    vm: &VirtualMachine,
    catalog: &'c impl Catalog,
) -> Result<Option<Cow<'c, VirtualMachinePreferenceSpec>>, FindError> {
    let Some(matcher) = vm.spec.preference.as_ref().map(Matcher::from) else { return Ok(None) };
    let by_name = |namespace: Option<&str>, name: &str| catalog.preference(namespace, name);
    resolve(vm, &matcher, vm.status.preference_ref.as_ref(), catalog, stashed_preference, by_name).map(Some)
}

fn resolve<'c, T: Clone>(
    vm: &VirtualMachine,
    matcher: &Matcher,
    status: Option<&InstancetypeStatusRef>,
    catalog: &'c impl Catalog,
    stashed: fn(&ControllerRevision) -> Result<T, RevisionError>,
    by_name: impl FnOnce(Option<&str>, &str) -> Option<Cow<'c, T>>,
) -> Result<Cow<'c, T>, FindError> {
    let field = matcher.role.field();
    let namespace = vm.metadata.namespace.as_deref().unwrap_or_default();
    if let Some(revision) = bound_revision(namespace, matcher, status, catalog)? {
        let name = revision.metadata.name.clone().unwrap_or_default();
        return stashed(&revision).map(Cow::Owned).map_err(|source| FindError::Revision { field, name, source });
    }
    let scope = matcher.scope();
    let kinds = matcher.role.kinds();
    let (namespace, kind) = match scope {
        Some(Scope::Namespaced) => (Some(namespace), kinds.namespaced),
        Some(Scope::Cluster) => (None, kinds.cluster),
        None => {
            let kind = matcher.kind.to_owned();
            return Err(FindError::Kind { field, kind, namespaced: kinds.namespaced, cluster: kinds.cluster });
        }
    };
    by_name(namespace, matcher.name).ok_or_else(|| FindError::Missing { field, kind, name: matcher.name.to_owned() })
}

/// The revision that the VM names, or the one that its status remembers for the object that it names still.
fn bound_revision<'c>(
    namespace: &str,
    matcher: &Matcher,
    status: Option<&InstancetypeStatusRef>,
    catalog: &'c impl Catalog,
) -> Result<Option<Cow<'c, ControllerRevision>>, FindError> {
    let fetch = |name: &str| {
        let missing = || FindError::Missing { field: matcher.role.field(), kind: "ControllerRevision", name: name.to_owned() };
        catalog.revision(namespace, name).ok_or_else(missing)
    };
    if !matcher.revision_name.is_empty() {
        return fetch(matcher.revision_name).map(Some);
    }
    let remembered = status.and_then(|status| status.controller_revision_ref.as_ref()).filter(|reference| !reference.name.is_empty());
    let Some(remembered) = remembered else { return Ok(None) };
    let revision = fetch(&remembered.name)?;
    let of = revision.metadata.labels.as_ref().and_then(|labels| labels.get(CONTROLLER_REVISION_OBJECT_NAME_LABEL));
    let current = of.is_some_and(|name| name == matcher.name);
    Ok(current.then_some(revision))
}

/// Objects given as documents, and nothing else.
#[derive(Clone, Copy, Debug)]
pub struct Given<'a>(pub &'a [Value]);

/// Objects given as documents, and the common bundle for what is not among them: a cluster as it is installed.
#[derive(Clone, Copy, Debug)]
pub struct Objects<'a>(pub &'a [Value]);

impl<'a> Given<'a> {
    /// The object of that kind and name, of a namespace or of the cluster.
    pub fn get(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<&'a Value> {
        let text = |object: &'a Value, pointer: &str| object.pointer(pointer).and_then(Value::as_str);
        self.0.iter().find(|object| {
            text(object, "/kind") == Some(kind)
                && text(object, "/metadata/name") == Some(name)
                && namespace.is_none_or(|namespace| text(object, "/metadata/namespace") == Some(namespace))
        })
    }

    fn spec<T: DeserializeOwned + Clone>(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<Cow<'a, T>> {
        T::deserialize(self.get(kind, namespace, name)?.get("spec")?).ok().map(Cow::Owned)
    }
}

impl Catalog for Given<'_> {
    fn instancetype(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachineInstancetypeSpec>> {
        let kinds = Role::Instancetype.kinds();
        self.spec(if namespace.is_some() { kinds.namespaced } else { kinds.cluster }, namespace, name)
    }

    fn preference(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachinePreferenceSpec>> {
        let kinds = Role::Preference.kinds();
        self.spec(if namespace.is_some() { kinds.namespaced } else { kinds.cluster }, namespace, name)
    }

    fn revision(&self, namespace: &str, name: &str) -> Option<Cow<'_, ControllerRevision>> {
        serde::Deserialize::deserialize(self.get("ControllerRevision", Some(namespace), name)?).ok().map(Cow::Owned)
    }
}

impl<'a> Objects<'a> {
    /// The object of that kind and name, of a namespace or of the cluster, among those that are given.
    pub fn get(&self, kind: &str, namespace: Option<&str>, name: &str) -> Option<&'a Value> {
        Given(self.0).get(kind, namespace, name)
    }
}

impl Catalog for Objects<'_> {
    fn instancetype(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachineInstancetypeSpec>> {
        let given = Given(self.0).instancetype(namespace, name).map(|spec| Cow::Owned(spec.into_owned()));
        given.or_else(|| bundle::instancetype(name).filter(|_| namespace.is_none()).map(Cow::Borrowed))
    }

    fn preference(&self, namespace: Option<&str>, name: &str) -> Option<Cow<'_, VirtualMachinePreferenceSpec>> {
        let given = Given(self.0).preference(namespace, name).map(|spec| Cow::Owned(spec.into_owned()));
        given.or_else(|| bundle::preference(name).filter(|_| namespace.is_none()).map(Cow::Borrowed))
    }

    fn revision(&self, namespace: &str, name: &str) -> Option<Cow<'_, ControllerRevision>> {
        Given(self.0).revision(namespace, name).map(|revision| Cow::Owned(revision.into_owned()))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn vm(spec: Value, status: Value) -> VirtualMachine {
        serde_json::from_value(json!({"metadata": {"name": "vm", "namespace": "lab"}, "spec": spec, "status": status})).unwrap()
    }

    fn instancetype(kind: &str, namespace: Option<&str>, guest: u32) -> Value {
        json!({"kind": kind, "metadata": {"name": "mine", "namespace": namespace}, "spec": {"cpu": {"guest": guest}, "memory": {"guest": "1Gi"}}})
    }

    fn revision(name: &str, of: &str, guest: u32) -> Value {
        let mut data = instancetype("VirtualMachineInstancetype", Some("lab"), guest);
        data["apiVersion"] = json!("instancetype.kubevirt.io/v1beta1");
        json!({
            "apiVersion": "apps/v1", "kind": "ControllerRevision", "revision": 0, "data": data,
            "metadata": {"name": name, "namespace": "lab", "labels": {"instancetype.kubevirt.io/object-name": of}},
        })
    }

    #[test]
    fn a_vm_means_its_revision_then_the_object_that_it_names() {
        let objects = [
            instancetype("VirtualMachineInstancetype", Some("other"), 1),
            instancetype("VirtualMachineInstancetype", Some("lab"), 2),
            instancetype("VirtualMachineClusterInstancetype", None, 3),
            revision("frozen", "mine", 4),
            revision("stale", "another", 5),
        ];
        let bound = |name: &str| json!({"instancetypeRef": {"name": "mine", "controllerRevisionRef": {"name": name}}});
        for (matcher, status, want) in [
            (json!({"name": "mine"}), json!({}), Some(3)),
            (json!({"name": "mine", "kind": "virtualMachineClusterInstancetypes"}), json!({}), Some(3)),
            (json!({"name": "mine", "kind": "VirtualMachineInstancetype"}), json!({}), Some(2)),
            (json!({"name": "mine", "kind": "VirtualMachinePreference"}), json!({}), None),
            (json!({"name": "yours"}), json!({}), None),
            (json!({"name": "mine", "revisionName": "frozen"}), json!({}), Some(4)),
            (json!({"name": "mine", "revisionName": "gone"}), json!({}), None),
            (json!({"name": "mine"}), bound("frozen"), Some(4)),
            (json!({"name": "mine"}), bound("stale"), Some(3)),
            (json!({"name": "mine"}), bound("gone"), None),
            (json!({"name": "u1.medium"}), json!({}), Some(1)),
        ] {
            let vm = vm(json!({"instancetype": matcher, "template": {}}), status.clone());
            let catalog = Objects(&objects);
            let found = find(&vm, &catalog);
            assert_eq!(found.as_ref().ok().and_then(|f| f.as_ref()).map(|f| f.cpu.guest), want, "{matcher} {status} {found:?}");
        }
    }

    #[test]
    fn only_what_is_there_is_found() {
        let vm = vm(json!({"instancetype": {"name": "u1.medium"}, "preference": {"name": "fedora"}, "template": {}}), json!({}));
        assert!(find(&vm, &Given(&[])).is_err() && find_preference(&vm, &Given(&[])).is_err());
        assert!(find(&vm, &Objects(&[])).is_ok() && find_preference(&vm, &Objects(&[])).is_ok());
    }

    #[test]
    fn a_revision_of_something_else_says_so() {
        let objects = [revision("frozen", "mine", 4)];
        let vm = vm(json!({"preference": {"name": "mine", "revisionName": "frozen"}, "template": {}}), json!({}));
        let catalog = Objects(&objects);
        let error = find_preference(&vm, &catalog).unwrap_err();
        assert!(matches!(error, FindError::Revision { field: "spec.preference", .. }), "{error}");
        assert_eq!(find(&vm, &catalog), Ok(None));
    }
}
