//! CPUs of the host that belong to the guest alone, and the host's NUMA cells passed on to it.

use std::collections::BTreeMap;

use kubevirt_api::names;

use super::error::{ConvertError, Fault, Result};
use super::guest::Guest;
use super::io_threads::IoThreads;
use super::model::{CpuTune, Domain, HugePage, IoThreadPin, MemoryNode, Numa, NumaCell, NumaTune, VcpuPin};
use super::pinning::Pool;
use super::{Architecture, memory, topology};

const PLACEMENT: &str = "spec.domain.cpu.dedicatedCpuPlacement";
const PAGE_SIZE: &str = "spec.domain.memory.hugepages.pageSize";
const NUMA: &str = "spec.domain.cpu.numa.guestMappingPassthrough";

/// Pins virtual CPUs, emulator and I/O threads, and passes the host's NUMA cells on if that is asked for.
pub(super) fn configure(guest: &Guest<'_>, threads: Option<IoThreads>, domain: &mut Domain) -> Result<()> {
    let facts = guest.facts;
    let mut pool = Pool::new(&facts.cpu_set, &facts.numa_cells, guest.topology.threads);
    let cpus = pool.fit(guest.topology, !guest.passes_numa()).map_err(|lack| {
        ConvertError::new(PLACEMENT, Fault::host(lack.to_string(), "ask for fewer CPUs, or for a node whose cores fit the guest's"))
    })?;
    let vcpus = (0..).zip(&cpus).map(|(vcpu, cpu)| VcpuPin { vcpu, cpu: *cpu }).collect();
    let mut tune = CpuTune { vcpus, ..CpuTune::default() };
    pin_threads(guest, threads, &mut pool, &mut tune)?;
    domain.cpu_tune = Some(tune);
    domain.features.kvm_dedicated = guest.architecture() == Architecture::Amd64;
    if guest.is_realtime() {
        domain.features.pmu = Some(false);
    }
    if guest.passes_numa() {
        pass_numa(guest, &cpus, domain)?;
    }
    Ok(())
}

/// Pins what serves the guest. A pool of I/O threads has CPUs of its own, and so has an isolated emulator; other I/O
/// threads share a CPU with the emulator or with the virtual CPUs.
fn pin_threads(guest: &Guest<'_>, threads: Option<IoThreads>, pool: &mut Pool, tune: &mut CpuTune) -> Result<()> {
    let Some(cpu) = &guest.spec().cpu else { return Ok(()) };
    let vcpus = topology::dedicated(cpu);
    let mut one = |field: &str, what: &str| {
        let lack = || ConvertError::new(field, Fault::host(format!("the pod has no CPU of its own left for {what}"), "ask for more CPUs"));
        pool.thread().ok_or_else(lack)
    };
    let io_pool = threads.and_then(|threads| threads.pool).unwrap_or(0);
    for thread in 1..=io_pool {
        let cpus = one("spec.domain.ioThreads.supplementalPoolThreadCount", "an I/O thread")?.to_string();
        tune.io_threads.push(IoThreadPin { thread, cpus });
    }
    if cpu.isolate_emulator_thread {
        let field = "spec.domain.cpu.isolateEmulatorThread";
        let mut cpus = one(field, "the emulator")?.to_string();
        // an even number of CPUs in all: hosts that hand out whole cores would waste the other thread
        let complete = guest.annotation(names::EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY).is_some();
        if complete && vcpus.wrapping_add(io_pool).is_multiple_of(2) {
            cpus = format!("{cpus},{}", one(field, "the emulator's second thread")?);
        }
        tune.emulator = Some(cpus);
    }
    if let Some(threads) = threads.filter(|threads| threads.pool.is_none()) {
        tune.io_threads = match &tune.emulator {
            Some(cpus) => vec![IoThreadPin { thread: 1, cpus: cpus.clone() }],
            None => share(threads.count, vcpus, &guest.facts.cpu_set),
        };
    }
    Ok(())
}

