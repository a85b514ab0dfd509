//! The wish to stop, as everything that runs hears of it.

use std::future::Future;
use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Hears whether the role is to stop. Clones hear the same.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown(watch::Receiver<bool>);

impl Shutdown {
    /// A wish that is made by whoever holds the sender; it is also made when the sender is dropped.
    pub(crate) fn new() -> (watch::Sender<bool>, Self) {
        let (sender, receiver) = watch::channel(false);
        (sender, Self(receiver))
    }

    /// The wish that SIGTERM and SIGINT make. Needs the runtime.
    ///
    /// # Errors
    /// When signals cannot be listened to.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let (sender, shutdown) = Self::new();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("asked to stop");
            sender.send_replace(true);
            // those who ask later hear it as well
            sender.closed().await;
        });
        Ok(shutdown)
    }

    /// Whether it is time to stop.
    pub(crate) fn is_wanted(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until it is time to stop.
    pub(crate) async fn wanted(&self) {
        // the sender's end is a wish, too
        let _ = self.0.clone().wait_for(|wanted| *wanted).await;
    }

    /// Runs something until it ends or it is time to stop.
    pub(crate) async fn unless<T>(&self, work: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            done = work => Some(done),
            () = self.wanted() => None,
        }
    }
}
