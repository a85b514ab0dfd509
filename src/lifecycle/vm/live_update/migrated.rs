//! Volumes that move to other claims while the guest runs: the guest migrates, and its disks with it.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

use super::super::Observed;
use super::super::pass::Pass;
use super::super::strategy::is_final;
use super::require_restart;
use crate::api::cdi::DataVolumePhase;
use crate::api::names;
use crate::api::v1::{
    PersistentVolumeClaimInfo as ClaimInfo, StorageMigratedVolumeInfo as Moved, UpdateVolumesStrategy as Strategy, VirtualMachine,
    VirtualMachineCondition, VirtualMachineConditionType, VirtualMachineInstance, VirtualMachineInstanceCondition as Condition,
    VirtualMachineInstanceConditionType as Kind, VolumeMigrationState,
};
use crate::lifecycle::action::Failure;
use crate::lifecycle::vmi::claim_info;
use crate::lifecycle::{conditions, persistent_state, volumes};

const FAILED: &str = "VolumesUpdateError";

/// The volumes of the template whose claim is another than the guest has, with the new claim.
fn updated(machine: &VirtualMachine, instance: &VirtualMachineInstance) -> BTreeMap<String, String> {
    let template = machine.spec.template.iter().flat_map(|t| &t.spec.volumes);
    let wanted = template.filter_map(|v| Some((v.name.as_str(), volumes::claim_name(v)?)));
    let has = |name: &str| instance.spec.volumes.iter().find(|v| v.name == name).and_then(volumes::claim_name);
    wanted.filter(|(name, claim)| has(name).is_some_and(|old| old != *claim)).map(|(n, c)| (n.to_owned(), c.to_owned())).collect()
}

/// Moves the guest's volumes to the claims of the template.
pub(super) fn follow(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let Some(mut instance) = pass.instance.clone() else {
        return Ok(());
    };
    let updated = updated(&pass.machine, &instance);
    let moving = conditions::has(&instance.status.conditions, &Kind::VolumesChange, "True");
    if moving && instance.status.migrated_volumes.iter().any(|m| updated.contains_key(&m.volume_name)) {
        cancel(pass, &mut instance, &updated)?;
        pass.instance = Some(instance);
        return Ok(());
    }
    match &pass.machine.spec.update_volumes_strategy {
        Some(Strategy::Migration) if !updated.is_empty() => {}
        None | Some(Strategy::Replacement | Strategy::Migration) => return Ok(()),
        Some(Strategy::Other(other)) => {
            let message = format!("set spec.updateVolumesStrategy to Replacement or Migration, not {other:?}");
            return Err(Failure::new(FAILED, message));
        }
    }
    match judge(pass, &instance, &updated) {
        Ok(()) => conditions::remove(&mut instance.status.conditions, &Kind::VolumesChange),
        Err(Verdict::Missing(message)) => {
            let told = Condition { message, ..change(pass, "False") };
            conditions::set(&mut instance.status.conditions, told);
            pass.instance = Some(instance);
            return Ok(());
        }
        Err(Verdict::Never(message)) => {
            require_restart(pass, message);
            return Ok(());
        }
    }
    let moved: Vec<_> = updated.iter().map(|(name, claim)| describe(pass.observed, &instance, name, claim)).collect();
    if let Some(message) = stays_behind(&instance, &moved) {
        require_restart(pass, message);
        return Ok(());
    }
    if instance.status.migrated_volumes.is_empty() {
        instance.status.migrated_volumes.clone_from(&moved);
    }
    put_volumes(&pass.machine, &mut instance);
    pass.instance = Some(instance);
    let state = VolumeMigrationState { migrated_volumes: moved };
    pass.machine.status.volume_update_state.get_or_insert_default().volume_migration_state = Some(state);
    Ok(())
}

fn change(pass: &Pass<'_>, status: &str) -> Condition {
    let (type_, last_transition_time) = (Kind::VolumesChange, Some(Time(pass.now)));
    Condition { type_, status: status.to_owned(), last_transition_time, ..Condition::default() }
}

