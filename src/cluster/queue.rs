//! One queue of what is to be looked at. An item that is in it already is not put in twice, one that is being worked on is
//! not given to a second worker, and one that failed comes back later each time.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::task::yield_now;
use tokio::time::{Instant, sleep_until};

use super::Shutdown;
use super::limiter::Limiter;

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue<T: Clone + Eq + Hash + Ord> {
    state: Mutex<State<T>>,
    changed: Notify,
}

/// What is in the queue. It knows no clock, only the times that it is told.
#[derive(Debug)]
struct State<T> {
    /// What waits for a worker, in its order.
    waiting: VecDeque<T>,
    /// What waits until nothing of the above does.
    unhurried: BTreeSet<T>,
    /// What waits, or shall wait again once its worker is through.
    dirty: HashSet<T>,
    /// What workers have in hand.
    in_hand: HashSet<T>,
    /// What comes back at a time, the next first.
    later: BTreeSet<(Instant, T)>,
    /// When each of those comes back.
    due: HashMap<T, Instant>,
    limiter: Limiter<T>,
}

impl<T: Clone + Eq + Hash + Ord> State<T> {
    fn new(now: Instant) -> Self {
        Self {
            waiting: VecDeque::new(),
            unhurried: BTreeSet::new(),
            dirty: HashSet::new(),
            in_hand: HashSet::new(),
            later: BTreeSet::new(),
            due: HashMap::new(),
            limiter: Limiter::new(now),
        }
    }

    fn add(&mut self, item: T) -> bool {
        let in_turn = !self.dirty.insert(item.clone()) && !self.unhurried.remove(&item);
        if in_turn || self.in_hand.contains(&item) {
            return false;
        }
        self.waiting.push_back(item);
        true
    }

    fn add_unhurried(&mut self, item: T) -> bool {
        if !self.dirty.insert(item.clone()) || self.in_hand.contains(&item) {
            return false;
        }
        self.unhurried.insert(item)
    }

    /// Puts an item in at a time, unless it comes earlier anyway.
    fn add_at(&mut self, item: T, at: Instant) -> bool {
        match self.due.get(&item).copied() {
            Some(earlier) if earlier <= at => return false,
            Some(later) => {
                self.later.remove(&(later, item.clone()));
            }
            None => {}
        }
        self.due.insert(item.clone(), at);
        self.later.insert((at, item));
        true
    }

    fn add_failed(&mut self, item: T, now: Instant) -> bool {
        let delay = self.limiter.delay(item.clone(), now);
        self.add_at(item, now + delay)
    }

    /// Puts in what is due; says when the next is.
    fn mature(&mut self, now: Instant) -> Option<Instant> {
        while let Some((at, _)) = self.later.first() {
            if *at > now {
                return Some(*at);
            }
            if let Some((_, item)) = self.later.pop_first() {
                self.due.remove(&item);
                self.add(item);
            }
        }
        None
    }

    /// The next item for a worker, or when there will be one.
    fn take(&mut self, now: Instant) -> (Option<T>, Option<Instant>) {
        let next_due = self.mature(now);
        let item = self.waiting.pop_front().or_else(|| self.unhurried.pop_first());
        if let Some(item) = &item {
            self.dirty.remove(item);
            self.in_hand.insert(item.clone());
        }
        (item, next_due)
    }

    fn done(&mut self, item: &T) -> bool {
        self.in_hand.remove(item);
        let again = self.dirty.contains(item);
        if again {
            self.waiting.push_back(item.clone());
        }
        again
    }
}

impl<T: Clone + Eq + Hash + Ord> Default for Queue<T> {
    fn default() -> Self {
        Self { state: Mutex::new(State::new(Instant::now())), changed: Notify::new() }
    }
}

