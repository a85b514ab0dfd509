//! Looking for the disk image in the layers, and unpacking it.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;
use sha2::{Digest, Sha256};

use super::archive::{Layer, Source};
use super::{DISK_FOLDER, ImageError};

/// Is told how far unpacking has come, in bytes of the container image.
pub(crate) trait Progress {
    fn at(&self, done: u64, total: u64);
}

/// What the layers above have said about the folder of disks.
#[derive(Default)]
struct Seen {
    /// Files that a higher layer has, or has removed.
    decided: BTreeSet<String>,
    /// A higher layer hides the whole folder below it.
    opaque: bool,
    /// Files that are there, to be named when the wanted one is not.
    present: Vec<String>,
}

/// Unpacks the wanted disk image, or the only one, to `target`.
pub(super) fn unpack(path: &Path, source: &Source, wanted: Option<&str>, target: &Path, progress: &dyn Progress) -> Result<(), ImageError> {
    let read = |error| ImageError::Read { path: path.to_owned(), error };
    let wanted_name = wanted.map(|w| w.trim_start_matches('/').to_owned());
    let mut total = 0;
    for layer in &source.layers {
        total += source.part(&layer.name).map_err(read)?.1;
    }
    let (mut seen, mut done, mut unpacked) = (Seen::default(), 0, Vec::new());
    for layer in source.layers.iter().rev() {
        if seen.opaque {
            break;
        }
        let (part, size) = source.part(&layer.name).map_err(read)?;
        let counted = Counted { inner: part, done, total, progress, sum: Sha256::new() };
        let mut counted = one(path, counted, &wanted_name, &mut seen, &mut unpacked, target)?;
        // what follows the archive's end belongs to the sum
        io::copy(&mut counted, &mut io::sink()).map_err(read)?;
        check(path, layer, counted.sum)?;
        done += size;
    }
    match (unpacked.len(), wanted) {
        (1, _) => Ok(()),
        (0, _) => Err(ImageError::NoDisk { path: path.to_owned(), wanted: wanted.unwrap_or("/disk").to_owned(), there: seen.present }),
        _ => Err(ImageError::Several { path: path.to_owned(), names: unpacked }),
    }
}

fn check(path: &Path, layer: &Layer, sum: Sha256) -> Result<(), ImageError> {
    let Some(expected) = &layer.digest else { return Ok(()) };
    let actual: String = sum.finalize().iter().map(|b| format!("{b:02x}")).collect();
    if actual == *expected {
        return Ok(());
    }
    Err(ImageError::Form { path: path.to_owned(), reason: format!("the layer {expected} is damaged: its SHA-256 sum is {actual}") })
}

fn one<'a, R: Read>(
    path: &Path,
    counted: Counted<'a, R>,
    wanted: &Option<String>,
    seen: &mut Seen,
    unpacked: &mut Vec<String>,
    target: &Path,
) -> Result<Counted<'a, R>, ImageError> {
    let read = |error| ImageError::Read { path: path.to_owned(), error };
    let mut plain = Plain::new(counted).map_err(read)?;
    let mut here = Seen::default();
    for entry in tar::Archive::new(&mut plain).entries().map_err(read)? {
        let mut entry = entry.map_err(read)?;
        let name = entry.path().map_err(read)?.to_string_lossy().trim_start_matches("./").trim_start_matches('/').to_owned();
        let (folder, file) = name.rsplit_once('/').unwrap_or(("", &name));
        let in_folder = match wanted {
            Some(wanted) => wanted.rsplit_once('/').map_or("", |(folder, _)| folder) == folder,
            None => folder == DISK_FOLDER,
        };
        if !in_folder {
            continue;
        }
        if file == ".wh..wh..opq" {
            here.opaque = true;
        } else if let Some(removed) = file.strip_prefix(".wh.") {
            here.decided.insert(removed.to_owned());
        } else if !seen.decided.contains(file) && !entry.header().entry_type().is_dir() {
            here.decided.insert(file.to_owned());
            here.present.push(file.to_owned());
            if wanted.as_ref().is_some_and(|w| *w != name) {
                continue;
            }
            if !entry.header().entry_type().is_file() {
                return Err(ImageError::Refused {
                    path: Path::new(&name).to_owned(),
                    reason: "in the container image is no regular file".to_owned(),
                });
            }
            if unpacked.is_empty() {
                write_sparse(&mut entry, target).map_err(|error| ImageError::Write { path: target.to_owned(), error })?;
            }
            unpacked.push(file.to_owned());
        }
    }
    seen.decided.append(&mut here.decided);
    seen.present.append(&mut here.present);
    seen.opaque |= here.opaque;
    Ok(plain.into_inner())
}

/// Writes a new file, leaving out what is zero.
fn write_sparse(content: &mut impl Read, target: &Path) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(target)?;
    let mut block = vec![0; 64 << 10];
    let mut length = 0u64;
    loop {
        let n = fill(content, &mut block)?;
        if n == 0 {
            break;
        }
        if block[..n].iter().any(|b| *b != 0) {
            file.seek(SeekFrom::Start(length))?;
            file.write_all(&block[..n])?;
        }
        length += n as u64;
    }
    file.set_len(length)
}

