//! Whether a guest is on the move.

use k8s_openapi::jiff::Timestamp;

use crate::api::v1::VirtualMachineInstance;

/// Whether a migration of the instance has begun and not ended.
pub fn is_migrating(instance: &VirtualMachineInstance, now: Timestamp) -> bool {
    let past = |time: &Option<k8s_openapi::apimachinery::pkg::apis::meta::v1::Time>| time.as_ref().is_some_and(|t| t.0 <= now);
    instance.status.migration_state.as_ref().is_some_and(|m| past(&m.start_timestamp) && !past(&m.end_timestamp))
}

/// Whether one side of the instance's migration is another cluster.
pub fn is_decentralized(instance: &VirtualMachineInstance) -> bool {
    let state = instance.status.migration_state.as_ref();
    let (Some(source), Some(target)) = (state.and_then(|s| s.source_state.as_ref()), state.and_then(|s| s.target_state.as_ref())) else {
        return false;
    };
    source.sync_address.is_some() != target.sync_address.is_some()
}
