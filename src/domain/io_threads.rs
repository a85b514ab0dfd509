//! I/O threads: how many, and which disk is served by which.

use kubevirt_api::v1::{Disk, DiskBus, IoThreadsPolicy};

use super::disks::bus;
use super::error::{ConvertError, Fault, Result};
use super::guest::Guest;

/// The most threads of a pool.
const MOST: u32 = 16384;

/// The I/O threads of a guest: the shared ones have the first numbers, a thread for one disk only has one above them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct IoThreads {
    /// All threads.
    pub(super) count: u32,
    /// Those that serve the disks without a thread of their own.
    pub(super) shared: u32,
    /// A pool in which every thread serves every disk.
    pub(super) pool: Option<u32>,
}

/// Hands the threads out to the disks, in their order.
#[derive(Debug)]
pub(super) struct Assigner {
    threads: IoThreads,
    next_shared: u32,
    next_own: u32,
}

/// What serves a disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Served {
    /// QEMU's main loop.
    ByNone,
    /// One thread.
    By(u32),
    /// The whole pool.
    ByPool(u32),
}

pub(super) fn has_own(disk: &Disk) -> bool {
    disk.dedicated_io_thread == Some(true)
}

/// The threads of a guest; `None` when it has none.
pub(super) fn count(guest: &Guest<'_>) -> Result<Option<IoThreads>> {
    let policy = guest.spec().io_threads_policy.as_ref();
    let disks = &guest.devices().disks;
    if policy.is_none() && !disks.iter().any(has_own) {
        return Ok(None);
    }
    if policy == Some(&IoThreadsPolicy::SupplementalPool) {
        let field = "spec.domain.ioThreads.supplementalPoolThreadCount";
        let threads = guest.spec().io_threads.as_ref().and_then(|threads| threads.supplemental_pool_thread_count);
        let right = "set the number of threads of the pool";
        let pool = threads.ok_or_else(|| ConvertError::new(field, Fault::Missing { right }))?;
        if pool == 0 || pool > MOST {
            return Err(ConvertError::new(field, Fault::value(pool, format!("use 1 to {MOST} threads"))));
        }
        return Ok(Some(IoThreads { count: pool, shared: 0, pool: Some(pool) }));
    }
    let own = length(disks.iter().filter(|disk| has_own(disk)).count());
    let mut shared = length(disks.len()).saturating_sub(own);
    let limit = limit(guest, policy)?;
    if own.saturating_add(shared) > limit {
        shared = limit.saturating_sub(own).max(1);
    }
    Ok(Some(IoThreads { count: own.saturating_add(shared), shared, pool: None }))
}

