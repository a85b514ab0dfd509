//! The Secrets and ConfigMaps that a machine names, as files.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// The type of a Secret that holds the token of a service account.
pub const TOKEN_TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation that names the account.
pub const ACCOUNT: &str = "kubernetes.io/service-account.name";

/// Files by name, with their contents.
pub type Files = BTreeMap<String, Vec<u8>>;

/// What the objects beside a machine hold.
#[derive(Clone, Default)]
pub struct Sources {
    /// The contents of each Secret.
    pub secrets: BTreeMap<String, Files>,
    /// The contents of each ConfigMap.
    pub config_maps: BTreeMap<String, Files>,
    /// The contents of the Secret that holds the token of a service account, by the name of the account.
    pub tokens: BTreeMap<String, Files>,
    /// The contents of volumes that only a pod has (the downward API, the service account), by the volume's name.
    pub volumes: BTreeMap<String, Files>,
}

// the contents of Secrets are shown nowhere
impl std::fmt::Debug for Sources {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sources")
            .field("secrets", &self.secrets.keys())
            .field("config_maps", &self.config_maps.keys())
            .field("tokens", &self.tokens.keys())
            .field("volumes", &self.volumes.keys())
            .finish()
    }
}

/// Why a Secret or ConfigMap cannot be read.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct SourceError {
    /// The field of the object.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl Sources {
    /// Adds an object if it is a Secret or a ConfigMap; says whether it was one.
    ///
    /// # Errors
    /// A value is no text, or no base64 where it must be.
    pub fn add(&mut self, object: &Value) -> Result<bool, SourceError> {
        let name = object.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default().to_owned();
        match object.get("kind").and_then(Value::as_str) {
            Some("Secret") => {
                let mut files = read(object, "data", true)?;
                files.extend(read(object, "stringData", false)?);
                if object.get("type").and_then(Value::as_str) == Some(TOKEN_TYPE)
                    && let Some(account) = object.pointer("/metadata/annotations").and_then(|all| all.get(ACCOUNT)?.as_str())
                {
                    self.tokens.insert(account.to_owned(), files.clone());
                }
                self.secrets.insert(name, files);
            }
            Some("ConfigMap") => {
                let mut files = read(object, "data", false)?;
                files.extend(read(object, "binaryData", true)?);
                self.config_maps.insert(name, files);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }
}

fn read(object: &Value, field: &str, base64: bool) -> Result<Files, SourceError> {
    let fault = |field: String, message: String| Err(SourceError { field, message });
    let map = match object.get(field) {
        None | Some(Value::Null) => return Ok(Files::new()),
        Some(Value::Object(map)) => map,
        Some(_) => return fault(field.to_owned(), "this must be a mapping of names to texts".to_owned()),
    };
    let mut files = Files::new();
    for (key, value) in map {
        let Some(text) = value.as_str() else {
            return fault(format!("{field}.{key}"), "this must be a text; quote it".to_owned());
        };
        let content = if base64 {
            match STANDARD.decode(text.split_ascii_whitespace().collect::<String>()) {
                Ok(content) => content,
                Err(e) => {
                    return fault(
                        format!("{field}.{key}"),
                        format!("this must be base64: {e}; plain text goes into {}", if field == "data" { "stringData" } else { "data" }),
                    );
                }
            }
        } else {
            text.as_bytes().to_vec()
        };
        files.insert(key.clone(), content);
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn secrets_and_config_maps_are_files() {
        let mut sources = Sources::default();
        assert_eq!(
            sources.add(&json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "eHl6"}, "stringData": {"b": "plain"}})),
            Ok(true)
        );
        assert_eq!(
            sources.add(&json!({"kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"a": "text"}, "binaryData": {"b": "AAE="}})),
            Ok(true)
        );
        assert_eq!(sources.add(&json!({"kind": "Pod"})), Ok(false));
        assert_eq!(sources.secrets["s"], Files::from([("a".into(), b"xyz".to_vec()), ("b".into(), b"plain".to_vec())]));
        assert_eq!(sources.config_maps["c"], Files::from([("a".into(), b"text".to_vec()), ("b".into(), vec![0, 1])]));
        assert!(!format!("{sources:?}").contains("plain"));
    }

    #[test]
    fn the_token_of_a_service_account_is_found_by_the_account() {
        let mut sources = Sources::default();
        let named = |kind: &str| {
            json!({
                "kind": "Secret", "type": kind, "metadata": {"name": "s", "annotations": {ACCOUNT: "robot"}},
                "stringData": {"token": "t"},
            })
        };
        sources.add(&named("Opaque")).unwrap();
        assert!(sources.tokens.is_empty());
        sources.add(&named(TOKEN_TYPE)).unwrap();
        assert_eq!(sources.tokens["robot"], Files::from([("token".into(), b"t".to_vec())]));
        assert_eq!(sources.tokens["robot"], sources.secrets["s"], "it is a Secret like any other");
    }

    #[test]
    fn a_wrong_value_is_named() {
        let mut sources = Sources::default();
        let e = sources.add(&json!({"kind": "Secret", "metadata": {"name": "s"}, "data": {"a": "not base64!"}})).unwrap_err();
        assert_eq!(e.field, "data.a");
        assert!(e.message.contains("stringData"));
        assert_eq!(sources.add(&json!({"kind": "ConfigMap", "data": {"a": 5}})).unwrap_err().field, "data.a");
    }
}
