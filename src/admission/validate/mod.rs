//! What is wrong with an object: one file a kind or area, one small function a rule.

mod architecture;
pub mod backup;
pub mod clone;
mod data_volumes;
pub mod export;
mod hotplug;
mod hyperv;
mod instance;
pub mod instancetype;
pub mod kubevirt;
pub(crate) mod matchers;
mod metadata;
pub mod migration;
pub mod migration_policy;
pub(crate) mod naming;
mod paths;
pub mod plugin;
pub mod pool;
pub mod preference;
pub mod preset;
mod reference;
pub mod replicaset;
pub mod restore;
pub(crate) mod selectors;
pub mod snapshot;
mod spec;
pub mod vm;
mod vm_status;
pub mod vmi;
mod vmi_update;

use super::{Cause, Path};
use crate::api::v1::VirtualMachineInstanceSpec;
use crate::config::ClusterConfig;

/// Judges the specification of an instance, or of a template of instances, that has its defaults; `at` is where it is.
pub fn vmi_spec(at: &Path, spec: &VirtualMachineInstanceSpec, config: &ClusterConfig) -> Vec<Cause> {
    let mut causes = Vec::new();
    spec::judge(&spec::Subject { at, spec, config }, &mut causes);
    causes
}
