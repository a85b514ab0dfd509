//! Hotplug volumes by the template alone: what it has is plugged in, what it has no longer is pulled out.

use super::super::pass::Pass;
use crate::api::v1::{
    Disk, UpdateVolumesStrategy, VirtualMachineInstance, VirtualMachineInstancePhase as Phase, VirtualMachineInstanceSpec as Spec, Volume,
};
use crate::config::Gate;

/// Makes the guest's hotplug volumes those of the template.
pub(super) fn follow(pass: &mut Pass<'_>) {
    let by_request = pass.config.enabled(Gate::HotplugVolumes) || !pass.config.enabled(Gate::DeclarativeHotplugVolumes);
    if by_request || pass.machine.spec.update_volumes_strategy == Some(UpdateVolumesStrategy::Migration) {
        return;
    }
    let Some(template) = pass.machine.spec.template.as_ref().map(|t| &t.spec) else {
        return;
    };
    if let Some(instance) = pass.instance.as_mut().filter(|i| i.status.phase == Phase::Running) {
        let volumes = volumes(template, instance);
        instance.spec.domain.devices.disks = disks(template, &instance.spec, &volumes);
        instance.spec.volumes = volumes;
    }
}

fn is_hotplug(volume: &Volume) -> bool {
    volume.data_volume.as_ref().is_some_and(|s| s.hotpluggable) || volume.persistent_volume_claim.as_ref().is_some_and(|s| s.hotpluggable)
}

fn find<'a>(volumes: &'a [Volume], name: &str) -> Option<&'a Volume> {
    volumes.iter().find(|v| v.name == name)
}

fn volumes(template: &Spec, instance: &VirtualMachineInstance) -> Vec<Volume> {
    // One that changed goes first, and comes back when it has gone.
    let stays = |volume: &&Volume| {
        !is_hotplug(volume) || find(&template.volumes, &volume.name).is_some_and(|wanted| !is_hotplug(wanted) || wanted == *volume)
    };
    let old = instance.spec.volumes.iter().filter(stays);
    let told = |name: &str| instance.status.volume_status.iter().any(|s| s.name == name);
    let new = template.volumes.iter().filter(|v| is_hotplug(v) && find(&instance.spec.volumes, &v.name).is_none() && !told(&v.name));
    old.chain(new).cloned().collect()
}

fn disks(template: &Spec, spec: &Spec, volumes: &[Volume]) -> Vec<Disk> {
    let wanted = |name: &str| template.domain.devices.disks.iter().find(|d| d.name == name);
    let stays = |disk: &&Disk| {
        if find(volumes, &disk.name).is_some() {
            return true;
        }
        // A drive stays without its medium; any other disk goes with its volume.
        let both_drives = disk.cdrom.is_some() && wanted(&disk.name).is_some_and(|d| d.cdrom.is_some());
        wanted(&disk.name).is_some() && (both_drives || find(&template.volumes, &disk.name).is_none())
    };
    let is_new = |disk: &&Disk| {
        let known = spec.domain.devices.disks.iter().any(|d| d.name == disk.name);
        !known && find(volumes, &disk.name).is_some_and(is_hotplug)
    };
    let old = spec.domain.devices.disks.iter().filter(stays);
    old.chain(template.domain.devices.disks.iter().filter(is_new)).cloned().collect()
}
