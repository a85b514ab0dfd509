//! What lies in the pod: the images that the handler and the kubelet have brought, and the files of Secrets and ConfigMaps.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};

use kubevirt_rs::api::v1::{VirtualMachineInstance, Volume};
use kubevirt_rs::domain::facts::{CLAIM_IMAGE, Paths, VolumeFacts, Volumes};
use kubevirt_rs::guest::credentials;
use kubevirt_rs::guest::order::Order;
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::pod::paths as pod;
use kubevirt_rs::storage::{Files, Image, ImageFormat, Images, Sources};

use super::fault;
use crate::images;
use crate::linux::beneath::{Folder, Held};
use crate::linux::files;

/// The images of the volumes. What is found is added to the facts.
pub(super) fn images(order: &Order, paths: &Paths, image_volumes: bool, volumes: &mut Volumes) -> Result<Images, Fault> {
    let mut found = Images::new();
    for (i, volume) in order.vmi.spec.volumes.iter().enumerate() {
        let field = format!("spec.volumes[{i}]");
        let image = if let Some(disk) = &volume.container_disk {
            let wanted = Some(disk.path.as_str()).filter(|path| !path.is_empty());
            let path = match image_volumes {
                true => images::in_folder(&Path::new(pod::IMAGE_VOLUMES).join(format!("disk_{i}")), wanted),
                false => Ok(PathBuf::from(paths.container_disk(i))),
            };
            let image = path.and_then(|path| images::describe(&path));
            Some(image.map_err(|e| not_ready(format!("{field}.containerDisk"), &e))?)
        } else {
            claim(volume, paths).map(|path| Image { path, format: ImageFormat::Raw })
        };
        let Some(image) = image else { continue };
        let facts = VolumeFacts {
            block: fs::metadata(&image.path).is_ok_and(|m| m.file_type().is_block_device()),
            path: Some(image.path.clone()),
            format: Some(image.format.as_str().to_owned()),
            virtual_size: images::virtual_size(Path::new(&image.path)).ok(),
            ..volumes.by_name.remove(&volume.name).unwrap_or_default()
        };
        volumes.by_name.insert(volume.name.clone(), facts);
        found.insert(volume.name.clone(), image);
    }
    kernel(order, paths, image_volumes)?;
    Ok(found)
}

fn not_ready(field: String, error: &dyn std::fmt::Display) -> Fault {
    Fault { field: Some(field), ..fault(FaultReason::DiskNotReady, error) }
}

/// Where the disk of a claim or of the host lies. The guest writes it, so whatever it looks like it is a raw image.
pub(super) fn claim(volume: &Volume, paths: &Paths) -> Option<String> {
    if let Some(host) = &volume.host_disk {
        return Some(paths.host_disk(&volume.name, &host.path));
    }
    let claimed = volume.persistent_volume_claim.is_some() || volume.data_volume.is_some() || volume.ephemeral.is_some();
    if !claimed {
        return None;
    }
    let device = device(&volume.name, paths).is_ok();
    Some(if device { paths.claim_device(&volume.name) } else { paths.claim_file(&volume.name) })
}

/// The block device that a claim is.
fn device(volume: &str, paths: &Paths) -> io::Result<Held> {
    let device = Folder::open(Path::new(&paths.block_devices))?.hold(volume)?;
    if device.is_block_device()? { Ok(device) } else { Err(io::ErrorKind::NotFound.into()) }
}

/// What the disk of a claim lies on. Whoever has filled the claim may have laid links in it: they are not followed.
pub(super) fn backing(volume: &str, paths: &Paths) -> io::Result<Held> {
    match device(volume, paths) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => claim_folder(volume, paths)?.hold(CLAIM_IMAGE),
        device => device,
    }
}

/// The folder that a claim with a file system is.
pub(super) fn claim_folder(volume: &str, paths: &Paths) -> io::Result<Folder> {
    Folder::open(Path::new(&paths.claims))?.folder(volume)
}

