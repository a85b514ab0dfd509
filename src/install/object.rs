//! An object of the API server as a plain value.

use std::fmt;

use serde::Serialize;
use serde_json::{Map, Value, json};
use sha2::{Digest as _, Sha256};

use super::Kind;

/// The annotation with a checksum of what was written, which tells even what was taken away since.
pub const CHECKSUM: &str = "operator.kubevirt.io/checksum";

/// An object that is to be there.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Object(Value);

/// Which object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    /// Its kind.
    pub kind: &'static Kind,
    /// Its namespace, if it lives in one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{} {namespace}/{}", self.kind.kind, self.name),
            None => write!(f, "{} {}", self.kind.kind, self.name),
        }
    }
}

impl Serialize for Id {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

fn text<'a>(value: &'a Value, path: &str) -> &'a str {
    value.pointer(path).and_then(Value::as_str).unwrap_or_default()
}

impl Object {
    /// The object of that content.
    pub fn new(value: Value) -> Self {
        Self(value)
    }

    /// Its content.
    pub fn value(&self) -> &Value {
        &self.0
    }

    /// Its content.
    pub fn value_mut(&mut self) -> &mut Value {
        &mut self.0
    }

    /// Its content.
    pub fn into_value(self) -> Value {
        self.0
    }

    /// Its kind.
    pub fn kind(&self) -> &str {
        text(&self.0, "/kind")
    }

    /// Its name.
    pub fn name(&self) -> &str {
        text(&self.0, "/metadata/name")
    }

    /// Which one it is, if it is of a kind that is installed.
    pub fn id(&self) -> Option<Id> {
        let kind = Kind::named(self.kind())?;
        let namespace = kind.namespaced.then(|| text(&self.0, "/metadata/namespace").to_owned());
        Some(Id { kind, namespace, name: self.name().to_owned() })
    }

    /// Sets a label.
    pub fn label(&mut self, key: &str, value: &str) {
        set(&mut self.0, "labels", key, value);
    }

    /// Sets an annotation.
    pub fn annotate(&mut self, key: &str, value: &str) {
        set(&mut self.0, "annotations", key, value);
    }

    /// Notes the checksum of all of it.
    pub fn seal(&mut self) {
        let checksum = checksum(&self.0);
        self.annotate(CHECKSUM, &checksum);
    }
}

/// A short checksum of a document.
pub(super) fn checksum(value: &Value) -> String {
    hex(&Sha256::digest(value.to_string().as_bytes()))
}

/// The beginning of a digest, long enough to tell apart what is not made to deceive.
pub(super) fn hex(digest: &[u8]) -> String {
    digest.iter().take(10).map(|byte| format!("{byte:02x}")).collect()
}

/// Sets a label or an annotation of the metadata of a document (an object, or the template of a pod).
pub(super) fn set(document: &mut Value, what: &str, key: &str, value: &str) {
    let Some(fields) = document.as_object_mut() else { return };
    let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
    let Some(fields) = metadata.as_object_mut() else { return };
    let list = fields.entry(what).or_insert_with(|| Value::Object(Map::new()));
    if let Some(list) = list.as_object_mut() {
        list.insert(key.to_owned(), json!(value));
    }
}
