//! Guests that fail before they ever ran: their start is put off, longer each time.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

use super::pass::Pass;
use super::strategy::{is_final, run_strategy};
use crate::api::v1::{
    VirtualMachine, VirtualMachineInstance, VirtualMachineInstancePhase as Phase, VirtualMachineRunStrategy as Strategy,
    VirtualMachineStartFailure as StartFailure,
};

const LONGEST_SECONDS: i64 = 300;
const FIRST_SECONDS: i64 = 10;

/// How long the start is still put off.
pub(super) fn seconds_left(machine: &VirtualMachine, now: Timestamp) -> u64 {
    let until = machine.status.start_failure.as_ref().and_then(|f| f.retry_after_timestamp.as_ref());
    until.map_or(0, |until| u64::try_from(until.0.as_second() - now.as_second()).unwrap_or(0))
}

/// Counts a failed start, or forgets the count once a guest ran.
pub(super) fn report(pass: &mut Pass<'_>) {
    let instance = pass.instance.as_ref();
    let ran = instance.is_some_and(has_run);
    let restarts_itself = matches!(run_strategy(&pass.machine), Ok(Strategy::Always | Strategy::RerunOnFailure | Strategy::Once) | Err(_));
    if ran || !restarts_itself {
        pass.machine.status.start_failure = None;
        return;
    }
    let Some(instance) = instance.filter(|i| is_final(i)) else {
        return;
    };
    let uid = instance.metadata.uid.clone().unwrap_or_default();
    let before = pass.machine.status.start_failure.as_ref();
    if before.is_some_and(|f| f.last_failed_vmi_uid == uid) {
        return;
    }
    let count = before.map_or(0, |f| f.consecutive_fail_count).saturating_add(1);
    let retry = pass.now.saturating_add(SignedDuration::from_secs(delay_seconds(count, &uid))).ok().map(Time);
    pass.machine.status.start_failure =
        Some(StartFailure { consecutive_fail_count: count, last_failed_vmi_uid: uid, retry_after_timestamp: retry });
}

fn has_run(instance: &VirtualMachineInstance) -> bool {
    instance.status.phase_transition_timestamps.iter().any(|t| t.phase == Phase::Running)
}

/// How long the start is put off after so many failures: quadratic, with up to half as much again, so that machines that
/// failed together do not start together. The uid of the failed instance stands for chance.
fn delay_seconds(failures: i64, uid: &str) -> i64 {
    let failures = failures.clamp(1, 100);
    let delay = FIRST_SECONDS * failures * failures;
    let spread = delay / 2 + 1;
    let chance = uid.bytes().fold(0_i64, |hash, byte| (hash * 31 + i64::from(byte)) % 1_000_003);
    (delay + chance % spread).min(LONGEST_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_grows_to_five_minutes() {
        for (failures, least, most) in [(0, 10, 15), (1, 10, 15), (2, 40, 60), (5, 250, 300), (6, 300, 300), (i64::MAX, 300, 300)] {
            for uid in ["", "a", "6a1a24a1-4061-4607-8bf4-a3963d0c5895"] {
                let delay = delay_seconds(failures, uid);
                assert!((least..=most).contains(&delay), "{failures} {uid}: {delay}");
            }
        }
    }
}
