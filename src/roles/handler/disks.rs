//! Disks from container images: the image's file, out of the container that holds it, is shown to the launcher by a bind
//! mount in a volume of the pod. Nothing is copied.

use std::io;
use std::os::fd::AsFd as _;
use std::path::{Component, Path};

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::config::{ClusterConfig, Gate};
use kubevirt_rs::guest::status::{Fault, FaultReason};

use super::guests::volume;
use crate::linux::beneath::{Folder, Held};
use crate::linux::mounts::{self, Detached};
use crate::linux::namespaces;
use crate::linux::pod_process::PodProcess;

/// The volume in which images are shown, and in which the containers that hold them listen.
pub(super) const VOLUME: &str = "container-disks";
/// Where a container image has its disk when the VMI does not say it.
const USUAL: &str = "disk";
/// The folder with the files of a kernel boot.
const KERNEL_BOOT: &str = "kernel-boot";

/// Shows every image of an instance to its launcher.
pub(super) fn show(kubelet: &Path, pod: &str, instance: &VirtualMachineInstance, config: &ClusterConfig) -> Result<(), Fault> {
    if config.enabled(Gate::ImageVolume) {
        return Ok(());
    }
    for (index, disk) in instance.spec.volumes.iter().enumerate().filter_map(|(index, v)| Some((index, v.container_disk.as_ref()?))) {
        let field = format!("spec.volumes[{index}].containerDisk");
        let shown = folder(kubelet, pod).and_then(|folder| {
            let name = format!("disk_{index}");
            show_one(&folder, &folder, &format!("{name}.sock"), pod, &disk.path, &format!("{name}.img"))
        });
        shown.map_err(|error| fault(&field, &disk.image, &error))?;
    }
    let kernel = instance.spec.domain.firmware.as_ref().and_then(|f| f.kernel_boot.as_ref()).and_then(|k| k.container.as_ref());
    let Some(kernel) = kernel else { return Ok(()) };
    let field = "spec.domain.firmware.kernelBoot.container";
    for path in [&kernel.kernel_path, &kernel.initrd_path].into_iter().filter(|path| !path.is_empty()) {
        let shown = folder(kubelet, pod).and_then(|folder| {
            let name = Path::new(path).file_name().and_then(|name| name.to_str()).filter(|name| is_plain(name));
            let name = name.ok_or_else(|| invalid(format!("{path} names no file")))?;
            show_one(&folder, &folder.make(KERNEL_BOOT)?, &format!("{KERNEL_BOOT}.sock"), pod, path, name)
        });
        shown.map_err(|error| fault(field, &kernel.image, &error))?;
    }
    Ok(())
}

fn fault(field: &str, image: &str, error: &io::Error) -> Fault {
    // what lies wrong in the image stays wrong
    let reason = if error.kind() == io::ErrorKind::InvalidData { FaultReason::InvalidInstance } else { FaultReason::DiskNotReady };
    Fault { reason, message: format!("{field}: show the disk of the image {image:?}: {error}"), field: Some(field.to_owned()) }
}

fn invalid(message: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, message.into())
}

fn folder(kubelet: &Path, pod: &str) -> io::Result<Folder> {
    Folder::open(kubelet)?.folder(volume(pod, VOLUME))
}

fn show_one(sockets: &Folder, target: &Folder, socket: &str, pod: &str, path: &str, name: &str) -> io::Result<()> {
    if mounts::is_mounted(target, name)? {
        return Ok(());
    }
    let not_ready = |error: io::Error| io::Error::new(error.kind(), format!("its container does not answer yet: {error}"));
    let holder = sockets.hold(socket).and_then(|socket| PodProcess::listening_at(&socket, pod)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound | io::ErrorKind::ConnectionRefused => io::Error::new(io::ErrorKind::NotConnected, not_ready(error)),
        _ => error,
    })?;
    let image = namespaces::in_mounts(holder.mounts()?.as_fd(), || copy(path))?;
    let place = target.place(name)?;
    if !place.is_file()? {
        return Err(io::Error::other(format!("{name} in the pod's volume is no file")));
    }
    image.attach(&place)
}

/// Takes a copy of the image's mount; to be called in the mounts of the container.
fn copy(path: &str) -> io::Result<Detached> {
    let root = Folder::open(Path::new("/"))?;
    let file = if path.is_empty() { only_file(&root)? } else { inside(&root, path)? };
    if !file.is_file()? {
        return Err(invalid(format!("{path} is no file")));
    }
    mounts::copy_read_only(&file)
}

fn inside(root: &Folder, path: &str) -> io::Result<Held> {
    if !Path::new(path).is_absolute() || Path::new(path).components().any(|part| part == Component::ParentDir) {
        return Err(invalid(format!("{path} must be an absolute path without `..`")));
    }
    root.hold_inside(path).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => invalid(format!("there is no {path} in the image")),
        kind => io::Error::new(kind, format!("{path}: {error}")),
    })
}

/// The one file in the usual folder.
fn only_file(root: &Folder) -> io::Result<Held> {
    let folder = inside(root, &format!("/{USUAL}"))?;
    if !folder.is_folder()? {
        return Err(invalid(format!("/{USUAL} in the image is no folder")));
    }
    let folder = folder.into_folder();
    let mut names = folder.names()?;
    match (names.pop(), names.pop()) {
        (Some(name), None) => folder.hold(&name),
        (None, _) => Err(invalid(format!("there is no file in /{USUAL} of the image"))),
        _ => Err(invalid(format!("there is more than one file in /{USUAL} of the image; say by `path` which it is"))),
    }
}

pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name != "." && name != ".." && !name.contains('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_disk_is_the_one_that_is_named_or_the_only_one() {
        let base = std::env::temp_dir().join(format!("kubevirt-rs-disks-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&base);
        std::fs::create_dir_all(base.join("disk")).unwrap();
        let root = || Folder::open(&base).unwrap();
        let error = |result: io::Result<Held>| result.unwrap_err().to_string();
        assert!(error(only_file(&root())).contains("no file"));
        std::fs::write(base.join("disk/one.qcow2"), "").unwrap();
        assert!(only_file(&root()).unwrap().is_file().unwrap());
        std::fs::write(base.join("disk/two.qcow2"), "").unwrap();
        assert!(error(only_file(&root())).contains("more than one"));
        std::os::unix::fs::symlink("/disk/one.qcow2", base.join("link")).unwrap();
        assert!(inside(&root(), "/link").unwrap().is_file().unwrap());
        for path in ["disk/one.qcow2", "/../disk/one.qcow2", "/none"] {
            assert_eq!(inside(&root(), path).unwrap_err().kind(), io::ErrorKind::InvalidData, "{path}");
        }
        std::fs::remove_dir_all(&base).unwrap();
    }
}