fn length(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

/// How many threads there may be: twice the CPUs that are asked for, unless there is one CPU for all of them.
fn limit(guest: &Guest<'_>, policy: Option<&IoThreadsPolicy>) -> Result<u32> {
    match policy {
        None | Some(IoThreadsPolicy::Shared) => Ok(1),
        Some(IoThreadsPolicy::Auto) => {
            let emulator_apart = guest.spec().cpu.as_ref().is_some_and(|cpu| cpu.dedicated_cpu_placement && cpu.isolate_emulator_thread);
            if emulator_apart {
                return Ok(1);
            }
            let resources = &guest.spec().resources;
            let cpus = resources.requests.get("cpu").or_else(|| resources.limits.get("cpu")).map_or(1, kubevirt_api::Quantity::value);
            Ok(u32::try_from(cpus.saturating_mul(2)).unwrap_or(if cpus < 0 { 0 } else { u32::MAX }))
        }
        Some(other) => Err(ConvertError::new("spec.domain.ioThreadsPolicy", Fault::value(other, "use shared, auto or supplementalPool"))),
    }
}

impl Assigner {
    pub(super) fn new(threads: IoThreads) -> Self {
        Self { threads, next_shared: 1, next_own: threads.shared.saturating_add(1) }
    }

    /// What serves the next disk. Only virtio disks are served by threads one by one; those on the SCSI controller share
    /// its thread.
    pub(super) fn assign(&mut self, disk: &Disk) -> Served {
        if bus(disk) != Some(&DiskBus::Virtio) {
            return Served::ByNone;
        }
        if let Some(pool) = self.threads.pool {
            return Served::ByPool(pool);
        }
        if has_own(disk) {
            self.next_own = self.next_own.saturating_add(1);
            return Served::By(self.next_own - 1);
        }
        let thread = self.next_shared;
        self.next_shared = thread % self.threads.shared.max(1) + 1;
        Served::By(thread)
    }
}

/// The thread of the SCSI controller when a disk on it wants one of its own: the shared thread that would be next.
pub(super) fn of_scsi_controller(threads: IoThreads, disks: &[Disk]) -> Option<u32> {
    let wanted = disks.iter().any(|disk| bus(disk) == Some(&DiskBus::Scsi) && has_own(disk));
    if threads.shared == 0 || !wanted {
        return None;
    }
    let served = disks.iter().filter(|disk| bus(disk) == Some(&DiskBus::Virtio) && !has_own(disk)).count();
    Some(length(served) % threads.shared + 1)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::convert;
    use super::super::testing::{domain, error, facts, with};

    fn disks(kinds: &[&str]) -> Value {
        let disk = |(name, kind): (usize, &&str)| {
            let (bus, own) = kind.split_once('!').map_or((*kind, false), |(bus, _)| (bus, true));
            json!({ "name": name.to_string(), "disk": { "bus": bus }, "dedicatedIOThread": own })
        };
        Value::Array(kinds.iter().enumerate().map(disk).collect())
    }

    /// The threads in all, that of each disk, and that of the SCSI controller.
    fn threads(policy: Option<&str>, cpus: &str, kinds: &[&str]) -> (Option<u32>, Vec<Option<u32>>, Option<u32>) {
        let volume = |name: usize| json!({ "name": name.to_string(), "emptyDisk": { "capacity": "1Gi" } });
        let volumes: Vec<_> = (0..kinds.len()).map(volume).collect();
        let resources = json!({ "requests": { "cpu": cpus } });
        let fields = json!({ "ioThreadsPolicy": policy, "resources": resources, "devices": { "disks": disks(kinds) } });
        let domain = convert(&with(json!({ "spec": { "volumes": volumes, "domain": fields } })), &facts(&[])).unwrap();
        let scsi = domain.devices.controllers.iter().find_map(|controller| controller.driver.and_then(|driver| driver.io_thread));
        (domain.io_threads, domain.devices.disks.iter().map(|disk| disk.driver.io_thread).collect(), scsi)
    }

    #[test]
    fn disks_share_threads_as_their_policy_says() {
        for (policy, cpus, kinds, expected) in [
            (None, "1", &["virtio", "virtio"][..], (None, vec![None, None], None)),
            (None, "1", &["virtio!", "virtio"], (Some(2), vec![Some(2), Some(1)], None)),
            (Some("shared"), "4", &["virtio", "virtio!", "virtio"], (Some(2), vec![Some(1), Some(2), Some(1)], None)),
            (Some("auto"), "1", &["virtio", "virtio", "virtio", "virtio"], (Some(2), vec![Some(1), Some(2), Some(1), Some(2)], None)),
            (Some("auto"), "1", &["virtio!", "virtio!", "virtio!", "virtio"], (Some(4), vec![Some(2), Some(3), Some(4), Some(1)], None)),
            (Some("auto"), "8", &["virtio", "sata", "scsi!"], (Some(3), vec![Some(1), None, None], Some(2))),
            (Some("shared"), "1", &["scsi!"], (Some(1), vec![None], None)),
        ] {
            assert_eq!(threads(policy, cpus, kinds), expected, "{policy:?} {cpus} {kinds:?}");
        }
    }

    #[test]
    fn a_pool_serves_every_virtio_disk() {
        let domain = domain(json!({ "ioThreadsPolicy": "supplementalPool", "ioThreads": { "supplementalPoolThreadCount": 4 } }));
        assert_eq!(domain.io_threads, Some(4));
    }

    #[test]
    fn what_makes_no_sense_is_named() {
        for (fields, field) in [
            (json!({ "ioThreadsPolicy": "supplementalPool" }), "spec.domain.ioThreads.supplementalPoolThreadCount"),
            (
                json!({ "ioThreadsPolicy": "supplementalPool", "ioThreads": { "supplementalPoolThreadCount": 0 } }),
                "spec.domain.ioThreads.supplementalPoolThreadCount",
            ),
            (json!({ "ioThreadsPolicy": "many" }), "spec.domain.ioThreadsPolicy"),
        ] {
            assert_eq!(error(json!({ "spec": { "domain": fields } })).field, field);
        }
    }
}
