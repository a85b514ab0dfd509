//! The labels by which a node says what its guests can have.

use std::collections::BTreeMap;

use super::capabilities::Capabilities;
use crate::api::names;
use crate::config::{ClusterConfig, Gate};
use crate::domain::facts::Architecture;

/// `kubevirt.io/realtime`
const REALTIME: &str = "kubevirt.io/realtime";
/// `kubevirt.io/sev`
const SEV: &str = "kubevirt.io/sev";
/// `kubevirt.io/sev-es`
const SEV_ES: &str = "kubevirt.io/sev-es";
/// `kubevirt.io/sev-snp`
const SEV_SNP: &str = "kubevirt.io/sev-snp";
/// `kubevirt.io/tdx`
const TDX: &str = "kubevirt.io/tdx";
/// `kubevirt.io/s390-pv`
const SECURE_EXECUTION: &str = "kubevirt.io/s390-pv";
/// `kubevirt.io/vm-arch-`
const ARCHITECTURE: &str = "kubevirt.io/vm-arch-";

/// What labels of ours begin with. One that is not wanted any more is taken away.
const OURS: [&str; 17] = [
    names::CPU_FEATURE_LABEL,
    names::CPU_MODEL_LABEL,
    names::SUPPORTED_HOST_MODEL_MIGRATION_CPU,
    names::CPU_TIMER_LABEL,
    names::HYPERV_LABEL,
    names::CPU_MODEL_VENDOR_LABEL,
    REALTIME,
    SEV,
    SEV_ES,
    SEV_SNP,
    SECURE_EXECUTION,
    TDX,
    names::HOST_MODEL_CPU_LABEL,
    names::HOST_MODEL_REQUIRED_FEATURES_LABEL,
    names::NODE_HOST_MODEL_IS_OBSOLETE_LABEL,
    names::SUPPORTED_MACHINE_TYPE_LABEL,
    ARCHITECTURE,
];

/// CPU models that no guest should have any more, unless the configuration lists its own. Each stands for its first
/// version as well.
const OBSOLETE: [&str; 17] = [
    "486",
    "pentium",
    "pentium2",
    "pentium3",
    "pentiumpro",
    "coreduo",
    "n270",
    "core2duo",
    "Conroe",
    "athlon",
    "phenom",
    "qemu64",
    "qemu32",
    "kvm64",
    "kvm32",
    "Opteron_G1",
    "Opteron_G2",
];

/// What is known of a node beside what libvirt says.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Host {
    /// What libvirt says.
    pub capabilities: Capabilities,
    /// What KVM can do for guests that believe to be on Hyper-V.
    pub hyperv: Vec<String>,
    /// Whether the kernel lets real-time work run without limit.
    pub realtime: bool,
}

/// Whether a label is one that is set here.
pub fn is_ours(label: &str) -> bool {
    OURS.iter().any(|prefix| label.starts_with(prefix))
}

/// The labels of a node of that architecture.
pub fn labels(host: &Host, architecture: Architecture, config: &ClusterConfig) -> BTreeMap<String, String> {
    let Host { capabilities: c, hyperv, realtime } = host;
    let mut labels = BTreeMap::new();
    let mut yes = |prefix: &str, name: &str| {
        // a name that can be no label is no name of libvirt's
        if is_label_name(name) || prefix == names::NODE_HOST_MODEL_IS_OBSOLETE_LABEL || !prefix.ends_with(['/', '-']) {
            labels.insert(format!("{prefix}{name}"), "true".to_owned());
        }
    };
    let listed = &config.spec().obsolete_cpu_models;
    let obsolete = |model: &str| match listed.is_empty() {
        true => OBSOLETE.contains(&model.strip_suffix("-v1").unwrap_or(model)),
        false => listed.contains_key(model),
    };
    c.features.iter().for_each(|feature| yes(names::CPU_FEATURE_LABEL, feature));
    if architecture != Architecture::Arm64 {
        c.usable_models.iter().filter(|m| !obsolete(m)).for_each(|m| yes(names::CPU_MODEL_LABEL, m));
        c.known_models.iter().filter(|m| !obsolete(m)).for_each(|m| yes(names::SUPPORTED_HOST_MODEL_MIGRATION_CPU, m));
    }
    c.machines.iter().for_each(|machine| yes(names::SUPPORTED_MACHINE_TYPE_LABEL, machine));
    hyperv.iter().for_each(|ability| yes(names::HYPERV_LABEL, ability));
    if let Some(own) = &c.host_model {
        if listed.contains_key(&own.name) {
            yes(names::NODE_HOST_MODEL_IS_OBSOLETE_LABEL, "");
        }
        own.required_features.iter().for_each(|feature| yes(names::HOST_MODEL_REQUIRED_FEATURES_LABEL, feature));
        yes(names::CPU_MODEL_VENDOR_LABEL, &own.vendor);
        yes(names::HOST_MODEL_CPU_LABEL, &own.name);
    }
    let flags = [
        (REALTIME, *realtime),
        (SEV, c.sev),
        (SEV_ES, c.sev_es),
        (SEV_SNP, c.sev_snp),
        (SECURE_EXECUTION, c.secure_execution),
        (TDX, c.tdx),
    ];
    flags.into_iter().filter(|(_, there)| *there).for_each(|(label, _)| yes(label, ""));
    if config.enabled(Gate::CrossArchitectureVirtualization) {
        std::iter::once(&architecture).chain(&c.foreign).for_each(|a| yes(ARCHITECTURE, a.name()));
    }
    if let Some(counter) = c.counter {
        labels.insert(format!("{}tsc-frequency", names::CPU_TIMER_LABEL), counter.frequency.to_string());
        labels.insert(format!("{}tsc-scalable", names::CPU_TIMER_LABEL), counter.scalable.to_string());
    }
    labels
}

