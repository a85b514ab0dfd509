//! Between libvirt and the decisions about a guest: what happened as an input, and an action as a call.

use std::future::pending;
use std::time::Duration;

use kubevirt_rs::guest::{Action, End, Input};
use tokio::time::sleep;

use crate::libvirt::{Domain, Lifecycle, Stopped};

/// How long QEMU may take to end once it was told to.
pub(super) const END: Duration = Duration::from_secs(10);
/// How long after its start a guest has made its launcher do most of what it will do.
pub(super) const SETTLE: Duration = Duration::from_secs(10);

/// What an event of libvirt is to the decisions, if anything.
pub(super) fn understand(event: Lifecycle) -> Option<Input> {
    match event {
        Lifecycle::Stopped(how) => Some(Input::Ended(match how {
            Stopped::Shutdown => End::PoweredOff,
            Stopped::Destroyed => End::Destroyed,
            Stopped::Crashed => End::Crashed,
            Stopped::Failed | Stopped::Other => End::Failed,
        })),
        Lifecycle::Crashed => Some(Input::Panicked),
        _ => None,
    }
}

/// Takes a step, beside whoever watches the guest: the guest may answer it by ending.
pub(super) fn perform(action: Action, domain: Domain) {
    tokio::spawn(async move {
        let result = match action {
            Action::PressPowerButton => domain.press_power_button().await,
            Action::AskAgent => domain.ask_agent_to_power_off().await,
            Action::Destroy => domain.destroy().await,
        };
        if let Err(error) = result {
            tracing::debug!(%error, ?action, "A step failed");
        }
    });
}

/// Waits for a time; for ever without one. Cancellation safe.
pub(super) async fn after(time: Option<Duration>) {
    match time {
        Some(time) => sleep(time).await,
        None => pending().await,
    }
}
