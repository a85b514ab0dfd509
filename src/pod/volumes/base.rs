//! The volumes of every launcher pod.

use super::super::paths;
use super::{Plan, from_host, mount};

/// Where the handler mounts container disks.
pub(in super::super) const CONTAINER_DISKS: &str = "container-disks";
/// Where the handler mounts volumes that come while the guest runs.
pub(in super::super) const HOTPLUG_DISKS: &str = "hotplug-disks";
/// Holds the program that the containers of container disks run.
pub(in super::super) const PROGRAM: &str = "virt-bin-share-dir";

/// The names, in the pod's order, and where the compute container sees them.
pub(in super::super) const BASE: [(&str, Option<&str>); 6] = [
    ("private", Some(paths::PRIVATE)),
    ("public", Some(paths::SHARE)),
    ("sockets", Some(paths::SOCKETS)),
    (PROGRAM, None),
    ("libvirt-runtime", Some(paths::LIBVIRT)),
    ("ephemeral-disks", Some(paths::EPHEMERAL_DISKS)),
];

pub(super) fn add(plan: &mut Plan, images: bool) {
    for (name, path) in BASE {
        plan.empty_dir(name);
        plan.mounts.extend(path.map(|path| mount(name, path)));
    }
    if !images {
        plan.empty_dir(CONTAINER_DISKS);
        plan.mount(from_host(CONTAINER_DISKS, paths::CONTAINER_DISKS));
    }
}
