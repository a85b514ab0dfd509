//! The pod's volumes, and where the compute container sees them.
//!
//! First those that every launcher pod has, then the VMI's own, then those that a feature needs. Two things of the
//! VMI may come from the same source (two credentials from one Secret); it is a volume once.

mod base;
mod config;
mod disks;
mod features;
mod images;
mod state;

use k8s_openapi::api::core::v1::{EmptyDirVolumeSource, SecretVolumeSource, Volume, VolumeDevice, VolumeMount};

use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::hooks::Sidecar;
use super::{Context, Error};

pub(super) use base::{BASE, CONTAINER_DISKS, HOTPLUG_DISKS, PROGRAM};
pub(super) use config::source_dir;
pub(super) use features::{FEATURES, HOOK_SOCKETS, NETWORK_INFO, VIRTIOFS};
pub(super) use images::{KERNEL_BOOT, LAUNCHER, lacks_digest};
pub(super) use state::STATE_DIRECTORIES;

/// The volumes in the making.
#[derive(Default)]
pub(super) struct Plan {
    pub(super) volumes: Vec<Volume>,
    pub(super) mounts: Vec<VolumeMount>,
    pub(super) devices: Vec<VolumeDevice>,
    /// Mount points of file systems that several nodes may write to: libvirt must know them when it migrates.
    pub(super) shared_paths: Vec<String>,
}

/// The volumes of a VMI's pod.
pub(super) fn plan(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context, hooks: &[Sidecar]) -> Result<Plan, Error> {
    let images = config.enabled(Gate::ImageVolume);
    let mut plan = Plan::default();
    base::add(&mut plan, images);
    config::add(&mut plan, vmi);
    disks::add(&mut plan, vmi, context)?;
    config::add_credentials(&mut plan, vmi);
    state::add(&mut plan, vmi, context)?;
    if images {
        images::add(&mut plan, vmi, config, context);
    }
    features::add(&mut plan, vmi, config, hooks);
    Ok(plan)
}

impl Plan {
    /// Adds a volume; one of that name that is there already stays.
    pub(super) fn volume(&mut self, volume: Volume) {
        if !self.volumes.iter().any(|v| v.name == volume.name) {
            self.volumes.push(volume);
        }
    }

    fn empty_dir(&mut self, name: &str) {
        self.volume(Volume { name: name.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..Volume::default() });
    }

    fn secret(&mut self, name: &str, secret: &str, optional: Option<bool>) {
        let source = SecretVolumeSource { secret_name: Some(secret.to_owned()), optional, ..SecretVolumeSource::default() };
        self.volume(Volume { name: name.to_owned(), secret: Some(source), ..Volume::default() });
    }

    fn mount(&mut self, mount: VolumeMount) {
        if !self.mounts.iter().any(|m| m.mount_path == mount.mount_path) {
            self.mounts.push(mount);
        }
    }
}

/// A mount for reading and writing.
pub(super) fn mount(name: &str, path: impl Into<String>) -> VolumeMount {
    VolumeMount { name: name.to_owned(), mount_path: path.into(), ..VolumeMount::default() }
}

/// A mount for reading only.
pub(super) fn read_only(name: &str, path: impl Into<String>) -> VolumeMount {
    VolumeMount { read_only: Some(true), ..mount(name, path) }
}

/// A mount of a part of the volume.
fn part(name: &str, path: impl Into<String>, sub_path: &str) -> VolumeMount {
    VolumeMount { sub_path: Some(sub_path.to_owned()), ..mount(name, path) }
}

/// A mount in which mounts that the handler makes later appear.
pub(super) fn from_host(name: &str, path: impl Into<String>) -> VolumeMount {
    VolumeMount { mount_propagation: Some("HostToContainer".to_owned()), ..mount(name, path) }
}