impl<T: Clone + Eq + Hash + Ord> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing in here panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wake(&self, changed: bool) {
        if changed {
            self.changed.notify_one();
        }
    }

    /// Puts an item in.
    pub(crate) fn add(&self, item: T) {
        let changed = self.state().add(item);
        self.wake(changed);
    }

    /// Puts an item in that can wait until nothing else does.
    pub(crate) fn add_unhurried(&self, item: T) {
        let changed = self.state().add_unhurried(item);
        self.wake(changed);
    }

    /// Puts an item in when some time has passed; of several times the first counts.
    pub(crate) fn add_after(&self, item: T, delay: Duration) {
        let changed = self.state().add_at(item, Instant::now() + delay);
        self.wake(changed);
    }

    /// Puts an item in that did not succeed: the later, the more often it has failed.
    pub(crate) fn add_failed(&self, item: T) {
        let changed = self.state().add_failed(item, Instant::now());
        self.wake(changed);
    }

    /// The item has succeeded: its failures don't count any more.
    pub(crate) fn forget(&self, item: &T) {
        self.state().limiter.forget(item);
    }

    /// How often the item has failed in a row.
    pub(crate) fn failures(&self, item: &T) -> u32 {
        self.state().limiter.failures(item)
    }

    /// How many items wait for a worker.
    pub(crate) fn len(&self) -> usize {
        let state = self.state();
        state.waiting.len() + state.unhurried.len()
    }

    /// The next item. It stays in the hand of this worker until [`Queue::done`].
    pub(crate) async fn next(&self) -> T {
        loop {
            let (item, next_due, more) = {
                let mut state = self.state();
                let (item, next_due) = state.take(Instant::now());
                (item, next_due, !(state.waiting.is_empty() && state.unhurried.is_empty()) || next_due.is_some())
            };
            if let Some(item) = item {
                // What woke this worker may have put in more than one item.
                self.wake(more);
                return item;
            }
            let changed = self.changed.notified();
            match next_due {
                Some(at) => tokio::select! {
                    biased;
                    () = changed => {}
                    () = sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// The worker is through with the item. What came for it meanwhile puts it in again.
    pub(crate) fn done(&self, item: &T) {
        let again = self.state().done(item);
        self.wake(again);
    }

    /// Works on items until the end is asked for. The item in hand is finished.
    pub(crate) async fn work<F: Future<Output = ()>>(&self, shutdown: &Shutdown, pass: impl Fn(T) -> F) {
        while let Some(item) = shutdown.unless(self.next()).await {
            pass(item.clone()).await;
            self.done(&item);
            // A pass that has nothing to do waits for nothing; ten thousand of them in a row would keep the thread from
            // everyone else, the lease included.
            yield_now().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(begin: Instant, millis: u64) -> Instant {
        begin + Duration::from_millis(millis)
    }

    #[test]
    fn an_item_is_in_it_once_and_in_one_hand() {
        let now = Instant::now();
        let mut state = State::new(now);
        assert_eq!([1, 2, 1].map(|item| state.add(item)), [true, true, false]);
        assert_eq!([(); 3].map(|()| state.take(now).0), [Some(1), Some(2), None]);
        // What changes while a worker has it is looked at again, by one worker, afterwards.
        state.add(1);
        state.add(1);
        assert_eq!(state.take(now).0, None);
        assert!(state.done(&1) && !state.done(&2));
        assert_eq!([(); 2].map(|()| state.take(now).0), [Some(1), None]);
        assert!(!state.done(&1));
        assert_eq!(state.take(now), (None, None));
    }

    #[test]
    fn what_can_wait_comes_last_and_once() {
        let now = Instant::now();
        let mut state = State::new(now);
        assert_eq!([1, 2, 3, 4, 1].map(|item| state.add_unhurried(item)), [true, true, true, true, false]);
        // It hurries now, or something does that was not there before.
        assert_eq!([2, 5, 5].map(|item| state.add(item)), [true, true, false]);
        assert!(!state.add_unhurried(5));
        assert_eq!([(); 3].map(|()| state.take(now).0), [Some(2), Some(5), Some(1)]);
        // Who is in hand comes again at once.
        assert!(!state.add_unhurried(1) && !state.add(2));
        assert!(state.done(&1) && state.done(&2) && !state.done(&5));
        state.add_unhurried(2);
        assert_eq!([(); 5].map(|()| state.take(now).0), [Some(1), Some(2), Some(3), Some(4), None]);
        assert!(![1, 2, 3, 4].map(|item| state.done(&item)).contains(&true));
        assert_eq!(state.take(now), (None, None));
    }

    #[test]
    fn of_several_times_the_first_counts() {
        let begin = Instant::now();
        let mut state = State::new(begin);
        assert!(state.add_at(1, at(begin, 10_000)));
        assert!(state.add_at(1, at(begin, 2000)));
        assert!(!state.add_at(1, at(begin, 5000)));
        assert_eq!(state.take(at(begin, 1999)), (None, Some(at(begin, 2000))));
        assert_eq!(state.take(at(begin, 2000)), (Some(1), None));
        state.done(&1);
        assert_eq!(state.take(at(begin, 60_000)), (None, None));
    }

    #[test]
    fn what_fails_comes_back_later_each_time() {
        let begin = Instant::now();
        let mut state = State::new(begin);
        let mut waited = Vec::new();
        for _ in 0..4 {
            state.add_failed(7, begin);
            let due = state.take(begin).1.unwrap();
            waited.push((due - begin).as_millis());
            assert_eq!(state.take(due).0, Some(7));
            state.done(&7);
        }
        assert_eq!((waited, state.limiter.failures(&7)), (vec![5, 10, 20, 40], 4));
        state.limiter.forget(&7);
        assert_eq!(state.limiter.failures(&7), 0);
    }

    #[tokio::test]
    async fn a_waiting_worker_hears_of_what_is_due_earlier() {
        let queue = std::sync::Arc::new(Queue::default());
        queue.add_after(1, Duration::from_secs(1000));
        let waits = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await }
        });
        yield_now().await;
        queue.add_after(2, Duration::from_millis(1));
        assert_eq!(waits.await.ok(), Some(2));
    }

    #[tokio::test]
    async fn workers_share_the_items_and_stop_when_asked() {
        let (queue, shutdown) = (Queue::default(), Shutdown::new());
        let seen = Mutex::new(Vec::new());
        (0..50).for_each(|item| queue.add(item));
        let worker = || {
            queue.work(&shutdown, async |item| {
                yield_now().await;
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(item);
                if seen.len() == 50 {
                    shutdown.ask();
                }
            })
        };
        tokio::join!(worker(), worker(), worker(), worker(), worker());
        let mut seen = seen.into_inner().unwrap_or_default();
        seen.sort_unstable();
        assert_eq!(seen, (0..50).collect::<Vec<_>>());
    }

    #[tokio::test]
    async fn others_have_their_turn_between_two_passes() {
        let (queue, shutdown) = (Queue::default(), Shutdown::new());
        (0..50).for_each(|item| queue.add(item));
        let (passes, turns) = (Mutex::new(0), Mutex::new(Vec::new()));
        let worker = queue.work(&shutdown, async |_| {
            *passes.lock().unwrap() += 1;
        });
        let other = async {
            while *passes.lock().unwrap() < 50 {
                turns.lock().unwrap().push(*passes.lock().unwrap());
                yield_now().await;
            }
            shutdown.ask();
        };
        tokio::join!(worker, other);
        let turns = turns.into_inner().unwrap();
        // who of the two comes first changes from turn to turn
        assert!(turns.len() >= 49 && turns.windows(2).all(|next| next[1] - next[0] <= 2), "{turns:?}");
    }
}
