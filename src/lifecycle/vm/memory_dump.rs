//! Memory dumps: the claim of a request becomes a volume of machine and instance, the guest's memory is written to it, and
//! the volume goes again; the claim stays tied to the machine until it is let go.

use super::pass::Pass;
use crate::api::names;
use crate::api::v1::{
    MemoryDumpPhase as Phase, MemoryDumpVolumeSource, VirtualMachine, VirtualMachineInstancePhase, VirtualMachineInstanceSpec as Spec,
    Volume, VolumePhase, VolumeStatus,
};
use crate::lifecycle::action::{Action, Failure};
use crate::lifecycle::patch::Patch;

const FAILED: &str = "MemoryDumpError";
/// What the claim is annotated with when the dump failed.
const FAILED_DUMP: &str = "Memory dump failed";

/// Takes the next step of a dump.
pub(super) fn carry_out(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let Some(request) = pass.machine.status.memory_dump_request.clone() else {
        return Ok(());
    };
    let claim = request.claim_name.as_str();
    match request.phase {
        Phase::Associating => {
            let running = |i: &crate::api::v1::VirtualMachineInstance| {
                i.metadata.deletion_timestamp.is_none() && i.status.phase == VirtualMachineInstancePhase::Running
            };
            if let Some(instance) = pass.instance.as_mut().filter(|i| running(i)) {
                add_volume(&mut instance.spec, claim);
                if let Some(template) = &mut pass.machine.spec.template {
                    add_volume(&mut template.spec, claim);
                }
            }
        }
        Phase::Unmounting | Phase::Failed => {
            if pass.observed.claim(claim).is_none() {
                let message = format!("the claim {claim:?} of the memory dump is gone; make it again, or let it go by removememorydump");
                return Err(Failure::new(FAILED, message));
            }
            take_from_instance(pass, claim);
        }
        Phase::Dissociating => {
            take_from_instance(pass, claim);
            if let Some(template) = &mut pass.machine.spec.template {
                remove_volume(&mut template.spec, claim);
            }
        }
        _ => {}
    }
    Ok(())
}

fn add_volume(spec: &mut Spec, claim: &str) {
    if spec.volumes.iter().all(|v| v.name != claim) {
        let source = MemoryDumpVolumeSource { claim_name: claim.to_owned(), hotpluggable: true, ..MemoryDumpVolumeSource::default() };
        spec.volumes.push(Volume { name: claim.to_owned(), memory_dump: Some(source), ..Volume::default() });
    }
}

fn remove_volume(spec: &mut Spec, claim: &str) {
    spec.volumes.retain(|v| v.name != claim);
}

fn take_from_instance(pass: &mut Pass<'_>, claim: &str) {
    if let Some(instance) = &mut pass.instance {
        remove_volume(&mut instance.spec, claim);
    }
}

/// Tells on the claim what is in it. This goes before anything else: once the volume is let go nobody asks any more.
pub(super) fn annotate(pass: &mut Pass<'_>) {
    let Some(request) = &pass.machine.status.memory_dump_request else {
        return;
    };
    let text = match request.phase {
        Phase::Unmounting => request.file_name.as_deref(),
        Phase::Failed => Some(FAILED_DUMP),
        _ => None,
    };
    if let (Some(text), Some(claim)) = (text, pass.observed.claim(&request.claim_name)) {
        let mut wanted = claim.clone();
        wanted.metadata.annotations.get_or_insert_default().insert(names::PVC_MEMORY_DUMP_ANNOTATION.to_owned(), text.to_owned());
        let patch = Patch::between(claim, &wanted);
        if !patch.is_empty() {
            pass.actions.push(Action::PatchClaim { name: request.claim_name.clone(), patch });
        }
    }
}

/// A finished dump is not made again by the next start.
pub(super) fn drop_completed(machine: &VirtualMachine, spec: &mut Spec) {
    if let Some(request) = machine.status.memory_dump_request.as_ref().filter(|r| r.phase == Phase::Completed) {
        remove_volume(spec, &request.claim_name);
    }
}

/// Tells how far the dump is.
pub(super) fn report(pass: &mut Pass<'_>) {
    let volumes = pass.machine.spec.template.as_ref().map_or(&[][..], |t| &t.spec.volumes);
    let statuses = pass.instance.as_ref().map_or(&[][..], |i| &i.status.volume_status);
    let Some(request) = pass.machine.status.memory_dump_request.clone() else {
        return;
    };
    let mut next = request.clone();
    if request.remove {
        next.phase = Phase::Dissociating;
    }
    let status = statuses.iter().find(|v| v.name == request.claim_name);
    let in_template = volumes.iter().any(|v| v.name == request.claim_name);
    let next = match request.phase {
        Phase::Completed => return,
        Phase::Associating => {
            if in_template {
                next.phase = Phase::InProgress;
            }
            Some(next)
        }
        Phase::InProgress => {
            if let Some(status) = status {
                follow_volume(status, &mut next);
            }
            Some(next)
        }
        Phase::Unmounting if status.is_some() => return,
        Phase::Unmounting => {
            next.phase = Phase::Completed;
            Some(next)
        }
        Phase::Dissociating if status.is_some() || in_template => return,
        Phase::Dissociating => None,
        _ => Some(next),
    };
    pass.machine.status.memory_dump_request = next;
}

fn follow_volume(status: &VolumeStatus, request: &mut crate::api::v1::VirtualMachineMemoryDumpRequest) {
    let Some(dump) = &status.memory_dump_volume else {
        return;
    };
    if dump.start_timestamp.is_some() {
        request.start_timestamp.clone_from(&dump.start_timestamp);
    }
    match status.phase {
        VolumePhase::MemoryDumpCompleted => {
            request.phase = Phase::Unmounting;
            request.file_name = Some(dump.target_file_name.clone());
        }
        VolumePhase::MemoryDumpFailed => {
            request.phase = Phase::Failed;
            request.message.clone_from(&status.message);
        }
        _ => return,
    }
    request.end_timestamp.clone_from(&dump.end_timestamp);
}