/// Whether a label's name may be so: at most 63 letters, digits, `-`, `_` and `.`, with a letter or digit at both ends.
fn is_label_name(name: &str) -> bool {
    let end = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric());
    name.len() <= 63
        && end(name.chars().next())
        && end(name.chars().next_back())
        && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::node::capabilities::{Counter, HostModel};

    fn host() -> Host {
        let strings = |names: &[&str]| names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>();
        Host {
            capabilities: Capabilities {
                usable_models: strings(&["Penryn", "kvm64-v1"]),
                known_models: strings(&["Penryn", "EPYC", "486"]),
                host_model: Some(HostModel { name: "Haswell".into(), vendor: "Intel".into(), required_features: strings(&["ss"]) }),
                features: strings(&["vmx", "not a label"]),
                machines: strings(&["q35"]),
                counter: Some(Counter { frequency: 5, scalable: true }),
                sev: true,
                foreign: vec![Architecture::Arm64],
                ..Capabilities::default()
            },
            hyperv: strings(&["base"]),
            realtime: true,
        }
    }

    fn of(config: &str, architecture: Architecture) -> Vec<String> {
        let config = ClusterConfig::new(&serde_yaml::from_str::<KubeVirtConfiguration>(config).unwrap());
        labels(&host(), architecture, &config).into_iter().map(|(key, value)| format!("{key}={value}")).collect()
    }

    #[test]
    fn a_node_says_what_its_guests_can_have() {
        assert_eq!(
            of("{}", Architecture::Amd64),
            [
                "cpu-feature.node.kubevirt.io/vmx=true",
                "cpu-model-migration.node.kubevirt.io/EPYC=true",
                "cpu-model-migration.node.kubevirt.io/Penryn=true",
                "cpu-model.node.kubevirt.io/Penryn=true",
                "cpu-timer.node.kubevirt.io/tsc-frequency=5",
                "cpu-timer.node.kubevirt.io/tsc-scalable=true",
                "cpu-vendor.node.kubevirt.io/Intel=true",
                "host-model-cpu.node.kubevirt.io/Haswell=true",
                "host-model-required-features.node.kubevirt.io/ss=true",
                "hyperv.node.kubevirt.io/base=true",
                "kubevirt.io/realtime=true",
                "kubevirt.io/sev=true",
                "machine-type.node.kubevirt.io/q35=true",
            ]
        );
    }

    #[test]
    fn the_configuration_says_what_is_obsolete() {
        let found = of("{obsoleteCPUModels: {Haswell: true, Penryn: false}}", Architecture::Amd64);
        assert!(found.contains(&"node-labeller.kubevirt.io/obsolete-host-model=true".to_owned()), "{found:?}");
        assert!(found.contains(&"cpu-model.node.kubevirt.io/kvm64-v1=true".to_owned()), "{found:?}");
        assert!(!found.contains(&"cpu-model.node.kubevirt.io/Penryn=true".to_owned()), "{found:?}");
    }

    #[test]
    fn guests_of_other_architectures_are_said_when_they_may_be() {
        let gate = "{developerConfiguration: {featureGates: [CrossArchitectureVirtualization]}}";
        let found = of(gate, Architecture::Amd64);
        assert!(
            found.contains(&"kubevirt.io/vm-arch-amd64=true".to_owned()) && found.contains(&"kubevirt.io/vm-arch-arm64=true".to_owned())
        );
        assert!(!of("{}", Architecture::Arm64).iter().any(|l| l.starts_with("cpu-model.") || l.starts_with("kubevirt.io/vm-arch")));
    }

    #[test]
    fn every_label_that_is_set_is_known_as_ours() {
        let gate = "{developerConfiguration: {featureGates: [CrossArchitectureVirtualization]}, obsoleteCPUModels: {Haswell: true}}";
        assert!(of(gate, Architecture::Amd64).iter().all(|label| is_ours(label)));
        assert!(!is_ours("kubernetes.io/hostname") && !is_ours(names::NODE_SCHEDULABLE));
    }
}
