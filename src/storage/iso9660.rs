//! ISO 9660 images, reproducible byte for byte: the disks that carry seeds, configuration and secrets to a guest.
//!
//! An image has the plain ISO tree (8.3 names), Rock Ridge names on it (any name up to 255 bytes; what Linux and the
//! BSDs read) and a Joliet tree beside it (up to 64 UCS-2 characters; what Windows reads). Times are fixed and entries
//! are sorted, so equal files give equal images.

mod directory;
mod names;

use std::collections::BTreeMap;

use directory::{Extents, Records, Tree};

/// The size of a sector, which everything is aligned to.
pub const SECTOR: usize = 2048;
/// The longest name of a file or folder, in bytes.
pub const MAX_NAME: usize = 255;
/// The longest volume label, in bytes.
pub const MAX_LABEL: usize = 32;
/// The deepest path. ISO 9660 itself ends at eight.
pub const MAX_DEPTH: usize = 8;

/// Why no image can be made.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsoError {
    /// The volume label does not fit.
    #[error("the volume label {0:?} is longer than {MAX_LABEL} bytes, or is no ASCII text")]
    Label(String),
    /// A path is not one that can stand in an image.
    #[error("the file name {name:?} cannot stand on a disk: {reason}")]
    Name {
        /// The path as it was given.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// The files are more than the format can hold.
    #[error("the files together are larger than 4 GiB, the most that one disk of files can hold")]
    TooLarge,
}

/// Makes an image that holds `files`, a map of relative paths (`openstack/latest/user_data`) to contents.
///
/// # Errors
/// The label or a path cannot stand in an image, or it would exceed 4 GiB.
pub fn build(label: &str, files: &BTreeMap<String, Vec<u8>>) -> Result<Vec<u8>, IsoError> {
    if label.len() > MAX_LABEL || !label.bytes().all(|b| (0x20..0x7f).contains(&b)) {
        return Err(IsoError::Label(label.to_owned()));
    }
    let tree = Tree::new(files)?;
    let total: usize = files.values().map(|f| f.len().next_multiple_of(SECTOR)).sum();
    if u32::try_from(total + tree.len() * SECTOR * 64).is_err() {
        return Err(IsoError::TooLarge);
    }
    Ok(Layout::new(&tree).write(label, &tree))
}

/// What every tool puts after the last file, since readers that look ahead, or probe for other formats first, fail on
/// a shorter disk.
const PADDING: usize = 150;
const SYSTEM_SECTORS: usize = 16;
const DESCRIPTORS: usize = 3;

/// Where everything lies, in sectors.
struct Layout {
    tables: [usize; 4],
    table_bytes: [usize; 2],
    primary: Extents,
    joliet: Extents,
    primary_records: Records,
    joliet_records: Records,
    files: Vec<usize>,
    end: usize,
}

impl Layout {
    fn new(tree: &Tree<'_>) -> Self {
        let primary_records = Records::rock_ridge(tree);
        let joliet_records = Records::joliet(tree);
        let table_bytes = [primary_records.path_table_len(), joliet_records.path_table_len()];
        let table_sectors = table_bytes.map(|n| n.div_ceil(SECTOR));
        let mut next = SYSTEM_SECTORS + DESCRIPTORS;
        let mut take = |sectors: usize| {
            let at = next;
            next += sectors;
            at
        };
        let tables = [take(table_sectors[0]), take(table_sectors[0]), take(table_sectors[1]), take(table_sectors[1])];
        let primary = primary_records.place(tree, &mut take);
        let joliet = joliet_records.place(tree, &mut take);
        let files = tree.files().map(|content| if content.is_empty() { 0 } else { take(content.len().div_ceil(SECTOR)) }).collect();
        Self { tables, table_bytes, primary, joliet, primary_records, joliet_records, files, end: next + PADDING }
    }

