//! Volumes of a template or an instance: what is behind them, and what a request to add or remove one makes of a spec.

use crate::api::v1::{HotplugVolumeSource, VirtualMachineInstanceSpec, VirtualMachineVolumeRequest, Volume};

/// The claim that a volume gives to the guest as its own: that of a claim volume, a DataVolume or a memory dump.
pub fn claim_name(volume: &Volume) -> Option<&str> {
    if let Some(source) = &volume.data_volume {
        Some(&source.name)
    } else if let Some(source) = &volume.persistent_volume_claim {
        Some(&source.claim_name)
    } else {
        volume.memory_dump.as_ref().map(|source| source.claim_name.as_str())
    }
}

/// Whether a volume may come and go while the guest runs. A memory dump always does.
pub fn is_hotplug(volume: &Volume) -> bool {
    volume.data_volume.as_ref().is_some_and(|s| s.hotpluggable)
        || volume.persistent_volume_claim.as_ref().is_some_and(|s| s.hotpluggable)
        || volume.memory_dump.as_ref().is_some_and(|s| s.hotpluggable)
}

/// The claim or the DataVolume that a request brings.
pub(super) fn source_name(source: &HotplugVolumeSource) -> &str {
    match (&source.data_volume, &source.persistent_volume_claim) {
        (Some(source), _) => &source.name,
        (None, Some(source)) => &source.claim_name,
        (None, None) => "",
    }
}

/// Adds or removes the volume and the disk of a request. Done twice it changes nothing.
pub(crate) fn apply_request(spec: &mut VirtualMachineInstanceSpec, request: &VirtualMachineVolumeRequest) {
    if let Some(options) = &request.add_volume_options {
        if spec.volumes.iter().any(|v| v.name == options.name) {
            return;
        }
        let mut volume = Volume { name: options.name.clone(), ..Volume::default() };
        let source = options.volume_source.clone().unwrap_or_default();
        if let Some(mut claim) = source.persistent_volume_claim {
            claim.hotpluggable = true;
            volume.persistent_volume_claim = Some(claim);
        } else if let Some(mut data_volume) = source.data_volume {
            data_volume.hotpluggable = true;
            volume.data_volume = Some(data_volume);
        }
        spec.volumes.push(volume);
        if let Some(disk) = &options.disk {
            let mut disk = disk.clone();
            disk.name.clone_from(&options.name);
            spec.domain.devices.disks.push(disk);
        }
    } else if let Some(options) = &request.remove_volume_options {
        spec.volumes.retain(|v| v.name != options.name);
        spec.domain.devices.disks.retain(|d| d.name != options.name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::{AddVolumeOptions, DataVolumeSource, Disk, RemoveVolumeOptions};

    #[test]
    fn a_request_is_applied_once_and_undone() {
        let add = VirtualMachineVolumeRequest {
            add_volume_options: Some(AddVolumeOptions {
                name: "data".to_owned(),
                disk: Some(Disk::default()),
                volume_source: Some(HotplugVolumeSource {
                    data_volume: Some(DataVolumeSource { name: "dv".to_owned(), hotpluggable: false }),
                    ..HotplugVolumeSource::default()
                }),
                ..AddVolumeOptions::default()
            }),
            ..VirtualMachineVolumeRequest::default()
        };
        let mut spec = VirtualMachineInstanceSpec::default();
        apply_request(&mut spec, &add);
        apply_request(&mut spec, &add);
        assert_eq!((spec.volumes.len(), spec.domain.devices.disks.len()), (1, 1));
        assert!(is_hotplug(&spec.volumes[0]));
        assert_eq!((claim_name(&spec.volumes[0]), spec.domain.devices.disks[0].name.as_str()), (Some("dv"), "data"));
        let remove = VirtualMachineVolumeRequest {
            remove_volume_options: Some(RemoveVolumeOptions { name: "data".to_owned(), ..RemoveVolumeOptions::default() }),
            ..VirtualMachineVolumeRequest::default()
        };
        apply_request(&mut spec, &remove);
        assert_eq!(spec, VirtualMachineInstanceSpec::default());
    }
}
