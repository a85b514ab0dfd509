//! Directory records, path tables and Rock Ridge entries.

use std::collections::{BTreeMap, BTreeSet};

use super::{IsoError, MAX_DEPTH, MAX_NAME, SECTOR, names};

/// 2000-01-01, the fixed date of everything: as in a record, and as in a descriptor.
const DATE: [u8; 7] = [100, 1, 1, 0, 0, 0, 0];
pub(super) const DATE_TEXT: &[u8; 17] = b"2000010100000000\0";
pub(super) const NO_DATE_TEXT: &[u8; 17] = b"0000000000000000\0";

pub(super) fn le32(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_le_bytes()
}

pub(super) fn be32(n: usize) -> [u8; 4] {
    u32::try_from(n).unwrap_or(u32::MAX).to_be_bytes()
}

pub(super) fn both32(n: usize) -> [u8; 8] {
    let mut out = [0; 8];
    out[..4].copy_from_slice(&le32(n));
    out[4..].copy_from_slice(&be32(n));
    out
}

pub(super) fn both16(n: usize) -> [u8; 4] {
    let n = u16::try_from(n).unwrap_or(u16::MAX);
    let (l, b) = (n.to_le_bytes(), n.to_be_bytes());
    [l[0], l[1], b[0], b[1]]
}

/// What stands in a folder.
enum Node {
    Folder(usize),
    File(usize),
}

struct Folder {
    parent: usize,
    entries: BTreeMap<String, Node>,
}

/// The files as folders, breadth first, the root at 0.
pub(super) struct Tree<'a> {
    folders: Vec<Folder>,
    files: Vec<&'a [u8]>,
}

impl<'a> Tree<'a> {
    pub(super) fn new(files: &'a BTreeMap<String, Vec<u8>>) -> Result<Self, IsoError> {
        let mut tree = Self { folders: vec![Folder { parent: 0, entries: BTreeMap::new() }], files: Vec::new() };
        for (path, content) in files {
            tree.add(path, content)?;
        }
        Ok(tree)
    }

    fn add(&mut self, path: &str, content: &'a [u8]) -> Result<(), IsoError> {
        let refuse = |reason| Err(IsoError::Name { name: path.to_owned(), reason });
        let parts: Vec<&str> = path.split('/').collect();
        if parts.len() > MAX_DEPTH {
            return refuse("it lies deeper than eight folders");
        }
        let mut at = 0;
        for (i, part) in parts.iter().enumerate() {
            match *part {
                "" => return refuse("a part of it is empty"),
                "." | ".." => return refuse("`.` and `..` are no names"),
                _ if part.contains('\0') => return refuse("it has a NUL byte"),
                _ if part.len() > MAX_NAME => return refuse("a part of it is longer than 255 bytes"),
                _ => {}
            }
            let last = i + 1 == parts.len();
            match self.folders[at].entries.get(*part) {
                Some(Node::Folder(folder)) if !last => at = *folder,
                Some(_) => return refuse("a file and a folder have the same name"),
                None if last => {
                    self.files.push(content);
                    self.folders[at].entries.insert((*part).to_owned(), Node::File(self.files.len() - 1));
                }
                None => {
                    self.folders.push(Folder { parent: at, entries: BTreeMap::new() });
                    let new = self.folders.len() - 1;
                    self.folders[at].entries.insert((*part).to_owned(), Node::Folder(new));
                    at = new;
                }
            }
        }
        Ok(())
    }

    pub(super) fn files(&self) -> impl Iterator<Item = &'a [u8]> {
        self.files.iter().copied()
    }

    /// How many folders and files there are.
    pub(super) fn len(&self) -> usize {
        self.folders.len() + self.files.len()
    }
}

/// Where the folders of one tree lie: first sector and bytes, and the sectors of overlong Rock Ridge entries.
pub(super) struct Extents {
    folders: Vec<(usize, usize)>,
    continuation: usize,
}

/// One entry of a folder before it is placed.
struct Entry {
    name: Vec<u8>,
    target: Target,
    system_use: Vec<u8>,
    /// Rock Ridge that did not fit: offset and length in the continuation area.
    more: Option<(usize, usize)>,
}

enum Target {
    Folder(usize),
    File(usize, usize),
}

impl Entry {
    fn len(&self) -> usize {
        let base = 33 + self.name.len() + (self.name.len() + 1) % 2;
        let extra = self.system_use.len() + if self.more.is_some() { 28 } else { 0 };
        base + extra + extra % 2
    }
}

