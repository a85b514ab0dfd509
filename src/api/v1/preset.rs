//! Presets: defaults for machines that labels select.

use crate::{api, v1::DomainSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

/// Deprecated: defaults for machines that labels select. Instance types and preferences take their place.
#[api]
pub struct VirtualMachineInstancePreset {
    /// The group and version of the object, such as kubevirt.io/v1.
    pub api_version: String,
    /// The kind of the object.
    pub kind: String,
    /// Name, labels, annotations and owners of the object.
    #[api(always)]
    pub metadata: ObjectMeta,
    /// Which machines, and what they get.
    #[api(always)]
    pub spec: VirtualMachineInstancePresetSpec,
}

/// Which machines, and what they get.
#[api]
pub struct VirtualMachineInstancePresetSpec {
    /// The machines, by their labels.
    #[api(required)]
    pub selector: LabelSelector,
    /// What they get where they say nothing else.
    pub domain: Option<DomainSpec>,
}
