//! What the configuration says to launcher pods alone.

use std::collections::BTreeMap;

use crate::api::Quantity;
use crate::config::{ClusterConfig, KVM};

/// How verbose a launcher is when nobody says anything.
pub(super) const DEFAULT_VERBOSITY: u64 = 2;
/// Microsoft's hypervisor, driven from a Linux root partition.
const HYPERV_DIRECT: &str = "hyperv-direct";

/// Labels that every node must have which runs guests.
pub(super) fn node_selector(config: &ClusterConfig) -> Option<&BTreeMap<String, String>> {
    config.developer().map(|d| &d.node_selectors)
}

/// How verbose launchers are.
pub(super) fn launcher_verbosity(config: &ClusterConfig) -> u64 {
    config.developer().and_then(|d| d.log_verbosity.as_ref()).map_or(DEFAULT_VERBOSITY, |v| v.virt_launcher)
}

/// How much memory the check of a disk image may take, in bytes.
pub(super) fn disk_check_memory(config: &ClusterConfig) -> i128 {
    let limit = config.developer().and_then(|d| d.disk_verification.as_ref()?.memory_limit.as_ref());
    limit.map_or(0, Quantity::value)
}

/// The device that the hypervisor is reached by.
pub(super) fn hypervisor_device(config: &ClusterConfig) -> &'static str {
    if config.hypervisor() == HYPERV_DIRECT { "mshv" } else { KVM }
}
