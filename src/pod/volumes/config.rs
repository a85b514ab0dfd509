//! Secrets, ConfigMaps and the pod's own facts, for the guest to read.

use k8s_openapi::api::core::v1::{ConfigMapVolumeSource, DownwardAPIVolumeSource, LocalObjectReference, Volume as PodVolume, VolumeMount};

use crate::api::v1::{VirtualMachineInstance, Volume};

use super::super::paths;
use super::{Plan, read_only};

/// Every such volume is in the pod. The compute container sees those that a disk shows to the guest; a file system
/// sees the others, in a container of its own.
pub(super) fn add(plan: &mut Plan, vmi: &VirtualMachineInstance) {
    for volume in &vmi.spec.volumes {
        if let Some(secret) = &volume.secret {
            plan.secret(&volume.name, &secret.secret_name, secret.optional);
        }
        if let Some(map) = &volume.config_map {
            let source = ConfigMapVolumeSource { name: map.name.clone(), optional: map.optional, ..ConfigMapVolumeSource::default() };
            plan.volume(PodVolume { name: volume.name.clone(), config_map: Some(source), ..PodVolume::default() });
        }
        if let Some(api) = &volume.downward_api {
            let items = Some(api.fields.clone()).filter(|f| !f.is_empty());
            let source = DownwardAPIVolumeSource { items, ..DownwardAPIVolumeSource::default() };
            plan.volume(PodVolume { name: volume.name.clone(), downward_api: Some(source), ..PodVolume::default() });
        }
    }
    for disk in &vmi.spec.domain.devices.disks {
        if let Some(volume) = vmi.spec.volumes.iter().find(|v| v.name == disk.name) {
            source_dir(volume).map(|dir| read_only(&volume.name, dir)).into_iter().for_each(|m| plan.mount(m));
        }
    }
}

/// Where a volume of this kind is mounted.
pub(in super::super) fn source_dir(volume: &Volume) -> Option<String> {
    let name = &volume.name;
    if volume.config_map.is_some() {
        Some(paths::config_map(name))
    } else if volume.secret.is_some() {
        Some(paths::secret(name))
    } else if volume.downward_api.is_some() {
        Some(paths::downward_api(name))
    } else {
        None
    }
}

/// The secrets of `spec.accessCredentials`.
pub(super) fn add_credentials(plan: &mut Plan, vmi: &VirtualMachineInstance) {
    for credential in &vmi.spec.access_credentials {
        let key = credential.ssh_public_key.as_ref().and_then(|k| k.source.secret.as_ref());
        let password = credential.user_password.as_ref().and_then(|p| p.source.secret.as_ref());
        let Some(secret) = key.or(password).map(|s| &s.secret_name).filter(|s| !s.is_empty()) else { continue };
        let name = format!("{secret}-access-cred");
        plan.secret(&name, secret, None);
        plan.mount(read_only(&name, paths::secret(&name)));
    }
}

/// The secrets that cloud-init's data come from. Both spellings of a key are looked for, since both are in use.
pub(super) fn add_cloud_init(plan: &mut Plan, volume: &str, user: Option<&LocalObjectReference>, network: Option<&LocalObjectReference>) {
    for (secret, suffix, keys) in [(user, "udata", ["userdata", "userData"]), (network, "ndata", ["networkdata", "networkData"])] {
        let Some(secret) = secret else { continue };
        let name = format!("{volume}-{suffix}");
        plan.secret(&name, &secret.name, None);
        for key in keys {
            let sub_path = Some(key.to_owned());
            plan.mount(VolumeMount { sub_path, ..read_only(&name, format!("{}/{key}", paths::secret(volume))) });
        }
    }
}