/// The kernel and the initial RAM disk. As a volume of the pod their image lies elsewhere, and they are linked to.
fn kernel(order: &Order, paths: &Paths, image_volumes: bool) -> Result<(), Fault> {
    let boot = order.vmi.spec.domain.firmware.as_ref().and_then(|f| f.kernel_boot.as_ref());
    let Some(container) = boot.and_then(|boot| boot.container.as_ref()) else { return Ok(()) };
    for (name, path) in [("kernelPath", &container.kernel_path), ("initrdPath", &container.initrd_path)] {
        if path.is_empty() {
            continue;
        }
        let field = || format!("spec.domain.firmware.kernelBoot.container.{name}");
        let file = PathBuf::from(paths.kernel_boot(path));
        if image_volumes {
            let found = images::in_folder(Path::new(pod::KERNEL_BOOT), Some(path)).map_err(|e| not_ready(field(), &e))?;
            link(&found, &file).map_err(|e| not_ready(field(), &format!("Failed to link to {path}: {e}")))?;
        }
        fs::metadata(&file).map_err(|e| not_ready(field(), &format!("{path} is not there ({}: {e})", file.display())))?;
    }
    Ok(())
}

fn link(original: &Path, link: &Path) -> std::io::Result<()> {
    if let Some(folder) = link.parent() {
        crate::linux::files::private_dir(folder)?;
    }
    match std::os::unix::fs::symlink(original, link) {
        // from the last time that the guest was to be started
        Err(e) if e.kind() == std::io::ErrorKind::AlreadyExists => Ok(()),
        result => result,
    }
}

/// The files that ISO images are made of.
pub(super) fn sources(order: &Order) -> Sources {
    let mut sources = Sources::default();
    let spec = &order.vmi.spec;
    for volume in &spec.volumes {
        let name = &volume.name;
        if let Some(map) = &volume.config_map {
            sources.config_maps.extend(Some(map.name.clone()).zip(folder(&pod::config_map(name))));
        }
        if let Some(secret) = &volume.secret {
            sources.secrets.extend(Some(secret.secret_name.clone()).zip(folder(&pod::secret(name))));
        }
        if volume.downward_api.is_some() {
            sources.volumes.extend(Some(name.clone()).zip(folder(&pod::downward_api(name))));
        }
        if volume.service_account.is_some() {
            sources.volumes.extend(Some(name.clone()).zip(folder(pod::SERVICE_ACCOUNT)));
        }
        if let Some(sysprep) = &volume.sysprep {
            let files = folder(&pod::sysprep(name));
            sources.secrets.extend(sysprep.secret.as_ref().map(|s| s.name.clone()).zip(files.clone()));
            sources.config_maps.extend(sysprep.config_map.as_ref().map(|m| m.name.clone()).zip(files));
        }
        let seeds = [
            volume.cloud_init_no_cloud.as_ref().map(|s| [s.secret_ref.as_ref(), s.network_data_secret_ref.as_ref()]),
            volume.cloud_init_config_drive.as_ref().map(|s| [s.secret_ref.as_ref(), s.network_data_secret_ref.as_ref()]),
        ];
        for secret in seeds.into_iter().flatten().flatten().flatten() {
            // the keys of both Secrets lie in one folder; their names tell them apart
            sources.secrets.entry(secret.name.clone()).or_default().extend(folder(&pod::secret(name)).unwrap_or_default());
        }
    }
    for credential in &spec.access_credentials {
        let key = credential.ssh_public_key.as_ref().and_then(|k| k.source.secret.as_ref());
        let password = credential.user_password.as_ref().and_then(|p| p.source.secret.as_ref());
        if let Some(secret) = key.or(password).map(|s| &s.secret_name) {
            sources.secrets.extend(Some(secret.clone()).zip(folder(&pod::secret(&format!("{secret}-access-cred")))));
        }
    }
    sources
}

/// The Secrets whose keys and passwords the agent brings into the guest, as they are now.
pub(super) fn credentials(vmi: &VirtualMachineInstance) -> BTreeMap<String, Files> {
    let named = credentials::secrets(vmi).into_iter().map(|(_, name)| name);
    named.filter_map(|name| Some((name.to_owned(), folder(&pod::secret(&format!("{name}-access-cred")))?))).collect()
}

/// The files of a folder that the kubelet fills; nothing if there is no such folder.
fn folder(path: &str) -> Option<Files> {
    files::in_folder(Path::new(path)).ok()
}
