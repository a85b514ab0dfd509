//! Waits for the containers that share folders with the guest.

use std::path::Path;
use std::time::Duration;

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::pod;
use tokio::time::{Instant, sleep, timeout_at};

use super::fault;

/// How often it is looked. Their sockets are mostly there before the guest's disks are made.
const LOOK_EVERY: Duration = Duration::from_millis(50);

/// Waits until every container listens. Only looks: a virtiofsd serves one connection, and that is QEMU's.
pub(super) async fn wait(vmi: &VirtualMachineInstance, paths: &Paths, until: Instant) -> Result<(), Fault> {
    let begin = Instant::now();
    let shared = vmi.spec.domain.devices.filesystems.iter().enumerate().filter(|(_, f)| f.virtiofs.is_some());
    for (i, filesystem) in shared {
        let socket = paths.virtiofs(&filesystem.name);
        let there = async {
            while !Path::new(&socket).exists() {
                sleep(LOOK_EVERY).await;
            }
        };
        if timeout_at(until, there).await.is_err() {
            let container = pod::virtiofs_container(&filesystem.name);
            let seconds = begin.elapsed().as_secs();
            let message = format!(
                "the container {container} has not opened {socket} within {seconds} s; its log says why (kubectl logs -c {container})"
            );
            let field = Some(format!("spec.domain.devices.filesystems[{i}]"));
            return Err(Fault { field, ..fault(FaultReason::DiskNotReady, message) });
        }
    }
    Ok(())
}
