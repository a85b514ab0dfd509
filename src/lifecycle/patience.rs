//! How long something may still wait.

use k8s_openapi::jiff::Timestamp;

/// For so many seconds an object that is deleted need not tell how its guest goes, nor is its pod deleted while the node ends
/// the guest: most are gone by then.
pub(crate) const GOING: u64 = 10;

/// How much is left, in whole seconds, of the seconds that something may wait since then; nothing when they have passed.
pub(crate) fn left(since: Timestamp, now: Timestamp, seconds: u64) -> Option<u64> {
    let passed = u64::try_from(now.duration_since(since).as_secs()).unwrap_or(0);
    seconds.checked_sub(passed).filter(|left| *left > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patience_comes_to_its_end() {
        let at = |seconds| Timestamp::from_second(seconds).unwrap();
        for (since, now, expected) in [(10, 10, Some(5)), (10, 12, Some(3)), (10, 15, None), (10, 99, None), (12, 10, Some(5))] {
            assert_eq!(left(at(since), at(now), 5), expected, "{since} {now}");
        }
    }
}
