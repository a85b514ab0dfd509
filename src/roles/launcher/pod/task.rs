//! Work beside the guest that ends with its owner.

use tokio::task::AbortHandle;

/// A task for as long as it lives.
pub(super) struct Task(AbortHandle);

impl Task {
    /// Begins.
    pub(super) fn begin(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work).abort_handle())
    }
}

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::oneshot;

    use super::*;

    #[tokio::test]
    async fn a_task_ends_with_its_owner() {
        let (sender, receiver) = oneshot::channel::<()>();
        let task = Task::begin(async move {
            std::future::pending::<()>().await;
            drop(sender);
        });
        tokio::task::yield_now().await;
        drop(task);
        assert!(receiver.await.is_err());
    }
}