fn fill(content: &mut impl Read, block: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < block.len() {
        match content.read(&mut block[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok(filled)
}

/// A layer as it is stored: counted and summed.
struct Counted<'a, R> {
    inner: R,
    done: u64,
    total: u64,
    progress: &'a dyn Progress,
    sum: Sha256,
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.inner.read(buffer)?;
        self.sum.update(&buffer[..n]);
        self.done += n as u64;
        self.progress.at(self.done, self.total);
        Ok(n)
    }
}

/// A layer without its compression, which its first bytes tell.
enum Plain<'a, R: Read> {
    Tar(BufReader<Counted<'a, R>>),
    Gzip(Box<MultiGzDecoder<BufReader<Counted<'a, R>>>>),
    Zstd(Box<StreamingDecoder<BufReader<Counted<'a, R>>, ruzstd::decoding::FrameDecoder>>),
}

impl<'a, R: Read> Plain<'a, R> {
    fn new(counted: Counted<'a, R>) -> io::Result<Self> {
        let mut buffered = BufReader::with_capacity(256 << 10, counted);
        let start = io::BufRead::fill_buf(&mut buffered)?;
        if start.starts_with(&[0x1f, 0x8b]) {
            Ok(Self::Gzip(Box::new(MultiGzDecoder::new(buffered))))
        } else if start.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            StreamingDecoder::new(buffered).map(|d| Self::Zstd(Box::new(d))).map_err(io::Error::other)
        } else {
            Ok(Self::Tar(buffered))
        }
    }

    /// The layer itself, for what follows the archive.
    fn into_inner(self) -> Counted<'a, R> {
        match self {
            Self::Tar(r) => r.into_inner(),
            Self::Gzip(r) => r.into_inner().into_inner(),
            Self::Zstd(r) => r.into_inner().into_inner(),
        }
    }
}

impl<R: Read> Read for Plain<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tar(r) => r.read(buffer),
            Self::Gzip(r) => r.read(buffer),
            Self::Zstd(r) => r.read(buffer),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::images::archive;

    struct Silent;
    impl Progress for Silent {
        fn at(&self, _: u64, _: u64) {}
    }

    struct Folder(std::path::PathBuf);
    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    fn layer(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut builder = tar::Builder::new(Vec::new());
        for (name, content) in files {
            let mut header = tar::Header::new_gnu();
            header.set_size(content.len() as u64);
            header.set_mode(0o644);
            builder.append_data(&mut header, name, *content).unwrap();
        }
        builder.into_inner().unwrap()
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    /// An OCI layout of these layers, the lowest first.
    fn layout(test: &str, layers: &[Vec<u8>]) -> Folder {
        let folder = std::env::temp_dir().join(format!("layers-{test}-{}", std::process::id()));
        std::fs::create_dir_all(folder.join("blobs/sha256")).unwrap();
        let put = |bytes: &[u8]| {
            let sum: String = Sha256::digest(bytes).iter().map(|b| format!("{b:02x}")).collect();
            std::fs::write(folder.join("blobs/sha256").join(&sum), bytes).unwrap();
            serde_json::json!({"digest": format!("sha256:{sum}")})
        };
        let layers: Vec<_> = layers.iter().map(|l| put(l)).collect();
        let manifest = put(serde_json::json!({"layers": layers}).to_string().as_bytes());
        std::fs::write(folder.join("index.json"), serde_json::json!({"manifests": [manifest]}).to_string()).unwrap();
        std::fs::write(folder.join("oci-layout"), "{}").unwrap();
        Folder(folder)
    }

    fn unpacked(folder: &Folder, wanted: Option<&str>) -> Result<Vec<u8>, ImageError> {
        let target = folder.0.join("out.img");
        let _ = std::fs::remove_file(&target);
        unpack(&folder.0, &archive::open(&folder.0)?, wanted, &target, &Silent)?;
        Ok(std::fs::read(target).unwrap())
    }

    #[test]
    fn the_highest_layer_wins_and_whiteouts_hide() {
        let low = layer(&[("disk/a.qcow2", b"old"), ("etc/passwd", b"x"), ("disk/gone.img", b"y")]);
        let high = layer(&[("disk/a.qcow2", b"new"), ("disk/.wh.gone.img", b"")]);
        let folder = layout("wins", &[gzip(&low), high]);
        assert_eq!(unpacked(&folder, None).unwrap(), b"new");
        assert!(matches!(unpacked(&folder, Some("/disk/gone.img")), Err(ImageError::NoDisk { .. })));
    }

    #[test]
    fn several_images_need_a_name_and_none_is_an_error() {
        let folder = layout("several", &[layer(&[("./disk/a.img", b"a"), ("./disk/b.img", &[0; 200_000])])]);
        assert!(matches!(unpacked(&folder, None), Err(ImageError::Several { names, .. }) if names == ["a.img", "b.img"]));
        assert_eq!(unpacked(&folder, Some("/disk/b.img")).unwrap(), vec![0; 200_000]);
        let folder = layout("none", &[layer(&[("etc/passwd", b"x")])]);
        assert!(matches!(unpacked(&folder, None), Err(ImageError::NoDisk { .. })));
    }

    #[test]
    fn a_damaged_layer_is_found() {
        let folder = layout("damaged", &[layer(&[("disk/a.img", b"abc")])]);
        for entry in std::fs::read_dir(folder.0.join("blobs/sha256")).unwrap() {
            let path = entry.unwrap().path();
            let mut bytes = std::fs::read(&path).unwrap();
            if bytes.len() >= 1024 {
                bytes[513] ^= 1;
                std::fs::write(&path, bytes).unwrap();
            }
        }
        assert!(unpacked(&folder, None).unwrap_err().to_string().contains("damaged"));
    }

    #[test]
    fn a_zstandard_layer_is_read() {
        let bytes = layer(&[("disk/a.img", b"zstd")]);
        let packed = ruzstd::encoding::compress_to_vec(&bytes[..], ruzstd::encoding::CompressionLevel::Fastest);
        assert_eq!(unpacked(&layout("zstd", &[packed]), None).unwrap(), b"zstd");
    }
}
