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
        self.cells.iter_mut().find_map(|cell| cell.loose.pop_front().or_else(|| cell.take_core(width, 1)?.pop()))
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
        self.take_core(width, width)
    }

    fn loose_core(&mut self, width: usize) -> Option<Vec<u32>> {
        (self.loose.len() >= width).then(|| self.loose.drain(..width).collect())
    }

    /// Some threads of the first core; when what is left of it holds no core of the guest, it becomes loose.
    fn take_core(&mut self, width: usize, count: usize) -> Option<Vec<u32>> {
        let core = self.cores.front_mut()?;
        let taken = core.drain(..count.min(core.len())).collect();
        if core.len() < width {
            self.loose.append(core);
            self.cores.pop_front();
        }
        Some(taken)
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::facts;
    use super::*;

    fn fit(cpu_set: &[u32], sockets: u32, cores: u32, threads: u32, across: bool) -> Result<Vec<u32>, NoPlace> {
        let facts = facts(cpu_set);
        Pool::new(&facts.cpu_set, &facts.numa_cells, threads).fit(Topology { sockets, cores, threads }, across)
    }

    #[test]
    fn cores_of_the_guest_lie_on_cores_of_the_host_if_they_can() {
        for (cpu_set, (sockets, cores, threads), across, expected) in [
            (&[0, 10, 1, 11][..], (1, 2, 2), false, Ok(vec![0, 10, 1, 11])),
            (&[0, 10, 1, 11], (1, 4, 1), false, Ok(vec![0, 10, 1, 11])),
            (&[0, 1, 12, 2], (1, 2, 2), false, Ok(vec![2, 12, 0, 1])),
            (&[0, 2, 1, 3], (1, 2, 2), false, Ok(vec![0, 1, 2, 3])),
            (&[0, 2], (1, 1, 2), true, Ok(vec![0, 2])),
            (&[0, 2], (1, 1, 2), false, Err(NoPlace::AcrossCells { lacking: 1 })),
            (&[0, 10], (2, 1, 2), true, Err(NoPlace::TooFew { has: 2, lacking: 1 })),
            (&[0, 10], (2, 1, 2), false, Err(NoPlace::TooFew { has: 2, lacking: 1 })),
            (&[], (1, 1, 1), true, Err(NoPlace::TooFew { has: 0, lacking: 1 })),
        ] {
            assert_eq!(fit(cpu_set, sockets, cores, threads, across), expected, "{cpu_set:?} {sockets} {cores} {threads} {across}");
        }
    }

    #[test]
    fn what_else_runs_takes_loose_threads_first() {
        let facts = facts(&[0, 10, 1, 3]);
        let mut pool = Pool::new(&facts.cpu_set, &facts.numa_cells, 2);
        let threads: Vec<_> = std::iter::from_fn(|| pool.thread()).collect();
        assert_eq!(threads, [1, 0, 10, 3]);
    }

    proptest::proptest! {
        #[test]
        fn no_cpu_is_given_twice_and_none_that_the_pod_has_not(
            cpu_set in proptest::collection::btree_set(0u32..14, 0..12), sockets in 1u32..4, cores in 1u32..4, threads in 1u32..4, across: bool,
        ) {
            let cpu_set: Vec<_> = cpu_set.into_iter().filter(|cpu| cpu % 10 < 4).collect();
            if let Ok(given) = fit(&cpu_set, sockets, cores, threads, across) {
                let distinct: HashSet<_> = given.iter().collect();
                proptest::prop_assert_eq!(distinct.len(), given.len());
                proptest::prop_assert_eq!(given.len(), (sockets * cores * threads) as usize);
                proptest::prop_assert!(given.iter().all(|cpu| cpu_set.contains(cpu)));
            }
        }
    }
}