/// Gives the guest the template's volumes where they move.
fn put_volumes(machine: &VirtualMachine, instance: &mut VirtualMachineInstance) {
    let template = machine.spec.template.as_ref().map_or(&[][..], |t| &t.spec.volumes);
    let moved = &instance.status.migrated_volumes;
    for volume in instance.spec.volumes.iter_mut().filter(|v| moved.iter().any(|m| m.volume_name == v.name)) {
        if let Some(wanted) = template.iter().find(|v| v.name == volume.name) {
            volume.clone_from(wanted);
        }
    }
}

/// A move can only be called off as a whole, back to where the volumes were.
fn cancel(pass: &Pass<'_>, instance: &mut VirtualMachineInstance, updated: &BTreeMap<String, String>) -> Result<(), Failure> {
    let moved = instance.status.migrated_volumes.clone();
    let reverted = |m: &Moved| m.source_pvc_info.as_ref().is_some_and(|info| updated.get(&m.volume_name) == Some(&info.claim_name));
    if !moved.iter().all(reverted) || updated.len() != moved.len() {
        let message = "volumes are on the move; put all of them back to their old claims, or let them arrive";
        return Err(Failure::new(FAILED, message));
    }
    put_volumes(&pass.machine, instance);
    instance.status.migrated_volumes.clear();
    let reason = names::VMI_REASON_VOLUMES_CHANGE_CANCELLATION.to_owned();
    conditions::set(&mut instance.status.conditions, Condition { reason, ..change(pass, "False") });
    Ok(())
}

/// Why volumes cannot move: not yet, or not at all.
enum Verdict {
    Missing(String),
    Never(String),
}

fn judge(pass: &Pass<'_>, instance: &VirtualMachineInstance, updated: &BTreeMap<String, String>) -> Result<(), Verdict> {
    let devices = &instance.spec.domain.devices;
    let mut faults: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for volume in pass.machine.spec.template.iter().flat_map(|t| &t.spec.volumes).filter(|v| updated.contains_key(&v.name)) {
        let name = volume.name.as_str();
        if devices.filesystems.iter().any(|f| f.name == name) {
            faults.entry("shared as a file system").or_default().push(name);
            continue;
        }
        let Some(disk) = devices.disks.iter().find(|d| d.name == name) else {
            continue;
        };
        if disk.shareable == Some(true) {
            faults.entry("shared with other guests").or_default().push(name);
        } else if disk.lun.is_some() {
            faults.entry("passed through as a LUN").or_default().push(name);
        } else if let Some(source) = &volume.persistent_volume_claim {
            exists(pass.observed, &source.claim_name)?;
        } else if let Some(source) = &volume.data_volume {
            let data_volume = pass.observed.data_volume(&source.name);
            let data_volume = data_volume.ok_or_else(|| Verdict::Missing(format!("the DataVolume {:?} is not there", source.name)))?;
            if data_volume.status.phase != DataVolumePhase::Succeeded {
                let claim = exists(pass.observed, &source.name)?;
                if claim.spec.as_ref().is_none_or(|s| s.data_source_ref.is_none()) {
                    faults.entry("filled by other means than a volume populator").or_default().push(name);
                }
            }
        }
    }
    if faults.is_empty() {
        return Ok(());
    }
    let list: Vec<_> = faults.iter().map(|(why, names)| format!("{} ({why})", names.join(", "))).collect();
    Err(Verdict::Never(format!("volumes that cannot move while the guest runs: {}", list.join("; "))))
}

fn exists<'a>(observed: &'a Observed, claim: &str) -> Result<&'a k8s_openapi::api::core::v1::PersistentVolumeClaim, Verdict> {
    observed.claim(claim).ok_or_else(|| Verdict::Missing(format!("the claim {claim:?} is not there")))
}

fn describe(observed: &Observed, instance: &VirtualMachineInstance, volume: &str, claim: &str) -> Moved {
    let old = instance.spec.volumes.iter().find(|v| v.name == volume).and_then(volumes::claim_name).unwrap_or_default();
    let info = |claim: &str| {
        let of_claim = observed.claim(claim).map(claim_info).unwrap_or_default();
        Some(ClaimInfo { claim_name: claim.to_owned(), preallocated: false, ..of_claim })
    };
    Moved { volume_name: volume.to_owned(), source_pvc_info: info(old), destination_pvc_info: info(claim) }
}

