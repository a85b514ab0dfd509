//! `addvolume` and `removevolume`: a change of the instance's spec alone, of the template, or a request to the controller,
//! by whose subresource it is and by which way of hotplug the cluster has.

use super::{Answer, Case, Kind, Patch, Race, Refusal, Success, Target, is_running};
use crate::api::names;
use crate::api::v1::{
    AddVolumeOptions, RemoveVolumeOptions, VirtualMachineInstance, VirtualMachineInstanceSpec,
    VirtualMachineVolumeRequest as VolumeRequest, Volume,
};
use crate::config::Gate;
use crate::lifecycle::volumes;

pub(super) fn add(case: &mut Case<'_>) -> Answer {
    must_be_enabled(case)?;
    let mut options: AddVolumeOptions = body(case)?;
    let (name, Some(disk), Some(source)) = (&options.name, &mut options.disk, &mut options.volume_source) else {
        let missing = if options.name.is_empty() {
            "name"
        } else if options.disk.is_none() {
            "disk"
        } else {
            "volumeSource"
        };
        return Err(Refusal::bad_request(format!("{missing} must be set")));
    };
    if name.is_empty() {
        return Err(Refusal::bad_request("name must be set"));
    }
    disk.name.clone_from(name);
    match (&mut source.data_volume, &mut source.persistent_volume_claim) {
        (Some(source), _) => source.hotpluggable = true,
        (None, Some(source)) => source.hotpluggable = true,
        (None, None) => {}
    }
    request(case, &VolumeRequest { add_volume_options: Some(options), ..VolumeRequest::default() })
}

pub(super) fn remove(case: &mut Case<'_>) -> Answer {
    must_be_enabled(case)?;
    let options: RemoveVolumeOptions = body(case)?;
    if options.name.is_empty() {
        return Err(Refusal::bad_request("name must be set: the volume to remove"));
    }
    request(case, &VolumeRequest { remove_volume_options: Some(options), ..VolumeRequest::default() })
}

/// Whether volumes can be asked for at all.
pub(super) fn must_be_enabled(case: &Case<'_>) -> Result<(), Refusal> {
    if case.config.enabled(Gate::HotplugVolumes) || case.config.enabled(Gate::DeclarativeHotplugVolumes) {
        return Ok(());
    }
    Err(Refusal::bad_request("one of the feature gates DeclarativeHotplugVolumes and HotplugVolumes must be enabled for this"))
}

fn body<T: serde::de::DeserializeOwned + Default>(case: &Case<'_>) -> Result<T, Refusal> {
    if case.request.body.is_none() {
        return Err(Refusal::bad_request("a body that names the volume is needed"));
    }
    case.options()
}

fn request(case: &mut Case<'_>, request: &VolumeRequest) -> Answer {
    let asked = dry_run(request);
    match case.request.kind {
        Kind::Instance => {
            let instance = case.instance()?;
            if owned_by_machine(instance) && !case.config.enabled(Gate::HotplugVolumes) {
                return Err(Refusal::bad_request(format!(
                    "the VirtualMachineInstance {:?} belongs to a VirtualMachine; ask for the volume there",
                    case.request.name
                )));
            }
            if !is_running(instance) {
                return Err(case.instance_conflict("the guest is not running"));
            }
            verify(&instance.spec.volumes, request).map_err(|why| case.instance_conflict(why))?;
            case.patch(Target::Instance, spec_patch("/spec", &instance.spec, request), &asked, Race::Internal);
        }
        Kind::Machine => {
            let machine = case.machine()?;
            let spec = machine.spec.template.as_ref().map(|t| t.spec.clone()).unwrap_or_default();
            verify(&spec.volumes, request).map_err(|why| case.machine_conflict(why))?;
            if case.config.enabled(Gate::HotplugVolumes) {
                let patch = status_patch(&machine.status.volume_requests, request).map_err(|why| case.machine_conflict(why))?;
                case.patch(Target::MachineStatus, patch, &asked, Race::Internal);
            } else {
                case.patch(Target::Machine, spec_patch("/spec/template/spec", &spec, request), &asked, Race::Internal);
            }
        }
    }
    Ok(Success::Accepted)
}

