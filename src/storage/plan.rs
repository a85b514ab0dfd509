//! Which files must be made before a guest can start, and what goes into each.

use std::collections::BTreeMap;

use super::iso9660::{self, IsoError};
use super::{Files, Sources, cloud_init};
use crate::api::v1::{VirtualMachineInstance, Volume};
use crate::domain::facts::Paths;
use crate::downward_metrics::disk;

/// The format of a disk image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImageFormat {
    /// The bytes of the disk themselves.
    Raw,
    /// QEMU's own format.
    Qcow2,
}

impl ImageFormat {
    /// Its name, as QEMU and libvirt write it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Raw => "raw",
            Self::Qcow2 => "qcow2",
        }
    }
}

/// A disk image that exists.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Image {
    /// Where it lies.
    pub path: String,
    /// Its format.
    pub format: ImageFormat,
}

/// The images that exist, by the name of their volume: those of containerDisks, and the claims.
pub type Images = BTreeMap<String, Image>;

/// One file to make.
#[derive(Debug, PartialEq, Eq)]
pub enum Build {
    /// A qcow2 that takes the changes to an image which stays as it is.
    Overlay {
        /// Where it shall lie.
        path: String,
        /// The image below it.
        backing: Image,
    },
    /// An empty qcow2.
    Empty {
        /// Where it shall lie.
        path: String,
        /// Its size, in bytes.
        bytes: u64,
    },
    /// A raw image, made only where there is none yet.
    Host {
        /// Where it shall lie.
        path: String,
        /// Its size, in bytes.
        bytes: u64,
    },
    /// The disk of downward metrics.
    Metrics {
        /// Where it shall lie.
        path: String,
        /// The whole disk, without a figure on it.
        content: Vec<u8>,
    },
    /// An ISO image.
    Iso {
        /// Where it shall lie.
        path: String,
        /// The whole image.
        content: Vec<u8>,
    },
}

/// Why a volume cannot be given to the guest.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct StorageError {
    /// The field of the machine.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl StorageError {
    pub(super) fn field(field: &str, message: &str) -> Self {
        Self { field: field.to_owned(), message: message.to_owned() }
    }

    pub(super) fn missing(field: &str, kind: &str, name: &str) -> Self {
        Self::field(field, &format!("there is no {kind} {name:?}; give it along with the machine"))
    }
}

const MIB: i128 = 1 << 20;

/// The files to make for a machine's volumes, in their order.
///
/// # Errors
/// A volume names something that is not there, or cannot become a disk.
pub fn plan(vmi: &VirtualMachineInstance, paths: &Paths, images: &Images, sources: &Sources) -> Result<Vec<Build>, StorageError> {
    let mut builds = Vec::new();
    for (i, volume) in vmi.spec.volumes.iter().enumerate() {
        // a volume that is shared as a file system needs no disk
        if vmi.spec.domain.devices.disks.iter().any(|d| d.name == volume.name) {
            builds.extend(one(vmi, volume, &format!("spec.volumes[{i}]"), paths, images, sources)?);
        }
    }
    Ok(builds)
}

fn one(
    vmi: &VirtualMachineInstance,
    volume: &Volume,
    field: &str,
    paths: &Paths,
    images: &Images,
    sources: &Sources,
) -> Result<Option<Build>, StorageError> {
    if let Some(seed) = cloud_init::seed(vmi, volume, field, sources)? {
        return iso(field, cloud_init::path(vmi, volume, paths), seed.label, &seed.files).map(Some);
    }
    if volume.container_disk.is_some() || volume.ephemeral.is_some() {
        let Some(backing) = images.get(&volume.name).cloned() else {
            return Err(StorageError::field(field, &format!("there is no image for the volume {:?}", volume.name)));
        };
        return Ok(Some(Build::Overlay { path: paths.overlay(&volume.name), backing }));
    }
    if let Some(empty) = &volume.empty_disk {
        let bytes = whole_mib(empty.capacity.value());
        if bytes == 0 {
            return Err(StorageError::field(
                &format!("{field}.emptyDisk.capacity"),
                &format!("a disk of {} is too small; ask for at least 1Mi", empty.capacity),
            ));
        }
        return Ok(Some(Build::Empty { path: paths.empty_disk(&volume.name), bytes }));
    }
    if let Some(host) = volume.host_disk.as_ref().filter(|h| h.type_.as_str() == "DiskOrCreate") {
        // in a pod it lies elsewhere
        let path = images.get(&volume.name).map_or(&host.path, |image| &image.path);
        return Ok(Some(Build::Host { path: path.clone(), bytes: u64::try_from(host.capacity.value()).unwrap_or(0) }));
    }
    if let Some((_, files)) = files_of(volume, field, sources)? {
        let (path, label) = match (&volume.config_map, &volume.secret, &volume.downward_api) {
            (Some(map), ..) => (paths.config_map(&volume.name), map.volume_label.as_str()),
            (_, Some(secret), _) => (paths.secret(&volume.name), secret.volume_label.as_str()),
            (.., Some(api)) => (paths.downward_api(&volume.name), api.volume_label.as_str()),
            _ => (paths.service_account.clone(), ""),
        };
        return iso(field, path, label, &files).map(Some);
    }
    if volume.downward_metrics.is_some() {
        return Ok(Some(Build::Metrics { path: paths.metrics_disk.clone(), content: disk::empty() }));
    }
    if let Some(sysprep) = &volume.sysprep {
        let files = match (&sysprep.secret, &sysprep.config_map) {
            (Some(secret), _) => lookup(&sources.secrets, "Secret", &secret.name, None, &format!("{field}.sysprep.secret.name"))?,
            (None, Some(map)) => lookup(&sources.config_maps, "ConfigMap", &map.name, None, &format!("{field}.sysprep.configMap.name"))?,
            (None, None) => {
                return Err(StorageError::field(&format!("{field}.sysprep"), "name a Secret or a ConfigMap with the answer file"));
            }
        };
        return iso(field, paths.sysprep(&volume.name), "unattendCD", &files).map(Some);
    }
    Ok(None)
}

