//! Work in the namespaces of another process, on a thread that is used for nothing else and ends with it.

use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::thread;

use nix::sched::{CloneFlags, setns, unshare};

/// Does something in a network namespace.
pub(crate) fn in_network<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    elsewhere("in a network", || {
        setns(namespace, CloneFlags::CLONE_NEWNET)?;
        work()
    })
}

/// Does something in a mount namespace; what is relative starts at its root.
pub(crate) fn in_mounts<T: Send>(namespace: BorrowedFd<'_>, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    elsewhere("in mounts", || {
        // root and working folder are the thread's own from here on
        unshare(CloneFlags::CLONE_FS)?;
        setns(namespace.as_fd(), CloneFlags::CLONE_NEWNS)?;
        work()
    })
}

fn elsewhere<T: Send>(name: &str, work: impl FnOnce() -> io::Result<T> + Send) -> io::Result<T> {
    thread::scope(|scope| {
        let thread = thread::Builder::new().name(name.to_owned()).spawn_scoped(scope, work)?;
        thread.join().unwrap_or_else(|_| Err(io::Error::other("the thread that worked in other namespaces has panicked")))
    })
}