fn dry_run(request: &VolumeRequest) -> Vec<String> {
    let add = request.add_volume_options.as_ref().map(|o| &o.dry_run);
    let asked = add.or_else(|| request.remove_volume_options.as_ref().map(|o| &o.dry_run));
    asked.filter(|d| d.first().is_some_and(|first| first == "All")).cloned().unwrap_or_default()
}

fn owned_by_machine(instance: &VirtualMachineInstance) -> bool {
    let owners = instance.metadata.owner_references.iter().flatten();
    owners
        .filter(|o| o.controller == Some(true))
        .any(|o| o.kind == "VirtualMachine" && o.api_version.split_once('/') == Some((names::GROUP, "v1")))
}

fn has_source(volume: &Volume, name: &str) -> bool {
    volume.data_volume.as_ref().is_some_and(|s| s.name == name)
        || volume.persistent_volume_claim.as_ref().is_some_and(|s| s.claim_name == name)
}

/// Whether the volumes that are there allow the request.
fn verify(existing: &[Volume], request: &VolumeRequest) -> Result<(), String> {
    if let Some(add) = &request.add_volume_options {
        let source = add.volume_source.as_ref().map_or("", volumes::source_name);
        for volume in existing {
            if volume.name == add.name {
                return Err(format!("a volume {:?} exists already", add.name));
            }
            if has_source(volume, source) {
                return Err(format!("the volume {:?} has the source {source:?} already", volume.name));
            }
        }
    } else if let Some(remove) = &request.remove_volume_options {
        let volume = existing.iter().find(|v| v.name == remove.name || has_source(v, &remove.name));
        let volume = volume.ok_or_else(|| format!("there is no volume {:?}", remove.name))?;
        let removable = volume.data_volume.as_ref().is_some_and(|s| s.hotpluggable)
            || volume.persistent_volume_claim.as_ref().is_some_and(|s| s.hotpluggable);
        if !removable {
            return Err(format!("the volume {:?} is no hotplug volume, it stays as long as the guest runs", volume.name));
        }
    }
    Ok(())
}

fn spec_patch(prefix: &str, spec: &VirtualMachineInstanceSpec, request: &VolumeRequest) -> Patch {
    let mut wanted = spec.clone();
    volumes::apply_request(&mut wanted, request);
    let (volumes, disks) = (format!("{prefix}/volumes"), format!("{prefix}/domain/devices/disks"));
    let (old, new) = (&spec.domain.devices.disks, &wanted.domain.devices.disks);
    let patch = Patch::default().test(&volumes, some_list(&spec.volumes)).test(&disks, some_list(old));
    let patch = if spec.volumes.is_empty() { patch.add(&volumes, &wanted.volumes) } else { patch.replace(&volumes, &wanted.volumes) };
    if old.is_empty() { patch.add(&disks, new) } else { patch.replace(&disks, new) }
}

/// An empty list stands as nothing in the stored object.
fn some_list<T>(list: &[T]) -> Option<&[T]> {
    (!list.is_empty()).then_some(list)
}

/// The requests on the status with one more; a removal takes the place of the addition that it undoes.
fn status_patch(existing: &[VolumeRequest], request: &VolumeRequest) -> Result<Patch, String> {
    const PATH: &str = "/status/volumeRequests";
    let adds = |r: &VolumeRequest, name: &str| r.add_volume_options.as_ref().is_some_and(|o| o.name == name);
    let removes = |r: &VolumeRequest, name: &str| r.remove_volume_options.as_ref().is_some_and(|o| o.name == name);
    let mut wanted = existing.to_vec();
    if let Some(add) = &request.add_volume_options {
        for other in existing {
            if adds(other, &add.name) {
                return Err(format!("the volume {:?} has been asked for already", add.name));
            }
            if removes(other, &add.name) {
                return Err(format!("the volume {:?} is still being removed", add.name));
            }
        }
    } else if let Some(remove) = &request.remove_volume_options {
        wanted.retain(|other| !adds(other, &remove.name));
        if existing.iter().any(|other| removes(other, &remove.name)) {
            return Err(format!("the volume {:?} is being removed already", remove.name));
        }
    }
    wanted.push(request.clone());
    let patch = Patch::default().test(PATH, some_list(existing));
    Ok(if existing.is_empty() { patch.add(PATH, wanted) } else { patch.replace(PATH, wanted) })
}
