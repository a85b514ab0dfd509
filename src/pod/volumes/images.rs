//! Container images as volumes, where the cluster has them: container disks and the kernel of a kernel boot.

use k8s_openapi::api::core::v1::{ImageVolumeSource, Volume};

use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;

use super::super::{Context, paths, traits};
use super::{Plan, read_only};

/// The volume with the kernel.
pub(in super::super) const KERNEL_BOOT: &str = "kernel-boot-volume";
/// The volume with our own image, for the program that the init containers run.
pub(in super::super) const LAUNCHER: &str = "launcher-volume";

pub(super) fn add(plan: &mut Plan, vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) {
    let image = |plan: &mut Plan, name: &str, reference: &str, policy: &str| {
        let reference = context.image_ids.get(name).map_or(reference, String::as_str);
        let source = ImageVolumeSource { reference: non_empty(reference), pull_policy: non_empty(policy) };
        plan.volume(Volume { name: name.to_owned(), image: Some(source), ..Volume::default() });
    };
    let mut undigested = false;
    for (index, volume) in vmi.spec.volumes.iter().enumerate() {
        if let Some(disk) = &volume.container_disk {
            image(plan, &volume.name, &disk.image, &disk.image_pull_policy);
            plan.mount(read_only(&volume.name, format!("{}/disk_{index}", paths::IMAGE_VOLUMES)));
            undigested |= lacks_digest(context, &volume.name);
        }
    }
    if let Some(kernel) = traits::kernel_boot(vmi) {
        image(plan, KERNEL_BOOT, &kernel.image, &kernel.image_pull_policy);
        plan.mount(read_only(KERNEL_BOOT, paths::KERNEL_BOOT));
        undigested |= lacks_digest(context, KERNEL_BOOT);
    }
    if undigested {
        let source = ImageVolumeSource { reference: non_empty(&context.image), pull_policy: non_empty(&config.spec().image_pull_policy) };
        plan.volume(Volume { name: LAUNCHER.to_owned(), image: Some(source), ..Volume::default() });
    }
}

/// Whether the image's digest is still unknown. The status of an init container with the same image tells it, so
/// that a migration's target can be given exactly that image.
pub(in super::super) fn lacks_digest(context: &Context, volume: &str) -> bool {
    !context.image_ids.get(volume).is_some_and(|image| image.contains("@sha256:"))
}

fn non_empty(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|t| !t.is_empty())
}
