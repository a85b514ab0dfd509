//! Revisions: copies of an instance type or preference that a VM is bound to, whatever happens to the original.

use crate::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use crate::api::names::{
    CONTROLLER_REVISION_OBJECT_GENERATION_LABEL, CONTROLLER_REVISION_OBJECT_KIND_LABEL, CONTROLLER_REVISION_OBJECT_NAME_LABEL,
    CONTROLLER_REVISION_OBJECT_UID_LABEL, CONTROLLER_REVISION_OBJECT_VERSION_LABEL,
};
use crate::api::v1::{ControllerRevisionRef, InstancetypeMatcher, InstancetypeStatusRef, PreferenceMatcher, VirtualMachine};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use k8s_openapi::{Metadata, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::matcher::Matcher;

/// The version that revisions are written in.
const LATEST: &str = "v1beta1";
const GROUP: &str = "instancetype.kubevirt.io";

/// What is wrong with a revision.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RevisionError {
    /// It holds nothing, or something else.
    #[error("it holds {held}, where {wanted} is needed")]
    Kind {
        /// What it holds.
        held: String,
        /// What is needed.
        wanted: &'static str,
    },
    /// What it holds cannot be read.
    #[error("what it holds cannot be read: {0}")]
    Unreadable(String),
}

/// The name of the revision of one generation of an object, for one VM.
pub fn revision_name(vm: &str, object: &str, version: &str, uid: &str, generation: i64) -> String {
    format!("{vm}-{object}-{version}-{uid}-{generation}")
}

/// Copies an instance type or preference into a revision that the VM owns.
pub fn stash<T>(vm: &VirtualMachine, object: &T) -> Result<ControllerRevision, RevisionError>
where
    T: Resource + Metadata<Ty = ObjectMeta> + Serialize + Clone,
{
    let mut copy = object.clone();
    let metadata = copy.metadata_mut();
    // what belongs to the original only
    (metadata.labels, metadata.annotations, metadata.finalizers) = (None, None, None);
    (metadata.owner_references, metadata.managed_fields) = (None, None);
    let (name, uid) = (metadata.name.clone().unwrap_or_default(), metadata.uid.clone().unwrap_or_default());
    let generation = metadata.generation.unwrap_or_default();
    let mut data = serde_json::to_value(&copy).map_err(|e| RevisionError::Unreadable(e.to_string()))?;
    if let Some(data) = data.as_object_mut() {
        // objects that come out of a store do not tell their kind
        data.insert("apiVersion".to_owned(), T::API_VERSION.into());
        data.insert("kind".to_owned(), T::KIND.into());
    }
    let labels = [
        (CONTROLLER_REVISION_OBJECT_GENERATION_LABEL, generation.to_string()),
        (CONTROLLER_REVISION_OBJECT_KIND_LABEL, T::KIND.to_owned()),
        (CONTROLLER_REVISION_OBJECT_NAME_LABEL, name.clone()),
        (CONTROLLER_REVISION_OBJECT_UID_LABEL, uid.clone()),
        (CONTROLLER_REVISION_OBJECT_VERSION_LABEL, T::VERSION.to_owned()),
    ];
    let vm_name = vm.metadata.name.clone().unwrap_or_default();
    Ok(ControllerRevision {
        metadata: ObjectMeta {
            name: Some(revision_name(&vm_name, &name, T::VERSION, &uid, generation)),
            namespace: vm.metadata.namespace.clone(),
            owner_references: Some(vec![OwnerReference {
                api_version: VirtualMachine::API_VERSION.to_owned(),
                kind: VirtualMachine::KIND.to_owned(),
                name: vm_name,
                uid: vm.metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                block_owner_deletion: Some(true),
            }]),
            labels: Some(labels.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()),
            ..ObjectMeta::default()
        },
        data: Some(RawExtension(data)),
        revision: 0,
    })
}

/// The instance type that a revision holds.
pub fn stashed_instancetype(revision: &ControllerRevision) -> Result<VirtualMachineInstancetypeSpec, RevisionError> {
    stashed(revision, "an instance type", &["VirtualMachineInstancetype", "VirtualMachineClusterInstancetype"])
}

/// The preference that a revision holds.
pub fn stashed_preference(revision: &ControllerRevision) -> Result<VirtualMachinePreferenceSpec, RevisionError> {
    stashed(revision, "a preference", &["VirtualMachinePreference", "VirtualMachineClusterPreference"])
}

fn stashed<T: DeserializeOwned + Default>(revision: &ControllerRevision, wanted: &'static str, kinds: &[&str]) -> Result<T, RevisionError> {
    let data = revision.data.as_ref().map_or(&Value::Null, |data| &data.0);
    let text = |key: &str| data.get(key).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    if api_version.split_once('/') != Some((GROUP, LATEST)) || !kinds.contains(&kind) {
        let held = if data.is_null() { "nothing".to_owned() } else { format!("{kind} of {api_version}") };
        return Err(RevisionError::Kind { held, wanted });
    }
    match data.get("spec") {
        None => Ok(T::default()),
        Some(spec) => T::deserialize(spec).map_err(|e| RevisionError::Unreadable(e.to_string())),
    }
}

/// Whether two revisions hold the same instance type or the same preference, whatever else differs.
pub fn same_spec(a: &ControllerRevision, b: &ControllerRevision) -> Result<bool, RevisionError> {
    match (stashed_instancetype(a), stashed_instancetype(b)) {
        (Ok(a), Ok(b)) => Ok(a == b),
        (Err(_), Err(_)) => Ok(stashed_preference(a)? == stashed_preference(b)?),
        _ => Ok(false),
    }
}

