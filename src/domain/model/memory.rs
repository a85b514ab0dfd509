//! Where the guest's memory comes from and where it lies.

use super::super::xml::{Element, Xml};

/// Where the guest's memory comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MemoryBacking {
    /// Whether it comes from huge pages; if it does, which for which cell of the guest (none named: the host's default).
    pub hugepages: Option<Vec<HugePage>>,
    /// Whether it is an anonymous file in memory.
    pub memfd: bool,
    /// Whether other processes map it too.
    pub shared: bool,
    /// Whether all of it is taken at the start.
    pub immediate: bool,
    /// Whether the kernel may not merge equal pages.
    pub no_merging: bool,
}

/// The huge pages of a NUMA cell of the guest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HugePage {
    /// The size of a page in bytes.
    pub size: u64,
    /// The cell.
    pub cell: u32,
}

/// In which NUMA cells of the host the memory lies.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NumaTune {
    /// All of them, as libvirt writes a set.
    pub cells: String,
    /// Cell by cell of the guest.
    pub nodes: Vec<MemoryNode>,
}

/// In which NUMA cell of the host a cell of the guest lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNode {
    /// The cell of the guest.
    pub guest: u32,
    /// The cell of the host.
    pub host: u32,
}

impl Element for MemoryBacking {
    fn write(&self, x: &mut Xml) {
        x.element("memoryBacking", |x| {
            if let Some(pages) = &self.hugepages {
                x.element("hugepages", |x| {
                    for page in pages {
                        x.leaf("page", &[("size", &page.size), ("unit", &"b"), ("nodeset", &page.cell)]);
                    }
                });
            }
            if self.no_merging {
                x.leaf("nosharepages", &[]);
            }
            if self.memfd {
                x.leaf("source", &[("type", &"memfd")]);
            }
            if self.shared {
                x.leaf("access", &[("mode", &"shared")]);
            }
            if self.immediate {
                x.leaf("allocation", &[("mode", &"immediate")]);
            }
        });
    }
}

impl Element for NumaTune {
    fn write(&self, x: &mut Xml) {
        x.element("numatune", |x| {
            x.leaf("memory", &[("mode", &"strict"), ("nodeset", &self.cells)]);
            for node in &self.nodes {
                x.leaf("memnode", &[("cellid", &node.guest), ("mode", &"strict"), ("nodeset", &node.host)]);
            }
        });
    }
}
