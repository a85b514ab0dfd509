//! As much of the qcow2 format as is needed to trust an image.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

/// The beginning of a qcow2.
pub(super) struct Header([u8; 80]);

const MAGIC: &[u8] = b"QFI\xfb";
const EXTERNAL_DATA: u64 = 1 << 2;

/// Reads the header; nothing if the file is no qcow2.
pub(super) fn header(file: &mut File) -> io::Result<Option<Header>> {
    let mut bytes = [0; 80];
    file.seek(SeekFrom::Start(0))?;
    let mut filled = 0;
    while filled < bytes.len() {
        match file.read(&mut bytes[filled..])? {
            0 => break,
            n => filled += n,
        }
    }
    Ok((bytes[..4] == *MAGIC).then_some(Header(bytes)))
}

impl Header {
    fn u64(&self, at: usize) -> u64 {
        self.0.get(at..at + 8).and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes)
    }

    fn version(&self) -> u64 {
        self.u64(4) >> 32
    }

    /// The other file that the image needs, if any.
    pub(super) fn leans_on(&self) -> Option<&'static str> {
        if self.u64(8) != 0 {
            Some("a backing file")
        } else if self.version() >= 3 && self.u64(72) & EXTERNAL_DATA != 0 {
            Some("an external data file")
        } else {
            None
        }
    }
}

/// The size that the guest sees, in bytes.
pub(crate) fn virtual_size(path: &Path) -> io::Result<u64> {
    let mut file = File::open(path)?;
    match header(&mut file)? {
        Some(header) => Ok(header.u64(24)),
        None => file.seek(SeekFrom::End(0)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image(change: impl Fn(&mut [u8; 80])) -> Header {
        let mut bytes = [0; 80];
        bytes[..4].copy_from_slice(MAGIC);
        bytes[7] = 3;
        change(&mut bytes);
        Header(bytes)
    }

    #[test]
    fn an_image_that_leans_on_another_file_is_told() {
        assert_eq!(image(|_| {}).leans_on(), None);
        assert_eq!(image(|b| b[15] = 1).leans_on(), Some("a backing file"));
        assert_eq!(image(|b| b[79] = 4).leans_on(), Some("an external data file"));
        // version 2 has no feature bits
        assert_eq!(image(|b| (b[7], b[79]) = (2, 4)).leans_on(), None);
    }
}
