//! Features of the hypervisor that a guest sees.

use crate::{api, v1::SynicTimer};

/// One feature of the CPU.
#[api]
pub struct CpuFeature {
    /// The feature, as libvirt names it: vmx, pcid.
    #[api(required)]
    pub name: String,
    /// force (there even if the node has not got it), require (default; the node must have it), optional (if the node has it),
    /// disable (hidden) or forbid (no node that has it).
    pub policy: String,
}

/// All enlightenments for Windows that the node knows.
#[api]
pub struct HypervPassthrough {
    /// Whether they are on. Default: true. Excludes the list of single ones, and migration.
    pub enabled: Option<bool>,
}

/// Features of the hypervisor that the guest sees.
#[api]
pub struct Features {
    /// ACPI. Default: enabled where the architecture has it.
    #[api(always)]
    pub acpi: FeatureState,
    /// The advanced interrupt controller. Default: enabled on x86.
    pub apic: Option<FeatureApic>,
    /// All enlightenments for Windows that the node knows.
    pub hyperv_passthrough: Option<HypervPassthrough>,
    /// The enlightenments for Windows, one by one.
    pub hyperv: Option<FeatureHyperv>,
    /// System management mode, which secure boot needs. Default: disabled, except for secure boot.
    pub smm: Option<FeatureState>,
    /// What the guest can see of KVM.
    pub kvm: Option<FeatureKvm>,
    /// Paravirtual locks. Default: enabled.
    pub pvspinlock: Option<FeatureState>,
}

/// Whether a feature is on.
#[api]
pub struct FeatureState {
    /// Default: true when the feature is given.
    pub enabled: Option<bool>,
}

/// The advanced interrupt controller.
#[api]
pub struct FeatureApic {
    /// Whether it is on. Default: true.
    pub enabled: Option<bool>,
    /// Whether the guest acknowledges interrupts in a paravirtual way. Default: false.
    pub end_of_interrupt: bool,
}

/// How often a guest tries for a lock before it tells the hypervisor.
#[api]
pub struct FeatureSpinlocks {
    /// Whether it is on. Default: true.
    pub enabled: Option<bool>,
    /// How many times it tries; at least 4096. Default: 4096.
    pub spinlocks: Option<u32>,
}

/// The maker that the guest sees.
#[api]
pub struct FeatureVendorId {
    /// Whether it is on. Default: true.
    pub enabled: Option<bool>,
    /// The name of the maker, at most 12 characters.
    pub vendorid: String,
}

/// Flushing address translations by a call of the hypervisor.
#[api]
pub struct TlbFlush {
    /// Whether it is on. Default: true.
    pub enabled: Option<bool>,
    /// Whether a nested guest may do so itself.
    pub direct: Option<FeatureState>,
    /// Whether a part of the translations can be flushed.
    pub extended: Option<FeatureState>,
}

/// The enlightenments for Windows.
#[api]
pub struct FeatureHyperv {
    /// No fatal timeouts in the guest's watchdogs.
    pub relaxed: Option<FeatureState>,
    /// A virtual interrupt controller.
    pub vapic: Option<FeatureState>,
    /// How often a guest tries for a lock before it tells the hypervisor.
    pub spinlocks: Option<FeatureSpinlocks>,
    /// An index of the virtual CPU; needed by synic.
    pub vpindex: Option<FeatureState>,
    /// How long each virtual CPU has run.
    pub runtime: Option<FeatureState>,
    /// A synthetic interrupt controller; needs vpindex.
    pub synic: Option<FeatureState>,
    /// Synthetic timers; need synic.
    pub synictimer: Option<SynicTimer>,
    /// Restarting by a call of the hypervisor.
    pub reset: Option<FeatureState>,
    /// The maker that the guest sees.
    pub vendorid: Option<FeatureVendorId>,
    /// The frequencies of clock counter and interrupt controller.
    pub frequencies: Option<FeatureState>,
    /// A notice when the frequency of the clock counter changes, as by a migration.
    pub reenlightenment: Option<FeatureState>,
    /// Flushing address translations by a call of the hypervisor; needs vpindex.
    pub tlbflush: Option<TlbFlush>,
    /// Interrupts between CPUs by a call of the hypervisor; needs vpindex.
    pub ipi: Option<FeatureState>,
    /// The enlightened control structure for nested guests on Intel; needs vapic.
    pub evmcs: Option<FeatureState>,
}

/// What the guest can see of KVM.
#[api]
pub struct FeatureKvm {
    /// Whether the guest cannot see that it runs on KVM, for drivers that refuse to. Default: false.
    pub hidden: bool,
}
