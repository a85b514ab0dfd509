//! Cloud-init's data on its way through hook sidecars: as the JSON that they are given, and back.

use serde_json::{Map, Value, json};

use super::cloud_init::{self, Seed};
use super::plan::{Build, StorageError, iso};
use super::{Files, Sources};
use crate::api::v1::VirtualMachineInstance;
use crate::domain::facts::Paths;

/// Where the three parts of a seed lie.
struct Layout {
    source: &'static str,
    meta_field: &'static str,
    meta: &'static str,
    user: &'static str,
    network: &'static str,
}

const NO_CLOUD: Layout =
    Layout { source: "noCloud", meta_field: "NoCloudMetaData", meta: "meta-data", user: "user-data", network: "network-config" };
const CONFIG_DRIVE: Layout = Layout {
    source: "configDrive",
    meta_field: "ConfigDriveMetaData",
    meta: "openstack/latest/meta_data.json",
    user: "openstack/latest/user_data",
    network: "openstack/latest/network_data.json",
};

/// The seed of an instance, before it becomes a disk.
#[derive(Debug)]
pub struct Hooked {
    seed: Seed,
    volume: String,
    field: String,
    path: String,
}

impl Hooked {
    /// The seed of the first cloud-init volume that is a disk; there is at most one.
    ///
    /// # Errors
    /// The volume names something that is not there.
    pub fn of(vmi: &VirtualMachineInstance, paths: &Paths, sources: &Sources) -> Result<Option<Self>, StorageError> {
        for (i, volume) in vmi.spec.volumes.iter().enumerate() {
            let field = format!("spec.volumes[{i}]");
            if vmi.spec.domain.devices.disks.iter().any(|d| d.name == volume.name)
                && let Some(seed) = cloud_init::seed(vmi, volume, &field, sources)?
            {
                return Ok(Some(Self { seed, volume: volume.name.clone(), field, path: cloud_init::path(vmi, volume, paths) }));
            }
        }
        Ok(None)
    }

    fn layout(&self) -> &'static Layout {
        if self.seed.files.contains_key(NO_CLOUD.meta) { &NO_CLOUD } else { &CONFIG_DRIVE }
    }

    fn text(&self, file: &str) -> String {
        self.seed.files.get(file).map(|content| String::from_utf8_lossy(content).into_owned()).unwrap_or_default()
    }

    /// All there is, as JSON.
    pub fn data(&self) -> Value {
        let layout = self.layout();
        let meta = self.seed.files.get(layout.meta).and_then(|meta| serde_json::from_slice::<Value>(meta).ok());
        let mut data = json!({
            "DataSource": layout.source, "NoCloudMetaData": null, "ConfigDriveMetaData": null,
            "UserData": self.text(layout.user), "NetworkData": self.text(layout.network),
            "DevicesData": null, "VolumeName": self.volume,
        });
        data[layout.meta_field] = meta.unwrap_or_default();
        data
    }

    /// User and network data alone, as JSON: all that sidecars of old were given.
    pub fn no_cloud_source(&self) -> Value {
        let layout = self.layout();
        let parts = [("userData", self.text(layout.user)), ("networkData", self.text(layout.network))];
        Value::Object(parts.into_iter().filter(|(_, text)| !text.is_empty()).map(|(k, v)| (k.to_owned(), v.into())).collect())
    }

    /// Takes in what a sidecar has made of it: all there is, or where that says nothing user and network data alone.
    ///
    /// # Errors
    /// Neither is what it must be.
    pub fn take(&mut self, data: &[u8], no_cloud_source: &[u8]) -> Result<(), String> {
        let layout = self.layout();
        let all = object(data, "cloudInitData")?;
        let said = |field: &str| all.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (user, network) = (said("UserData"), said("NetworkData"));
        if !user.is_empty() || !network.is_empty() {
            if let Some(meta) = all.get(layout.meta_field).filter(|meta| meta.is_object()) {
                self.seed.files.insert(layout.meta.to_owned(), meta.to_string().into_bytes());
            }
            self.put(layout.user, user);
            self.put(layout.network, network);
            return Ok(());
        }
        let old = object(no_cloud_source, "cloudInitNoCloudSource")?;
        let said = |field: &str| old.get(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let (user, network) = (said("userData"), said("networkData"));
        if user.is_empty() && network.is_empty() {
            return Err("there is neither user data nor network data in cloudInitData or cloudInitNoCloudSource".to_owned());
        }
        self.put(layout.user, user);
        self.put(layout.network, network);
        Ok(())
    }

    /// What is no text stays as it is unless it was changed: on its way as JSON it has lost something.
    fn put(&mut self, file: &str, text: String) {
        if self.text(file) == text {
            return;
        }
        // user data is always there, if only as an empty file
        if text.is_empty() && file != NO_CLOUD.user && file != CONFIG_DRIVE.user {
            self.seed.files.remove(file);
        } else {
            self.seed.files.insert(file.to_owned(), text.into_bytes());
        }
    }

    /// The disk, in the place of that which was planned for the seed as it was.
    ///
    /// # Errors
    /// There is too much of it.
    pub fn replace(self, builds: &mut [Build]) -> Result<(), StorageError> {
        let build = iso(&self.field, self.path.clone(), self.seed.label, &self.seed.files)?;
        let planned = builds.iter_mut().find(|build| matches!(build, Build::Iso { path, .. } if *path == self.path));
        if let Some(planned) = planned {
            *planned = build;
        }
        Ok(())
    }

    /// The files, as they are now.
    pub fn files(&self) -> &Files {
        &self.seed.files
    }
}

