//! Whether a machine keeps a state of its own beside its disks: TPM, EFI variables, and which blocks have changed.

use crate::api::v1::{ChangedBlockTrackingState as State, ChangedBlockTrackingStatus, VirtualMachineInstanceSpec};

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
