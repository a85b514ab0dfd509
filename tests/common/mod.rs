//! What several test programs need.

use std::path::PathBuf;
use std::process::Command;

/// libvirt's own description of a domain, which the package libvirt0 brings.
const SCHEMA: &str = "/usr/share/libvirt/schemas/domain.rng";

/// Asserts that libvirt's schema accepts every one of these domains.
///
/// This is what `virt-xml-validate FILE domain` does, but it reads the schema, which takes longer than all else, once.
pub(crate) fn assert_libvirt_accepts(files: &[PathBuf]) {
    let output = Command::new("xmllint").args(["--noout", "--relaxng", SCHEMA]).args(files).output();
    let output = output.unwrap_or_else(|e| panic!("xmllint: {e}; `deploy/setup.sh test` installs it"));
    let told = String::from_utf8_lossy(&output.stderr);
    let refused: Vec<&str> = told.lines().filter(|line| !line.ends_with(" validates")).collect();
    assert!(output.status.success(), "{}", refused.join("\n"));
}
