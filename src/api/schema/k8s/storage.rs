//! What a claim for storage says.

use k8s_openapi::api::core::v1::{
    PersistentVolumeClaimSpec, PersistentVolumeClaimVolumeSource, TypedLocalObjectReference, TypedObjectReference,
    VolumeResourceRequirements,
};
use kubevirt_api_macros::mirror;

mirror! {
    /// What storage is asked for.
    PersistentVolumeClaimSpec {
        /// How nodes may mount the volume: ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod.
        access_modes,
        /// What the volume starts with: a VolumeSnapshot or another claim of the same namespace. Superseded by dataSourceRef.
        data_source,
        /// What the volume starts with: any object that a populator knows, also of another namespace where that is allowed.
        data_source_ref,
        /// How much storage is asked for.
        resources,
        /// Which existing volumes will do, by their labels.
        selector,
        /// The class that makes the volume. Unset: the default class; "": none, only existing volumes.
        storage_class_name,
        /// The class of attributes, such as throughput, that the volume shall have.
        volume_attributes_class_name,
        /// Filesystem (default) or Block.
        volume_mode,
        /// The volume that the claim is bound to.
        volume_name,
    }

    /// How much storage is asked for.
    VolumeResourceRequirements {
        /// The most that may be given; the only resource is storage.
        limits,
        /// The least that must be given; the only resource is storage.
        requests,
    }

    /// A claim of the same namespace, used as a volume.
    PersistentVolumeClaimVolumeSource {
        /// The name of the claim.
        #[api(required)]
        claim_name,
        /// Whether the volume may only be read. Default: false.
        read_only,
    }

    /// An object of the same namespace, of any kind.
    #[api(atomic)]
    TypedLocalObjectReference {
        /// The API group of the object. Unset: the core group.
        api_group,
        /// The kind of the object.
        #[api(required)]
        kind,
        /// The name of the object.
        #[api(required)]
        name,
    }

    /// An object of any kind.
    TypedObjectReference {
        /// The API group of the object. Unset: the core group.
        api_group,
        /// The kind of the object.
        #[api(required)]
        kind,
        /// The name of the object.
        #[api(required)]
        name,
        /// The namespace of the object. Unset: the same one; another one needs a ReferenceGrant there.
        namespace,
    }
}
