//! Between libvirt and the decisions about a guest: what happened as an input, and an action as a call.

use std::future::pending;
use std::time::Duration;

use kubevirt_rs::guest::{Action, End, Input};
use tokio::time::sleep;

use crate::libvirt::{Domain, Lifecycle, Stopped};

/// How long QEMU may take to end once it was told to.
pub(super) const END: Duration = Duration::from_secs(10);
/// How long nothing must have happened before memory is given back.
const QUIET: Duration = Duration::from_millis(500);
/// How often it is given back whatever happens: what streams and requests need is not seen.
const AGAIN: Duration = Duration::from_secs(60);

/// When a launcher gives back what it does not need any more. Whatever happens brings back pages of the program, each
/// with its neighbours; most of them serve for an instant, and would then stay in memory for as long as the guest.
#[derive(Clone, Copy, Debug)]
pub(super) struct Calm {
    given: Duration,
    due: Duration,
}

impl Calm {
    /// Something has been happening until now.
    pub(super) fn new(now: Duration) -> Self {
        Self { given: now, due: now + QUIET }
    }

    /// How long to wait with it.
    pub(super) fn wait(&self, now: Duration) -> Duration {
        self.due.saturating_sub(now)
    }

    /// Something has happened.
    pub(super) fn stirred(&mut self, now: Duration) {
        self.due = (now + QUIET).min(self.given + AGAIN);
    }

    /// It was given back.
    pub(super) fn gave(&mut self, now: Duration) {
        *self = Self { given: now, due: now + AGAIN };
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_given_back_when_it_is_quiet_and_now_and_then() {
        let second = Duration::from_secs;
        let mut calm = Calm::new(second(5));
        assert_eq!(calm.wait(second(5)), QUIET);
        calm.stirred(second(6));
        assert_eq!((calm.wait(second(6)), calm.wait(second(7))), (QUIET, Duration::ZERO));
        calm.gave(second(9));
        assert_eq!(calm.wait(second(10)), second(59), "nothing has happened since");
        calm.stirred(second(20));
        assert_eq!(calm.wait(second(20)), QUIET);
        // without an end of what happens it is not put off for ever
        for now in 21..70 {
            calm.stirred(second(now));
        }
        assert_eq!(calm.wait(second(69)), Duration::ZERO);
    }
}
