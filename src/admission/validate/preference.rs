//! Rules for preferences, of a namespace and of the cluster.

use crate::admission::{Cause, Findings, Request};
use crate::api::instancetype::{
    CpuPreferences, PreferredCpuTopology as Topology, SpreadAcross, VirtualMachineClusterPreference, VirtualMachinePreference,
    VirtualMachinePreferenceSpec,
};

const TOPOLOGY: &str = "spec.cpu.preferredCPUTopology";
const DEFAULT_RATIO: u32 = 2;

/// Judges a preference of a namespace.
pub fn judge(preference: &VirtualMachinePreference, _: Option<&VirtualMachinePreference>, _: &Request, findings: &mut Findings) {
    judge_spec(&preference.spec, findings);
}

/// Judges a preference of the cluster.
pub fn judge_cluster(
    preference: &VirtualMachineClusterPreference,
    _: Option<&VirtualMachineClusterPreference>,
    _: &Request,
    findings: &mut Findings,
) {
    judge_spec(&preference.spec, findings);
}

fn judge_spec(spec: &VirtualMachinePreferenceSpec, findings: &mut Findings) {
    let Some(cpu) = &spec.cpu else { return };
    let Some(topology) = &cpu.preferred_cpu_topology else { return };
    if !topology.is_known() {
        let known = Topology::VALUES.iter().filter(|name| !name.starts_with("prefer")).copied().collect::<Vec<_>>().join(", ");
        findings.deny(Cause::invalid(TOPOLOGY, format!("{:?} is unknown; it must be one of {known}", topology.as_str())));
    }
    if matches!(topology, Topology::Spread | Topology::PreferSpread) {
        spread(cpu, spec.prefer_spread_socket_to_core_ratio, findings);
    }
    if let Some(successor) = successor(topology).filter(|_| findings.causes.is_empty()) {
        // tools match on the words, so they are KubeVirt's
        findings
            .warn(format!("PreferredCPUTopology {topology} is deprecated for removal in a future release, please use {successor} instead"));
    }
}

fn spread(cpu: &CpuPreferences, older_ratio: u32, findings: &mut Findings) {
    let options = cpu.spread_options.as_ref();
    let across = options.and_then(|options| options.across.clone()).unwrap_or(SpreadAcross::SocketsCores);
    let older = Some(older_ratio).filter(|ratio| *ratio != 0);
    let ratio = options.and_then(|options| options.ratio).or(older).unwrap_or(DEFAULT_RATIO);
    if !across.is_known() {
        let text = format!("{:?} is unknown; it must be one of {}", across.as_str(), SpreadAcross::VALUES.join(", "));
        findings.deny(Cause::invalid("spec.cpu.spreadOptions.across", text));
    } else if across == SpreadAcross::CoresThreads && ratio != 2 {
        let text = format!("a core has 2 threads, so that the ratio must be 2, not {ratio}, when vCPUs are spread over cores and threads");
        findings.deny(Cause::invalid("spec.cpu.spreadOptions.ratio", text));
    }
}

/// The present name of a topology that is still known by an older one.
fn successor(topology: &Topology) -> Option<Topology> {
    Some(match topology {
        Topology::PreferSockets => Topology::Sockets,
        Topology::PreferCores => Topology::Cores,
        Topology::PreferThreads => Topology::Threads,
        Topology::PreferSpread => Topology::Spread,
        Topology::PreferAny => Topology::Any,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::review;
    use crate::admission::testing::{denied, request};

    fn preference(topology: &str, options: Value, ratio: u32) -> Value {
        let cpu = json!({"preferredCPUTopology": topology, "spreadOptions": options});
        json!({"metadata": {"name": "p"}, "spec": {"cpu": cpu, "preferSpreadSocketToCoreRatio": ratio}})
    }

    #[test]
    fn vcpus_are_spread_over_what_there_is() {
        for kind in ["VirtualMachinePreference", "VirtualMachineClusterPreference"] {
            for (topology, options, ratio, want) in [
                ("cores", json!(null), 0, &[] as &[&str]),
                ("diagonal", json!(null), 0, &["spec.cpu.preferredCPUTopology"]),
                ("", json!(null), 0, &["spec.cpu.preferredCPUTopology"]),
                ("spread", json!(null), 7, &[]),
                ("spread", json!({"across": "SocketsCoresThreads", "ratio": 7}), 0, &[]),
                ("spread", json!({"across": "Everything"}), 0, &["spec.cpu.spreadOptions.across"]),
                ("cores", json!({"across": "Everything"}), 0, &[]),
                ("preferSpread", json!({"across": "CoresThreads"}), 0, &[]),
                ("spread", json!({"across": "CoresThreads"}), 4, &["spec.cpu.spreadOptions.ratio"]),
                ("spread", json!({"across": "CoresThreads", "ratio": 3}), 2, &["spec.cpu.spreadOptions.ratio"]),
            ] {
                let object = preference(topology, options.clone(), ratio);
                assert_eq!(denied(kind, &object, &json!({}), &json!([])), want, "{topology} {options}");
            }
        }
    }

    #[test]
    fn older_names_are_warned_of() {
        let warnings = |topology: &str| {
            let object = preference(topology, json!(null), 0);
            request("VirtualMachineClusterPreference", &object, |request| review(request).warnings)
        };
        assert_eq!(warnings("any"), [""; 0]);
        assert_eq!(
            warnings("preferAny"),
            ["PreferredCPUTopology preferAny is deprecated for removal in a future release, please use any instead"]
        );
    }
}
