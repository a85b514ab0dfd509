//! What cloud-init finds in a guest: the NoCloud and ConfigDrive seeds.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::LocalObjectReference;
use serde_json::{Map, Value, json};

use super::{Files, Sources, StorageError};
use crate::api::names;
use crate::api::v1::{AccessCredential, VirtualMachineInstance, Volume};
use crate::domain::facts::Paths;

/// A seed: the label of its disk and the files on it.
#[derive(Debug, PartialEq, Eq)]
pub struct Seed {
    /// What cloud-init looks for: `cidata` or `config-2`.
    pub label: &'static str,
    /// The files.
    pub files: Files,
}

/// The fields that both kinds of seed share.
struct Data<'a> {
    secret: Option<&'a LocalObjectReference>,
    user: &'a str,
    user_base64: &'a str,
    network_secret: Option<&'a LocalObjectReference>,
    network: &'a str,
    network_base64: &'a str,
}

macro_rules! data {
    ($source:expr) => {
        Data {
            secret: $source.secret_ref.as_ref(),
            user: &$source.user_data,
            user_base64: &$source.user_data_base64,
            network_secret: $source.network_data_secret_ref.as_ref(),
            network: &$source.network_data,
            network_base64: &$source.network_data_base64,
        }
    };
}

/// The seed of a cloud-init volume, or nothing for any other volume. `field` is the volume's path for messages.
///
/// # Errors
/// A Secret is missing or lacks its key, or a value is no base64.
pub(super) fn seed(vmi: &VirtualMachineInstance, volume: &Volume, field: &str, sources: &Sources) -> Result<Option<Seed>, StorageError> {
    let name = vmi.metadata.name.as_deref().unwrap_or_default();
    let namespace = vmi.metadata.namespace.as_deref().unwrap_or("default");
    let uuid = vmi.spec.domain.firmware.as_ref().map(|f| f.uuid.as_str()).unwrap_or_default();
    let mut files = Files::new();
    if let Some(source) = &volume.cloud_init_no_cloud {
        let (user, network) = read(&data!(source), &format!("{field}.cloudInitNoCloud"), sources)?;
        let keys = public_keys(vmi, sources, |c| c.ssh_public_key.as_ref().is_some_and(|k| k.propagation_method.no_cloud.is_some()))?;
        let meta = fields([
            ("instance-type", json!(instance_type(vmi))),
            ("instance-id", json!(uuid)),
            ("local-hostname", json!(hostname(vmi))),
            ("public-keys", keys),
        ]);
        files.insert("meta-data".into(), meta);
        files.insert("user-data".into(), user);
        if !network.is_empty() {
            files.insert("network-config".into(), network);
        }
        return Ok(Some(Seed { label: "cidata", files }));
    }
    if let Some(source) = &volume.cloud_init_config_drive {
        let (user, network) = read(&data!(source), &format!("{field}.cloudInitConfigDrive"), sources)?;
        let keys = public_keys(vmi, sources, |c| c.ssh_public_key.as_ref().is_some_and(|k| k.propagation_method.config_drive.is_some()))?;
        let meta = fields([
            ("instance_type", json!(instance_type(vmi))),
            ("instance_id", json!(format!("{name}.{namespace}"))),
            ("hostname", json!(hostname(vmi))),
            ("uuid", json!(uuid)),
            ("public_keys", keys),
        ]);
        files.insert("openstack/latest/meta_data.json".into(), meta);
        files.insert("openstack/latest/user_data".into(), user);
        if !network.is_empty() {
            files.insert("openstack/latest/network_data.json".into(), network);
        }
        return Ok(Some(Seed { label: "config-2", files }));
    }
    Ok(None)
}

/// Where the disk of a cloud-init volume lies.
pub(super) fn path(vmi: &VirtualMachineInstance, volume: &Volume, paths: &Paths) -> String {
    let namespace = vmi.metadata.namespace.as_deref().unwrap_or("default");
    let name = vmi.metadata.name.as_deref().unwrap_or_default();
    if volume.cloud_init_no_cloud.is_some() { paths.no_cloud(namespace, name) } else { paths.config_drive(namespace, name) }
}