/// Spreads I/O threads over the CPUs of the virtual CPUs: one CPU each, or, when there are more CPUs than threads, as
/// many CPUs for one as for another.
fn share(threads: u32, vcpus: u32, cpu_set: &[u32]) -> Vec<IoThreadPin> {
    let width = usize::try_from(vcpus).unwrap_or(usize::MAX).min(cpu_set.len());
    let ours = cpu_set.get(..width).unwrap_or_default();
    let count = usize::try_from(threads).unwrap_or(usize::MAX);
    if ours.is_empty() || count == 0 {
        return Vec::new();
    }
    if count >= width {
        // the first thread goes to the second CPU, as interrupts tend to go to the first
        let mut cpus = ours.iter().cycle().skip(1);
        return (1..=threads).filter_map(|thread| Some(IoThreadPin { thread, cpus: cpus.next()?.to_string() })).collect();
    }
    let mut rest = ours;
    (1..=threads)
        .zip(0..count)
        .map(|(thread, place)| {
            let size = width / count + usize::from(place < width % count);
            let (own, others) = rest.split_at(size.min(rest.len()));
            rest = others;
            IoThreadPin { thread, cpus: set(own) }
        })
        .collect()
}

/// A set as libvirt writes it.
fn set(numbers: &[u32]) -> String {
    numbers.iter().map(u32::to_string).collect::<Vec<_>>().join(",")
}

/// Gives the guest a NUMA cell for every cell of the host that one of its virtual CPUs is on, with an equal share of
/// the memory in huge pages; pages that cannot be shared out evenly go to the first cells.
fn pass_numa(guest: &Guest<'_>, cpus: &[u32], domain: &mut Domain) -> Result<()> {
    let cells = &guest.facts.numa_cells;
    if cells.is_empty() {
        return Ok(());
    }
    let cell_of: BTreeMap<u32, u32> = cells.iter().flat_map(|cell| cell.cpus.iter().map(|cpu| (cpu.id, cell.id))).collect();
    let mut vcpus: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
    for (vcpu, cpu) in (0..).zip(cpus) {
        let cell = cell_of
            .get(cpu)
            .ok_or_else(|| ConvertError::new(NUMA, Fault::host(format!("CPU {cpu} is in no NUMA cell"), "look at the host's topology")))?;
        vcpus.entry(*cell).or_default().push(vcpu);
    }
    let used: Vec<_> = cells.iter().filter_map(|cell| Some((cell.id, vcpus.get(&cell.id)?))).collect();
    let (page, pages) = pages(guest, used.len())?;
    let count = u64::try_from(used.len()).unwrap_or(u64::MAX).max(1);
    let (mut numa, mut tune, mut huge) = (Numa::default(), NumaTune::default(), Vec::new());
    tune.cells = set(&used.iter().map(|(host, _)| *host).collect::<Vec<_>>());
    for ((id, place), (host, vcpus)) in (0u32..).zip(0u64..).zip(used) {
        let pages = pages / count + u64::from(place < pages % count);
        numa.cells.push(NumaCell { id, cpus: set(vcpus), memory: pages * page, unit: "b" });
        tune.nodes.push(MemoryNode { guest: id, host });
        huge.push(HugePage { size: page, cell: id });
    }
    if let Some(backing) = &mut domain.memory_backing {
        backing.hugepages = Some(huge);
        backing.immediate = true;
        backing.no_merging = guest.is_realtime();
    }
    domain.cpu.numa = Some(numa);
    domain.numa_tune = Some(tune);
    Ok(())
}

