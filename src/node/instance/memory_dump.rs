//! Dumps of the guest's memory: the claim's folder is shown to the launcher, which writes a file into it.
//!
//! ```text
//!   AttachedToNode ──Show──▶ (shown) ──▶ MemoryDumpInProgress ──DumpMemory──▶ MemoryDumpCompleted, MemoryDumpFailed
//!   volume gone from the spec ──Hide, once nothing is written any more──▶ (not shown) UnMountedFromPod
//! ```
//!
//! The file is named before it is ordered, so that a handler which starts anew knows what it waits for. The controller
//! brings the volume to `AttachedToNode` and takes it from the spec when it is over.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::{Action, Launcher, Observed};
use crate::api::v1::{
    DomainMemoryDumpInfo as Info, VirtualMachineInstance, VirtualMachineInstancePhase, VolumePhase as Phase, VolumeStatus,
};
use crate::guest::status::{Stage, Status};
use crate::lifecycle::action::Event;

fn is_wanted(instance: &VirtualMachineInstance, volume: &str) -> bool {
    instance.spec.volumes.iter().any(|v| v.memory_dump.is_some() && v.name == volume)
}

/// What is done about the volumes that take dumps.
pub(super) fn steps(observed: &Observed, instance: &VirtualMachineInstance) -> Vec<Action> {
    let Launcher::Alive(launcher) = &observed.launcher else { return Vec::new() };
    if launcher.stage != Stage::Started || instance.status.phase != VirtualMachineInstancePhase::Running {
        return Vec::new();
    }
    let mut steps = Vec::new();
    for status in instance.status.volume_status.iter().filter(|status| is_wanted(instance, &status.name)) {
        let volume = status.name.clone();
        let pod = status.hotplug_volume.as_ref().map(|hotplug| hotplug.attach_pod_uid.clone()).unwrap_or_default();
        let over = matches!(status.phase, Phase::MemoryDumpCompleted | Phase::MemoryDumpFailed);
        match status.memory_dump_volume.as_ref().map(|info| info.target_file_name.clone()).filter(|file| !file.is_empty()) {
            _ if over => {}
            _ if !observed.shown.contains(&volume) => steps.extend((!pod.is_empty()).then_some(Action::Show { volume, pod })),
            Some(file) if status.phase == Phase::MemoryDumpInProgress && !is_known(observed, launcher, &file) => {
                steps.push(Action::DumpMemory { volume, file });
            }
            _ => {}
        }
    }
    let writes = |volume: &str| launcher.memory_dump.as_ref().is_some_and(|dump| dump.goes_on() && dump.volume == volume);
    let old = observed.shown.iter().filter(|volume| !is_wanted(instance, volume) && !writes(volume));
    steps.extend(old.map(|volume| Action::Hide { volume: volume.clone() }));
    steps
}

/// Whether the launcher has begun with a file already, or will not.
fn is_known(observed: &Observed, launcher: &Status, file: &str) -> bool {
    launcher.memory_dump.as_ref().is_some_and(|dump| dump.file == file) || observed.refused.as_ref().is_some_and(|r| r.file == file)
}

/// Tells how far the volumes are; the events are those of what is new.
pub(super) fn tell(told: &mut VirtualMachineInstance, observed: &Observed, launcher: &Status, now: Timestamp) -> Vec<Event> {
    let mut statuses = std::mem::take(&mut told.status.volume_status);
    let mut events = Vec::new();
    for status in statuses.iter_mut().filter(|s| s.hotplug_volume.is_some() && s.memory_dump_volume.is_some()) {
        let shown = observed.shown.contains(&status.name);
        if is_wanted(told, &status.name) {
            let name = told.metadata.name.as_deref().unwrap_or_default();
            events.extend(if status.phase == Phase::MemoryDumpInProgress {
                finish(status, observed, launcher, now)
            } else {
                begin(name, status, shown, now)
            });
        } else if !shown && matches!(status.phase, Phase::Ready | Phase::MountedToPod | Phase::AttachedToNode) {
            let message = format!("the volume {:?} was taken out of the launcher's pod", status.name);
            events.push(set(status, Phase::UnMountedFromPod, "VolumeUnMountedFromPod", message));
        }
    }
    told.status.volume_status = statuses;
    events
}

/// Brings a volume into a phase, which is worth an event.
fn set(status: &mut VolumeStatus, phase: Phase, reason: &'static str, message: String) -> Event {
    let warning = phase == Phase::MemoryDumpFailed;
    status.phase = phase;
    reason.clone_into(&mut status.reason);
    status.message.clone_from(&message);
    Event { warning, reason, message }
}

/// A volume that is shown takes a dump: here that is one step.
fn begin(instance: &str, status: &mut VolumeStatus, shown: bool, now: Timestamp) -> Option<Event> {
    if !shown || !matches!(status.phase, Phase::Pending | Phase::Bound | Phase::AttachedToNode | Phase::MountedToPod) {
        return None;
    }
    let volume = status.name.clone();
    let info = status.memory_dump_volume.get_or_insert_default();
    let target_file_name = format!("{instance}-{volume}-{}.memory.dump", now.strftime("%Y%m%d-%H%M%S"));
    *info = Info { claim_name: std::mem::take(&mut info.claim_name), target_file_name, ..Info::default() };
    let message = format!("the volume {volume:?} is shown in the launcher's pod, and takes the guest's memory");
    Some(set(status, Phase::MemoryDumpInProgress, "VolumeMountedToPod", message))
}

/// Tells when a dump began, and how it ended if it has.
fn finish(status: &mut VolumeStatus, observed: &Observed, launcher: &Status, now: Timestamp) -> Option<Event> {
    let volume = status.name.clone();
    let info = status.memory_dump_volume.get_or_insert_default();
    let dump = launcher.memory_dump.as_ref().filter(|dump| dump.file == info.target_file_name);
    let refused = observed.refused.as_ref().filter(|refused| refused.file == info.target_file_name);
    let (ended, failure) = match (dump, refused) {
        (Some(dump), _) => {
            info.start_timestamp.clone_from(&dump.begun);
            (dump.ended.clone()?, dump.failure.clone())
        }
        (None, Some(refused)) => (Time(now), Some(refused.why.clone())),
        (None, None) => return None,
    };
    info.end_timestamp = Some(ended);
    Some(match failure {
        None => {
            let message = format!("the guest's memory is in the volume {volume:?}, in the file {:?}", info.target_file_name);
            set(status, Phase::MemoryDumpCompleted, "VolumeReady", message)
        }
        Some(why) => {
            let message = format!("the guest's memory was not written to the volume {volume:?}: {why}");
            set(status, Phase::MemoryDumpFailed, "MemoryDumpFailed", message)
        }
    })
}