/// A document of the fields that hold something.
fn fields<const N: usize>(list: [(&str, Value); N]) -> Vec<u8> {
    let map: Map<String, Value> = list
        .into_iter()
        .filter(|(_, v)| v.as_str() != Some("") && v.as_object().is_none_or(|o| !o.is_empty()))
        .map(|(k, v)| (k.to_owned(), v))
        .collect();
    Value::Object(map).to_string().into_bytes()
}

/// The name that the guest gives itself: the first label of the machine's name, unless its hostname is set.
pub(crate) fn hostname(vmi: &VirtualMachineInstance) -> String {
    if !vmi.spec.hostname.is_empty() {
        return vmi.spec.hostname.clone();
    }
    let name = vmi.metadata.name.as_deref().unwrap_or_default();
    name.split('.').next().unwrap_or_default().chars().take(63).collect()
}

fn instance_type(vmi: &VirtualMachineInstance) -> &str {
    let annotation = |key: &str| vmi.metadata.annotations.as_ref().and_then(|a| a.get(key)).map(String::as_str).filter(|s| !s.is_empty());
    annotation(names::CLUSTER_INSTANCETYPE_ANNOTATION).or_else(|| annotation(names::INSTANCETYPE_ANNOTATION)).unwrap_or_default()
}

/// User data and network data; a Secret goes before what stands in the object.
fn read(data: &Data<'_>, field: &str, sources: &Sources) -> Result<(Vec<u8>, Vec<u8>), StorageError> {
    let user = one(data.secret, "secretRef", ["userdata", "userData"], (data.user, data.user_base64, "userDataBase64"), field, sources)?;
    let network = one(
        data.network_secret,
        "networkDataSecretRef",
        ["networkdata", "networkData"],
        (data.network, data.network_base64, "networkDataBase64"),
        field,
        sources,
    )?;
    if user.is_empty() && network.is_empty() {
        return Err(StorageError::field(field, "there is neither user data nor network data; set userData, userDataBase64 or secretRef"));
    }
    Ok((user, network))
}

fn one(
    secret: Option<&LocalObjectReference>,
    secret_field: &str,
    keys: [&str; 2],
    (text, base64, base64_field): (&str, &str, &str),
    field: &str,
    sources: &Sources,
) -> Result<Vec<u8>, StorageError> {
    if let Some(reference) = secret {
        let path = format!("{field}.{secret_field}.name");
        let Some(files) = sources.secrets.get(&reference.name) else {
            return Err(StorageError::missing(&path, "Secret", &reference.name));
        };
        let found = keys.iter().find_map(|key| files.get(*key));
        return found
            .cloned()
            .ok_or_else(|| StorageError::field(&path, &format!("the Secret {:?} has no key {} or {}", reference.name, keys[0], keys[1])));
    }
    if !text.is_empty() {
        return Ok(text.as_bytes().to_vec());
    }
    STANDARD.decode(base64).map_err(|e| StorageError::field(&format!("{field}.{base64_field}"), &format!("this must be base64: {e}")))
}

