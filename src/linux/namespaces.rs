//! Work in the namespaces of another process, on a thread that is used for nothing else and ends with it; and programs
//! in a namespace of their own.

use std::ffi::CString;
use std::io;
use std::os::fd::{AsFd as _, BorrowedFd};
use std::os::unix::process::CommandExt as _;
use std::process::Command;
use std::thread;

use nix::fcntl::{OFlag, open};
use nix::sched::{CloneFlags, setns, unshare};
use nix::sys::stat::Mode;
use nix::unistd::{getegid, geteuid, write};

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

/// Has a program run as root of a user namespace of its own. Outside it is who this process is, and may do no more.
pub(crate) fn as_root_of_its_own(command: &mut Command) -> io::Result<()> {
    let maps = [
        ("/proc/self/setgroups", "deny".to_owned()),
        ("/proc/self/uid_map", format!("0 {} 1", geteuid())),
        ("/proc/self/gid_map", format!("0 {} 1", getegid())),
    ];
    let maps = maps.map(|(path, text)| CString::new(path).map(|path| (path, text)).map_err(io::Error::other));
    let maps = maps.into_iter().collect::<io::Result<Vec<_>>>()?;
    let enter = move || -> io::Result<()> {
        unshare(CloneFlags::CLONE_NEWUSER)?;
        for (path, text) in &maps {
            let file = open(path.as_c_str(), OFlag::O_WRONLY | OFlag::O_CLOEXEC, Mode::empty())?;
            write(&file, text.as_bytes())?;
        }
        Ok(())
    };
    // SAFETY: between fork and exec it does nothing but call the kernel: no memory is allocated and no lock is taken
    unsafe { command.pre_exec(enter) };
    Ok(())
}
