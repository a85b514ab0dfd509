//! The states of a domain: libvirt's numbers as words.

use kubevirt_rs::guest::status::{State, StateReason};
use virt::sys;

/// The words for a state and its reason; which reasons there are depends on the state.
pub(super) fn understand(state: sys::virDomainState, reason: i32) -> (State, StateReason) {
    let reason = u32::try_from(reason).unwrap_or(u32::MAX);
    let find = |table: &[(u32, StateReason)]| table.iter().find(|(number, _)| *number == reason).map(|(_, word)| *word).unwrap_or_default();
    match state {
        sys::VIR_DOMAIN_NOSTATE => (State::NoState, StateReason::Unknown),
        sys::VIR_DOMAIN_RUNNING => (State::Running, StateReason::Unknown),
        sys::VIR_DOMAIN_BLOCKED => (State::Blocked, StateReason::Unknown),
        sys::VIR_DOMAIN_PAUSED => (State::Paused, find(&PAUSED)),
        sys::VIR_DOMAIN_SHUTDOWN => (State::ShuttingDown, find(&[(sys::VIR_DOMAIN_SHUTDOWN_USER, StateReason::User)])),
        sys::VIR_DOMAIN_SHUTOFF => (State::Shutoff, find(&SHUT_OFF)),
        sys::VIR_DOMAIN_CRASHED => (State::Crashed, find(&[(sys::VIR_DOMAIN_CRASHED_PANICKED, StateReason::Panicked)])),
        sys::VIR_DOMAIN_PMSUSPENDED => (State::PmSuspended, StateReason::Unknown),
        _ => (State::Unknown, StateReason::Unknown),
    }
}

const PAUSED: [(u32, StateReason); 13] = [
    (sys::VIR_DOMAIN_PAUSED_USER, StateReason::User),
    (sys::VIR_DOMAIN_PAUSED_MIGRATION, StateReason::Migration),
    (sys::VIR_DOMAIN_PAUSED_SAVE, StateReason::Save),
    (sys::VIR_DOMAIN_PAUSED_DUMP, StateReason::Dump),
    (sys::VIR_DOMAIN_PAUSED_IOERROR, StateReason::IoError),
    (sys::VIR_DOMAIN_PAUSED_WATCHDOG, StateReason::Watchdog),
    (sys::VIR_DOMAIN_PAUSED_FROM_SNAPSHOT, StateReason::FromSnapshot),
    (sys::VIR_DOMAIN_PAUSED_SHUTTING_DOWN, StateReason::ShuttingDown),
    (sys::VIR_DOMAIN_PAUSED_SNAPSHOT, StateReason::Snapshot),
    (sys::VIR_DOMAIN_PAUSED_CRASHED, StateReason::Crashed),
    (sys::VIR_DOMAIN_PAUSED_STARTING_UP, StateReason::StartingUp),
    (sys::VIR_DOMAIN_PAUSED_POSTCOPY, StateReason::Postcopy),
    (sys::VIR_DOMAIN_PAUSED_POSTCOPY_FAILED, StateReason::PostcopyFailed),
];

const SHUT_OFF: [(u32, StateReason); 7] = [
    (sys::VIR_DOMAIN_SHUTOFF_SHUTDOWN, StateReason::Shutdown),
    (sys::VIR_DOMAIN_SHUTOFF_DESTROYED, StateReason::Destroyed),
    (sys::VIR_DOMAIN_SHUTOFF_CRASHED, StateReason::Crashed),
    (sys::VIR_DOMAIN_SHUTOFF_MIGRATED, StateReason::Migrated),
    (sys::VIR_DOMAIN_SHUTOFF_SAVED, StateReason::Saved),
    (sys::VIR_DOMAIN_SHUTOFF_FAILED, StateReason::Failed),
    (sys::VIR_DOMAIN_SHUTOFF_FROM_SNAPSHOT, StateReason::FromSnapshot),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_number_means_another_thing_in_another_state() {
        for (state, reason, expected) in [
            (sys::VIR_DOMAIN_RUNNING, 1, (State::Running, StateReason::Unknown)),
            (sys::VIR_DOMAIN_PAUSED, 1, (State::Paused, StateReason::User)),
            (sys::VIR_DOMAIN_SHUTOFF, 1, (State::Shutoff, StateReason::Shutdown)),
            (sys::VIR_DOMAIN_SHUTOFF, 3, (State::Shutoff, StateReason::Crashed)),
            (sys::VIR_DOMAIN_CRASHED, 1, (State::Crashed, StateReason::Panicked)),
            (sys::VIR_DOMAIN_PAUSED, -1, (State::Paused, StateReason::Unknown)),
            (99, 0, (State::Unknown, StateReason::Unknown)),
        ] {
            assert_eq!(understand(state, reason), expected, "{state} {reason}");
        }
    }
}
