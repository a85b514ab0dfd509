//! Container images as archives and layouts: finding the layers.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::ImageError;

/// The largest document of an image that is read.
const MAX_DOCUMENT: u64 = 4 << 20;
/// The most entries of an archive that are looked at: an image has a few dozen.
const MAX_ENTRIES: usize = 10_000;

/// Where the parts of an image lie.
enum Place {
    Folder(PathBuf),
    Archive { path: PathBuf, index: BTreeMap<String, (u64, u64)> },
}

/// An image whose layers are known.
pub(super) struct Source {
    place: Place,
    /// The layers, the lowest first.
    pub(super) layers: Vec<Layer>,
}

/// A layer.
#[derive(Clone, Debug)]
pub(super) struct Layer {
    pub(super) name: String,
    /// Its SHA-256 sum in hexadecimal, if the image tells.
    pub(super) digest: Option<String>,
}

#[derive(Deserialize)]
struct Descriptor {
    digest: String,
    #[serde(default)]
    platform: Option<Platform>,
}

#[derive(Deserialize)]
struct Platform {
    #[serde(default)]
    architecture: String,
    #[serde(default)]
    os: String,
}

#[derive(Deserialize)]
struct Index {
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

/// A manifest of an image, or an index of manifests: an index may name another.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<Descriptor>,
    #[serde(default)]
    manifests: Vec<Descriptor>,
}

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct DockerManifest {
    layers: Vec<String>,
}

/// Whether a file is a tar archive.
pub(super) fn is_archive(path: &Path) -> io::Result<bool> {
    let mut file = File::open(path)?;
    let mut block = [0; 512];
    match file.read_exact(&mut block) {
        Ok(()) => Ok(&block[257..262] == b"ustar" || looks_like_v7(&block)),
        Err(e) if e.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(e) => Err(e),
    }
}

/// An old archive has no magic; its checksum tells it.
fn looks_like_v7(block: &[u8; 512]) -> bool {
    let header = tar::Header::from_byte_slice(block);
    let sum: u32 = block.iter().enumerate().map(|(i, b)| if (148..156).contains(&i) { 32 } else { u32::from(*b) }).sum();
    block[0] != 0 && header.cksum().is_ok_and(|stored| stored == sum)
}

/// Opens an image and finds its layers.
pub(super) fn open(path: &Path) -> Result<Source, ImageError> {
    let place = if path.is_dir() { Place::Folder(path.to_owned()) } else { Place::Archive { path: path.to_owned(), index: index(path)? } };
    let form = |reason: String| ImageError::Form { path: path.to_owned(), reason };
    let mut source = Source { place, layers: Vec::new() };
    if source.has("index.json") {
        let index: Index = source.json(path, "index.json")?;
        let mut chosen = choose(index.manifests).ok_or_else(|| form("its index names no manifest for this machine".to_owned()))?;
        for _ in 0..4 {
            let manifest: Manifest = source.json(path, &blob(path, &chosen.digest)?)?;
            if manifest.manifests.is_empty() {
                for layer in manifest.layers {
                    source
                        .layers
                        .push(Layer { name: blob(path, &layer.digest)?, digest: layer.digest.strip_prefix("sha256:").map(str::to_owned) });
                }
                return Ok(source);
            }
            chosen = choose(manifest.manifests).ok_or_else(|| form("its index names no manifest for this machine".to_owned()))?;
        }
        return Err(form("its indexes name each other".to_owned()));
    }
    if source.has("manifest.json") {
        let manifests: Vec<DockerManifest> = source.json(path, "manifest.json")?;
        let first = manifests.into_iter().next().ok_or_else(|| form("its manifest.json is empty".to_owned()))?;
        source.layers = first.layers.into_iter().map(|name| Layer { name, digest: None }).collect();
        return Ok(source);
    }
    Err(form("there is no index.json (OCI) and no manifest.json (Docker) in it".to_owned()))
}

/// The manifest for this machine's architecture, else the only one.
fn choose(mut manifests: Vec<Descriptor>) -> Option<Descriptor> {
    let architecture = if cfg!(target_arch = "aarch64") { "arm64" } else { "amd64" };
    let ours = |d: &Descriptor| d.platform.as_ref().is_some_and(|p| p.architecture == architecture && (p.os.is_empty() || p.os == "linux"));
    match manifests.iter().position(ours) {
        Some(position) => Some(manifests.swap_remove(position)),
        None if manifests.len() == 1 => manifests.pop(),
        None => None,
    }
}

/// Where a blob lies. The digest comes out of the image, so it must be nothing but a digest.
fn blob(path: &Path, digest: &str) -> Result<String, ImageError> {
    match digest.split_once(':') {
        Some((algorithm, hex))
            if algorithm.bytes().all(|b| b.is_ascii_alphanumeric()) && !hex.is_empty() && hex.bytes().all(|b| b.is_ascii_hexdigit()) =>
        {
            Ok(format!("blobs/{algorithm}/{hex}"))
        }
        _ => Err(ImageError::Form { path: path.to_owned(), reason: format!("{digest:?} is no digest") }),
    }
}

fn index(path: &Path) -> Result<BTreeMap<String, (u64, u64)>, ImageError> {
    let read = |error| ImageError::Read { path: path.to_owned(), error };
    let mut archive = tar::Archive::new(File::open(path).map_err(read)?);
    let mut index = BTreeMap::new();
    for entry in archive.entries_with_seek().map_err(read)?.take(MAX_ENTRIES) {
        let entry = entry.map_err(read)?;
        if entry.header().entry_type().is_file() {
            let name = entry.path().map_err(read)?.to_string_lossy().trim_start_matches("./").to_owned();
            index.insert(name, (entry.raw_file_position(), entry.size()));
        }
    }
    Ok(index)
}

impl Source {
    fn has(&self, name: &str) -> bool {
        match &self.place {
            Place::Folder(folder) => folder.join(name).is_file(),
            Place::Archive { index, .. } => index.contains_key(name),
        }
    }

    /// Opens a part, with its size.
    pub(super) fn part(&self, name: &str) -> io::Result<(io::Take<File>, u64)> {
        let (file, size) = match &self.place {
            Place::Folder(folder) => {
                // a name out of a manifest must not lead out of the layout
                if Path::new(name).components().any(|c| !matches!(c, std::path::Component::Normal(_))) {
                    return Err(io::Error::new(io::ErrorKind::InvalidInput, format!("the image names a part outside of itself: {name}")));
                }
                let file = File::open(folder.join(name))?;
                let size = file.metadata()?.len();
                (file, size)
            }
            Place::Archive { path, index } => {
                let (offset, size) =
                    *index.get(name).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, format!("the part {name} is missing")))?;
                let mut file = File::open(path)?;
                file.seek(SeekFrom::Start(offset))?;
                (file, size)
            }
        };
        Ok((file.take(size), size))
    }

    fn json<T: DeserializeOwned>(&self, path: &Path, name: &str) -> Result<T, ImageError> {
        let (part, size) = self.part(name).map_err(|error| ImageError::Read { path: path.to_owned(), error })?;
        let form = |reason| ImageError::Form { path: path.to_owned(), reason };
        if size > MAX_DOCUMENT {
            return Err(form(format!("{name} is larger than {} MiB", MAX_DOCUMENT >> 20)));
        }
        serde_json::from_reader(part).map_err(|e| form(format!("{name} cannot be read: {e}")))
    }
}