/// A volume that only one node can use must move, too.
fn stays_behind(instance: &VirtualMachineInstance, moved: &[Moved]) -> Option<String> {
    let migratable = conditions::find(&instance.status.conditions, &Kind::StorageLiveMigratable);
    if let Some(condition) = migratable.filter(|c| c.status == "False") {
        return Some(format!("the guest cannot migrate with its volumes: {}", condition.message));
    }
    let bound = instance.status.volume_status.iter().find(|status| {
        let one_node = |info: &ClaimInfo| !info.access_modes.iter().any(|m| m == "ReadWriteMany" || m == "ReadOnlyMany");
        !status.name.starts_with(persistent_state::PREFIX)
            && status.persistent_volume_claim_info.as_ref().is_some_and(one_node)
            && moved.iter().all(|m| m.volume_name != status.name)
    });
    bound.map(|status| format!("the volume {:?} can be used by one node only: it would have to move, too", status.name))
}

/// Tells a guest that waits for its memory from elsewhere which volumes it will get.
pub(super) fn receive(pass: &mut Pass<'_>) {
    let (observed, machine) = (pass.observed, &pass.machine);
    let Some(instance) = &mut pass.instance else {
        return;
    };
    let completed = instance.status.migration_state.as_ref().is_some_and(|m| m.completed);
    if completed || instance.status.migrated_volumes.iter().any(|m| m.destination_pvc_info.is_some()) {
        return;
    }
    let old = std::mem::take(&mut instance.status.migrated_volumes);
    let template = machine.spec.template.iter().flat_map(|t| &t.spec.volumes);
    let with_claim = template.filter_map(|v| Some((v, observed.claim(volumes::claim_name(v)?)?)));
    instance.status.migrated_volumes = with_claim
        .map(|(volume, claim)| Moved {
            volume_name: volume.name.clone(),
            source_pvc_info: old.iter().find(|m| m.volume_name == volume.name).and_then(|m| m.source_pvc_info.clone()),
            destination_pvc_info: Some(ClaimInfo { preallocated: false, ..claim_info(claim) }),
        })
        .collect();
}

/// Tells on the machine how the move of its volumes goes.
pub(in super::super) fn report(pass: &mut Pass<'_>) {
    let machine = &mut pass.machine;
    let Some(moved) = machine.status.volume_update_state.as_ref().and_then(|s| s.volume_migration_state.clone()) else {
        return;
    };
    let forget = |machine: &mut VirtualMachine| {
        if let Some(state) = &mut machine.status.volume_update_state {
            state.volume_migration_state = None;
        }
    };
    let source = |name: &str| {
        let moved = moved.migrated_volumes.iter().find(|m| m.volume_name == name)?;
        moved.source_pvc_info.as_ref().map(|info| info.claim_name.as_str())
    };
    let volumes_now = machine.spec.template.iter().flat_map(|t| &t.spec.volumes);
    let back = volumes_now.into_iter().all(|v| source(&v.name).is_none_or(|old| volumes::claim_name(v).unwrap_or_default() == old));
    let change = VirtualMachineConditionType::from(Kind::VolumesChange.as_str());
    if back || machine.spec.update_volumes_strategy != Some(Strategy::Migration) {
        forget(machine);
        conditions::remove(&mut machine.status.conditions, &change);
        conditions::remove(&mut machine.status.conditions, &VirtualMachineConditionType::ManualRecoveryRequired);
        return;
    }
    let Some(instance) = pass.instance.as_ref().filter(|i| !is_final(i)) else {
        if conditions::has(&machine.status.conditions, &change, "True") {
            let told = VirtualMachineCondition {
                type_: VirtualMachineConditionType::ManualRecoveryRequired,
                status: "True".to_owned(),
                reason: "VMI was removed or was final during the volume migration".to_owned(),
                message: "the guest ended while its volumes moved; put the old claims back into the template".to_owned(),
                ..VirtualMachineCondition::default()
            };
            conditions::set(&mut machine.status.conditions, told);
        }
        return;
    };
    let cancelled = names::VMI_REASON_VOLUMES_CHANGE_CANCELLATION;
    if conditions::has_reason(&instance.status.conditions, &Kind::VolumesChange, "False", cancelled) {
        forget(machine);
    }
}
