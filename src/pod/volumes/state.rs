//! What outlives the pod beside the disks: the TPM's state, the EFI variables, the bitmaps of backups.

use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Volume};

use crate::api::v1::{ChangedBlockTrackingStatus, VirtualMachineInstance};

use super::super::persistence::{has_persistent_efi, has_persistent_tpm, tracks_changes};
use super::super::{Context, Error, paths, traits};
use super::{Plan, mount, part};

/// The volume that holds it.
const STATE: &str = "vm-state";
const LIBVIRT: &str = "private-libvirt";
const QEMU: &str = "private-libvirt-qemu";
/// All of this.
pub(in super::super) const STATE_DIRECTORIES: [&str; 3] = [STATE, LIBVIRT, QEMU];

fn tracking(vmi: &VirtualMachineInstance) -> Option<&ChangedBlockTrackingStatus> {
    vmi.status.changed_block_tracking.as_ref()
}

/// Which field needs a claim for the machine's state, if any does.
fn needed_by(vmi: &VirtualMachineInstance) -> Option<&'static str> {
    if has_persistent_tpm(&vmi.spec) {
        Some("spec.domain.devices.tpm.persistent")
    } else if has_persistent_efi(&vmi.spec) {
        Some("spec.domain.firmware.bootloader.efi.persistent")
    } else if tracks_changes(tracking(vmi)) {
        Some("status.changedBlockTracking")
    } else {
        None
    }
}

pub(super) fn add(plan: &mut Plan, vmi: &VirtualMachineInstance, context: &Context) -> Result<(), Error> {
    let Some(field) = needed_by(vmi) else { return Ok(()) };
    let claim_name = context.state_claim.clone().ok_or(Error::NoStateClaim { field })?;
    let source = PersistentVolumeClaimVolumeSource { claim_name, read_only: None };
    plan.volume(Volume { name: STATE.to_owned(), persistent_volume_claim: Some(source), ..Volume::default() });
    plan.mount(part(STATE, paths::STATE_META, "meta"));
    let non_root = traits::non_root(vmi);
    if non_root {
        // without these the kubelet makes the directories itself, and they would belong to root
        for (name, path) in [(LIBVIRT, "libvirt"), (QEMU, "libvirt/qemu")] {
            plan.empty_dir(name);
            plan.mount(mount(name, format!("{}/{path}", paths::PRIVATE)));
        }
    }
    let paths = paths::state(non_root);
    for (wanted, path, sub_path) in [
        (has_persistent_tpm(&vmi.spec), paths.tpm, "swtpm"),
        (has_persistent_tpm(&vmi.spec), paths.tpm_ca, "swtpm-localca"),
        (has_persistent_efi(&vmi.spec), paths.nvram, "nvram"),
        (tracks_changes(tracking(vmi)), paths.changed_blocks, "cbt"),
    ] {
        if wanted {
            plan.mount(part(STATE, path, sub_path));
        }
    }
    Ok(())
}
