//! How long an item has to wait that did not succeed.

use std::collections::HashMap;
use std::hash::Hash;
use std::time::Duration;

use tokio::time::Instant;

/// The first time that an item fails it waits so long; each further time twice as long.
const FIRST: Duration = Duration::from_millis(5);
/// No item waits longer.
const LONGEST: Duration = Duration::from_secs(1000);
/// So many tries a second in the long run, over all items …
const RATE: f64 = 10.0;
/// … and so many at once.
const BURST: f64 = 100.0;

/// What client-go's controllers wait, so that the API server sees from us what it sees from them: the longer of an
/// exponential delay for each item and a bucket of tries for all of them.
#[derive(Debug)]
pub(super) struct Limiter<T> {
    failures: HashMap<T, u32>,
    bucket: Bucket,
}

impl<T: Eq + Hash> Limiter<T> {
    pub(super) fn new(now: Instant) -> Self {
        Self { failures: HashMap::new(), bucket: Bucket::new(RATE, BURST, now) }
    }

    /// How long the item waits now that it has failed once more.
    pub(super) fn delay(&mut self, item: T, now: Instant) -> Duration {
        let failures = self.failures.entry(item).or_insert(0);
        let own = FIRST.saturating_mul(2_u32.saturating_pow(*failures)).min(LONGEST);
        *failures = failures.saturating_add(1);
        own.max(self.bucket.take(now))
    }

    /// The item has succeeded.
    pub(super) fn forget(&mut self, item: &T) {
        self.failures.remove(item);
    }

    /// How often the item has failed in a row.
    pub(super) fn failures(&self, item: &T) -> u32 {
        self.failures.get(item).copied().unwrap_or(0)
    }
}

/// A bucket that fills at a rate, up to a number, and may be overdrawn by those who wait.
#[derive(Debug)]
pub(super) struct Bucket {
    rate: f64,
    most: f64,
    left: f64,
    filled: Instant,
}

impl Bucket {
    pub(super) fn new(rate: f64, most: f64, now: Instant) -> Self {
        Self { rate, most, left: most, filled: now }
    }

    /// Takes one out of the bucket and says how long to wait until it is there.
    pub(super) fn take(&mut self, now: Instant) -> Duration {
        self.fill(now);
        self.left -= 1.0;
        if self.left >= 0.0 { Duration::ZERO } else { Duration::from_secs_f64(-self.left / self.rate) }
    }

    /// Takes one out of the bucket if there is one.
    pub(super) fn try_take(&mut self, now: Instant) -> bool {
        self.fill(now);
        let there = self.left >= 1.0;
        if there {
            self.left -= 1.0;
        }
        there
    }

    fn fill(&mut self, now: Instant) {
        let passed = now.saturating_duration_since(self.filled).as_secs_f64();
        self.left = (self.left + passed * self.rate).min(self.most);
        self.filled = now;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_doubles_the_delay_until_it_is_forgotten() {
        let now = Instant::now();
        let mut limiter = Limiter::new(now);
        let delays: Vec<_> = (0..20).map(|_| limiter.delay("a", now).as_millis()).collect();
        assert_eq!(delays[..5], [5, 10, 20, 40, 80]);
        assert_eq!(delays[17..], [655_360, 1_000_000, 1_000_000]);
        assert_eq!((limiter.failures(&"a"), limiter.delay("b", now).as_millis()), (20, 5));
        limiter.forget(&"a");
        assert_eq!(limiter.delay("a", now).as_millis(), 5);
    }

    #[test]
    fn many_items_share_a_bucket() {
        let now = Instant::now();
        let mut limiter = Limiter::new(now);
        let delays: Vec<_> = (0..120).map(|item| limiter.delay(item, now)).collect();
        assert!(delays[..100].iter().all(|d| *d == FIRST));
        assert!((delays[119].as_secs_f64() - 2.0).abs() < 1e-6, "{:?}", delays[119]);
        // Three seconds later the debt of two is paid, and ten more are there.
        let later = now + Duration::from_secs(3);
        assert_eq!(limiter.delay(1000, later), FIRST);
    }

    #[test]
    fn a_bucket_can_be_asked_without_waiting() {
        let now = Instant::now();
        let mut bucket = Bucket::new(1.0, 2.0, now);
        assert_eq!([(); 3].map(|()| bucket.try_take(now)), [true, true, false]);
        assert!(bucket.try_take(now + Duration::from_secs(1)));
    }
}
