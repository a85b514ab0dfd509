//! The end of a role: asked for once, seen everywhere.

use std::io;
use std::sync::Arc;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// Whether the role shall end. Every copy sees the same.
#[derive(Clone, Debug)]
pub(crate) struct Shutdown {
    asked: watch::Receiver<bool>,
    ask: Arc<watch::Sender<bool>>,
}

impl Shutdown {
    /// One that nothing but [`Shutdown::ask`] starts.
    pub(crate) fn new() -> Self {
        let (ask, asked) = watch::channel(false);
        Self { asked, ask: Arc::new(ask) }
    }

    /// One that SIGTERM and SIGINT start.
    pub(crate) fn on_signals() -> io::Result<Self> {
        let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
        let shutdown = Self::new();
        let asked = shutdown.clone();
        tokio::spawn(async move {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            tracing::info!("asked to end");
            asked.ask();
        });
        Ok(shutdown)
    }

    /// Asks everything to end.
    pub(crate) fn ask(&self) {
        self.ask.send_replace(true);
    }

    /// Whether it was asked for.
    pub(crate) fn is_asked(&self) -> bool {
        *self.asked.borrow()
    }

    /// Waits until it is asked for.
    pub(crate) async fn asked(&self) {
        let mut asked = self.asked.clone();
        // The sender lives in `self`, so there is always an answer.
        let _ = asked.wait_for(|asked| *asked).await;
    }

    /// What the future gives, unless the end comes before.
    pub(crate) async fn unless<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        tokio::select! {
            biased;
            () = self.asked() => None,
            value = future => Some(value),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_copy_sees_the_end() {
        let shutdown = Shutdown::new();
        let copy = shutdown.clone();
        assert_eq!(copy.unless(async { 1 }).await, Some(1));
        shutdown.ask();
        copy.asked().await;
        assert!(copy.is_asked());
        assert_eq!(copy.unless(std::future::pending::<()>()).await, None);
    }
}
