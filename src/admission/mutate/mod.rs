//! What objects look like once they are in: one file a kind or area.

pub mod clone;
pub mod migration;
pub mod vm;
pub mod vmi;

use super::{Cause, Seed};
use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;

/// Fills in what an instance leaves open, as at its creation. Who creates instances without the webhook (the
/// controllers, the launcher without a cluster) gets the same instance.
pub fn vmi(instance: &mut VirtualMachineInstance, config: &ClusterConfig, seed: Seed) -> Result<(), Cause> {
    vmi::defaults(instance, config, seed)
}
