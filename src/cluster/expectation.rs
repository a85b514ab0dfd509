//! A pass decides by what the stores show. What the last pass wrote must be among it, or it would be done twice.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// A watch that stays behind so long is not waited for: what is then done twice the API server refuses.
const PATIENCE: Duration = Duration::from_secs(30);

/// What was written for each item and has to be seen before its next pass.
#[derive(Debug)]
pub(crate) struct Expectations<T> {
    written: Mutex<HashMap<T, Vec<Written>>>,
}

#[derive(Debug)]
struct Written {
    /// How far the store of the kind has come.
    seen: Arc<AtomicU64>,
    /// How far it has to come.
    version: u64,
    until: Instant,
}

impl Written {
    fn is_open(&self, now: Instant) -> bool {
        self.seen.load(Ordering::Acquire) < self.version && now < self.until
    }
}

impl<T> Default for Expectations<T> {
    fn default() -> Self {
        Self { written: Mutex::default() }
    }
}

impl<T: Eq + Hash> Expectations<T> {
    /// A pass of `item` has written an object; `seen` is the progress of its kind's store, `version` what the API server
    /// answered as the object's resource version.
    pub(crate) fn expect(&self, item: T, seen: Arc<AtomicU64>, version: Option<&str>) {
        // A version that is no number cannot be compared, so it cannot be waited for.
        let Some(version) = version.and_then(|v| v.parse().ok()) else {
            return;
        };
        let written = Written { seen, version, until: Instant::now() + PATIENCE };
        self.written.lock().unwrap_or_else(PoisonError::into_inner).entry(item).or_default().push(written);
    }

    /// Whether everything that was written for the item can be seen.
    pub(crate) fn met(&self, item: &T) -> bool {
        self.met_at(item, Instant::now())
    }

    fn met_at(&self, item: &T, now: Instant) -> bool {
        let mut all = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(written) = all.get_mut(item) else {
            return true;
        };
        written.retain(|w| w.is_open(now));
        let met = written.is_empty();
        if met {
            all.remove(item);
        }
        met
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pass_waits_for_what_was_written_but_not_for_ever() {
        let expectations = Expectations::default();
        let seen = Arc::new(AtomicU64::new(5));
        expectations.expect("a", seen.clone(), Some("7"));
        expectations.expect("a", seen.clone(), Some("not a number"));
        assert_eq!((expectations.met(&"a"), expectations.met(&"b")), (false, true));
        seen.store(7, Ordering::Release);
        assert!(expectations.met(&"a"));
        expectations.expect("a", seen, Some("8"));
        assert!(!expectations.met(&"a"));
        assert!(expectations.met_at(&"a", Instant::now() + PATIENCE));
    }
}
