//! What a guest has used and has.

use std::time::Duration;

use kubevirt_rs::downward_metrics::Guest;
use virt::sys;

use super::{Domain, LibvirtError};

impl Domain {
    /// The guest's figures, as they are now.
    pub(crate) async fn figures(&self) -> Result<Guest, LibvirtError> {
        self.call("ask for the figures of the domain", |domain| {
            let info = domain.get_info()?;
            Ok(Guest { cpu_time: processors(domain, info.nr_virt_cpu), processors: info.nr_virt_cpu, memory: info.memory })
        })
        .await
    }
}

/// For how long the guest's processors have run; nothing where libvirt cannot tell them from the rest of QEMU.
fn processors(domain: &virt::domain::Domain, count: u32) -> Duration {
    let nothing = sys::virVcpuInfo { number: 0, state: 0, cpuTime: 0, cpu: 0 };
    let mut found = vec![nothing; usize::try_from(count).unwrap_or(0)];
    let Ok(room) = i32::try_from(found.len()) else { return Duration::ZERO };
    // SAFETY: there is room for as many entries as is told, and none is asked for where they may run
    let filled = unsafe { sys::virDomainGetVcpus(domain.as_ptr(), found.as_mut_ptr(), room, std::ptr::null_mut(), 0) };
    let filled = usize::try_from(filled).unwrap_or(0);
    Duration::from_nanos(found.iter().take(filled).fold(0, |sum, processor| sum.saturating_add(processor.cpuTime)))
}