/// The size of a huge page, and how many of them the guest has: at least one for each of so many cells.
fn pages(guest: &Guest<'_>, cells: usize) -> Result<(u64, u64)> {
    let hugepages = guest.spec().memory.as_ref().and_then(|memory| memory.hugepages.as_ref());
    let hugepages = hugepages.ok_or_else(|| {
        let right = "set spec.domain.memory.hugepages.pageSize, or take guestMappingPassthrough out";
        ConvertError::new(NUMA, Fault::Conflict { what: "only huge pages can be placed in NUMA cells".to_owned(), right })
    })?;
    let wrong = |right: &str| ConvertError::new(PAGE_SIZE, Fault::value(&hugepages.page_size, right));
    let size = hugepages.page_size.parse().map_err(|_| wrong("use a size of the host's huge pages, such as 2Mi or 1Gi"))?;
    let page = memory::bytes(PAGE_SIZE, &size)?;
    let (field, memory) = memory::at_start(guest)?;
    let memory = memory::bytes(field, memory)?;
    if page == 0 || memory % page != 0 {
        return Err(wrong("the guest's memory must be a multiple of it"));
    }
    let pages = memory / page;
    if pages < u64::try_from(cells).unwrap_or(u64::MAX) {
        return Err(wrong("the guest's memory must be at least one such page for every NUMA cell"));
    }
    Ok((page, pages))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::{facts, vmi};
    use super::super::{Domain, convert};
    use super::*;

    fn pinned(cpu_set: &[u32], cpu: serde_json::Value, memory: &serde_json::Value) -> Result<Domain> {
        let mut cpu = cpu;
        cpu["dedicatedCpuPlacement"] = true.into();
        convert(&vmi(json!({ "cpu": cpu, "memory": memory })), &facts(cpu_set))
    }

    #[test]
    fn io_threads_are_spread_over_the_cpus() {
        let shared = |threads, vcpus, cpu_set: &[u32]| share(threads, vcpus, cpu_set).into_iter().map(|pin| pin.cpus).collect::<Vec<_>>();
        assert_eq!(shared(3, 8, &[1, 2, 3, 4, 5, 6, 7, 8, 9]), ["1,2,3", "4,5,6", "7,8"]);
        assert_eq!(shared(3, 2, &[1, 2]), ["2", "1", "2"]);
        assert_eq!(shared(2, 1, &[5, 6]), ["5", "5"]);
        assert_eq!(shared(2, 0, &[5]), [""; 0]);
        assert_eq!(shared(2, 4, &[]), [""; 0]);
    }

    #[test]
    fn memory_in_huge_pages_is_shared_out_to_the_cells() {
        let cpu = json!({ "cores": 2, "threads": 2, "numa": { "guestMappingPassthrough": {} } });
        let domain = pinned(&[0, 10, 2, 12], cpu.clone(), &json!({ "guest": "3Gi", "hugepages": { "pageSize": "1Gi" } })).unwrap();
        let cells: Vec<_> = domain.cpu.numa.unwrap().cells.into_iter().map(|cell| (cell.id, cell.cpus, cell.memory >> 30)).collect();
        assert_eq!(cells, [(0, "0,1".to_owned(), 2), (1, "2,3".to_owned(), 1)]);
        assert_eq!(domain.numa_tune.unwrap().cells, "0,1");
        for (memory, field) in [
            (json!({ "guest": "3Gi" }), NUMA),
            (json!({ "guest": "1Gi", "hugepages": { "pageSize": "1Gi" } }), PAGE_SIZE),
            (json!({ "guest": "1500Mi", "hugepages": { "pageSize": "1Gi" } }), PAGE_SIZE),
            (json!({ "guest": "2Gi", "hugepages": { "pageSize": "huge" } }), PAGE_SIZE),
            (json!({ "guest": "2Gi", "hugepages": { "pageSize": "0" } }), PAGE_SIZE),
        ] {
            assert_eq!(pinned(&[0, 10, 2, 12], cpu.clone(), &memory).unwrap_err().field, field);
        }
    }

    #[test]
    fn cpus_that_the_pod_lacks_are_named() {
        let memory = json!({ "guest": "1Gi" });
        for (cpu, field) in [
            (json!({ "cores": 3 }), PLACEMENT),
            (json!({ "cores": 2, "isolateEmulatorThread": true }), "spec.domain.cpu.isolateEmulatorThread"),
        ] {
            let error = pinned(&[0, 1], cpu, &memory).unwrap_err();
            assert_eq!(error.field, field);
            assert!(error.depends_on_host());
        }
    }
}
