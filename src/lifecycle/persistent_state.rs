//! The claim that keeps a guest's own state across restarts: TPM, EFI variables, and which blocks have changed.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use crate::api::v1::{ChangedBlockTrackingState as State, ChangedBlockTrackingStatus, VirtualMachineInstanceSpec};

/// The label that names the machine whose state a claim keeps; also how the names of such claims and volumes begin.
pub const PREFIX: &str = "persistent-state-for";
/// The name of the volume in the instance's status.
pub const VOLUME_NAME: &str = "persistent-state-for-this-vm";
/// How much such a claim asks for.
pub const CLAIM_SIZE: &str = "10Mi";

/// Whether the guest has a TPM that remembers.
pub fn has_persistent_tpm(spec: &VirtualMachineInstanceSpec) -> bool {
    let tpm = spec.domain.devices.tpm.as_ref();
    tpm.is_some_and(|t| t.enabled != Some(false) && t.persistent == Some(true))
}

/// Whether the guest has EFI variables that are kept.
pub fn has_persistent_efi(spec: &VirtualMachineInstanceSpec) -> bool {
    let bootloader = spec.domain.firmware.as_ref().and_then(|f| f.bootloader.as_ref());
    bootloader.and_then(|b| b.efi.as_ref()).is_some_and(|e| e.persistent == Some(true))
}

/// Whether changed blocks are tracked, or about to be.
pub fn tracks_changes(tracking: Option<&ChangedBlockTrackingStatus>) -> bool {
    tracking.is_some_and(|t| matches!(t.state, State::Initializing | State::Enabled))
}

/// Whether the guest needs such a claim.
pub fn is_needed(spec: &VirtualMachineInstanceSpec, tracking: Option<&ChangedBlockTrackingStatus>) -> bool {
    has_persistent_tpm(spec) || has_persistent_efi(spec) || tracks_changes(tracking)
}

/// The claim that keeps the state of the machine of that name; one of an older release bears no label, only its name.
pub fn claim_of<'a>(claims: &'a [PersistentVolumeClaim], name: &str) -> Option<&'a PersistentVolumeClaim> {
    let alive = || claims.iter().filter(|c| c.metadata.deletion_timestamp.is_none());
    let labelled = alive().find(|c| c.metadata.labels.as_ref().and_then(|l| l.get(PREFIX)).is_some_and(|n| n == name));
    labelled.or_else(|| alive().find(|c| c.metadata.name.as_deref() == Some(&format!("{PREFIX}-{name}"))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_labelled_claim_goes_before_the_named_one() {
        let named = |name: &str, label: Option<&str>| {
            let mut claim = PersistentVolumeClaim::default();
            claim.metadata.name = Some(name.to_owned());
            claim.metadata.labels = label.map(|l| BTreeMap::from([(PREFIX.to_owned(), l.to_owned())]));
            claim
        };
        let claims = [named("persistent-state-for-a", None), named("x", Some("a")), named("y", Some("b"))];
        let name = |of: &str| claim_of(&claims, of).and_then(|c| c.metadata.name.as_deref());
        assert_eq!((name("a"), name("b"), name("c")), (Some("x"), Some("y"), None));
    }
}
