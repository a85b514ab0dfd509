//! Manifests from files, folders and standard input.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;

use anyhow::Context as _;
use kubevirt_rs::manifest::{self, Document, MAX_BYTES, ManifestError};
use serde::de::DeserializeOwned;

/// A document and where it came from.
pub(crate) struct Input {
    /// The file as the user named it, or `<stdin>`.
    pub(crate) source: String,
    pub(crate) document: Document,
    text: Rc<str>,
}

impl Input {
    /// `FILE:LINE:COLUMN` of a field.
    pub(crate) fn place(&self, field: &str) -> String {
        format!("{}:{}", self.source, self.document.position(field))
    }

    /// The document as a type; a fault names its place.
    pub(crate) fn decode<T: DeserializeOwned>(&self) -> anyhow::Result<T> {
        T::deserialize(&self.document.value).with_context(|| format!("{}: read the {}", self.place(""), self.document.kind()))
    }

    /// The line of a field, with a mark below it; nothing if the line is too long to be shown.
    pub(crate) fn excerpt(&self, field: &str) -> String {
        let at = self.document.position(field);
        match self.text.lines().nth(at.line.saturating_sub(1)) {
            Some(line) if line.len() <= 200 => {
                let before: String = line.chars().take(at.column.saturating_sub(1)).map(|c| if c == '\t' { '\t' } else { ' ' }).collect();
                format!("{:>5} | {line}\n      | {before}^\n", at.line)
            }
            _ => String::new(),
        }
    }
}

/// Why a manifest cannot be read.
#[derive(Debug, thiserror::Error)]
pub(crate) enum InputError {
    #[error("{source_name}: it cannot be read: {error}")]
    Read { source_name: String, error: io::Error },
    #[error("{source_name}{}: {error}", error.at.map(|at| format!(":{at}")).unwrap_or_default())]
    Manifest { source_name: String, error: ManifestError },
    #[error("{source_name}: there is no object in it")]
    Empty { source_name: String },
}

/// Reads every document of a file, of the manifests in a folder, or (`-`) of standard input.
pub(crate) fn read(path: &Path) -> Result<Vec<Input>, InputError> {
    if path == Path::new("-") {
        return documents("<stdin>", &mut io::stdin().lock());
    }
    let source_name = path.display().to_string();
    let fault = |error| InputError::Read { source_name: source_name.clone(), error };
    if fs::metadata(path).map_err(fault)?.is_dir() {
        let mut inputs = Vec::new();
        for file in manifests(path).map_err(fault)? {
            inputs.extend(read(&file)?);
        }
        return Ok(inputs);
    }
    documents(&source_name, &mut File::open(path).map_err(fault)?)
}

/// The manifests in a folder and below it, in the order of their names.
fn manifests(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (kind, path) = (entry.file_type()?, entry.path());
            let extension = path.extension().and_then(|e| e.to_str());
            if kind.is_dir() {
                folders.push(path);
            } else if matches!(extension, Some("yaml" | "yml" | "json")) {
                found.push(path);
            }
        }
    }
    found.sort();
    Ok(found)
}

/// Reads every document of a text.
pub(crate) fn documents(source_name: &str, reader: &mut impl Read) -> Result<Vec<Input>, InputError> {
    let mut text = Vec::new();
    // one byte more than may be, so that what is too large is seen without reading all of it
    let limit = u64::try_from(MAX_BYTES).unwrap_or(u64::MAX).saturating_add(1);
    reader.take(limit).read_to_end(&mut text).map_err(|error| InputError::Read { source_name: source_name.to_owned(), error })?;
    let documents = manifest::read(&text).map_err(|error| InputError::Manifest { source_name: source_name.to_owned(), error })?;
    if documents.is_empty() {
        return Err(InputError::Empty { source_name: source_name.to_owned() });
    }
    let text: Rc<str> = String::from_utf8_lossy(&text).into();
    Ok(documents.into_iter().map(|document| Input { source: source_name.to_owned(), document, text: Rc::clone(&text) }).collect())
}
