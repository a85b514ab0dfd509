//! The disk of downward metrics, in the layout of vhostmd:
//!
//! ```text
//!   0  'mvbd'     signature
//!   4  i32        1 while the document is being replaced, else 0
//!   8  i32        the sum of the document's bytes
//!  12  i32        the length of the document
//!  16  document   XML, and a line break
//! ```
//!
//! Numbers have the most significant byte first. A reader takes the header and the document, and begins anew if the
//! header says that it is being replaced, or if the sum is another one.

use super::document::EMPTY;

/// The size of the disk.
pub const SIZE: usize = 256 << 10;
const HEADER: usize = 16;
/// The largest document, line break included. Readers take none that is larger.
pub const LARGEST: usize = SIZE - 24;
const SIGNATURE: [u8; 4] = *b"mvbd";

/// A document for which the disk has no room.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("The metrics have {0} bytes, and their disk has room for {LARGEST}")]
pub struct TooLarge(usize);

/// Bytes to write, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Write {
    /// Where they begin.
    pub offset: u64,
    /// The bytes.
    pub bytes: Vec<u8>,
}

/// What to write, in this order, so that no reader takes one half of a document for the whole.
///
/// # Errors
/// The document is too large.
pub fn update(document: &str) -> Result<[Write; 3], TooLarge> {
    let body = body(document)?;
    let header = |is_locked| Write { offset: 0, bytes: header(is_locked, &body) };
    Ok([header(true), Write { offset: HEADER as u64, bytes: body.clone() }, header(false)])
}

/// The whole disk, without a figure on it.
pub fn empty() -> Vec<u8> {
    let body = ended(EMPTY);
    let mut disk = header(false, &body);
    disk.extend(body);
    disk.resize(SIZE, 0);
    disk
}

fn body(document: &str) -> Result<Vec<u8>, TooLarge> {
    let length = document.len().saturating_add(1);
    if length > LARGEST {
        return Err(TooLarge(length));
    }
    Ok(ended(document))
}

/// Readers print a document as it is, and no line of theirs follows.
fn ended(document: &str) -> Vec<u8> {
    [document.as_bytes(), b"\n"].concat()
}

fn header(is_locked: bool, body: &[u8]) -> Vec<u8> {
    let sum = body.iter().fold(0_u32, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    // no document is larger than the disk
    let length = u32::try_from(body.len()).unwrap_or(0);
    [SIGNATURE, u32::from(is_locked).to_be_bytes(), sum.to_be_bytes(), length.to_be_bytes()].concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a reader of such a disk does; `None`: it looks again.
    fn read(disk: &[u8]) -> Option<&str> {
        let number = |at: usize| i32::from_be_bytes(disk[at..at + 4].try_into().unwrap());
        assert_eq!(&disk[..4], b"mvbd");
        let length = usize::try_from(number(12)).unwrap();
        assert!(length <= LARGEST);
        let body = &disk[16..16 + length];
        let sum: i32 = body.iter().map(|byte| i32::from(*byte)).sum();
        (number(4) == 0 && number(8) == sum).then(|| std::str::from_utf8(body).unwrap())
    }

    fn apply(disk: &mut [u8], write: &Write) {
        let at = usize::try_from(write.offset).unwrap();
        disk[at..at + write.bytes.len()].copy_from_slice(&write.bytes);
    }

    #[test]
    fn a_new_disk_holds_an_empty_document() {
        let disk = empty();
        assert_eq!((disk.len(), read(&disk)), (SIZE, Some("<metrics></metrics>\n")));
        assert_eq!(&disk[..16], b"mvbd\0\0\0\0\0\0\x07\x1b\0\0\0\x14");
    }

    #[test]
    fn a_reader_sees_a_whole_document_or_looks_again() {
        let mut disk = empty();
        for document in ["<metrics>long and longer</metrics>", "<metrics>short</metrics>"] {
            let [lock, body, unlock] = update(document).unwrap();
            apply(&mut disk, &lock);
            assert_eq!(read(&disk), None);
            // whatever part of the document has been written
            let half = Write { bytes: body.bytes[..9].to_vec(), ..body.clone() };
            apply(&mut disk, &half);
            assert_eq!(read(&disk), None);
            apply(&mut disk, &body);
            assert_eq!(read(&disk), None);
            apply(&mut disk, &unlock);
            assert_eq!(read(&disk), Some(format!("{document}\n").as_str()));
        }
        assert_eq!(disk.len(), SIZE);
    }

    #[test]
    fn a_document_is_at_most_as_large_as_readers_take() {
        let mut disk = empty();
        // the largest sum that there is
        let largest = "\u{7f}".repeat(LARGEST - 1);
        update(&largest).unwrap().iter().for_each(|write| apply(&mut disk, write));
        assert_eq!((disk.len(), read(&disk).map(str::len)), (SIZE, Some(LARGEST)));
        let error = update(&"x".repeat(LARGEST)).unwrap_err();
        assert_eq!(error, TooLarge(LARGEST + 1));
        assert!(error.to_string().contains("262121") && error.to_string().contains("262120"), "{error}");
    }
}
