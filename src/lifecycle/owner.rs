//! Who an object belongs to.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::api::names;

/// The owner that controls an object.
pub fn controller(meta: &ObjectMeta) -> Option<&OwnerReference> {
    meta.owner_references.iter().flatten().find(|owner| owner.controller == Some(true))
}

/// Whether the object with that uid controls another.
pub fn is_controlled_by(meta: &ObjectMeta, uid: &str) -> bool {
    controller(meta).is_some_and(|owner| owner.uid == uid)
}

/// A reference to the controlling owner.
pub fn reference(api_version: &str, kind: &str, owner: &ObjectMeta) -> OwnerReference {
    OwnerReference {
        api_version: api_version.to_owned(),
        kind: kind.to_owned(),
        name: owner.name.clone().unwrap_or_default(),
        uid: owner.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

/// Notes in annotations that an object has been seen by a controller of this version of the API.
pub fn note_seen(meta: &mut ObjectMeta) {
    const VERSION: &str = "v1";
    const LATEST: &str = names::CONTROLLER_API_LATEST_VERSION_OBSERVED_ANNOTATION;
    let annotations = meta.annotations.get_or_insert_default();
    if annotations.get(LATEST).is_none_or(|v| v != VERSION) {
        for key in [LATEST, names::CONTROLLER_API_STORAGE_VERSION_OBSERVED_ANNOTATION] {
            annotations.insert(key.to_owned(), VERSION.to_owned());
        }
    }
}

/// Whether an object carries a finalizer.
pub fn has_finalizer(meta: &ObjectMeta, finalizer: &str) -> bool {
    meta.finalizers.iter().flatten().any(|f| f == finalizer)
}

/// Adds a finalizer that is not there yet.
pub fn add_finalizer(meta: &mut ObjectMeta, finalizer: &str) {
    if !has_finalizer(meta, finalizer) {
        meta.finalizers.get_or_insert_default().push(finalizer.to_owned());
    }
}

/// Takes a finalizer away.
pub fn remove_finalizer(meta: &mut ObjectMeta, finalizer: &str) {
    if let Some(finalizers) = &mut meta.finalizers {
        finalizers.retain(|f| f != finalizer);
        if finalizers.is_empty() {
            meta.finalizers = None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finalizers_come_once_and_go() {
        let mut meta = ObjectMeta::default();
        add_finalizer(&mut meta, "a");
        add_finalizer(&mut meta, "a");
        assert_eq!(meta.finalizers.as_deref(), Some(&["a".to_owned()][..]));
        remove_finalizer(&mut meta, "b");
        assert!(has_finalizer(&meta, "a"));
        remove_finalizer(&mut meta, "a");
        assert_eq!(meta, ObjectMeta::default());
    }
}