/// The keys of every access credential that `wanted` picks, numbered.
fn public_keys(vmi: &VirtualMachineInstance, sources: &Sources, wanted: impl Fn(&AccessCredential) -> bool) -> Result<Value, StorageError> {
    let mut keys = Map::new();
    for (i, credential) in vmi.spec.access_credentials.iter().enumerate().filter(|(_, c)| wanted(c)) {
        let Some(secret) = credential.ssh_public_key.as_ref().and_then(|k| k.source.secret.as_ref()) else { continue };
        if secret.secret_name.is_empty() {
            continue;
        }
        let Some(files) = sources.secrets.get(&secret.secret_name) else {
            let field = format!("spec.accessCredentials[{i}].sshPublicKey.source.secret.secretName");
            return Err(StorageError::missing(&field, "Secret", &secret.secret_name));
        };
        for content in files.values().filter(|c| !c.is_empty()) {
            keys.insert(keys.len().to_string(), json!(String::from_utf8_lossy(content)));
        }
    }
    Ok(Value::Object(keys))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmi(volume: &Value) -> VirtualMachineInstance {
        serde_json::from_value(json!({
            "metadata": {"name": "web.one", "namespace": "lab"},
            "spec": {
                "domain": {"devices": {}, "firmware": {"uuid": "u-1"}},
                "volumes": [volume],
                "accessCredentials": [
                    {"sshPublicKey": {"source": {"secret": {"secretName": "keys"}}, "propagationMethod": {"noCloud": {}}}},
                    {"sshPublicKey": {"source": {"secret": {"secretName": "other"}}, "propagationMethod": {"configDrive": {}}}}
                ]
            }
        }))
        .unwrap()
    }

    fn sources() -> Sources {
        let mut sources = Sources::default();
        for (name, key, value) in [
            ("keys", "id", "ssh-ed25519 AAA"),
            ("other", "id", "ssh-rsa BBB"),
            ("seed", "userData", "#cloud-config\n"),
            ("wrong", "x", "y"),
        ] {
            sources.secrets.entry(name.into()).or_default().insert(key.into(), value.as_bytes().to_vec());
        }
        sources
    }

    fn of(volume: &Value) -> Result<Option<Seed>, StorageError> {
        let vmi = vmi(volume);
        seed(&vmi, &vmi.spec.volumes[0], "spec.volumes[0]", &sources())
    }

    #[test]
    fn a_no_cloud_seed_has_its_three_files() {
        let seed =
            of(&json!({"name": "s", "cloudInitNoCloud": {"secretRef": {"name": "seed"}, "networkData": "version: 2"}})).unwrap().unwrap();
        let text: Vec<_> = seed.files.iter().map(|(k, v)| (k.as_str(), String::from_utf8_lossy(v).into_owned())).collect();
        assert_eq!(seed.label, "cidata");
        assert_eq!(
            text[0],
            ("meta-data", r#"{"instance-id":"u-1","local-hostname":"web","public-keys":{"0":"ssh-ed25519 AAA"}}"#.to_owned())
        );
        assert_eq!(text[1], ("network-config", "version: 2".to_owned()));
        assert_eq!(text[2], ("user-data", "#cloud-config\n".to_owned()));
    }

    #[test]
    fn a_config_drive_seed_lies_where_openstack_puts_it() {
        let seed = of(&json!({"name": "s", "cloudInitConfigDrive": {"userDataBase64": "eA=="}})).unwrap().unwrap();
        assert_eq!(seed.label, "config-2");
        assert_eq!(seed.files.keys().collect::<Vec<_>>(), ["openstack/latest/meta_data.json", "openstack/latest/user_data"]);
        let meta: Value = serde_json::from_slice(&seed.files["openstack/latest/meta_data.json"]).unwrap();
        assert_eq!(meta, json!({"hostname": "web", "instance_id": "web.one.lab", "uuid": "u-1", "public_keys": {"0": "ssh-rsa BBB"}}));
    }

    #[test]
    fn what_is_missing_is_named() {
        for (volume, field) in [
            (json!({"cloudInitNoCloud": {"secretRef": {"name": "none"}}}), "spec.volumes[0].cloudInitNoCloud.secretRef.name"),
            (json!({"cloudInitNoCloud": {"secretRef": {"name": "wrong"}}}), "spec.volumes[0].cloudInitNoCloud.secretRef.name"),
            (json!({"cloudInitNoCloud": {"userDataBase64": "%"}}), "spec.volumes[0].cloudInitNoCloud.userDataBase64"),
            (json!({"cloudInitConfigDrive": {}}), "spec.volumes[0].cloudInitConfigDrive"),
        ] {
            assert_eq!(of(&volume).unwrap_err().field, field);
        }
    }
}
