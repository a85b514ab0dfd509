//! What outlives the pod beside the disks: the TPM's state, the EFI variables, the bitmaps of backups.

use k8s_openapi::api::core::v1::{PersistentVolumeClaimVolumeSource, Volume};

use crate::api::v1::VirtualMachineInstance;

use super::super::{Context, Error, paths, traits};
use super::{Plan, mount, part};

/// The volume that holds it.
const STATE: &str = "vm-state";
const LIBVIRT: &str = "private-libvirt";
const QEMU: &str = "private-libvirt-qemu";
/// All of this.
pub(in super::super) const STATE_DIRECTORIES: [&str; 3] = [STATE, LIBVIRT, QEMU];

/// Which field needs a claim for the machine's state, if any does.
fn needed_by(vmi: &VirtualMachineInstance) -> Option<&'static str> {
    if traits::has_persistent_tpm(vmi) {
        Some("spec.domain.devices.tpm.persistent")
    } else if traits::has_persistent_efi(vmi) {
        Some("spec.domain.firmware.bootloader.efi.persistent")
    } else if traits::tracks_changed_blocks(vmi) {
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
        (traits::has_persistent_tpm(vmi), paths.tpm, "swtpm"),
        (traits::has_persistent_tpm(vmi), paths.tpm_ca, "swtpm-localca"),
        (traits::has_persistent_efi(vmi), paths.nvram, "nvram"),
        (traits::tracks_changed_blocks(vmi), paths.changed_blocks, "cbt"),
    ] {
        if wanted {
            plan.mount(part(STATE, path, sub_path));
        }
    }
    Ok(())
}
