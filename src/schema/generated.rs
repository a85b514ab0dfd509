//! The definitions as files: made from the types by `kubevirt-rs schema generate`, kept in the tree so that a change
//! of the API shows in a review, and embedded, so that the operator installs what was reviewed.

use serde::Serialize as _;
use serde_json::Serializer;
use serde_json::ser::PrettyFormatter;

use super::definitions::{DEFINITIONS, Definition};

/// A definition with its text in JSON.
#[derive(Clone, Copy, Debug)]
pub struct Crd {
    /// The kind.
    pub kind: &'static str,
    /// The `CustomResourceDefinition` in JSON, without a space or line break too many.
    pub json: &'static str,
}

macro_rules! embedded {
    ($($kind:literal)*) => {
        &[$(Crd { kind: $kind, json: include_str!(concat!(env!("OUT_DIR"), "/", $kind, ".json")) }),*]
    };
}

// Not a constant: every use of one may bring its own two megabytes.
static CRDS: &[Crd] = embedded! {
    "KubeVirt"
    "VirtualMachine"
    "VirtualMachineInstance"
    "VirtualMachineInstancePreset"
    "VirtualMachineInstanceReplicaSet"
    "VirtualMachineInstanceMigration"
    "VirtualMachinePool"
    "VirtualMachineSnapshot"
    "VirtualMachineSnapshotContent"
    "VirtualMachineRestore"
    "VirtualMachineExport"
    "VirtualMachineClone"
    "VirtualMachineInstancetype"
    "VirtualMachineClusterInstancetype"
    "VirtualMachinePreference"
    "VirtualMachineClusterPreference"
    "MigrationPolicy"
    "VirtualMachineBackup"
    "VirtualMachineBackupTracker"
    "Plugin"
};

/// Every custom resource definition, in the order in which they are installed.
pub fn crds() -> &'static [Crd] {
    CRDS
}

/// Every definition as one `List` in JSON.
pub fn list() -> String {
    let items: Vec<_> = CRDS.iter().map(|crd| crd.json).collect();
    format!("{{\"apiVersion\": \"v1\", \"kind\": \"List\", \"items\": [\n{}\n]}}\n", items.join(",\n"))
}

/// The files as the types want them: name and text.
pub fn files() -> impl Iterator<Item = (String, String)> {
    DEFINITIONS.iter().map(|definition| (format!("{}.json", definition.kind), text(definition)))
}

/// One line a value, and little space before it: schemas nest deep.
fn text(definition: &Definition) -> String {
    let mut out = Vec::new();
    let mut printer = Serializer::with_formatter(&mut out, PrettyFormatter::with_indent(b" "));
    // Writing a value to memory does not fail, and what it writes is UTF-8.
    let _ = definition.to_json().serialize(&mut printer);
    out.push(b'\n');
    String::from_utf8(out).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the annotation of a client-side apply takes; etcd takes five times as much.
    const ANNOTATION: usize = 262_144;

    #[test]
    fn the_files_are_what_the_types_say() {
        assert_eq!(CRDS.len(), DEFINITIONS.len());
        for (crd, definition) in CRDS.iter().zip(DEFINITIONS) {
            assert_eq!(crd.kind, definition.kind);
            let file = concat!(env!("CARGO_MANIFEST_DIR"), "/src/schema/generated/").to_owned() + crd.kind + ".json";
            let kept = std::fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
            assert!(kept == text(definition), "{}: run `kubevirt-rs schema generate` and look at the difference", crd.kind);
        }
    }

    #[test]
    fn what_is_embedded_is_what_the_types_say() {
        for (crd, definition) in CRDS.iter().zip(DEFINITIONS) {
            let embedded: serde_json::Value = serde_json::from_str(crd.json).unwrap();
            assert!(embedded == definition.to_json(), "{}", crd.kind);
        }
    }

    #[test]
    fn the_list_is_one_document() {
        let list: serde_json::Value = serde_json::from_str(&list()).unwrap();
        assert_eq!(list["items"].as_array().unwrap().len(), CRDS.len());
    }

    #[test]
    fn every_definition_fits_into_an_annotation() {
        for definition in DEFINITIONS {
            let size = definition.to_json().to_string().len();
            assert!(size < ANNOTATION, "{} has {size} bytes", definition.kind);
        }
    }
}
