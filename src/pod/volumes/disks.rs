//! The volumes that disks are made from: claims, directories of the host, cloud-init, sysprep, metrics.
//!
//! What is attached while the guest runs is left out; an attachment pod brings it.

use k8s_openapi::api::core::v1::{
    ConfigMapVolumeSource, EmptyDirVolumeSource, HostPathVolumeSource, PersistentVolumeClaimVolumeSource, SecretVolumeSource,
    Volume as PodVolume, VolumeDevice,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

use crate::api::v1::{HostDisk, HostDiskType, SysprepSource, VirtualMachineInstance, Volume};

use super::super::{Context, Error, paths, traits};
use super::{Plan, config, mount, read_only};

pub(super) fn add(plan: &mut Plan, vmi: &VirtualMachineInstance, context: &Context) -> Result<(), Error> {
    let hotplugged = traits::hotplugged(vmi);
    for (index, volume) in vmi.spec.volumes.iter().enumerate() {
        if !hotplugged.contains(volume.name.as_str()) {
            one(plan, volume, &format!("spec.volumes[{index}]"), context)?;
        }
    }
    Ok(())
}

fn one(plan: &mut Plan, volume: &Volume, field: &str, context: &Context) -> Result<(), Error> {
    let name = volume.name.as_str();
    if let Some(claim) = &volume.persistent_volume_claim {
        let source =
            PersistentVolumeClaimVolumeSource { claim_name: claim.claim_name.clone(), read_only: Some(true).filter(|_| claim.read_only) };
        add_claim(plan, name, source, context, || format!("{field}.persistentVolumeClaim.claimName"))?;
    }
    if let Some(ephemeral) = &volume.ephemeral {
        let field = || format!("{field}.ephemeral.persistentVolumeClaim");
        let wanted = "name the claim that lies beneath the ephemeral disk";
        let source = ephemeral.persistent_volume_claim.clone().ok_or_else(|| Error::NoSource { field: field(), wanted })?;
        add_claim(plan, name, source, context, || format!("{}.claimName", field()))?;
    }
    if let Some(disk) = &volume.host_disk {
        host_disk(plan, name, disk);
    }
    if let Some(data_volume) = &volume.data_volume {
        // a DataVolume fills the claim of its own name
        let source = PersistentVolumeClaimVolumeSource { claim_name: data_volume.name.clone(), read_only: None };
        add_claim(plan, name, source, context, || format!("{field}.dataVolume.name"))?;
    }
    if volume.downward_metrics.is_some() {
        let source = EmptyDirVolumeSource { medium: Some("Memory".to_owned()), size_limit: Some(Quantity("1Mi".to_owned())) };
        plan.volume(PodVolume { name: name.to_owned(), empty_dir: Some(source), ..PodVolume::default() });
        plan.mount(mount(name, paths::DOWNWARD_METRICS));
    }
    if let Some(data) = &volume.cloud_init_no_cloud {
        config::add_cloud_init(plan, name, data.secret_ref.as_ref(), data.network_data_secret_ref.as_ref());
    }
    if let Some(sysprep) = &volume.sysprep {
        add_sysprep(plan, name, sysprep, field)?;
    }
    if let Some(data) = &volume.cloud_init_config_drive {
        config::add_cloud_init(plan, name, data.secret_ref.as_ref(), data.network_data_secret_ref.as_ref());
    }
    Ok(())
}

fn add_claim(
    plan: &mut Plan,
    name: &str,
    source: PersistentVolumeClaimVolumeSource,
    context: &Context,
    field: impl Fn() -> String,
) -> Result<(), Error> {
    let not_found = || Error::ClaimNotFound { field: field(), claim: source.claim_name.clone() };
    let claim = context.claims.get(&source.claim_name).ok_or_else(not_found)?;
    if claim.block {
        plan.devices.push(VolumeDevice { name: name.to_owned(), device_path: format!("/dev/{name}") });
    } else {
        let path = paths::disk(name);
        if claim.shared {
            plan.shared_paths.push(path.clone());
        }
        plan.mount(mount(name, path));
    }
    plan.volume(PodVolume { name: name.to_owned(), persistent_volume_claim: Some(source), ..PodVolume::default() });
    Ok(())
}

/// The directory that the disk's file lies in. The kubelet makes it if the file may be made, too.
fn host_disk(plan: &mut Plan, name: &str, disk: &HostDisk) {
    let directory = match disk.path.rsplit_once('/') {
        Some(("", _)) => "/",
        Some((directory, _)) => directory,
        None => ".",
    };
    let kind = match disk.type_ {
        HostDiskType::Disk => "Directory",
        HostDiskType::DiskOrCreate => "DirectoryOrCreate",
        HostDiskType::Other(_) => "",
    };
    let source = HostPathVolumeSource { path: directory.to_owned(), type_: Some(kind.to_owned()) };
    plan.mount(mount(name, paths::disk(name)));
    plan.volume(PodVolume { name: name.to_owned(), host_path: Some(source), ..PodVolume::default() });
}

fn add_sysprep(plan: &mut Plan, name: &str, sysprep: &SysprepSource, field: &str) -> Result<(), Error> {
    let mut volume = PodVolume { name: name.to_owned(), ..PodVolume::default() };
    match (&sysprep.secret, &sysprep.config_map) {
        (Some(secret), _) => {
            volume.secret = Some(SecretVolumeSource { secret_name: Some(secret.name.clone()), ..SecretVolumeSource::default() });
        }
        (None, Some(map)) => {
            volume.config_map = Some(ConfigMapVolumeSource { name: map.name.clone(), ..ConfigMapVolumeSource::default() });
        }
        (None, None) => {
            let wanted = "name the Secret or the ConfigMap with the answer files";
            return Err(Error::NoSource { field: format!("{field}.sysprep"), wanted });
        }
    }
    plan.volume(volume);
    plan.mount(read_only(name, paths::sysprep(name)));
    Ok(())
}
