//! Features of the hypervisor.

use super::super::xml::{Element, Xml};
use super::on_off;

/// A feature that is on or off; `None` leaves it to libvirt.
pub type State = Option<bool>;

/// Features of the hypervisor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// Whether the guest has ACPI.
    pub acpi: bool,
    /// Whether the guest has an APIC.
    pub apic: bool,
    /// Whether the guest has system management mode.
    pub smm: bool,
    /// Enlightenments for Windows.
    pub hyperv: Option<Hyperv>,
    /// Whether the guest cannot see that it runs under KVM.
    pub kvm_hidden: State,
    /// Whether the guest is told that its CPUs are its own.
    pub kvm_dedicated: bool,
    /// Paravirtual spin locks.
    pub pvspinlock: State,
    /// The performance counters.
    pub pmu: State,
    /// VMware's I/O port.
    pub vmport: State,
}

/// Enlightenments for Windows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Hyperv {
    /// All that the host has.
    Passthrough,
    /// Those that are named, in libvirt's order: plain ones by name, the others with what they take.
    Custom {
        /// Those that are only on or off.
        plain: Vec<(&'static str, bool)>,
        /// Spin locks.
        spinlocks: Option<Spinlocks>,
        /// The timer.
        timer: Option<SyntheticTimer>,
        /// The vendor's name.
        vendor: Option<VendorId>,
        /// How the translation cache is flushed.
        flush: Option<Flush>,
    },
}

/// Spin locks that tell the hypervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Spinlocks {
    /// Whether they are on.
    pub on: bool,
    /// After how many attempts.
    pub retries: Option<u32>,
}

/// The synthetic timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SyntheticTimer {
    /// Whether it is on.
    pub on: bool,
    /// Whether it is delivered directly.
    pub direct: State,
}

/// The vendor's name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VendorId {
    /// Whether it is on.
    pub on: bool,
    /// The name.
    pub value: Option<String>,
}

/// How the translation cache is flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flush {
    /// Whether it is on.
    pub on: bool,
    /// Whether a nested guest does it directly.
    pub direct: State,
    /// Whether single pages can be named.
    pub extended: State,
}

impl Element for Features {
    fn write(&self, x: &mut Xml) {
        x.element("features", |x| {
            for (name, present) in [("acpi", self.acpi), ("apic", self.apic)] {
                if present {
                    x.leaf(name, &[]);
                }
            }
            x.put(&self.hyperv);
            if self.kvm_hidden.is_some() || self.kvm_dedicated {
                x.element("kvm", |x| {
                    state(x, "hidden", self.kvm_hidden);
                    state(x, "hint-dedicated", self.kvm_dedicated.then_some(true));
                });
            }
            state(x, "pvspinlock", self.pvspinlock);
            state(x, "pmu", self.pmu);
            state(x, "vmport", self.vmport);
            if self.smm {
                x.leaf("smm", &[]);
            }
        });
    }
}

impl Element for Hyperv {
    fn write(&self, x: &mut Xml) {
        x.element("hyperv", |x| match self {
            Self::Passthrough => x.attribute("mode", "passthrough"),
            Self::Custom { plain, spinlocks, timer, vendor, flush } => {
                for (name, on) in plain {
                    state(x, name, Some(*on));
                }
                if let Some(locks) = spinlocks {
                    x.leaf("spinlocks", &[("state", &on_off(locks.on)), ("retries", &locks.retries)]);
                }
                if let Some(timer) = timer {
                    x.element("stimer", |x| {
                        x.attribute("state", on_off(timer.on));
                        state(x, "direct", timer.direct);
                    });
                }
                if let Some(vendor) = vendor {
                    x.leaf("vendor_id", &[("state", &on_off(vendor.on)), ("value", &vendor.value)]);
                }
                if let Some(flush) = flush {
                    x.element("tlbflush", |x| {
                        x.attribute("state", on_off(flush.on));
                        state(x, "direct", flush.direct);
                        state(x, "extended", flush.extended);
                    });
                }
            }
        });
    }
}

fn state(x: &mut Xml, name: &str, state: State) {
    if let Some(on) = state {
        x.leaf(name, &[("state", &on_off(on))]);
    }
}
