//! Manifests: YAML or JSON text as documents whose every field knows where it stands.
//!
//! YAML is read as `kubectl` reads it (the scalars of YAML 1.1, merge keys, every key a string), so that a file means
//! the same here as in a cluster. A document is bounded in size, depth and in what its aliases grow to.

mod reader;
mod scalar;

use std::collections::BTreeMap;
use std::fmt;

use serde_json::Value;

pub use reader::read;

/// The largest text that is read, in bytes. An API server takes 3 MiB in one request; a file may hold several objects.
pub const MAX_BYTES: usize = 8 << 20;
/// The deepest nesting.
pub const MAX_DEPTH: usize = 100;
/// The most values in one text, aliases expanded.
pub const MAX_NODES: usize = 400_000;

/// A place in a text; both counts begin at 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// Why a text is no manifest.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct ManifestError {
    /// Where reading stopped, if it began.
    pub at: Option<Position>,
    /// What is wrong there.
    pub message: String,
}

/// One document of a manifest.
#[derive(Debug)]
pub struct Document {
    /// What it says.
    pub value: Value,
    /// Where it begins.
    pub start: Position,
    positions: BTreeMap<String, Position>,
}

impl Document {
    /// Where a field stands, given its path as messages write it (`spec.domain.devices.disks[0].name`).
    /// A field that is not there is looked for where it would belong: at its nearest parent.
    pub fn position(&self, path: &str) -> Position {
        let mut path = path;
        loop {
            if let Some(position) = self.positions.get(path) {
                return *position;
            }
            match path.rfind(['.', '[']) {
                Some(end) => path = &path[..end],
                None => return self.start,
            }
        }
    }

    /// The object's kind, or nothing.
    pub fn kind(&self) -> &str {
        self.value.get("kind").and_then(Value::as_str).unwrap_or_default()
    }

    /// The object's API version, or nothing.
    pub fn api_version(&self) -> &str {
        self.value.get("apiVersion").and_then(Value::as_str).unwrap_or_default()
    }

    /// The object's name, or nothing.
    pub fn name(&self) -> &str {
        self.value.pointer("/metadata/name").and_then(Value::as_str).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_is_found_where_it_stands_and_a_missing_one_at_its_parent() {
        let text = "kind: A\nspec:\n  disks:\n  - name: a\n  - {name: b,\n     bus: x}\n---\nkind: B\n";
        let documents = read(text.as_bytes()).unwrap();
        let places: Vec<_> = ["spec.disks[0].name", "spec.disks[1].bus", "spec.disks[1].serial.x", "spec.cpu", "status"]
            .iter()
            .map(|path| documents[0].position(path).to_string())
            .collect();
        assert_eq!(places, ["4:5", "6:6", "5:5", "2:1", "1:1"]);
        assert_eq!((documents[1].kind(), documents[1].start.line), ("B", 8));
    }
}
