//! Capabilities of this thread.

use std::io;

use nix::libc;

/// Ports below 1024.
const NET_BIND_SERVICE: u32 = 10;
const VERSION_3: u32 = 0x2008_0522;

#[repr(C)]
struct Header {
    version: u32,
    pid: i32,
}

/// The sets of one word of the interface.
#[derive(Clone, Copy, Default)]
#[repr(C)]
struct Sets {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

const THIS_THREAD: Header = Header { version: VERSION_3, pid: 0 };

fn get() -> io::Result<[Sets; 2]> {
    let mut sets = [Sets::default(); 2];
    let mut header = THIS_THREAD;
    // SAFETY: both point to memory of the size that version 3 of the interface reads and writes
    match unsafe { libc::syscall(libc::SYS_capget, &raw mut header, sets.as_mut_ptr()) } {
        0 => Ok(sets),
        _ => Err(io::Error::last_os_error()),
    }
}

fn set(sets: &[Sets; 2]) -> io::Result<()> {
    let header = THIS_THREAD;
    // SAFETY: both point to memory of the size that version 3 of the interface reads
    match unsafe { libc::syscall(libc::SYS_capset, &raw const header, sets.as_ptr()) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

/// Gives every capability up: an exec as an ordinary user would drop them anyway.
pub(crate) fn drop_all() -> io::Result<()> {
    set(&[Sets::default(); 2])
}

/// Runs what needs a port below 1024. A program that is not root gets the right to it only for as long as it uses it,
/// and only where the file of the program and the pod both permit it; where neither does, the port may be free to all.
pub(crate) fn with_low_ports<T>(run: impl FnOnce() -> T) -> io::Result<T> {
    let before = get()?;
    let mut raised = before;
    raised[0].effective |= raised[0].permitted & (1 << NET_BIND_SERVICE);
    set(&raised)?;
    let result = run();
    set(&before)?;
    Ok(result)
}
