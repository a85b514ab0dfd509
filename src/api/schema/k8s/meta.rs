//! What every object has: selectors and conditions.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, LabelSelector, LabelSelectorRequirement, ObjectMeta, OwnerReference};
use kubevirt_api_macros::mirror;

use super::of;
use crate::schema::{Node, Shape};

mirror! {
    /// Objects by their labels; all requirements must hold. Empty: every object.
    #[api(atomic)]
    LabelSelector {
        /// Requirements on labels.
        match_expressions,
        /// Labels with the values that they must have.
        match_labels,
    }

    /// One requirement on a label.
    LabelSelectorRequirement {
        /// The label.
        #[api(required)]
        key,
        /// How its value relates to the values: In, NotIn, Exists or DoesNotExist.
        #[api(required)]
        operator,
        /// The values: some for In and NotIn, none for Exists and DoesNotExist.
        values,
    }

    /// One aspect of the state of an object.
    Condition {
        /// When the status last changed.
        #[api(required)]
        last_transition_time,
        /// What is the matter, for people. May be empty; at most 32768 characters.
        #[api(required, max_length = 32768)]
        message,
        /// The generation of the object that the condition was found at.
        #[api(minimum = 0)]
        observed_generation,
        /// Why, as one word in CamelCase for programs; 1 to 1024 characters.
        #[api(required, min_length = 1, max_length = 1024, pattern = "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$")]
        reason,
        /// Whether it holds: True, False or Unknown.
        #[api(required, one_of = &["True", "False", "Unknown"])]
        status,
        /// What aspect; at most 316 characters.
        #[api(
            required,
            max_length = 316,
            pattern = r"^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$"
        )]
        type_,
    }
}

mirror! {
    /// Who owns an object.
    OwnerReference {
        /// The API version of the owner.
        #[api(required)]
        api_version,
        /// Whether the owner cannot be deleted in the foreground before this object is.
        block_owner_deletion,
        /// Whether the owner is the one that manages the object.
        controller,
        /// The kind of the owner.
        #[api(required)]
        kind,
        /// The name of the owner.
        #[api(required)]
        name,
        /// The UID of the owner.
        #[api(required)]
        uid,
    }
}

/// The metadata of an object of its own, which a definition leaves to the API server.
pub fn object_meta() -> Node {
    Node::object()
        .field("annotations", false, of(|m: &ObjectMeta| &m.annotations))
        .field("creationTimestamp", false, of(|m: &ObjectMeta| &m.creation_timestamp).nullable(true))
        .field("deletionGracePeriodSeconds", false, of(|m: &ObjectMeta| &m.deletion_grace_period_seconds))
        .field("deletionTimestamp", false, of(|m: &ObjectMeta| &m.deletion_timestamp))
        .field("finalizers", false, of(|m: &ObjectMeta| &m.finalizers))
        .field("generateName", false, of(|m: &ObjectMeta| &m.generate_name))
        .field("generation", false, of(|m: &ObjectMeta| &m.generation))
        .field("labels", false, of(|m: &ObjectMeta| &m.labels))
        .field("managedFields", false, Node::new(Shape::Any))
        .field("name", false, of(|m: &ObjectMeta| &m.name))
        .field("namespace", false, of(|m: &ObjectMeta| &m.namespace))
        .field("ownerReferences", false, of(|m: &ObjectMeta| &m.owner_references))
        .field("resourceVersion", false, of(|m: &ObjectMeta| &m.resource_version))
        .field("selfLink", false, of(|m: &ObjectMeta| &m.self_link))
        .field("uid", false, of(|m: &ObjectMeta| &m.uid))
}
