//! One queue of what is to be looked at. An item that is in it already is not put in twice, one that is being worked on is
//! not given to a second worker, and one that failed comes back later each time.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::hash::Hash;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::Shutdown;
use super::limiter::Limiter;

/// The queue.
#[derive(Debug)]
pub(crate) struct Queue<T: Clone + Eq + Hash + Ord> {
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    /// What waits for a worker, in its order.
    waiting: VecDeque<T>,
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
    fn add(&mut self, item: T) -> bool {
        if !self.dirty.insert(item.clone()) || self.in_hand.contains(&item) {
            return false;
        }
        self.waiting.push_back(item);
        true
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
}

impl<T: Clone + Eq + Hash + Ord> Default for Queue<T> {
    fn default() -> Self {
        let state = State {
            waiting: VecDeque::new(),
            dirty: HashSet::new(),
            in_hand: HashSet::new(),
            later: BTreeSet::new(),
            due: HashMap::new(),
            limiter: Limiter::new(Instant::now()),
        };
        Self { state: Mutex::new(state), changed: Notify::new() }
    }
}

impl<T: Clone + Eq + Hash + Ord> Queue<T> {
    fn state(&self) -> MutexGuard<'_, State<T>> {
        // Nothing in here panics half way through a change.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an item in.
    pub(crate) fn add(&self, item: T) {
        if self.state().add(item) {
            self.changed.notify_one();
        }
    }

    /// Puts an item in when some time has passed; of several times the first counts.
    pub(crate) fn add_after(&self, item: T, delay: Duration) {
        if delay.is_zero() {
            return self.add(item);
        }
        let at = Instant::now() + delay;
        let mut state = self.state();
        match state.due.get(&item).copied() {
            Some(earlier) if earlier <= at => return,
            Some(later) => {
                state.later.remove(&(later, item.clone()));
            }
            None => {}
        }
        state.due.insert(item.clone(), at);
        state.later.insert((at, item));
        drop(state);
        self.changed.notify_one();
    }

    /// Puts an item in that did not succeed: the later, the more often it has failed.
    pub(crate) fn add_failed(&self, item: T) {
        let delay = self.state().limiter.delay(item.clone(), Instant::now());
        self.add_after(item, delay);
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
        self.state().waiting.len()
    }

    /// The next item. It stays in the hand of this worker until [`Queue::done`].
    pub(crate) async fn next(&self) -> T {
        loop {
            let next_due = {
                let mut state = self.state();
                let next_due = state.mature(Instant::now());
                if let Some(item) = state.waiting.pop_front() {
                    state.dirty.remove(&item);
                    state.in_hand.insert(item.clone());
                    // What notified this worker may have put in more than one item.
                    if !state.waiting.is_empty() || next_due.is_some() {
                        self.changed.notify_one();
                    }
                    return item;
                }
                next_due
            };
            let changed = self.changed.notified();
            match next_due {
                Some(at) => tokio::select! {
                    () = changed => {}
                    () = sleep_until(at) => {}
                },
                None => changed.await,
            }
        }
    }

    /// The worker is through with the item. What came for it meanwhile puts it in again.
    pub(crate) fn done(&self, item: &T) {
        let mut state = self.state();
        state.in_hand.remove(item);
        if state.dirty.contains(item) {
            state.waiting.push_back(item.clone());
            drop(state);
            self.changed.notify_one();
        }
    }

    /// Works on items until the end is asked for. The item in hand is finished.
    pub(crate) async fn work(&self, shutdown: &Shutdown, pass: impl AsyncFn(&T)) {
        while let Some(item) = shutdown.unless(self.next()).await {
            pass(&item).await;
            self.done(&item);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    async fn soon(queue: &Queue<u32>) -> Option<u32> {
        timeout(Duration::from_millis(1), queue.next()).await.ok()
    }

    #[tokio::test(start_paused = true)]
    async fn an_item_is_in_it_once_and_in_one_hand() {
        let queue = Queue::default();
        for item in [1, 2, 1] {
            queue.add(item);
        }
        assert_eq!((soon(&queue).await, soon(&queue).await, soon(&queue).await), (Some(1), Some(2), None));
        // What changes while a worker has it is looked at again, by one worker, afterwards.
        queue.add(1);
        queue.add(1);
        assert_eq!(soon(&queue).await, None);
        queue.done(&1);
        queue.done(&2);
        assert_eq!((soon(&queue).await, soon(&queue).await), (Some(1), None));
        queue.done(&1);
        assert_eq!(soon(&queue).await, None);
    }

    #[tokio::test(start_paused = true)]
    async fn of_several_times_the_first_counts() {
        let queue = Queue::default();
        queue.add_after(1, Duration::from_secs(10));
        queue.add_after(1, Duration::from_secs(2));
        queue.add_after(1, Duration::from_secs(5));
        let begin = Instant::now();
        assert_eq!(queue.next().await, 1);
        assert_eq!(begin.elapsed().as_secs(), 2);
        queue.done(&1);
        assert_eq!(timeout(Duration::from_secs(60), queue.next()).await.ok(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_fails_comes_back_later_each_time() {
        let queue = Queue::default();
        let mut waited = Vec::new();
        for _ in 0..4 {
            queue.add_failed(7);
            let begin = Instant::now();
            assert_eq!(queue.next().await, 7);
            waited.push(begin.elapsed().as_millis());
            queue.done(&7);
        }
        assert_eq!((waited, queue.failures(&7)), (vec![5, 10, 20, 40], 4));
        queue.forget(&7);
        assert_eq!(queue.failures(&7), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn a_waiting_worker_hears_of_what_is_due_earlier() {
        let queue = std::sync::Arc::new(Queue::default());
        queue.add_after(1, Duration::from_secs(100));
        let waits = tokio::spawn({
            let queue = queue.clone();
            async move { queue.next().await }
        });
        advance(Duration::from_secs(1)).await;
        queue.add_after(2, Duration::from_secs(1));
        let begin = Instant::now();
        assert_eq!(waits.await.ok(), Some(2));
        assert_eq!(begin.elapsed().as_secs(), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn workers_share_the_items_and_stop_when_asked() {
        let queue = Queue::default();
        let shutdown = Shutdown::new();
        let seen = Mutex::new(Vec::new());
        (0..50).for_each(|item| queue.add(item));
        let worker = || {
            queue.work(&shutdown, async |item| {
                tokio::time::sleep(Duration::from_millis(10)).await;
                let mut seen = seen.lock().unwrap_or_else(PoisonError::into_inner);
                seen.push(*item);
                if seen.len() == 50 {
                    shutdown.ask();
                }
            })
        };
        let begin = Instant::now();
        tokio::join!(worker(), worker(), worker(), worker(), worker());
        let mut seen = seen.into_inner().unwrap_or_default();
        seen.sort_unstable();
        assert_eq!((seen, begin.elapsed().as_millis()), ((0..50).collect::<Vec<_>>(), 100));
    }
}
