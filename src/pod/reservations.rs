//! LUNs that the guest may reserve for itself (SCSI persistent reservations).

use std::collections::BTreeSet;

use crate::api::names::PERSISTENT_RESERVATION_LABEL_PREFIX;
use crate::api::v1::{VirtualMachineInstance, Volume};

use super::Context;

/// Labels of the claims behind such LUNs, by uid. Pods of guests that share one keep apart by them.
pub(super) fn labels(vmi: &VirtualMachineInstance, context: &Context) -> BTreeSet<String> {
    let reserved = vmi.spec.domain.devices.disks.iter().filter(|d| d.lun.as_ref().is_some_and(|lun| lun.reservation));
    let claims = reserved.filter_map(|disk| {
        let volume = vmi.spec.volumes.iter().find(|v| v.name == disk.name)?;
        context.claims.get(claim_name(volume)?)
    });
    claims.filter(|c| !c.uid.is_empty()).map(|c| format!("{PERSISTENT_RESERVATION_LABEL_PREFIX}{}", c.uid)).collect()
}

/// The claim that a volume stands for.
pub(super) fn claim_name(volume: &Volume) -> Option<&str> {
    let data_volume = volume.data_volume.as_ref().map(|d| d.name.as_str());
    let claim = volume.persistent_volume_claim.as_ref().map(|c| c.claim_name.as_str());
    let dump = volume.memory_dump.as_ref().map(|m| m.claim_name.as_str());
    data_volume.or(claim).or(dump).filter(|name| !name.is_empty())
}
