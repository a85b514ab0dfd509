//! What is done to a guest that runs, by libvirt.

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::guest::picture;
use kubevirt_rs::guest::status::{Fault, FaultReason, State};

use super::fault;
use crate::libvirt::{Connection, Domain, Picture};

/// A fault in libvirt's own words.
pub(super) fn failed(error: impl std::fmt::Display) -> Fault {
    fault(FaultReason::Failed, error)
}

/// Asks the guest to start anew, by its agent if that is connected, else by ACPI.
pub(super) async fn soft_reboot(domain: &Domain, vmi: &VirtualMachineInstance, by_agent: bool) -> Result<(), Fault> {
    let features = vmi.spec.domain.features.as_ref();
    if !by_agent && features.is_some_and(|features| features.acpi.enabled == Some(false)) {
        let message = "The guest has neither an agent that is connected nor ACPI (spec.domain.features.acpi): it cannot be asked to reboot";
        return Err(fault(FaultReason::Conflict, message));
    }
    match domain.reboot(by_agent).await {
        // it may be gone before it has answered
        Err(error) if by_agent && error.is_unanswered => Ok(()),
        result => result.map_err(failed),
    }
}

/// What the screen shows, as a PNG whatever QEMU is able to make.
pub(super) async fn screenshot(domain: &Domain, connection: &Connection) -> Result<Picture, Fault> {
    let taken = domain.screenshot(connection).await.map_err(failed)?;
    let content = match taken.mime.as_str() {
        picture::PNG => taken.content,
        other => picture::png(&taken.content).map_err(|e| failed(format!("The picture of the screen ({other}) cannot be shown: {e}")))?,
    };
    Ok(Picture { mime: picture::PNG.to_owned(), content })
}

/// Pauses, or goes on; nothing when that is so already.
pub(super) async fn pause(domain: &Domain, paused: bool) -> Result<(), Fault> {
    let (state, _) = domain.state().await.map_err(failed)?;
    match (paused, state) {
        (true, State::Running | State::Blocked) => domain.suspend().await.map_err(failed),
        (false, State::Paused) => domain.resume().await.map_err(failed),
        _ => Ok(()),
    }
}