/// The folders of one tree as records, in the order of their names.
pub(super) struct Records {
    folders: Vec<Vec<Entry>>,
    /// Each folder's own name in this tree.
    own: Vec<Vec<u8>>,
    continuation: Vec<u8>,
    /// The order of the path table: by depth, then parent, then name.
    order: Vec<usize>,
}

impl Records {
    pub(super) fn rock_ridge(tree: &Tree<'_>) -> Self {
        Self::new(tree, true)
    }

    pub(super) fn joliet(tree: &Tree<'_>) -> Self {
        Self::new(tree, false)
    }

    fn new(tree: &Tree<'_>, rock_ridge: bool) -> Self {
        let mut own = vec![vec![0]; tree.folders.len()];
        let mut continuation = Vec::new();
        let mut folders = Vec::new();
        for (index, folder) in tree.folders.iter().enumerate() {
            let mut taken = BTreeSet::new();
            let mut list = Vec::new();
            for (special, target) in [(0u8, index), (1, folder.parent)] {
                let mut entry = Entry { name: vec![special], target: Target::Folder(target), system_use: Vec::new(), more: None };
                if rock_ridge {
                    if index == 0 && special == 0 {
                        entry.system_use = b"SP\x07\x01\xbe\xef\x00".to_vec();
                        let mut rest = px(true);
                        rest.extend(extension_reference());
                        entry.more = Some(append(&mut continuation, &rest));
                    } else {
                        entry.system_use = px(true);
                    }
                }
                list.push(entry);
            }
            let first = list.len();
            for (name, node) in &folder.entries {
                let is_folder = matches!(node, Node::Folder(_));
                let short = if rock_ridge { names::plain(name, is_folder, &mut taken) } else { names::joliet(name, &mut taken) };
                let target = match node {
                    Node::Folder(f) => {
                        own[*f].clone_from(&short);
                        Target::Folder(*f)
                    }
                    Node::File(f) => Target::File(*f, tree.files[*f].len()),
                };
                let mut entry = Entry { name: short, target, system_use: Vec::new(), more: None };
                if rock_ridge {
                    let mut all = px(is_folder);
                    all.extend(alternate_name(name));
                    entry.system_use = all;
                    if entry.len() > 254 {
                        let all = std::mem::take(&mut entry.system_use);
                        entry.more = Some(append(&mut continuation, &all));
                    }
                }
                list.push(entry);
            }
            list[first..].sort_by(|a, b| a.name.cmp(&b.name));
            folders.push(list);
        }
        let mut records = Self { folders, own, continuation, order: Vec::new() };
        records.order = records.path_order(tree);
        records
    }

    fn path_order(&self, tree: &Tree<'_>) -> Vec<usize> {
        let mut order = vec![0];
        let mut next = 0;
        while next < order.len() {
            let mut children: Vec<usize> =
                tree.folders[order[next]].entries.values().filter_map(|n| if let Node::Folder(f) = n { Some(*f) } else { None }).collect();
            children.sort_by(|a, b| self.own[*a].cmp(&self.own[*b]));
            order.extend(children);
            next += 1;
        }
        order
    }

    /// The bytes that a folder's records take; none crosses a sector's end.
    fn folder_len(&self, folder: usize) -> usize {
        let mut at = 0;
        for entry in &self.folders[folder] {
            let len = entry.len();
            if at % SECTOR + len > SECTOR {
                at = at.next_multiple_of(SECTOR);
            }
            at += len;
        }
        at.next_multiple_of(SECTOR)
    }

    pub(super) fn place(&self, tree: &Tree<'_>, take: &mut impl FnMut(usize) -> usize) -> Extents {
        let folders = (0..tree.folders.len())
            .map(|folder| {
                let len = self.folder_len(folder);
                (take(len / SECTOR), len)
            })
            .collect();
        Extents { folders, continuation: take(self.continuation.len().div_ceil(SECTOR)) }
    }

    pub(super) fn path_table_len(&self) -> usize {
        self.order.iter().map(|f| 8 + self.own[*f].len() + self.own[*f].len() % 2).sum()
    }

    pub(super) fn path_table(&self, tree: &Tree<'_>, extents: &Extents, n32: fn(u32) -> [u8; 4], n16: fn(u16) -> [u8; 2]) -> Vec<u8> {
        let mut out = Vec::new();
        for folder in &self.order {
            let name = &self.own[*folder];
            let parent = self.order.iter().position(|f| *f == tree.folders[*folder].parent).unwrap_or(0) + 1;
            out.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
            out.push(0);
            out.extend(n32(u32::try_from(extents.folders[*folder].0).unwrap_or(u32::MAX)));
            out.extend(n16(u16::try_from(parent).unwrap_or(u16::MAX)));
            out.extend(name);
            out.resize(out.len() + name.len() % 2, 0);
        }
        out
    }

