//! What is known of the guest, for everyone who asks. Only the driver writes here.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use kubevirt_rs::guest::status::{Notice, Status};
use tokio::sync::{Notify, watch};

use super::console::Hub;

/// What leads to the guest.
#[derive(Clone)]
pub(super) struct Doors {
    /// Its serial console, if it has one.
    pub(super) console: Option<Hub>,
    /// The socket of its screen, if it has one.
    pub(super) screen: Option<PathBuf>,
}

/// The board. Clones are the same board.
#[derive(Clone)]
pub(super) struct Board(Arc<Inner>);

struct Inner {
    status: watch::Sender<Arc<Status>>,
    notices: Mutex<VecDeque<Notice>>,
    noted: Notify,
    doors: Mutex<Option<Doors>>,
}

/// How many notices are kept for a handler that is not there.
const NOTICES: usize = 64;

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Board {
    pub(super) fn new(uid: &str) -> Self {
        let status = Status { uid: uid.to_owned(), ..Status::default() };
        Self(Arc::new(Inner {
            status: watch::Sender::new(Arc::new(status)),
            notices: Mutex::default(),
            noted: Notify::new(),
            doors: Mutex::default(),
        }))
    }

    /// The present state.
    pub(super) fn status(&self) -> Arc<Status> {
        self.0.status.borrow().clone()
    }

    /// Changes the state; whoever watches is told if it is another one then.
    pub(super) fn update(&self, change: impl FnOnce(&mut Status)) {
        self.0.status.send_if_modified(|shown| {
            let mut status = Status::clone(shown);
            change(&mut status);
            let changed = status != **shown;
            if changed {
                *shown = Arc::new(status);
            }
            changed
        });
    }

    /// Every state from now on.
    pub(super) fn watch(&self) -> watch::Receiver<Arc<Status>> {
        self.0.status.subscribe()
    }

    /// Waits, but not for long, until everybody who watches has seen the last state and gone.
    pub(super) async fn seen(&self, limit: std::time::Duration) {
        let _ = tokio::time::timeout(limit, self.0.status.closed()).await;
    }

    /// Notes an event for whoever looks after the instance.
    pub(super) fn note(&self, notice: Notice) {
        let mut notices = lock(&self.0.notices);
        if notices.len() >= NOTICES {
            notices.pop_front();
        }
        notices.push_back(notice);
        self.0.noted.notify_one();
    }

    /// Takes the next event; each is told once. Cancellation safe.
    pub(super) async fn next_notice(&self) -> Notice {
        loop {
            if let Some(notice) = lock(&self.0.notices).pop_front() {
                return notice;
            }
            self.0.noted.notified().await;
        }
    }

    /// What leads to the guest, while there is one.
    pub(super) fn doors(&self) -> Option<Doors> {
        lock(&self.0.doors).clone()
    }

    pub(super) fn set_doors(&self, doors: Option<Doors>) {
        *lock(&self.0.doors) = doors;
    }
}

#[cfg(test)]
mod tests {
    use kubevirt_rs::guest::status::Stage;

    use super::*;

    #[tokio::test]
    async fn only_changes_are_told() {
        let board = Board::new("u");
        let mut watch = board.watch();
        board.update(|_| {});
        assert!(!watch.has_changed().unwrap());
        board.update(|status| status.stage = Stage::Started);
        assert!(watch.has_changed().unwrap());
        assert_eq!(watch.borrow_and_update().stage, Stage::Started);
    }

    #[tokio::test]
    async fn notices_wait_for_somebody_and_are_told_once() {
        let board = Board::new("u");
        for i in 0..=NOTICES {
            board.note(Notice { reason: i.to_string(), ..Notice::default() });
        }
        assert_eq!(board.next_notice().await.reason, "1");
        for _ in 1..NOTICES {
            board.next_notice().await;
        }
        let none = tokio::time::timeout(std::time::Duration::from_millis(10), board.next_notice()).await;
        assert!(none.is_err());
    }
}