/// Whether a revision is written in the latest version; another is to be written anew.
pub fn is_latest(revision: &ControllerRevision) -> bool {
    let version = revision.metadata.labels.as_ref().and_then(|labels| labels.get(CONTROLLER_REVISION_OBJECT_VERSION_LABEL));
    version.is_some_and(|version| version == LATEST)
}

/// What a VM's status is to remember of its instance type, and whether a revision has to be made for it: the caller
/// makes one and puts its name into the reference.
///
/// A reference to something else than before forgets the revision; one that names a revision is bound to that.
pub fn sync_instancetype_ref(matcher: &InstancetypeMatcher, status: Option<&InstancetypeStatusRef>) -> (InstancetypeStatusRef, bool) {
    sync(&Matcher::from(matcher), status)
}

/// What a VM's status is to remember of its preference, in the same way.
pub fn sync_preference_ref(matcher: &PreferenceMatcher, status: Option<&InstancetypeStatusRef>) -> (InstancetypeStatusRef, bool) {
    sync(&Matcher::from(matcher), status)
}

fn sync(matcher: &Matcher, status: Option<&InstancetypeStatusRef>) -> (InstancetypeStatusRef, bool) {
    let mut status = status.cloned().unwrap_or_default();
    let mut changed = false;
    for (wanted, field) in
        [(matcher.name, &mut status.name), (matcher.kind, &mut status.kind), (matcher.infer_from_volume, &mut status.infer_from_volume)]
    {
        if !wanted.is_empty() && wanted != field {
            wanted.clone_into(field);
            changed = true;
        }
    }
    if changed {
        status.controller_revision_ref = None;
    }
    if let Some(policy) = matcher.failure_policy {
        status.infer_from_volume_failure_policy = Some(policy.clone());
    }
    if !matcher.revision_name.is_empty() {
        status.controller_revision_ref = Some(ControllerRevisionRef { name: matcher.revision_name.to_owned() });
    }
    let needs_revision = status.controller_revision_ref.is_none();
    (status, needs_revision)
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;
    use crate::api::instancetype::VirtualMachineClusterInstancetype;

    fn vm() -> VirtualMachine {
        from_value(json!({"metadata": {"name": "vm", "namespace": "lab", "uid": "u-vm"}})).unwrap()
    }

    fn instancetype(guest: u32) -> VirtualMachineClusterInstancetype {
        from_value(json!({
            "metadata": {"name": "big", "uid": "u-it", "generation": 3, "labels": {"a": "b"}, "finalizers": ["f"]},
            "spec": {"cpu": {"guest": guest}, "memory": {"guest": "1Gi"}},
        }))
        .unwrap()
    }

    #[test]
    fn a_revision_holds_what_the_object_was() {
        let revision = stash(&vm(), &instancetype(4)).unwrap();
        assert_eq!(stashed_instancetype(&revision).unwrap().cpu.guest, 4);
        assert!(is_latest(&revision) && stashed_preference(&revision).is_err());
        let value = to_value(&revision).unwrap();
        assert_eq!(value["metadata"]["name"], "vm-big-v1beta1-u-it-3");
        assert_eq!(value["metadata"]["namespace"], "lab");
        assert_eq!(value["metadata"]["ownerReferences"][0]["uid"], "u-vm");
        assert_eq!(value["metadata"]["labels"]["instancetype.kubevirt.io/object-kind"], "VirtualMachineClusterInstancetype");
        assert_eq!(value["data"]["kind"], "VirtualMachineClusterInstancetype");
        assert_eq!(value["data"]["metadata"], json!({"name": "big", "uid": "u-it", "generation": 3}));
    }

    #[test]
    fn revisions_are_compared_by_what_they_mean() {
        let (a, b) = (stash(&vm(), &instancetype(4)).unwrap(), stash(&vm(), &instancetype(5)).unwrap());
        assert_eq!((same_spec(&a, &a), same_spec(&a, &b)), (Ok(true), Ok(false)));
        assert!(same_spec(&ControllerRevision::default(), &ControllerRevision::default()).is_err());
    }

    #[test]
    fn what_is_no_instance_type_says_what_it_is() {
        for (data, text) in [
            (json!(null), "it holds nothing, where an instance type is needed"),
            (json!({"apiVersion": "v1", "kind": "Secret"}), "it holds Secret of v1, where an instance type is needed"),
        ] {
            let revision = ControllerRevision { data: Some(RawExtension(data)), ..ControllerRevision::default() };
            assert_eq!(stashed_instancetype(&revision).unwrap_err().to_string(), text);
        }
    }

    #[test]
    fn the_status_remembers_the_revision_of_what_is_referred_to() {
        let bound = |name: &str| json!({"name": "a", "kind": "k", "controllerRevisionRef": {"name": name}});
        for (matcher, status, want, needs) in [
            (json!({"name": "a"}), json!({}), json!({"name": "a"}), true),
            (json!({"name": "a"}), bound("r"), bound("r"), false),
            (json!({"name": "b"}), bound("r"), json!({"name": "b", "kind": "k"}), true),
            (json!({"name": "a", "kind": "l"}), bound("r"), json!({"name": "a", "kind": "l"}), true),
            (json!({"name": "a", "revisionName": "s"}), bound("r"), bound("s"), false),
            (
                json!({"name": "a", "inferFromVolumeFailurePolicy": "Ignore"}),
                json!({"name": "a", "controllerRevisionRef": {"name": "r"}}),
                json!({"name": "a", "inferFromVolumeFailurePolicy": "Ignore", "controllerRevisionRef": {"name": "r"}}),
                false,
            ),
        ] {
            let matcher: PreferenceMatcher = from_value(matcher).unwrap();
            let (got, made) = sync_preference_ref(&matcher, Some(&from_value(status).unwrap()));
            assert_eq!((to_value(got).unwrap(), made), (want, needs), "{matcher:?}");
        }
    }
}