    /// The sectors of every folder, and of the continuation area.
    pub(super) fn directories(&self, tree: &Tree<'_>, extents: &Extents, files: &[usize]) -> Vec<(usize, Vec<u8>)> {
        let mut out = vec![(extents.continuation, self.continuation.clone())];
        for folder in 0..tree.folders.len() {
            let mut bytes = Vec::new();
            for entry in &self.folders[folder] {
                if bytes.len() % SECTOR + entry.len() > SECTOR {
                    bytes.resize(bytes.len().next_multiple_of(SECTOR), 0);
                }
                let (sector, len, is_folder) = match entry.target {
                    Target::Folder(f) => (extents.folders[f].0, extents.folders[f].1, true),
                    Target::File(f, len) => (files[f], len, false),
                };
                let mut system_use = entry.system_use.clone();
                if let Some((offset, len)) = entry.more {
                    system_use.extend(continuation_entry(extents.continuation, offset, len));
                }
                bytes.extend(record(&entry.name, sector, len, is_folder, &system_use));
            }
            out.push((extents.folders[folder].0, bytes));
        }
        out
    }
}

/// A directory record: ECMA-119 9.1.
fn record(name: &[u8], sector: usize, len: usize, folder: bool, system_use: &[u8]) -> Vec<u8> {
    let mut r = vec![0, 0];
    r.extend(both32(sector));
    r.extend(both32(len));
    r.extend(DATE);
    r.extend([if folder { 2 } else { 0 }, 0, 0]);
    r.extend(both16(1));
    r.push(u8::try_from(name.len()).unwrap_or(u8::MAX));
    r.extend(name);
    r.resize(r.len() + (name.len() + 1) % 2, 0);
    r.extend(system_use);
    r.resize(r.len() + r.len() % 2, 0);
    r[0] = u8::try_from(r.len()).unwrap_or(u8::MAX);
    r
}

/// The root's record as it stands in a descriptor.
pub(super) fn root_record(extents: &Extents) -> Vec<u8> {
    let (sector, len) = extents.folders[0];
    record(&[0], sector, len, true, &[])
}

/// Puts entries into the continuation area so that they do not cross a sector's end.
fn append(area: &mut Vec<u8>, entries: &[u8]) -> (usize, usize) {
    if area.len() % SECTOR + entries.len() > SECTOR {
        area.resize(area.len().next_multiple_of(SECTOR), 0);
    }
    let offset = area.len();
    area.extend(entries);
    (offset, entries.len())
}

/// SUSP 5.1: where the rest of a record's entries lies.
fn continuation_entry(first: usize, offset: usize, len: usize) -> Vec<u8> {
    let mut e = b"CE\x1c\x01".to_vec();
    e.extend(both32(first + offset / SECTOR));
    e.extend(both32(offset % SECTOR));
    e.extend(both32(len));
    e
}

/// RRIP 4.1.1: mode, links, owner and group: readable by everyone, owned by root.
fn px(folder: bool) -> Vec<u8> {
    let mut e = b"PX\x24\x01".to_vec();
    e.extend(both32(if folder { 0o040_555 } else { 0o100_444 }));
    e.extend(both32(if folder { 2 } else { 1 }));
    e.extend(both32(0));
    e.extend(both32(0));
    e
}

/// RRIP 4.1.4: the real name, in one or two parts.
fn alternate_name(name: &str) -> Vec<u8> {
    let mut out = Vec::new();
    let mut parts = name.as_bytes().chunks(200).peekable();
    while let Some(part) = parts.next() {
        out.extend(b"NM");
        out.push(u8::try_from(5 + part.len()).unwrap_or(u8::MAX));
        out.extend([1, u8::from(parts.peek().is_some())]);
        out.extend(part);
    }
    out
}

/// SUSP 5.5: which extension the entries are of.
fn extension_reference() -> Vec<u8> {
    const ID: &[u8] = b"RRIP_1991A";
    let mut e = b"ER".to_vec();
    e.push(u8::try_from(8 + ID.len()).unwrap_or(u8::MAX));
    e.extend([1, u8::try_from(ID.len()).unwrap_or(u8::MAX), 0, 0, 1]);
    e.extend(ID);
    e
}