/// An object of JSON; nothing at all is an empty one.
fn object(text: &[u8], name: &str) -> Result<Map<String, Value>, String> {
    if text.iter().all(u8::is_ascii_whitespace) {
        return Ok(Map::new());
    }
    match serde_json::from_slice(text) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(Value::Null) => Ok(Map::new()),
        Ok(_) => Err(format!("{name} must be a JSON object")),
        Err(error) => Err(format!("{name} must be JSON: {error}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hooked(volume: &Value) -> Hooked {
        let vmi: VirtualMachineInstance = serde_json::from_value(json!({
            "metadata": {"name": "vm", "namespace": "lab"},
            "spec": {"domain": {"devices": {"disks": [{"name": "seed"}]}, "firmware": {"uuid": "u"}}, "volumes": [volume]},
        }))
        .unwrap();
        Hooked::of(&vmi, &Paths::under("/r"), &Sources::default()).unwrap().unwrap()
    }

    fn no_cloud() -> Hooked {
        hooked(&json!({"name": "seed", "cloudInitNoCloud": {"userData": "u", "networkData": "n"}}))
    }

    #[test]
    fn a_sidecar_is_given_all_there_is() {
        let expected = json!({
            "DataSource": "noCloud", "NoCloudMetaData": {"instance-id": "u", "local-hostname": "vm"}, "ConfigDriveMetaData": null,
            "UserData": "u", "NetworkData": "n", "DevicesData": null, "VolumeName": "seed",
        });
        assert_eq!(no_cloud().data(), expected);
        assert_eq!(no_cloud().no_cloud_source(), json!({"userData": "u", "networkData": "n"}));
        let drive = hooked(&json!({"name": "seed", "cloudInitConfigDrive": {"userData": "u"}}));
        assert_eq!(drive.data()["ConfigDriveMetaData"]["uuid"], "u");
        assert_eq!(drive.no_cloud_source(), json!({"userData": "u"}));
    }

    #[test]
    fn what_a_sidecar_answers_is_what_the_guest_finds() {
        let full = r#"{"UserData": "x", "NetworkData": "", "NoCloudMetaData": {"instance-id": "other"}}"#;
        for (data, old, expected) in [
            (full, "", Ok((r#"{"instance-id":"other"}"#, "x", None))),
            (r#"{"UserData": "x", "NetworkData": "n"}"#, "", Ok((r#"{"instance-id":"u","local-hostname":"vm"}"#, "x", Some("n")))),
            ("", r#"{"userData": "y"}"#, Ok((r#"{"instance-id":"u","local-hostname":"vm"}"#, "y", None))),
            ("null", "", Err("neither")),
            ("[]", "", Err("cloudInitData must be a JSON object")),
            ("{", "", Err("cloudInitData must be JSON")),
            ("{}", "1", Err("cloudInitNoCloudSource must be a JSON object")),
        ] {
            let mut hooked = no_cloud();
            let taken = hooked.take(data.as_bytes(), old.as_bytes());
            match expected {
                Ok((meta, user, network)) => {
                    assert_eq!(taken, Ok(()), "{data}");
                    assert_eq!((hooked.text("meta-data").as_str(), hooked.text("user-data").as_str()), (meta, user), "{data} {old}");
                    assert_eq!(hooked.files().get("network-config").map(Vec::as_slice), network.map(str::as_bytes), "{data} {old}");
                }
                Err(words) => assert!(taken.clone().unwrap_err().contains(words), "{data} {old}: {taken:?}"),
            }
        }
    }

    #[test]
    fn what_is_no_text_comes_back_as_it_was() {
        let mut hooked = hooked(&json!({"name": "seed", "cloudInitNoCloud": {"userDataBase64": "H4v/"}}));
        let data = hooked.data().to_string();
        hooked.take(data.as_bytes(), b"").unwrap();
        assert_eq!(hooked.files()["user-data"], [0x1f, 0x8b, 0xff]);
    }

    #[test]
    fn the_planned_disk_is_replaced() {
        let mut hooked = no_cloud();
        hooked.take(br#"{"UserData": "changed"}"#, b"").unwrap();
        let other = Build::Empty { path: "/e".to_owned(), bytes: 1 };
        let mut builds = [other, Build::Iso { path: hooked.path.clone(), content: Vec::new() }];
        hooked.replace(&mut builds).unwrap();
        let Build::Iso { content, .. } = &builds[1] else { panic!("no ISO image") };
        assert!(content.windows(7).any(|w| w == b"changed"));
    }
}
