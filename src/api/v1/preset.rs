use crate::{api, v1::DomainSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

#[api]
pub struct VirtualMachineInstancePreset {
    pub api_version: String,
    pub kind: String,
    #[api(always)]
    pub metadata: ObjectMeta,
    #[api(always)]
    pub spec: VirtualMachineInstancePresetSpec,
}

#[api]
pub struct VirtualMachineInstancePresetSpec {
    #[api(required)]
    pub selector: LabelSelector,
    pub domain: Option<DomainSpec>,
}
