//! What cloud-init is told: from one place each, and not too much.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::core::v1::LocalObjectReference;

use super::{Rule, Subject};
use crate::admission::{Cause, Path};
use crate::api::v1::Volume;

pub(super) const RULES: &[Rule] = &[judge];

/// Every watcher of an instance gets all of it, so large data belongs in a secret.
const MOST_BYTES: usize = 2048;

/// The three places that data may come from.
struct Data<'a> {
    /// The prefix of the fields: `userData`, `networkData`.
    key: &'static str,
    secret_key: &'static str,
    plain: &'a str,
    encoded: &'a str,
    secret: Option<&'a LocalObjectReference>,
}

macro_rules! data {
    ($source:expr) => {
        [
            Data {
                key: "userData",
                secret_key: "secretRef",
                plain: &$source.user_data,
                encoded: &$source.user_data_base64,
                secret: $source.secret_ref.as_ref(),
            },
            Data {
                key: "networkData",
                secret_key: "networkDataSecretRef",
                plain: &$source.network_data,
                encoded: &$source.network_data_base64,
                secret: $source.network_data_secret_ref.as_ref(),
            },
        ]
    };
}

fn told(volume: &Volume) -> Option<(&'static str, [Data<'_>; 2])> {
    match (&volume.cloud_init_no_cloud, &volume.cloud_init_config_drive) {
        (Some(source), _) => Some(("cloudInitNoCloud", data!(source))),
        (None, Some(source)) => Some(("cloudInitConfigDrive", data!(source))),
        (None, None) => None,
    }
}

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("volumes");
    for (i, volume) in s.spec.volumes.iter().enumerate() {
        let Some((key, data)) = told(volume) else { continue };
        let element = list.index(i);
        let at = element.key(key);
        let given: usize = data.iter().map(|data| source(&at, data, causes)).sum();
        if given == 0 {
            causes.push(Cause::invalid(at, "cloud-init is told nothing; give userData or networkData, or a secret with them"));
        }
    }
}

/// Judges one kind of data; how many places it comes from.
fn source(at: &Path, data: &Data, causes: &mut Vec<Cause>) -> usize {
    let secret = data.secret.is_some_and(|secret| !secret.name.is_empty());
    let given = [secret, !data.encoded.is_empty(), !data.plain.is_empty()].into_iter().filter(|given| *given).count();
    let mut length = data.plain.len();
    if !data.encoded.is_empty() {
        match STANDARD.decode(data.encoded.bytes().filter(|b| !matches!(b, b'\n' | b'\r')).collect::<Vec<u8>>()) {
            Ok(bytes) if data.plain.is_empty() => length = bytes.len(),
            Ok(_) => {}
            Err(error) => {
                let key = format!("{}Base64", data.key);
                causes.push(Cause::invalid(at.key(&key), format!("this is no base64: {error}")));
            }
        }
    }
    if given > 1 {
        let message = format!("{0} comes from {given} places; keep one of {0}, {0}Base64 and {1}", data.key, data.secret_key);
        causes.push(Cause::invalid(at, message));
    }
    if length > MOST_BYTES {
        let message =
            format!("{} has {length} bytes, more than {MOST_BYTES}; put it into a secret and name that in {}", data.key, data.secret_key);
        causes.push(Cause::invalid(at, message));
    }
    given
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn data_comes_from_one_place_and_is_small() {
        let volume = |source: Value| json!({"volumes": [{"name": "a", "cloudInitNoCloud": source}]});
        const AT: &str = "s.volumes[0].cloudInitNoCloud";
        check(
            RULES,
            &[],
            &[
                (volume(json!({"userData": "#cloud-config"})), &[]),
                (volume(json!({"secretRef": {"name": "s"}, "networkDataBase64": "YQ=="})), &[]),
                (volume(json!({})), &[AT]),
                (volume(json!({"userData": "a", "userDataBase64": "YQ=="})), &[AT]),
                (volume(json!({"userData": "a".repeat(2049)})), &[AT]),
                (volume(json!({"networkDataBase64": STANDARD.encode("a".repeat(2049))})), &[AT]),
                (volume(json!({"userDataBase64": "?"})), &["s.volumes[0].cloudInitNoCloud.userDataBase64"]),
                (json!({"volumes": [{"name": "a", "cloudInitConfigDrive": {}}]}), &["s.volumes[0].cloudInitConfigDrive"]),
            ],
        );
    }
}
