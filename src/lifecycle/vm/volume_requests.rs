//! Requests to add and remove volumes: done in the template, and in the instance while it runs.

use super::pass::Pass;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstancePhase as Phase, VirtualMachineVolumeRequest as VolumeRequest};
use crate::lifecycle::action::Failure;
use crate::lifecycle::volumes;

const FAILED: &str = "HotPlugVolumeError";

/// Carries the requests out.
pub(super) fn carry_out(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let requests = pass.machine.status.volume_requests.clone();
    let live = pass.instance.as_ref().filter(|i| i.metadata.deletion_timestamp.is_none());
    if let Some(instance) = live {
        let mut wanted = instance.clone();
        for request in requests.iter().filter(|r| changes(instance, r)) {
            if instance.status.phase != Phase::Running {
                return Err(Failure::new(FAILED, "volumes come and go while the guest runs; it does not run yet"));
            }
            if let Some(name) = fixed_volume(instance, request) {
                return Err(Failure::new(FAILED, format!("the volume {name:?} is no hotplug volume, it stays as long as the guest runs")));
            }
            volumes::apply_request(&mut wanted.spec, request);
        }
        pass.instance = Some(wanted);
    }
    if let Some(template) = &mut pass.machine.spec.template {
        requests.iter().for_each(|request| volumes::apply_request(&mut template.spec, request));
    }
    Ok(())
}

/// Whether the request is news for the instance.
fn changes(instance: &VirtualMachineInstance, request: &VolumeRequest) -> bool {
    let has = |name: &str| instance.spec.volumes.iter().any(|v| v.name == name);
    match (&request.add_volume_options, &request.remove_volume_options) {
        (Some(add), _) => !has(&add.name),
        (None, Some(remove)) => has(&remove.name),
        (None, None) => false,
    }
}

fn fixed_volume<'a>(instance: &VirtualMachineInstance, request: &'a VolumeRequest) -> Option<&'a str> {
    let name = &request.remove_volume_options.as_ref().filter(|_| request.add_volume_options.is_none())?.name;
    let volume = instance.spec.volumes.iter().find(|v| v.name == *name)?;
    (!volumes::is_hotplug(volume)).then_some(name)
}

/// Forgets the requests that the template shows done.
pub(super) fn trim(pass: &mut Pass<'_>) {
    let Some(template) = &pass.machine.spec.template else {
        return;
    };
    let has_volume = |name: &str| template.spec.volumes.iter().any(|v| v.name == name);
    let has_disk = |name: &str| template.spec.domain.devices.disks.iter().any(|d| d.name == name);
    pass.machine.status.volume_requests.retain(|request| match (&request.add_volume_options, &request.remove_volume_options) {
        (Some(add), _) => !(has_volume(&add.name) && has_disk(&add.name)),
        (None, Some(remove)) => has_volume(&remove.name) || has_disk(&remove.name),
        (None, None) => false,
    });
}
