//! What several test programs need.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::process::Command;

/// libvirt's own description of a domain, which the package libvirt0 brings.
const SCHEMA: &str = "/usr/share/libvirt/schemas/domain.rng";

/// Which of these domains libvirt's schema refuses, and why.
///
/// This is what `virt-xml-validate FILE domain` does, but it reads the schema, which takes longer than all else, once.
pub(crate) fn refused_by_schema(files: &[PathBuf]) -> BTreeMap<PathBuf, String> {
    let output = Command::new("xmllint").args(["--noout", "--relaxng", SCHEMA]).args(files).output();
    let output = output.unwrap_or_else(|e| panic!("xmllint: {e}; `deploy/setup.sh test` installs it"));
    let told = String::from_utf8_lossy(&output.stderr);
    let mut refused = BTreeMap::new();
    let (mut why, mut judged) = (Vec::new(), 0);
    for line in told.lines() {
        if line.ends_with(" validates") {
            judged += 1;
        } else if let Some(file) = line.strip_suffix(" fails to validate") {
            judged += 1;
            refused.insert(file.into(), why.join("\n"));
        } else {
            why.push(line);
            continue;
        }
        why.clear();
    }
    assert_eq!(judged, files.len(), "{told}");
    refused
}

/// Asserts that libvirt's schema accepts every one of these domains.
#[allow(dead_code)] // not by every test program that has this module
pub(crate) fn assert_libvirt_accepts(files: &[PathBuf]) {
    let refused = refused_by_schema(files);
    assert!(refused.is_empty(), "{}", refused.into_values().collect::<Vec<_>>().join("\n"));
}
