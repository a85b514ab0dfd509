use crate::{api, v1::SynicTimer};

#[api]
pub struct CpuFeature {
    #[api(required)]
    pub name: String,
    pub policy: String,
}

#[api]
pub struct HypervPassthrough {
    pub enabled: Option<bool>,
}

#[api]
pub struct Features {
    #[api(always)]
    pub acpi: FeatureState,
    pub apic: Option<FeatureApic>,
    pub hyperv_passthrough: Option<HypervPassthrough>,
    pub hyperv: Option<FeatureHyperv>,
    pub smm: Option<FeatureState>,
    pub kvm: Option<FeatureKvm>,
    pub pvspinlock: Option<FeatureState>,
}

#[api]
pub struct FeatureState {
    pub enabled: Option<bool>,
}

#[api]
pub struct FeatureApic {
    pub enabled: Option<bool>,
    pub end_of_interrupt: bool,
}

#[api]
pub struct FeatureSpinlocks {
    pub enabled: Option<bool>,
    pub spinlocks: Option<u32>,
}

#[api]
pub struct FeatureVendorId {
    pub enabled: Option<bool>,
    pub vendorid: String,
}

#[api]
pub struct TlbFlush {
    pub enabled: Option<bool>,
    pub direct: Option<FeatureState>,
    pub extended: Option<FeatureState>,
}

#[api]
pub struct FeatureHyperv {
    pub relaxed: Option<FeatureState>,
    pub vapic: Option<FeatureState>,
    pub spinlocks: Option<FeatureSpinlocks>,
    pub vpindex: Option<FeatureState>,
    pub runtime: Option<FeatureState>,
    pub synic: Option<FeatureState>,
    pub synictimer: Option<SynicTimer>,
    pub reset: Option<FeatureState>,
    pub vendorid: Option<FeatureVendorId>,
    pub frequencies: Option<FeatureState>,
    pub reenlightenment: Option<FeatureState>,
    pub tlbflush: Option<TlbFlush>,
    pub ipi: Option<FeatureState>,
    pub evmcs: Option<FeatureState>,
}

#[api]
pub struct FeatureKvm {
    pub hidden: bool,
}
