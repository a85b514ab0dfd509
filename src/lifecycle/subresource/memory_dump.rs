//! `memorydump` and `removememorydump`: the memory of the guest goes to a claim, which stays tied to the machine until
//! it is let go.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use super::{Answer, CLAIM, Case, INSTANCE, Patch, Race, Refusal, Success, Target, is_running, volumes};
use crate::api::Quantity;
use crate::api::v1::{MemoryDumpPhase as Phase, VirtualMachine, VirtualMachineInstance, VirtualMachineMemoryDumpRequest as DumpRequest};

/// What the dump takes beyond the guest's memory.
const DUMP_OVERHEAD: i128 = 100 * 1024 * 1024;
/// The share of a file system that is not for files, where CDI does not say otherwise.
const DEFAULT_OVERHEAD: f64 = 0.055;
const MEBIBYTE: f64 = 1024.0 * 1024.0;
const PATH: &str = "/status/memoryDumpRequest";

/// The share of a file system that is not for files.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Overhead {
    /// For every class that is not named.
    pub global: String,
    /// By storage class.
    pub by_class: BTreeMap<String, String>,
}

pub(super) fn dump(case: &mut Case<'_>) -> Answer {
    volumes::must_be_enabled(case)?;
    if case.request.body.is_none() {
        return Err(Refusal::bad_request("a body with claimName is needed"));
    }
    let mut request: DumpRequest = case.options()?;
    request.phase = Phase::Associating;
    let machine = case.machine()?;
    match (&machine.status.memory_dump_request, request.claim_name.as_str()) {
        (None, "") => return Err(Refusal::bad_request("claimName must be set: the claim that the dump goes to")),
        (Some(tied), "") => request.claim_name.clone_from(&tied.claim_name),
        (Some(tied), claim) if tied.claim_name != claim => {
            return Err(case.machine_conflict(format_args!(
                "the claim {:?} is tied to the machine for memory dumps; let it go by removememorydump before using {claim:?}",
                tied.claim_name
            )));
        }
        _ => {}
    }
    let instance = case.instance()?;
    if !is_running(instance) {
        return Err(Refusal::conflict(INSTANCE, case.request.name, "the guest is not running"));
    }
    check_claim(case, instance, &request.claim_name)?;
    if let Some(tied) = &machine.status.memory_dump_request
        && !matches!(tied.phase, Phase::Completed | Phase::Failed)
    {
        let doing = if tied.phase == Phase::Dissociating { "being let go" } else { "in use by a dump" };
        return Err(case.machine_conflict(format_args!("the claim {:?} is {doing}; wait for it", tied.claim_name)));
    }
    write(case, machine, &request);
    Ok(Success::Accepted)
}

pub(super) fn remove(case: &mut Case<'_>) -> Answer {
    let machine = case.machine()?;
    let Some(tied) = &machine.status.memory_dump_request else {
        return Err(case.machine_conflict("no claim is tied to it for memory dumps"));
    };
    if tied.remove {
        return Err(case.machine_conflict(format_args!("the claim {:?} is being let go already", tied.claim_name)));
    }
    let request = DumpRequest { claim_name: tied.claim_name.clone(), phase: Phase::Dissociating, remove: true, ..DumpRequest::default() };
    write(case, machine, &request);
    Ok(Success::Accepted)
}

fn write(case: &mut Case<'_>, machine: &VirtualMachine, request: &DumpRequest) {
    let tied = &machine.status.memory_dump_request;
    let patch = Patch::default().test(PATH, tied);
    let patch = if tied.is_some() { patch.replace(PATH, request) } else { patch.add(PATH, request) };
    case.patch(Target::MachineStatus, patch, &[], Race::Internal);
}

/// A dump needs a file system that can be written, with room for the guest's memory.
fn check_claim(case: &Case<'_>, instance: &VirtualMachineInstance, name: &str) -> Result<(), Refusal> {
    let claim = case.observed.claims.iter().find(|c| c.metadata.name.as_deref() == Some(name));
    let claim = claim.ok_or_else(|| Refusal::not_found(CLAIM, name))?;
    let spec = claim.spec.clone().unwrap_or_default();
    if spec.volume_mode.as_deref() == Some("Block") {
        return Err(Refusal::conflict(CLAIM, name, "its volumeMode must be Filesystem"));
    }
    if spec.access_modes.iter().flatten().any(|m| m == "ReadOnlyMany") {
        return Err(Refusal::conflict(CLAIM, name, "it must be writable, ReadOnlyMany is not among its access modes then"));
    }
    let needed = needed_bytes(case.observed.overhead.as_ref(), instance, spec.storage_class_name.as_deref())?;
    // KubeVirt compares in thousands, rounded up.
    let size = (size_of(claim) + 999) / 1000 * 1000;
    if size < needed {
        return Err(Refusal::conflict(CLAIM, name, format_args!("it has {size} bytes, a dump of this guest needs {needed}")));
    }
    Ok(())
}

fn size_of(claim: &PersistentVolumeClaim) -> i128 {
    let requests = claim.spec.as_ref().and_then(|s| s.resources.as_ref()).and_then(|r| r.requests.as_ref());
    let storage = requests.and_then(|r| r.get("storage"));
    storage.and_then(|q| q.0.parse::<Quantity>().ok()).map_or(0, |q| q.value())
}

fn needed_bytes(overhead: Option<&Overhead>, instance: &VirtualMachineInstance, class: Option<&str>) -> Result<i128, Refusal> {
    let memory = instance.spec.domain.resources.requests.get("memory").map_or(0, Quantity::value);
    let share = match overhead {
        None => DEFAULT_OVERHEAD,
        Some(overhead) => {
            let text = class.and_then(|c| overhead.by_class.get(c)).unwrap_or(&overhead.global);
            text.parse().map_err(|_| Refusal::internal(format_args!("CDI's file system overhead {text:?} is no number")))?
        }
    };
    let bytes = (1.0 + share) * (memory + DUMP_OVERHEAD) as f64;
    Ok(((bytes / MEBIBYTE).ceil().max(1.0) * MEBIBYTE) as i128)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dump_needs_the_memory_and_the_file_systems_own_share() {
        let mut instance = VirtualMachineInstance::default();
        instance.spec.domain.resources.requests.insert("memory".to_owned(), Quantity::from_bytes(1 << 30));
        let mib = |bytes: i128| bytes / (1 << 20);
        assert_eq!(mib(needed_bytes(None, &instance, None).unwrap()), 1186);
        let overhead = Overhead { global: "0".to_owned(), by_class: BTreeMap::from([("fat".to_owned(), "1".to_owned())]) };
        assert_eq!(mib(needed_bytes(Some(&overhead), &instance, None).unwrap()), 1124);
        assert_eq!(mib(needed_bytes(Some(&overhead), &instance, Some("fat")).unwrap()), 2248);
        let overhead = Overhead { global: "much".to_owned(), ..Overhead::default() };
        assert_eq!(needed_bytes(Some(&overhead), &instance, None).unwrap_err().reason.code(), 500);
    }
}
