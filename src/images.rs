//! Disk images out of container images that lie on this machine.
//!
//! A containerDisk is a container image with one disk image in its folder `/disk`. Here it comes as an archive (OCI or
//! Docker), as an OCI layout, as a folder that holds what the container would, or as the disk image itself.

mod archive;
mod layers;
mod qcow2;

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use kubevirt_rs::storage::{Image, ImageFormat};

pub(crate) use layers::Progress;
pub(crate) use qcow2::virtual_size;

/// Where a container image's disk lies when the machine does not say.
const DISK_FOLDER: &str = "disk";

/// Why there is no disk image.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ImageError {
    #[error("Failed to read {}: {error}", path.display())]
    Read { path: PathBuf, error: io::Error },
    #[error("{} is no container image: {reason}", path.display())]
    Form { path: PathBuf, reason: String },
    #[error("{} has no disk image at {wanted}{}", path.display(), found(there))]
    NoDisk { path: PathBuf, wanted: String, there: Vec<String> },
    #[error("{} has {} disk images in /disk ({}); name one by the field `path` of the containerDisk", path.display(), names.len(), names.join(", "))]
    Several { path: PathBuf, names: Vec<String> },
    #[error("The disk image {} {reason}", path.display())]
    Refused { path: PathBuf, reason: String },
    #[error("Failed to write {}: {error}", path.display())]
    Write { path: PathBuf, error: io::Error },
}

fn found(there: &[String]) -> String {
    if there.is_empty() { "; its folder /disk is empty or absent".to_owned() } else { format!("; there are {}", there.join(", ")) }
}

/// The disk image of the container image at `path`, unpacked to `target` unless it lies on this machine as a file.
/// `wanted` is the path in the container, if the machine names one.
pub(crate) fn disk(path: &Path, wanted: Option<&str>, target: &Path, progress: &dyn Progress) -> Result<Image, ImageError> {
    let read = |error| ImageError::Read { path: path.to_owned(), error };
    let meta = fs::metadata(path).map_err(read)?;
    let file = if meta.is_dir() && !path.join("oci-layout").exists() {
        in_folder(path, wanted)?
    } else if meta.is_file() && !archive::is_archive(path).map_err(read)? {
        path.to_owned()
    } else {
        let source = archive::open(path)?;
        layers::unpack(path, &source, wanted, target, progress)?;
        target.to_owned()
    };
    describe(&file)
}

/// What a disk image is; one that leans on other files is refused, since whoever made it chose them.
pub(crate) fn describe(path: &Path) -> Result<Image, ImageError> {
    let read = |error| ImageError::Read { path: path.to_owned(), error };
    let absolute = fs::canonicalize(path).map_err(read)?;
    let mut file = File::open(&absolute).map_err(read)?;
    let format = match qcow2::header(&mut file).map_err(read)? {
        None => ImageFormat::Raw,
        Some(header) => match header.leans_on() {
            None => ImageFormat::Qcow2,
            Some(what) => {
                return Err(ImageError::Refused {
                    path: path.to_owned(),
                    reason: format!("has {what}; flatten it with `qemu-img convert -O qcow2`"),
                });
            }
        },
    };
    let path = absolute
        .into_os_string()
        .into_string()
        .map_err(|_| ImageError::Refused { path: path.to_owned(), reason: "has a name that is no UTF-8; rename it".to_owned() })?;
    Ok(Image { path, format })
}

/// The disk image in a folder that holds what its container would.
pub(crate) fn in_folder(path: &Path, wanted: Option<&str>) -> Result<PathBuf, ImageError> {
    let list = |folder: &Path| -> Vec<String> {
        let mut names: Vec<String> = fs::read_dir(folder)
            .into_iter()
            .flatten()
            .flatten()
            .filter(|e| e.file_type().is_ok_and(|t| t.is_file()))
            .map(|e| e.file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    };
    let folder = path.join(DISK_FOLDER);
    if let Some(wanted) = wanted {
        // components that lead out of the folder are not followed
        let inside: PathBuf = Path::new(wanted).components().filter(|c| matches!(c, std::path::Component::Normal(_))).collect();
        let file = path.join(&inside);
        return match fs::symlink_metadata(&file) {
            Ok(meta) if meta.is_file() => Ok(file),
            _ => Err(ImageError::NoDisk { path: path.to_owned(), wanted: wanted.to_owned(), there: list(&folder) }),
        };
    }
    let names = list(&folder);
    match names.as_slice() {
        [one] => Ok(folder.join(one)),
        [] => Err(ImageError::NoDisk { path: path.to_owned(), wanted: "/disk".to_owned(), there: names }),
        _ => Err(ImageError::Several { path: path.to_owned(), names }),
    }
}
