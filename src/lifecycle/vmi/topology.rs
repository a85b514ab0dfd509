//! The frequency of the time stamp counter, for guests that must see the same on every node.

use super::pass::Pass;
use crate::api::v1::{TopologyHints, VirtualMachineInstance};
use crate::lifecycle::action::Event;

/// Whether the guest cannot even start without.
fn must_have(instance: &VirtualMachineInstance) -> bool {
    let features = instance.spec.domain.cpu.iter().flat_map(|c| &c.features);
    features.filter(|f| f.name == "invtsc").any(|f| matches!(f.policy.as_str(), "require" | "force"))
}

fn wants(instance: &VirtualMachineInstance) -> bool {
    let hyperv = instance.spec.domain.features.as_ref().and_then(|f| f.hyperv.as_ref());
    must_have(instance) || hyperv.and_then(|h| h.reenlightenment.as_ref()).is_some_and(|r| r.enabled == Some(true))
}

/// Whether the guest's start has to wait until the frequency is known.
pub fn needs_frequency(instance: &VirtualMachineInstance) -> bool {
    instance.spec.architecture == "amd64" && wants(instance)
}

/// Notes the frequency that every node of the cluster can give.
pub(super) fn hint(pass: &mut Pass<'_>) {
    if pass.instance.status.topology_hints.is_some() || !needs_frequency(&pass.instance) {
        return;
    }
    let configured = pass.config.developer().and_then(|d| d.minimum_cluster_tsc_frequency);
    match configured.or(pass.observed.lowest_tsc_frequency) {
        Some(frequency) if frequency > 0 || configured.is_none() => {
            pass.instance.status.topology_hints = Some(TopologyHints { tsc_frequency: Some(frequency) });
        }
        Some(frequency) if must_have(&pass.instance) => {
            let message = format!("set developerConfiguration.minimumClusterTSCFrequency to a number above 0, not {frequency}");
            pass.standing.push(Event::warning("FailedGatherhingClusterTopologyHints", message));
        }
        _ => {}
    }
}
