//! The containers that hold the images of container disks and of a kernel boot.
//!
//! Without image volumes, an init container with the image makes the kubelet pull it before the launcher starts, and
//! a container with the same image stays beside the compute container: the handler mounts its root file system. What
//! it runs comes from our image by a shared directory, since nothing is known of what the disk's image holds.
//! With image volumes no container stays; init containers remain, whose status tells the image's digest.

use k8s_openapi::api::core::v1::{Container, ResourceRequirements};

use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::support::{self, Support};
use super::volumes::{self, mount, read_only};
use super::{Context, paths, programs, security, traits};

/// What the mount of a kernel boot is called.
const KERNEL_BOOT_DIR: &str = "kernel-boot";
/// Names of such containers begin so, whatever the volume's name.
pub(super) const PREFIX: &str = "volume";

struct Image<'a> {
    volume: &'a str,
    image: &'a str,
    pull_policy: &'a str,
    /// The name of the directory in which the handler finds it.
    directory: String,
}

fn images<'a>(vmi: &'a VirtualMachineInstance, context: &'a Context) -> Vec<Image<'a>> {
    let pinned = |volume: &str, image: &'a str| context.image_ids.get(volume).map_or(image, String::as_str);
    let disks = vmi.spec.volumes.iter().enumerate().filter(|(_, v)| v.name != volumes::KERNEL_BOOT);
    let disks = disks.filter_map(|(index, volume)| {
        let disk = volume.container_disk.as_ref()?;
        let image = pinned(&volume.name, &disk.image);
        Some(Image { volume: &volume.name, image, pull_policy: &disk.image_pull_policy, directory: format!("disk_{index}") })
    });
    let kernel = traits::kernel_boot(vmi).map(|kernel| Image {
        volume: volumes::KERNEL_BOOT,
        image: pinned(volumes::KERNEL_BOOT, &kernel.image),
        pull_policy: &kernel.image_pull_policy,
        directory: KERNEL_BOOT_DIR.to_owned(),
    });
    disks.chain(kernel).collect()
}

/// The init containers.
pub(super) fn init(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Vec<Container> {
    let images = images(vmi, context);
    if config.enabled(Gate::ImageVolume) {
        let undigested = images.iter().filter(|i| volumes::lacks_digest(context, i.volume));
        return undigested.map(|image| digest(image, vmi, config)).collect();
    }
    if images.is_empty() {
        return images.iter().map(|image| pull(image, vmi, config)).collect();
    }
    std::iter::once(program(vmi, config, context)).chain(images.iter().map(|image| pull(image, vmi, config))).collect()
}

/// The containers that stay.
pub(super) fn beside(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Vec<Container> {
    if config.enabled(Gate::ImageVolume) {
        return Vec::new();
    }
    let hold = |image: &Image| {
        let path = format!("{}/{}/{}", paths::CONTAINER_DISK_DATA, uid(vmi), image.directory);
        container(image, image.container_name(), vec!["--copy-path".to_owned(), path], vmi, config)
    };
    images(vmi, context).iter().map(hold).collect()
}

/// Brings the program that the others run.
fn program(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Container {
    const DIRECTORY: &str = "/init/usr/bin";
    let user = security::user(vmi);
    Container {
        name: "container-disk-binary".to_owned(),
        image: Some(context.image.clone()),
        image_pull_policy: super::non_empty(&config.spec().image_pull_policy),
        command: Some([programs::CONTAINER_DISK, "--install", "/init/usr/bin/container-disk"].map(str::to_owned).into()),
        env: Some(super::compute::home(user)).filter(|e| !e.is_empty()),
        volume_mounts: Some(vec![mount(volumes::PROGRAM, DIRECTORY)]),
        resources: Some(support::resources(Support::ContainerDiskProgram, traits::exclusive(vmi), config)),
        security_context: Some(security::container(user, Some(security::no_capabilities()))),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    }
}

/// Makes the kubelet pull the image before anything else starts.
fn pull(image: &Image, vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Container {
    container(image, format!("{}-init", image.container_name()), vec!["--no-op".to_owned()], vmi, config)
}

/// Makes the kubelet report the image's digest.
fn digest(image: &Image, vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Container {
    Container {
        command: Some(vec![format!("{}{}", paths::CONTAINER_DISK_PROGRAM, programs::CONTAINER_DISK)]),
        volume_mounts: Some(vec![read_only(volumes::LAUNCHER, paths::CONTAINER_DISK_PROGRAM)]),
        ..container(image, image.container_name(), vec!["--no-op".to_owned()], vmi, config)
    }
}

fn container(image: &Image, name: String, args: Vec<String>, vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Container {
    let data = format!("{}/{}", paths::CONTAINER_DISK_DATA, uid(vmi));
    Container {
        name,
        image: Some(image.image.to_owned()),
        image_pull_policy: super::non_empty(image.pull_policy),
        command: Some(vec![programs::CONTAINER_DISK.to_owned()]),
        args: Some(args),
        volume_mounts: Some(vec![mount(volumes::CONTAINER_DISKS, data), mount(volumes::PROGRAM, "/usr/bin")]),
        resources: Some(resources(vmi, config)),
        security_context: Some(security::helper()),
        ..Container::default()
    }
}

fn resources(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> ResourceRequirements {
    support::resources(Support::ContainerDisk, traits::exclusive(vmi), config)
}

impl Image<'_> {
    fn container_name(&self) -> String {
        format!("{PREFIX}{}", self.volume)
    }
}

fn uid(vmi: &VirtualMachineInstance) -> &str {
    vmi.metadata.uid.as_deref().unwrap_or_default()
}

/// The secrets by which the images are pulled, each once.
pub(super) fn pull_secrets(vmi: &VirtualMachineInstance, context: &Context) -> Vec<String> {
    let disks = vmi.spec.volumes.iter().filter_map(|v| v.container_disk.as_ref()).map(|d| &d.image_pull_secret);
    let kernel = traits::kernel_boot(vmi).map(|k| &k.image_pull_secret);
    let mut secrets: Vec<String> = Vec::new();
    for secret in disks.chain(kernel).chain([&context.image_pull_secret]) {
        if !secret.is_empty() && !secrets.contains(secret) {
            secrets.push(secret.clone());
        }
    }
    secrets
}
