//! Folders of claims that come while the guest runs: the attachment pod holds the claim, and its mount is shown in a
//! volume of the launcher's pod. Nothing is copied.

use std::io;
use std::os::fd::AsFd as _;
use std::path::Path;
use std::sync::Arc;

use super::disks::is_plain;
use super::guests::{Item, volume};
use super::pass::{Node, is_uid};
use super::{prepare, shown};
use crate::cluster::reference;
use crate::linux::beneath::Folder;
use crate::linux::pod_process::PodProcess;
use crate::linux::{mounts, namespaces};

/// The volume in which folders are shown; the attachment pod has one of the same name, in which it listens.
pub(super) const VOLUME: &str = "hotplug-disks";
/// The socket of an attachment pod.
const SOCKET: &str = "hp.sock";

/// Shows the folder of a claim, which the attachment pod of that UID holds, in the launcher's pod. A slow file system is
/// waited for by nobody else.
pub(super) async fn show(node: Arc<Node>, item: Item, name: String, attachment: String) {
    let Some(pod) = node.guests.change(&item, |guest| guest.pod.clone()) else { return };
    let (kubelet, in_pod, volume) = (node.kubelet.clone(), pod.clone(), name.clone());
    let done = tokio::task::spawn_blocking(move || show_folder(&kubelet, &in_pod, &volume, &attachment)).await;
    let done = done.unwrap_or_else(|error| Err(io::Error::other(error)));
    let trouble = done.as_ref().err().map(|error| format!("show the folder of the volume {name:?} to the launcher: {error}"));
    let is_new = node.guests.change(&item, |guest| {
        guest.in_hand.remove(&name);
        if trouble.is_none() {
            guest.shown.insert(name.clone());
        }
        std::mem::replace(&mut guest.trouble, trouble.clone()) != trouble
    });
    let Some(is_new) = is_new else {
        // the guest is gone, and what was shown to it was taken away before this was
        let gone = tokio::task::spawn_blocking(move || hide(&node.kubelet, &pod, &name)).await;
        if let Ok(Err(error)) = gone {
            tracing::warn!(namespace = %item.key.namespace, name = %item.key.name, "take the folder of a volume away again: {error}");
        }
        return;
    };
    let Some(trouble) = trouble else {
        tracing::info!(kind = "VirtualMachineInstance", namespace = %item.key.namespace, name = %item.key.name, volume = name, "shown");
        return node.queue.add(item);
    };
    if is_new {
        tracing::warn!(kind = "VirtualMachineInstance", namespace = %item.key.namespace, name = %item.key.name, "{trouble}");
        if let Some(instance) = node.instance(&item) {
            node.recorder.record(reference(&instance), true, "HotplugFailed", &trouble);
        }
    }
    node.queue.add_after(item, prepare::AGAIN);
}

fn show_folder(kubelet: &Path, pod: &str, name: &str, attachment: &str) -> io::Result<()> {
    if !is_plain(name) || !is_uid(attachment) {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("{name:?} in the pod {attachment:?} is no volume of a pod")));
    }
    let kubelet = Folder::open(kubelet)?;
    let target = kubelet.folder(volume(pod, VOLUME)).map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => io::Error::other("the launcher's pod takes no volumes (spec.domain.devices.disableHotplug)"),
        _ => error,
    })?;
    if mounts::is_mounted(&target, name)? {
        return Ok(());
    }
    let socket = kubelet.folder(volume(attachment, VOLUME))?.hold(SOCKET)?;
    let holder = PodProcess::listening_at(&socket, attachment)?;
    let folder = namespaces::in_mounts(holder.mounts()?.as_fd(), || {
        let root = Folder::open(Path::new("/"))?;
        // what else has that name there is of the pod's image
        if !mounts::is_mounted(&root, name)? {
            return Err(io::Error::other("its pod holds no file system of that name; a dump needs a claim with volumeMode Filesystem"));
        }
        let folder = root.hold(name)?;
        folder.let_use(prepare::USER)?;
        mounts::copy_writable(&folder)
    })?;
    let place = target.make(name)?.into_held();
    folder.attach(&place)
}

/// Takes a folder out of a launcher's pod.
pub(super) fn hide(kubelet: &Path, pod: &str, name: &str) -> io::Result<()> {
    match Folder::open(kubelet)?.folder(volume(pod, VOLUME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        folder => shown::take_one_away(&folder?, name),
    }
}
