//! The labels that a node must have to run the guest.

use std::collections::BTreeMap;

use crate::api::names;
use crate::api::v1::{FeatureHyperv, FeatureState, VirtualMachineInstance};
use crate::config::{ClusterConfig, Gate};

use super::{settings, traits};

/// The label by which Kubernetes tells a node's architecture.
pub(super) const ARCHITECTURE: &str = "kubernetes.io/arch";
const HOST_MODEL: &str = "host-model";
const HOST_PASSTHROUGH: &str = "host-passthrough";

type Enlightenment = (&'static str, fn(&FeatureHyperv) -> Option<bool>);

fn on(state: &Option<FeatureState>) -> Option<bool> {
    state.as_ref()?.enabled
}

/// The Hyper-V enlightenments that need the host's kernel; the others are QEMU's own.
const ENLIGHTENMENTS: [Enlightenment; 9] = [
    ("vpindex", |h| on(&h.vpindex)),
    ("runtime", |h| on(&h.runtime)),
    ("reset", |h| on(&h.reset)),
    ("synic", |h| on(&h.synic)),
    ("synictimer", |h| h.synictimer.as_ref()?.enabled),
    ("frequencies", |h| on(&h.frequencies)),
    ("reenlightenment", |h| on(&h.reenlightenment)),
    ("tlbflush", |h| h.tlbflush.as_ref()?.enabled),
    ("ipi", |h| on(&h.ipi)),
];

/// The node selector of the pod. What the user selects by stands over what the administrator does.
pub(super) fn selector(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> BTreeMap<String, String> {
    let spec = &vmi.spec;
    let any_architecture = config.enabled(Gate::CrossArchitectureVirtualization) && !spec.architecture.is_empty();
    let mut labels = BTreeMap::from([(names::NODE_SCHEDULABLE.to_owned(), "true".to_owned())]);
    if !spec.architecture.is_empty() {
        labels.insert(ARCHITECTURE.to_owned(), spec.architecture.to_lowercase());
    }
    labels.extend(settings::node_selector(config).into_iter().flatten().map(|(k, v)| (k.clone(), v.clone())));
    labels.extend(spec.node_selector.iter().map(|(k, v)| (k.clone(), v.clone())));
    if any_architecture {
        labels.remove(ARCHITECTURE);
    }
    for label in required(vmi, config) {
        labels.insert(label, "true".to_owned());
    }
    if any_architecture {
        labels.insert(format!("{}{}", names::VM_ARCH_LABEL, spec.architecture), "true".to_owned());
    }
    labels
}

/// What the guest itself needs of its node, each a label whose value is `true`.
fn required(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Vec<String> {
    let domain = &vmi.spec.domain;
    let mut labels = Vec::new();
    if config.enabled(Gate::HypervStrictCheck) {
        labels.extend(domain.features.as_ref().and_then(|f| f.hyperv.as_ref()).into_iter().flat_map(enlightenments));
    }
    if let Some(cpu) = domain.cpu.as_ref().filter(|cpu| !cpu.model.is_empty()) {
        if cpu.model != HOST_MODEL && cpu.model != HOST_PASSTHROUGH {
            labels.push(format!("{}{}", names::CPU_MODEL_LABEL, cpu.model));
        }
        let features = cpu.features.iter().filter(|f| matches!(f.policy.as_str(), "" | "require"));
        labels.extend(features.map(|f| format!("{}{}", names::CPU_FEATURE_LABEL, f.name)));
    }
    // a guest that runs already knows its machine type exactly
    let running = vmi.status.machine.as_ref().map(|m| m.type_.as_str()).filter(|t| !t.is_empty());
    let machine = running.or(domain.machine.as_ref().map(|m| m.type_.as_str())).filter(|t| !t.is_empty());
    labels.extend(machine.map(|machine| format!("{}{machine}", names::SUPPORTED_MACHINE_TYPE_LABEL)));
    labels.extend(tsc_frequency(vmi).map(|hertz| format!("{}-{hertz}", names::TSC_FREQUENCY_SCHEDULING_LABEL)));
    let realtime = domain.cpu.as_ref().is_some_and(|cpu| cpu.realtime.is_some());
    let features = [
        (traits::dedicated_cpus(vmi), names::CPU_MANAGER),
        (realtime, names::REALTIME_LABEL),
        (traits::is_sev(vmi), names::SEV_LABEL),
        (traits::is_sev_es(vmi), names::SEVES_LABEL),
        (traits::is_sev_snp(vmi), names::SEVSNP_LABEL),
        (traits::is_secure_execution(vmi), names::SECURE_EXECUTION_LABEL),
        (traits::is_tdx(vmi), names::TDX_LABEL),
    ];
    labels.extend(features.into_iter().filter(|(wanted, _)| *wanted).map(|(_, label)| label.to_owned()));
    labels
}

fn enlightenments(hyperv: &FeatureHyperv) -> Vec<String> {
    let wanted = ENLIGHTENMENTS.iter().filter(|(_, enabled)| enabled(hyperv) == Some(true));
    let mut labels: Vec<String> = wanted.map(|(name, _)| format!("{}{name}", names::HYPERV_LABEL)).collect();
    // an interface of Intel's nested virtualization
    if hyperv.evmcs.as_ref().is_some_and(|e| e.enabled != Some(false)) {
        labels.push(format!("{}Intel", names::CPU_MODEL_VENDOR_LABEL));
    }
    labels
}

/// The clock that the guest's time stamp counter was promised to have, if the guest relies on it.
fn tsc_frequency(vmi: &VirtualMachineInstance) -> Option<i64> {
    let domain = &vmi.spec.domain;
    let invariant = domain
        .cpu
        .as_ref()
        .is_some_and(|cpu| cpu.features.iter().any(|f| f.name == "invtsc" && matches!(f.policy.as_str(), "require" | "force")));
    let hyperv = domain.features.as_ref().and_then(|f| f.hyperv.as_ref());
    let reenlightened = hyperv.is_some_and(|h| on(&h.reenlightenment) == Some(true));
    let promised = vmi.status.topology_hints.as_ref().and_then(|hints| hints.tsc_frequency).filter(|hertz| *hertz > 0);
    promised.filter(|_| invariant || reenlightened)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::{Machine, TopologyHints};
    use crate::pod::fixture::{config, vmi};

    fn labels(spec: &str, settings: &str) -> String {
        let labels = selector(&vmi(spec), &config(settings));
        let labels = labels.into_iter().filter(|(k, _)| k != names::NODE_SCHEDULABLE);
        labels.map(|(k, v)| if v == "true" { k } else { format!("{k}={v}") }).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_node_must_have_what_the_guest_needs() {
        let strict = "{developerConfiguration: {featureGates: [HypervStrictCheck]}}";
        let cross = "{developerConfiguration: {featureGates: [CrossArchitectureVirtualization]}}";
        for (spec, settings, expected) in [
            ("{domain: {devices: {}}}", "{}", ""),
            ("{architecture: AMD64, domain: {devices: {}}}", "{}", "kubernetes.io/arch=amd64"),
            ("{architecture: arm64, domain: {devices: {}}}", cross, "kubevirt.io/vm-arch-arm64"),
            ("{domain: {cpu: {model: host-model, dedicatedCpuPlacement: true}, devices: {}}}", "{}", "kubevirt.io/cpumanager"),
            (
                "{domain: {cpu: {model: Penryn, features: [{name: a}, {name: b, policy: disable}, {name: c, policy: require}]}, devices: {}}}",
                "{}",
                "cpu-feature.node.kubevirt.io/a cpu-feature.node.kubevirt.io/c cpu-model.node.kubevirt.io/Penryn",
            ),
            ("{domain: {cpu: {features: [{name: a}]}, devices: {}}}", "{}", ""),
            ("{domain: {features: {hyperv: {ipi: {enabled: true}, evmcs: {}}}, devices: {}}}", "{}", ""),
            (
                "{domain: {features: {hyperv: {ipi: {enabled: true}, runtime: {}, evmcs: {}}}, devices: {}}}",
                strict,
                "cpu-vendor.node.kubevirt.io/Intel hyperv.node.kubevirt.io/ipi",
            ),
            (
                "{domain: {launchSecurity: {sev: {policy: {encryptedState: true}}}, devices: {}}}",
                "{}",
                "kubevirt.io/sev kubevirt.io/sev-es",
            ),
            ("{architecture: s390x, domain: {launchSecurity: {}, devices: {}}}", "{}", "kubernetes.io/arch=s390x kubevirt.io/s390-pv"),
            (
                "{nodeSelector: {zone: b}, domain: {devices: {}}}",
                "{developerConfiguration: {nodeSelectors: {zone: a, rack: r}}}",
                "rack=r zone=b",
            ),
        ] {
            assert_eq!(labels(spec, settings), expected, "{spec} {settings}");
        }
    }

    #[test]
    fn what_runs_already_says_more_than_what_was_wished() {
        let mut vmi = vmi("{domain: {machine: {type: q35}, cpu: {model: a, features: [{name: invtsc, policy: require}]}, devices: {}}}");
        vmi.status.machine = Some(Machine { type_: "pc-q35-9.0".to_owned() });
        vmi.status.topology_hints = Some(TopologyHints { tsc_frequency: Some(12) });
        let labels = selector(&vmi, &config("{}"));
        assert!(labels.contains_key("machine-type.node.kubevirt.io/pc-q35-9.0"), "{labels:?}");
        assert!(labels.contains_key("scheduling.node.kubevirt.io/tsc-frequency-12"), "{labels:?}");
    }
}
