//! Which virtual CPU runs on which CPU of the host when the guest has CPUs of its own.
//!
//! Threads of a core stay together if the pod's CPUs allow it: first on whole cores of the host, then on left-over
//! threads of one NUMA cell, and at last, unless the guest has NUMA cells of its own, on left-over threads of any cell.

use std::collections::{HashSet, VecDeque};

use super::facts::NumaCell;
use super::model::Topology;

/// The CPUs of a pod, as threads of cores of NUMA cells.
#[derive(Debug)]
pub(super) struct Pool {
    cells: Vec<Cell>,
    /// Threads of a core of the guest.
    width: usize,
    /// All CPUs that the pod has.
    size: usize,
}

/// What of a NUMA cell belongs to the pod and is still free.
#[derive(Debug, Default)]
struct Cell {
    /// Cores with room for a core of the guest.
    cores: VecDeque<VecDeque<u32>>,
    /// Threads of cores without.
    loose: VecDeque<u32>,
}

/// Why the virtual CPUs cannot be placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoPlace {
    #[error("the pod has {has} CPUs of its own, {lacking} more cores of the guest need one")]
    TooFew { has: usize, lacking: usize },
    #[error("{lacking} cores of the guest would lie across NUMA cells")]
    AcrossCells { lacking: usize },
}

impl Pool {
    pub(super) fn new(cpu_set: &[u32], cells: &[NumaCell], threads: u32) -> Self {
        let width = usize::try_from(threads).unwrap_or(usize::MAX).max(1);
        let ours: HashSet<u32> = cpu_set.iter().copied().collect();
        let mut seen = HashSet::new();
        let cells = cells.iter().map(|cell| Cell::new(cell, &ours, &mut seen, width)).collect();
        Self { cells, width, size: cpu_set.len() }
    }

    /// CPUs of the host for all virtual CPUs, in their order.
    pub(super) fn fit(&mut self, topology: Topology, across_cells: bool) -> Result<Vec<u32>, NoPlace> {
        let cores = usize::try_from(topology.cores.saturating_mul(topology.sockets)).unwrap_or(usize::MAX);
        let mut threads = Vec::new();
        let mut lacking = cores;
        for take in [Cell::whole_core, Cell::loose_core] {
            for cell in &mut self.cells {
                while lacking > 0
                    && let Some(core) = take(cell, self.width)
                {
                    threads.extend(core);
                    lacking -= 1;
                }
            }
        }
        if lacking > 0 && across_cells {
            let mut wanted = lacking.saturating_mul(self.width);
            for cell in &mut self.cells {
                while wanted > 0
                    && let Some(thread) = cell.loose.pop_front()
                {
                    threads.push(thread);
                    wanted -= 1;
                }
            }
            lacking = wanted.div_ceil(self.width);
        }
        match lacking {
            0 => Ok(threads),
            _ if across_cells || self.size < cores.saturating_mul(self.width) => Err(NoPlace::TooFew { has: self.size, lacking }),
            _ => Err(NoPlace::AcrossCells { lacking }),
        }
    }

    /// One more CPU for something else; threads that are good for nothing better first.
    pub(super) fn thread(&mut self) -> Option<u32> {
        let width = self.width;
        self.cells.iter_mut().find_map(|cell| cell.loose.pop_front().or_else(|| cell.from_core(width, 1)?.pop()))
    }
}

impl Cell {
    fn new(cell: &NumaCell, ours: &HashSet<u32>, seen: &mut HashSet<u32>, width: usize) -> Self {
        let mut new = Self::default();
        for cpu in &cell.cpus {
            if seen.contains(&cpu.id) {
                continue;
            }
            let alone = [cpu.id];
            let threads = if cpu.siblings.is_empty() { &alone[..] } else { &cpu.siblings };
            seen.extend(threads);
            let core: VecDeque<u32> = threads.iter().copied().filter(|thread| ours.contains(thread)).collect();
            if core.len() >= width {
                new.cores.push_back(core);
            } else {
                new.loose.extend(core);
            }
        }
        new
    }

    fn whole_core(&mut self, width: usize) -> Option<Vec<u32>> {
        self.from_core(width, width)
    }

    fn loose_core(&mut self, width: usize) -> Option<Vec<u32>> {
        (self.loose.len() >= width).then(|| self.loose.drain(..width).collect())
    }

    /// Some threads of the first core; when what is left of it holds no core of the guest, it becomes loose.
    fn from_core(&mut self, width: usize, count: usize) -> Option<Vec<u32>> {
        let core = self.cores.front_mut()?;
        let taken = core.drain(..count.min(core.len())).collect();
        if core.len() < width {
            self.loose.append(core);
            self.cores.pop_front();
        }
        Some(taken)
    }
}
