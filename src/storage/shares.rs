//! What a guest shares as a file system where no pod brings it.

use super::plan::files_of;
use super::{Files, Sources, StorageError};
use crate::api::v1::{VirtualMachineInstance, Volume};

/// A folder that a guest shares.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Share {
    /// The name of the file system, which is its volume's.
    pub name: String,
    /// The field of the volume's source.
    pub field: String,
    /// What is in it.
    pub content: Content,
}

/// What is in a shared folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// These files, made for the guest.
    Files(Files),
    /// A claim, by its name.
    Claim(String),
}

/// The folders that a machine shares with its guest, by virtiofs.
///
/// # Errors
/// A volume is no folder, names what is not there, or has a file whose name would lead out of the folder.
pub fn shares(vmi: &VirtualMachineInstance, sources: &Sources) -> Result<Vec<Share>, StorageError> {
    let shared = vmi.spec.domain.devices.filesystems.iter().enumerate().filter(|(_, f)| f.virtiofs.is_some());
    let share = |(i, filesystem): (usize, &crate::api::v1::Filesystem)| {
        let mut volumes = vmi.spec.volumes.iter().enumerate();
        let (at, volume) = volumes.find(|(_, volume)| volume.name == filesystem.name).ok_or_else(|| {
            let message = format!("there is no volume {:?}; name one", filesystem.name);
            StorageError::field(&format!("spec.domain.devices.filesystems[{i}].name"), &message)
        })?;
        one(volume, &format!("spec.volumes[{at}]"), sources)
    };
    shared.map(share).collect()
}

fn one(volume: &Volume, field: &str, sources: &Sources) -> Result<Share, StorageError> {
    let share = |source: &str, content| Share { name: volume.name.clone(), field: format!("{field}.{source}"), content };
    if let Some(claim) = &volume.persistent_volume_claim {
        return Ok(share("persistentVolumeClaim", Content::Claim(claim.claim_name.clone())));
    }
    if let Some(data) = &volume.data_volume {
        return Ok(share("dataVolume", Content::Claim(data.name.clone())));
    }
    let (source, files) = files_of(volume, field, sources)?.ok_or_else(|| {
        let message = format!(
            "{:?} is no folder; share a claim, a ConfigMap, a Secret, a downwardAPI volume or a service account, or attach it as a disk",
            volume.name
        );
        StorageError::field(field, &message)
    })?;
    match files.keys().find(|name| !stays_inside(name)) {
        Some(name) => Err(StorageError::field(&format!("{field}.{source}"), &format!("the file name {name:?} leads out of the folder"))),
        None => Ok(share(source, Content::Files(files))),
    }
}

/// Whether a relative path leads to a file below where it begins, on every file system.
fn stays_inside(path: &str) -> bool {
    path.split('/').all(|part| !part.is_empty() && part != "." && part != ".." && !part.contains('\0') && part.len() <= 255)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn shared(volume: &Value) -> Result<Vec<Share>, StorageError> {
        let mut volume = volume.clone();
        volume["name"] = json!("v");
        let vmi: VirtualMachineInstance = serde_json::from_value(json!({
            "metadata": {"name": "a", "namespace": "n"},
            "spec": {
                "domain": {"devices": {"filesystems": [{"name": "v", "virtiofs": {}}]}},
                "volumes": [{"name": "root", "emptyDisk": {"capacity": "1Mi"}}, volume],
            },
        }))
        .unwrap();
        let files = |name: &str| Files::from([(name.to_owned(), b"x".to_vec())]);
        let mut sources = Sources::default();
        sources.config_maps.extend([("c".to_owned(), files("key")), ("bad".to_owned(), files("../key"))]);
        sources.secrets.insert("s".to_owned(), files("password"));
        sources.volumes.insert("v".to_owned(), files("deep/labels"));
        shares(&vmi, &sources)
    }

    #[test]
    fn a_share_is_a_claim_or_files() {
        let files = |name: &str| Content::Files(Files::from([(name.to_owned(), b"x".to_vec())]));
        for (volume, field, content) in [
            (json!({"persistentVolumeClaim": {"claimName": "p"}}), "persistentVolumeClaim", Content::Claim("p".into())),
            (json!({"dataVolume": {"name": "d"}}), "dataVolume", Content::Claim("d".into())),
            (json!({"configMap": {"name": "c"}}), "configMap", files("key")),
            (json!({"configMap": {"name": "none", "optional": true}}), "configMap", Content::Files(Files::new())),
            (json!({"secret": {"secretName": "s"}}), "secret", files("password")),
            (json!({"downwardAPI": {}}), "downwardAPI", files("deep/labels")),
            (json!({"serviceAccount": {"serviceAccountName": "default"}}), "serviceAccount", files("deep/labels")),
        ] {
            let share = Share { name: "v".into(), field: format!("spec.volumes[1].{field}"), content };
            assert_eq!(shared(&volume).unwrap(), [share], "{volume}");
        }
    }

    #[test]
    fn what_is_no_folder_is_named() {
        for (volume, field) in [
            (json!({"containerDisk": {"image": "i"}}), "spec.volumes[1]"),
            (json!({"configMap": {"name": "none"}}), "spec.volumes[1].configMap.name"),
            (json!({"secret": {"secretName": "none"}}), "spec.volumes[1].secret.secretName"),
            (json!({"configMap": {"name": "bad"}}), "spec.volumes[1].configMap"),
        ] {
            assert_eq!(shared(&volume).unwrap_err().field, field, "{volume}");
        }
        let alone: VirtualMachineInstance =
            serde_json::from_value(json!({"spec": {"domain": {"devices": {"filesystems": [{"name": "v", "virtiofs": {}}]}}}})).unwrap();
        assert_eq!(shares(&alone, &Sources::default()).unwrap_err().field, "spec.domain.devices.filesystems[0].name");
    }

    #[test]
    fn a_name_cannot_leave_its_folder() {
        for (path, expected) in [
            ("a", true),
            ("a/b", true),
            ("..data", true),
            ("", false),
            ("/a", false),
            ("a//b", false),
            ("..", false),
            ("a/../b", false),
            (".", false),
            ("a\0", false),
        ] {
            assert_eq!(stays_inside(path), expected, "{path:?}");
        }
    }
}
