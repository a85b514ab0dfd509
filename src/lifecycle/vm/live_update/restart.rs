//! What of the template differs from what the guest was started from, and cannot be changed while it runs.

use super::super::generation;
use super::super::pass::Pass;
use super::{effective_spec, interfaces, require_restart};
use crate::api::v1::{
    Disk, UpdateVolumesStrategy, VirtualMachine, VirtualMachineConditionType as Kind, VirtualMachineInstanceSpec as Spec, Volume,
};
use crate::lifecycle::patch::Patch;
use crate::lifecycle::{conditions, volumes};

/// How many changed fields the condition names.
const MOST_NAMED: usize = 8;

/// Tells whether the guest has to be restarted; takes it back when the change is taken back.
pub(super) fn compare(pass: &mut Pass<'_>) -> bool {
    let Some(instance) = pass.instance.clone() else {
        return false;
    };
    let Some(started_from) = generation::last_started_spec(pass.observed) else {
        return false;
    };
    let before = VirtualMachine { metadata: pass.machine.metadata.clone(), spec: started_from, ..VirtualMachine::default() };
    let (Some(mut before), Some(now)) = (effective_spec(pass, &before), effective_spec(pass, &pass.machine)) else {
        return false;
    };
    // From here on whatever can be changed while the guest runs counts as unchanged.
    let migrates = pass.machine.spec.update_volumes_strategy == Some(UpdateVolumesStrategy::Migration);
    let (volumes_live, disks_live) = (volumes_live(&before, &now, migrates), disks_live(&before, &now));
    if volumes_live {
        before.volumes.clone_from(&now.volumes);
    }
    if disks_live {
        before.domain.devices.disks.clone_from(&now.domain.devices.disks);
    }
    if pass.config.live_update() {
        if let (Some(before), Some(now)) = (&mut before.domain.cpu, &now.domain.cpu) {
            before.sockets = now.sockets;
        }
        if let Some(guest) = now.domain.memory.as_ref().and_then(|m| m.guest.clone()) {
            before.domain.memory.get_or_insert_default().guest = Some(guest);
        }
        before.node_selector.clone_from(&now.node_selector);
        before.affinity.clone_from(&now.affinity);
        before.tolerations.clone_from(&now.tolerations);
    }
    if interfaces::can_follow(&now, &instance.spec) {
        before.domain.devices.interfaces.clone_from(&now.domain.devices.interfaces);
        before.networks.clone_from(&now.networks);
    }
    // The UUID was written into the machine after the guest had been given it.
    if let (Some(of_guest), Some(of_machine)) = (&instance.spec.domain.firmware, &now.domain.firmware)
        && of_guest.uuid == of_machine.uuid
    {
        before.domain.firmware.get_or_insert_default().uuid.clone_from(&of_machine.uuid);
    }
    if before == now {
        conditions::remove(&mut pass.machine.status.conditions, &Kind::RestartRequired);
        return false;
    }
    require_restart(pass, format!("the guest has to be restarted for what was changed of its template: {}", changed_fields(&before, &now)));
    true
}

fn changed_fields(before: &Spec, now: &Spec) -> String {
    let patch = Patch::between(before, now);
    let changes = patch.0.iter().filter(|step| step.op != "test");
    let fields: Vec<_> = changes.map(|step| format!("spec{}", step.path.replace('/', ".").replace("~1", "/").replace("~0", "~"))).collect();
    let named = fields.iter().take(MOST_NAMED).cloned().collect::<Vec<_>>().join(", ");
    match fields.len().saturating_sub(MOST_NAMED) {
        0 => named,
        more => format!("{named} and {more} more"),
    }
}

fn volume<'a>(spec: &'a Spec, name: &str) -> Option<&'a Volume> {
    spec.volumes.iter().find(|v| v.name == name)
}

fn disk<'a>(spec: &'a Spec, name: &str) -> Option<&'a Disk> {
    spec.domain.devices.disks.iter().find(|d| d.name == name)
}

/// Whether the volumes changed only in ways that a running guest follows.
fn volumes_live(before: &Spec, now: &Spec, migrates: bool) -> bool {
    let stays = |new: &Volume| match volume(before, &new.name) {
        _ if volumes::is_hotplug(new) => true,
        None => false,
        Some(_) if migrates && (new.persistent_volume_claim.is_some() || new.data_volume.is_some()) => true,
        Some(old) => old == new,
    };
    let gone = before.volumes.iter().filter(|old| volume(now, &old.name).is_none());
    now.volumes.iter().all(stays) && gone.into_iter().all(volumes::is_hotplug)
}

/// Whether the disks changed only in ways that a running guest follows.
fn disks_live(before: &Spec, now: &Spec) -> bool {
    let stays = |new: &Disk| {
        let hotplug = volume(now, &new.name).is_some_and(volumes::is_hotplug);
        hotplug || disk(before, &new.name).is_some_and(|old| old == new)
    };
    let gone = before.domain.devices.disks.iter().filter(|old| disk(now, &old.name).is_none());
    let may_go = |old: &Disk| volume(before, &old.name).is_none_or(volumes::is_hotplug) && old.cdrom.is_none();
    now.domain.devices.disks.iter().all(stays) && gone.into_iter().all(may_go)
}