/// What a volume is made of that consists of files: the name of its source, and the files.
pub(super) fn files_of(volume: &Volume, field: &str, sources: &Sources) -> Result<Option<(&'static str, Files)>, StorageError> {
    if let Some(map) = &volume.config_map {
        let files = lookup(&sources.config_maps, "ConfigMap", &map.name, map.optional, &format!("{field}.configMap.name"))?;
        return Ok(Some(("configMap", files)));
    }
    if let Some(secret) = &volume.secret {
        let files = lookup(&sources.secrets, "Secret", &secret.secret_name, secret.optional, &format!("{field}.secret.secretName"))?;
        return Ok(Some(("secret", files)));
    }
    let source = match (&volume.downward_api, &volume.service_account) {
        (Some(_), _) => "downwardAPI",
        (None, Some(_)) => "serviceAccount",
        (None, None) => return Ok(None),
    };
    // those only a pod has
    let missing = || StorageError::field(field, "its files are not in the launcher's pod");
    Ok(Some((source, sources.volumes.get(&volume.name).cloned().ok_or_else(missing)?)))
}

fn lookup(all: &BTreeMap<String, Files>, kind: &str, name: &str, optional: Option<bool>, field: &str) -> Result<Files, StorageError> {
    match all.get(name) {
        Some(files) => Ok(files.clone()),
        None if optional == Some(true) => Ok(Files::new()),
        None => Err(StorageError::missing(field, kind, name)),
    }
}

pub(super) fn iso(field: &str, path: String, label: &str, files: &Files) -> Result<Build, StorageError> {
    // without a label of its own a disk has the one that every tool for ISO images gives
    let label = if label.is_empty() { "cfgdata" } else { label };
    let content = iso9660::build(label, files).map_err(|e| match e {
        IsoError::Label(_) => StorageError::field(&format!("{field}.volumeLabel"), &e.to_string()),
        _ => StorageError::field(field, &e.to_string()),
    })?;
    Ok(Build::Iso { path, content })
}

/// QEMU's disks are whole MiB: the next lower one.
fn whole_mib(bytes: i128) -> u64 {
    u64::try_from(bytes / MIB * MIB).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn planned(volume: &serde_json::Value) -> Result<Vec<Build>, StorageError> {
        let mut volume = volume.clone();
        volume["name"] = json!("v");
        let vmi: VirtualMachineInstance = serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {"domain": {"devices": {"disks": [{"name": "v"}]}}, "volumes": [volume, {"name": "shared", "configMap": {"name": "none"}}]}
        }))
        .unwrap();
        let images = Images::from([("v".into(), Image { path: "/i.qcow2".into(), format: ImageFormat::Qcow2 })]);
        let mut sources = Sources::default();
        sources.config_maps.insert("c".into(), Files::from([("k".into(), b"v".to_vec())]));
        sources.volumes.insert("v".into(), Files::from([("token".into(), b"t".to_vec())]));
        plan(&vmi, &Paths::under("/r"), &images, &sources)
    }

    #[test]
    fn each_kind_of_volume_becomes_its_file() {
        let image = Image { path: "/i.qcow2".into(), format: ImageFormat::Qcow2 };
        let overlay = Build::Overlay { path: "/r/overlays/v/disk.qcow2".into(), backing: image };
        assert_eq!(planned(&json!({"containerDisk": {"image": "x"}})).unwrap(), [overlay]);
        let empty = Build::Empty { path: "/r/empty-disks/v.qcow2".into(), bytes: 2 << 20 };
        assert_eq!(planned(&json!({"emptyDisk": {"capacity": "2.9Mi"}})).unwrap(), [empty]);
        let Build::Iso { path, content } = &planned(&json!({"configMap": {"name": "c", "volumeLabel": "lab"}})).unwrap()[0] else {
            panic!("no ISO image")
        };
        assert_eq!((path.as_str(), &content[0x8028..0x802b]), ("/r/config-maps/v.iso", &b"lab"[..]));
        for (volume, expected) in [("downwardAPI", "/r/downward-api/v.iso"), ("serviceAccount", "/r/service-account.iso")] {
            let Build::Iso { path, .. } = &planned(&json!({volume: {}})).unwrap()[0] else { panic!("no ISO image") };
            assert_eq!(path, expected);
        }
        let metrics = Build::Metrics { path: "/r/metrics-disk".into(), content: disk::empty() };
        assert_eq!(planned(&json!({"downwardMetrics": {}})).unwrap(), [metrics]);
        assert_eq!(planned(&json!({"persistentVolumeClaim": {"claimName": "x"}})).unwrap(), []);
    }

    #[test]
    fn what_cannot_become_a_disk_is_named() {
        for (volume, field) in [
            (json!({"emptyDisk": {"capacity": "1Ki"}}), "spec.volumes[0].emptyDisk.capacity"),
            (json!({"configMap": {"name": "none"}}), "spec.volumes[0].configMap.name"),
            (json!({"secret": {"secretName": "none"}}), "spec.volumes[0].secret.secretName"),
            (json!({"configMap": {"name": "c", "volumeLabel": "l".repeat(33)}}), "spec.volumes[0].volumeLabel"),
            (json!({"sysprep": {}}), "spec.volumes[0].sysprep"),
        ] {
            assert_eq!(planned(&volume).unwrap_err().field, field);
        }
        assert!(planned(&json!({"configMap": {"name": "none", "optional": true}})).is_ok());
    }
}
