//! Features of the hypervisor.

use kubevirt_api::v1::{self, FeatureHyperv, FeatureState};

use super::guest::{Guest, Protection};
use super::model::{Features, Flush, Hyperv, Spinlocks, State, SyntheticTimer, VendorId};

/// The features of a guest. A VMI without any asks for none, not even the ones that are on by default.
pub(super) fn convert(guest: &Guest<'_>) -> Features {
    let Some(source) = &guest.spec().features else { return Features::default() };
    let off = |applies: bool| applies.then_some(false);
    Features {
        acpi: source.acpi.enabled != Some(false),
        apic: source.apic.as_ref().is_some_and(|apic| apic.enabled != Some(false)),
        smm: source.smm.as_ref().is_some_and(|smm| smm.enabled != Some(false)),
        hyperv: hyperv(source),
        kvm_hidden: source.kvm.as_ref().map(|kvm| kvm.hidden),
        kvm_dedicated: false,
        pvspinlock: state(source.pvspinlock.as_ref()),
        pmu: off(guest.protection == Protection::Tdx),
        vmport: off(guest.rules.vmport),
    }
}

fn hyperv(source: &v1::Features) -> Option<Hyperv> {
    match (&source.hyperv, &source.hyperv_passthrough) {
        (Some(hyperv), _) => Some(custom(hyperv)),
        (None, Some(passthrough)) if passthrough.enabled == Some(true) => Some(Hyperv::Passthrough),
        _ => None,
    }
}

fn custom(source: &FeatureHyperv) -> Hyperv {
    let plain = [
        ("relaxed", &source.relaxed),
        ("vapic", &source.vapic),
        ("vpindex", &source.vpindex),
        ("runtime", &source.runtime),
        ("synic", &source.synic),
        ("reset", &source.reset),
        ("frequencies", &source.frequencies),
        ("reenlightenment", &source.reenlightenment),
        ("ipi", &source.ipi),
        ("evmcs", &source.evmcs),
    ];
    Hyperv::Custom {
        plain: plain.into_iter().filter_map(|(name, feature)| Some((name, state(feature.as_ref())?))).collect(),
        spinlocks: source.spinlocks.as_ref().map(|s| Spinlocks { on: s.enabled != Some(false), retries: s.spinlocks }),
        timer: source.synictimer.as_ref().map(|t| SyntheticTimer { on: t.enabled != Some(false), direct: state(t.direct.as_ref()) }),
        vendor: source
            .vendorid
            .as_ref()
            .map(|v| VendorId { on: v.enabled != Some(false), value: Some(v.vendorid.clone()).filter(|value| !value.is_empty()) }),
        flush: source.tlbflush.as_ref().map(|f| Flush {
            on: f.enabled != Some(false),
            direct: state(f.direct.as_ref()),
            extended: state(f.extended.as_ref()),
        }),
    }
}

/// A feature that is named is on unless it says otherwise.
fn state(feature: Option<&FeatureState>) -> State {
    feature.map(|feature| feature.enabled != Some(false))
}
