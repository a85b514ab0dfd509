//! Panics that end what was being answered, and nothing else.
//!
//! Everywhere else a panic ends the whole program, which is then started anew: a role of which one part has silently died
//! would be worse. So panics unwind, but outside of what is guarded here the hook ends the process first.

use std::cell::Cell;
use std::future::Future;
use std::panic::{self, AssertUnwindSafe};
use std::pin::Pin;
use std::task::{Context, Poll};

thread_local! {
    static DEPTH: Cell<u32> = const { Cell::new(0) };
}

/// From now on a panic outside of what is guarded ends the program, after its message.
pub(crate) fn end_on_other_panics() {
    let tell = panic::take_hook();
    panic::set_hook(Box::new(move |info| {
        tell(info);
        if DEPTH.get() == 0 {
            std::process::abort();
        }
    }));
}

/// What the work gives, or nothing if it panics.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    DEPTH.set(DEPTH.get().saturating_add(1));
    let done = panic::catch_unwind(AssertUnwindSafe(work));
    DEPTH.set(DEPTH.get().saturating_sub(1));
    done.ok()
}

/// What the future gives, or nothing if it panics.
pub(crate) async fn caught_in<F: Future + Send>(future: F) -> Option<F::Output> {
    Guarded(Box::pin(future)).await
}

struct Guarded<F>(Pin<Box<F>>);

impl<F: Future> Future for Guarded<F> {
    type Output = Option<F::Output>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        match caught(|| self.0.as_mut().poll(context)) {
            Some(Poll::Pending) => Poll::Pending,
            Some(Poll::Ready(output)) => Poll::Ready(Some(output)),
            None => Poll::Ready(None),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_gives_nothing() {
        assert_eq!(caught(|| 1), Some(1));
        assert_eq!(caught(|| panic!("a fault")), None::<u8>);
        assert_eq!(DEPTH.get(), 0);
        let later = async {
            tokio::task::yield_now().await;
            panic!("a fault")
        };
        assert_eq!(caught_in(later).await, None::<u8>);
        assert_eq!(caught_in(async { 2 }).await, Some(2));
    }
}