    fn write(&self, label: &str, tree: &Tree<'_>) -> Vec<u8> {
        let mut image = vec![0; self.end * SECTOR];
        let mut put = |sector: usize, bytes: &[u8]| image[sector * SECTOR..][..bytes.len()].copy_from_slice(bytes);
        put(SYSTEM_SECTORS, &self.descriptor(1, label, &self.primary, 0));
        put(SYSTEM_SECTORS + 1, &self.descriptor(2, label, &self.joliet, 1));
        put(SYSTEM_SECTORS + 2, b"\xffCD001\x01");
        let names = [(&self.primary_records, &self.primary), (&self.joliet_records, &self.joliet)];
        for (i, (records, extents)) in names.into_iter().enumerate() {
            put(self.tables[2 * i], &records.path_table(tree, extents, u32::to_le_bytes, u16::to_le_bytes));
            put(self.tables[2 * i + 1], &records.path_table(tree, extents, u32::to_be_bytes, u16::to_be_bytes));
            for (sector, bytes) in records.directories(tree, extents, &self.files) {
                put(sector, &bytes);
            }
        }
        for (content, sector) in tree.files().zip(&self.files) {
            put(*sector, content);
        }
        image
    }

    /// The primary (1) or supplementary (2) volume descriptor: ECMA-119 8.4 and 8.5.
    fn descriptor(&self, kind: u8, label: &str, extents: &Extents, table: usize) -> Vec<u8> {
        let joliet = kind == 2;
        let mut d = vec![0; SECTOR];
        let text = |d: &mut Vec<u8>, at: usize, len: usize, text: &str| d[at..at + len].copy_from_slice(&names::padded(text, len, joliet));
        d[0] = kind;
        d[1..7].copy_from_slice(b"CD001\x01");
        text(&mut d, 8, 32, "");
        text(&mut d, 40, 32, label);
        d[80..88].copy_from_slice(&directory::both32(self.end));
        if joliet {
            d[88..91].copy_from_slice(b"%/E"); // UCS-2 level 3
        }
        d[120..124].copy_from_slice(&directory::both16(1));
        d[124..128].copy_from_slice(&directory::both16(1));
        d[128..132].copy_from_slice(&directory::both16(SECTOR));
        d[132..140].copy_from_slice(&directory::both32(self.table_bytes[table]));
        d[140..144].copy_from_slice(&directory::le32(self.tables[2 * table]));
        d[148..152].copy_from_slice(&directory::be32(self.tables[2 * table + 1]));
        d[156..190].copy_from_slice(&directory::root_record(extents));
        for (at, len) in [(190, 128), (318, 128), (446, 128), (574, 128), (702, 37), (739, 37), (776, 37)] {
            text(&mut d, at, len, "");
        }
        for (at, date) in
            [(813, directory::DATE_TEXT), (830, directory::DATE_TEXT), (847, directory::NO_DATE_TEXT), (864, directory::NO_DATE_TEXT)]
        {
            d[at..at + 17].copy_from_slice(date);
        }
        d[881] = 1;
        d
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn files(list: &[(&str, &[u8])]) -> BTreeMap<String, Vec<u8>> {
        list.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect()
    }

    #[test]
    fn equal_files_give_equal_images_and_the_label_stands_where_it_is_looked_for() {
        let files = files(&[("meta-data", b"{}"), ("user-data", b"#cloud-config\n")]);
        let image = build("cidata", &files).unwrap();
        assert_eq!(image, build("cidata", &files).unwrap());
        assert_eq!(&image[0x8001..0x8006], b"CD001");
        assert_eq!(&image[0x8028..0x802e], b"cidata");
        assert_eq!(image.len() % SECTOR, 0);
    }

    #[test]
    fn what_cannot_stand_in_an_image_is_refused() {
        assert!(matches!(build("a label that is much longer than it may be", &files(&[])), Err(IsoError::Label(_))));
        let deep = "a/".repeat(9) + "b";
        for name in ["", "/abs", "a//b", "../up", ".", "a/..", &"n".repeat(256), "nul\0", &deep] {
            assert!(matches!(build("x", &files(&[(name, b"")])), Err(IsoError::Name { .. })), "{name:?}");
        }
        assert!(matches!(build("x", &files(&[("a", b""), ("a/b", b"")])), Err(IsoError::Name { .. })));
    }
}
