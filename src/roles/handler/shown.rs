//! What the handler has mounted in the volumes of launchers' pods: found again by the kernel's table, and taken away.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use super::guests::volume;
use super::{disks, hotplug};
use crate::linux::beneath::Folder;
use crate::linux::mounts;

/// The volumes in which something is shown.
const VOLUMES: [&str; 2] = [disks::VOLUME, hotplug::VOLUME];

/// Where mounts of a pod begin.
fn prefixes(kubelet: &Path, pod: &str) -> [PathBuf; 2] {
    VOLUMES.map(|name| kubelet.join(volume(pod, name)))
}

fn is_below(point: &Path, prefixes: &[PathBuf]) -> bool {
    prefixes.iter().any(|prefix| point.starts_with(prefix) && point != prefix)
}

/// Whether something of a pod is still mounted.
pub(super) fn are_left(kubelet: &Path, pod: &str) -> bool {
    let prefixes = prefixes(kubelet, pod);
    mounts::points().is_ok_and(|points| points.iter().any(|point| is_below(point, &prefixes)))
}

/// The pods of which something is mounted.
pub(super) fn pods_with_mounts(kubelet: &Path) -> io::Result<Vec<String>> {
    let mut pods: Vec<String> = mounts::points()?.iter().filter_map(|point| pod_of_mount(kubelet, point)).collect();
    pods.sort();
    pods.dedup();
    Ok(pods)
}

fn pod_of_mount(kubelet: &Path, point: &Path) -> Option<String> {
    let below = point.strip_prefix(kubelet.join("pods")).ok()?;
    let pod = below.components().next()?.as_os_str().to_str()?.to_owned();
    is_below(point, &prefixes(kubelet, &pod)).then_some(pod)
}

/// The volumes whose folders are shown in a pod.
pub(super) fn folders(kubelet: &Path, pod: &str) -> BTreeSet<String> {
    let folder = kubelet.join(volume(pod, hotplug::VOLUME));
    let points = mounts::points().unwrap_or_default();
    points
        .iter()
        .filter_map(|point| point.strip_prefix(&folder).ok()?.to_str().filter(|name| disks::is_plain(name)))
        .map(str::to_owned)
        .collect()
}

/// Takes away what is mounted for a pod; says how much that was.
pub(super) fn take_away(kubelet: &Path, pod: &str) -> io::Result<usize> {
    let prefixes = prefixes(kubelet, pod);
    let points: Vec<_> = mounts::points()?.into_iter().filter(|point| is_below(point, &prefixes)).collect();
    for point in &points {
        let (Some(parent), Some(name)) = (point.parent(), point.file_name().and_then(|n| n.to_str())) else { continue };
        let below = parent.strip_prefix(kubelet).map_err(io::Error::other)?;
        take_one_away(&Folder::open(kubelet)?.folder(below)?, name)?;
    }
    Ok(points.len())
}

/// Takes away what is mounted on a name in a folder, and the name.
pub(super) fn take_one_away(folder: &Folder, name: &str) -> io::Result<()> {
    mounts::unmount(folder, name)?;
    match folder.hold(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(place) if place.is_folder()? => folder.remove_folder(name),
        _ => folder.remove(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mounts_are_known_by_their_place() {
        let kubelet = Path::new("/var/lib/kubelet");
        let of = |point: &str| pod_of_mount(kubelet, Path::new(point));
        assert_eq!(of("/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~empty-dir/container-disks/disk_0.img").as_deref(), Some("u-1"));
        assert_eq!(of("/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~empty-dir/container-disks/kernel-boot/k").as_deref(), Some("u-1"));
        assert_eq!(of("/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~empty-dir/hotplug-disks/dump").as_deref(), Some("u-1"));
        assert_eq!(of("/var/lib/kubelet/pods/u-1/volumes/kubernetes.io~projected/token"), None);
        assert_eq!(of("/var/lib/other/u-1/volumes/kubernetes.io~empty-dir/container-disks/disk_0.img"), None);
    }
}
