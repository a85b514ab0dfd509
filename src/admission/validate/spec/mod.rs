//! Rules of an instance's specification, which a virtual machine's template has to keep as well: one file an area.

mod access;
mod boot;
mod claims;
mod cloud_init;
mod cpu;
mod devices;
mod disks;
mod dns;
mod firmware;
mod grace;
mod launch_security;
mod machine;
mod memory;
mod networks;
mod policies;
mod ports;
mod probes;
mod scheduling;
mod volumes;

pub(super) use grace::annotations as grace_annotations;
pub(super) use networks::discontinued_bindings;

use std::collections::BTreeMap;

use crate::admission::{Cause, Path};
use crate::api::Quantity;
use crate::api::v1::{Cpu, Devices, DomainSpec, VirtualMachineInstanceSpec};
use crate::config::{ClusterConfig, Gate};

/// What rules look at.
#[derive(Clone, Copy)]
pub(super) struct Subject<'a> {
    /// Where the specification is.
    pub(super) at: &'a Path<'a>,
    pub(super) spec: &'a VirtualMachineInstanceSpec,
    pub(super) config: &'a ClusterConfig,
}

/// One rule: adds a cause for each fault.
type Rule = fn(&Subject, &mut Vec<Cause>);

/// Every rule, in the order in which faults are told.
const RULES: &[&[Rule]] = &[
    policies::RULES,
    memory::RULES,
    machine::RULES,
    firmware::RULES,
    cpu::RULES,
    scheduling::RULES,
    networks::RULES,
    ports::RULES,
    claims::RULES,
    boot::RULES,
    disks::RULES,
    probes::RULES,
    volumes::RULES,
    cloud_init::RULES,
    access::RULES,
    dns::RULES,
    devices::RULES,
    grace::RULES,
    launch_security::RULES,
];

/// Judges a specification by every rule.
pub(super) fn judge(subject: &Subject, causes: &mut Vec<Cause>) {
    for rule in RULES.iter().copied().flatten() {
        rule(subject, causes);
    }
}

/// Judges the part that presets have: disks and firmware, before they are merged into an instance.
pub(super) fn judge_part(subject: &Subject, causes: &mut Vec<Cause>) {
    for rule in disks::DISKS.iter().chain(firmware::BOOT) {
        rule(subject, causes);
    }
}

impl<'a> Subject<'a> {
    fn domain(&self) -> &'a DomainSpec {
        &self.spec.domain
    }

    fn devices(&self) -> &'a Devices {
        &self.spec.domain.devices
    }

    fn cpu(&self) -> Option<&'a Cpu> {
        self.spec.domain.cpu.as_ref()
    }

    fn enabled(&self, gate: Gate) -> bool {
        self.config.enabled(gate)
    }

    /// The architecture, the cluster's where the guest names none.
    fn architecture(&self) -> &'a str {
        match self.spec.architecture.as_str() {
            "" => self.config.default_architecture(),
            own => own,
        }
    }

    /// The machine type, the cluster's where the guest names none.
    fn machine_type(&self) -> &'a str {
        match self.spec.domain.machine.as_ref().map_or("", |m| &m.type_) {
            "" => self.config.machine_type(self.architecture()),
            own => own,
        }
    }

    fn request(&self, resource: &str) -> Amount<'a> {
        Amount(self.spec.domain.resources.requests.get(resource))
    }

    fn limit(&self, resource: &str) -> Amount<'a> {
        Amount(self.spec.domain.resources.limits.get(resource))
    }
}

/// An amount that may not be given, which counts as nothing.
#[derive(Clone, Copy)]
struct Amount<'a>(Option<&'a Quantity>);

impl Amount<'_> {
    fn value(self) -> i128 {
        self.0.map_or(0, Quantity::value)
    }

    fn millis(self) -> i128 {
        self.0.map_or(0, Quantity::millis)
    }
}

impl std::fmt::Display for Amount<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0.map_or("0", Quantity::as_str))
    }
}

/// What to say about a feature whose gate is closed.
fn closed(gate: Gate) -> String {
    format!("this needs the feature gate {0}, which is off; enable {0} in the KubeVirt configuration, or leave this out", gate.name())
}

/// Tells every element whose name an earlier one has, and where that is.
fn repeated<'a>(names: impl Iterator<Item = &'a str>, mut tell: impl FnMut(usize, usize, &str)) {
    let mut seen = BTreeMap::new();
    for (index, name) in names.enumerate() {
        match seen.get(name) {
            Some(&first) => tell(index, first, name),
            None => {
                seen.insert(name, index);
            }
        }
    }
}

#[cfg(test)]
mod testing {
    //! One way to write a table of specifications and the faults that rules find in them.

    use super::*;
    use serde_json::{Value, json};

    /// A specification, and the fields of the faults that the rules find in it.
    pub(super) type Case<'a> = (Value, &'a [&'a str]);

    /// The fields of the faults that the rules find in a specification.
    pub(super) fn faults(rules: &[Rule], config: &ClusterConfig, spec: &Value) -> Vec<Cause> {
        let spec: VirtualMachineInstanceSpec = serde_json::from_value(spec.clone()).unwrap();
        let mut causes = Vec::new();
        for rule in rules {
            rule(&Subject { at: &Path::new("s"), spec: &spec, config }, &mut causes);
        }
        causes
    }

    /// Checks a table with the features of `gates` on.
    pub(super) fn check(rules: &[Rule], gates: &[Gate], cases: &[Case]) {
        let gates: Vec<&str> = gates.iter().map(|gate| gate.name()).collect();
        let settings = json!({"developerConfiguration": {"featureGates": gates}});
        check_with(rules, settings, cases);
    }

    /// Checks a table under a configuration.
    pub(super) fn check_with(rules: &[Rule], settings: Value, cases: &[Case]) {
        let config = ClusterConfig::new(&serde_json::from_value(settings).unwrap());
        for (spec, wanted) in cases {
            let causes = faults(rules, &config, spec);
            let fields: Vec<&str> = causes.iter().map(|c| c.field.as_str()).collect();
            assert_eq!(&fields, wanted, "{spec} gives {causes:?}");
        }
    }
}
