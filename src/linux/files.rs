//! Files that are written once and whole.

use std::collections::BTreeMap;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

/// Makes a folder, and those above it, for this user alone.
pub(crate) fn private_dir(path: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(path)
}

/// Writes a new file for this user alone; what stands there already is an error, and no link is followed.
pub(crate) fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        private_dir(parent)?;
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(content)
}

/// Writes a file for this user alone, in the place of one that may stand there.
pub(crate) fn replace(path: &Path, content: &[u8]) -> io::Result<()> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
        _ => write_new(path, content),
    }
}

/// The files of a folder, by name, with their contents. What Kubernetes keeps there for itself has names that begin with
/// two dots.
pub(crate) fn in_folder(folder: &Path) -> io::Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    for entry in fs::read_dir(folder)?.flatten() {
        let Ok(name) = entry.file_name().into_string() else { continue };
        if name.starts_with("..") || !fs::metadata(entry.path()).is_ok_and(|m| m.is_file()) {
            continue;
        }
        match fs::read(entry.path()) {
            Ok(content) => drop(files.insert(name, content)),
            Err(error) => tracing::warn!(%error, path = %entry.path().display(), "A file is left out"),
        }
    }
    Ok(files)
}

/// The end of a text file, at most `bytes` of it; nothing if it cannot be read.
pub(crate) fn tail(path: &Path, bytes: usize) -> String {
    let content = fs::read(path).unwrap_or_default();
    String::from_utf8_lossy(&content[content.len().saturating_sub(bytes)..]).into_owned()
}
