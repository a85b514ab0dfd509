//! The children of process 1: those that it started, and those that it inherits when their parents end.

use std::collections::BTreeMap;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::sys::wait::{WaitPidFlag, WaitStatus, waitpid};
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::oneshot;

/// Reaps every child, and tells those who wait for one that they started.
#[derive(Clone, Default)]
pub(crate) struct Children {
    waiting: Arc<Mutex<BTreeMap<i32, oneshot::Sender<ExitStatus>>>>,
}

/// A child that was started here.
pub(crate) struct Child {
    end: oneshot::Receiver<ExitStatus>,
}

impl Child {
    /// Waits until it ends. Cancellation safe.
    pub(crate) async fn wait(&mut self) -> io::Result<ExitStatus> {
        (&mut self.end).await.map_err(|_| io::Error::other("nobody reaps the children any more"))
    }
}

impl Children {
    /// Begins to reap; there must be one of these in a process, and it must be the only one that waits for children.
    pub(crate) fn reap() -> io::Result<Self> {
        let children = Self::default();
        let mut ended = signal(SignalKind::child())?;
        let these = children.clone();
        tokio::spawn(async move {
            while ended.recv().await.is_some() {
                these.collect();
            }
        });
        Ok(children)
    }

    /// Starts a program.
    pub(crate) fn spawn(&self, command: &mut Command) -> io::Result<Child> {
        // the lock is held so that a child which ends at once is not reaped before it is known
        let mut waiting = self.lock();
        let pid = i32::try_from(command.spawn()?.id()).map_err(io::Error::other)?;
        let (sender, end) = oneshot::channel();
        waiting.insert(pid, sender);
        Ok(Child { end })
    }

    fn collect(&self) {
        loop {
            let (pid, status) = match waitpid(None, Some(WaitPidFlag::WNOHANG)) {
                Ok(WaitStatus::Exited(pid, code)) => (pid, ExitStatus::from_raw(code << 8)),
                Ok(WaitStatus::Signaled(pid, signal, _)) => (pid, ExitStatus::from_raw(signal as i32)),
                Ok(WaitStatus::StillAlive) | Err(_) => return,
                Ok(_) => continue,
            };
            match self.lock().remove(&pid.as_raw()) {
                // nobody may wait any more, which is fine
                Some(waiter) => drop(waiter.send(status)),
                None => tracing::debug!(%pid, %status, "Reaped an orphan"),
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<i32, oneshot::Sender<ExitStatus>>> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
