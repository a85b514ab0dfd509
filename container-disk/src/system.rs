//! Linux, without a C library: the few system calls that this program makes.
//!
//! A path here always ends with a zero, as the kernel wants it; a path without one is refused.

use core::arch::{asm, global_asm};

/// The number of an error, as in `errno.h`.
pub(crate) struct Error(pub(crate) i32);

/// A time.
#[derive(Clone, Copy)]
pub(crate) struct Seconds(pub(crate) i64);

/// A signal.
#[derive(Clone, Copy)]
pub(crate) struct Signal(u32);

impl Signal {
    pub(crate) const INTERRUPT: Self = Self(2);
    pub(crate) const TERMINATE: Self = Self(15);
}

#[cfg(target_arch = "x86_64")]
mod number {
    pub(super) const READ: usize = 0;
    pub(super) const WRITE: usize = 1;
    pub(super) const SIGPROCMASK: usize = 14;
    pub(super) const SOCKET: usize = 41;
    pub(super) const BIND: usize = 49;
    pub(super) const LISTEN: usize = 50;
    pub(super) const CLOSE: usize = 3;
    pub(super) const SIGTIMEDWAIT: usize = 128;
    pub(super) const EXIT_GROUP: usize = 231;
    pub(super) const OPENAT: usize = 257;
    pub(super) const MKDIRAT: usize = 258;
    pub(super) const UNLINKAT: usize = 263;
    pub(super) const FACCESSAT: usize = 269;
    pub(super) const ACCEPT4: usize = 288;
    pub(super) const FCHMOD: usize = 91;
}

#[cfg(target_arch = "aarch64")]
mod number {
    pub(super) const READ: usize = 63;
    pub(super) const WRITE: usize = 64;
    pub(super) const SIGPROCMASK: usize = 135;
    pub(super) const SOCKET: usize = 198;
    pub(super) const BIND: usize = 200;
    pub(super) const LISTEN: usize = 201;
    pub(super) const CLOSE: usize = 57;
    pub(super) const SIGTIMEDWAIT: usize = 137;
    pub(super) const EXIT_GROUP: usize = 94;
    pub(super) const OPENAT: usize = 56;
    pub(super) const MKDIRAT: usize = 34;
    pub(super) const UNLINKAT: usize = 35;
    pub(super) const FACCESSAT: usize = 48;
    pub(super) const ACCEPT4: usize = 242;
    pub(super) const FCHMOD: usize = 52;
}

const HERE: usize = (-100_isize).cast_unsigned(); // AT_FDCWD
const READ_ONLY: usize = 0;
const CREATE_NEW: usize = 0o1 | 0o100 | 0o200; // O_WRONLY, O_CREAT, O_EXCL
const CLOSE_ON_EXEC: usize = 0o2_000_000;
const NON_BLOCKING: usize = 0o4000;
const UNIX: u16 = 1;
const STREAM: usize = 1;
const BACKLOG: usize = 50;
const NO_ENTRY: i32 = 2;
const INVALID: i32 = 22;
const SIGNAL_SET: usize = 8;

/// A system call.
///
/// # Safety
/// The arguments are right for it.
#[cfg(target_arch = "x86_64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize) -> Result<usize, Error> {
    let mut result = number;
    // SAFETY: the kernel changes no register but these
    unsafe {
        asm!("syscall", inlateout("rax") result, in("rdi") a, in("rsi") b, in("rdx") c, in("r10") d,
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    judged(result)
}

/// A system call.
///
/// # Safety
/// The arguments are right for it.
#[cfg(target_arch = "aarch64")]
unsafe fn call(number: usize, a: usize, b: usize, c: usize, d: usize) -> Result<usize, Error> {
    let mut result = a;
    // SAFETY: the kernel changes no register but the first
    unsafe { asm!("svc 0", in("x8") number, inlateout("x0") result, in("x1") b, in("x2") c, in("x3") d, options(nostack)) };
    judged(result)
}

fn judged(result: usize) -> Result<usize, Error> {
    match result.cast_signed() {
        error @ -4095..0 => Err(Error(i32::try_from(-error).unwrap_or(INVALID))),
        _ => Ok(result),
    }
}

#[cfg(target_arch = "x86_64")]
global_asm!(".globl _start", "_start:", "xor ebp, ebp", "mov rdi, rsp", "and rsp, -16", "call {start}", "ud2", start = sym start);
#[cfg(target_arch = "aarch64")]
global_asm!(".globl _start", "_start:", "mov x29, 0", "mov x30, 0", "mov x0, sp", "bl {start}", "udf 0", start = sym start);

/// What the kernel leaves on the stack: the number of arguments, and a pointer to each.
unsafe extern "C" fn start(stack: *const usize) -> ! {
    // SAFETY: that is how the kernel starts a program
    let (count, first) = unsafe { (*stack, stack.add(1).cast::<*const u8>()) };
    exit(crate::main(Arguments { next: 1, count, first }))
}

/// The arguments after the program's name.
pub(crate) struct Arguments {
    next: usize,
    count: usize,
    first: *const *const u8,
}

impl Iterator for Arguments {
    type Item = &'static [u8];

    /// With its final zero.
    fn next(&mut self) -> Option<&'static [u8]> {
        if self.next >= self.count {
            return None;
        }
        // SAFETY: the kernel has put `count` pointers there, each to a text with a final zero that stays
        unsafe {
            let text = *self.first.add(self.next);
            self.next += 1;
            let mut length = 0;
            while *text.add(length) != 0 {
                length += 1;
            }
            Some(core::slice::from_raw_parts(text, length + 1))
        }
    }
}

/// Ends the program.
pub(crate) fn exit(code: i32) -> ! {
    loop {
        // SAFETY: it touches no memory of ours
        let _ = unsafe { call(number::EXIT_GROUP, code.cast_unsigned() as usize, 0, 0, 0) };
    }
}

fn checked(path: &[u8]) -> Result<usize, Error> {
    if path.contains(&0) { Ok(path.as_ptr().addr()) } else { Err(Error(INVALID)) }
}

/// Removes a file.
pub(crate) fn remove(path: &[u8]) -> Result<(), Error> {
    let path = checked(path)?;
    // SAFETY: the path ends with a zero
    unsafe { call(number::UNLINKAT, HERE, path, 0, 0) }.map(drop)
}

/// Makes a folder.
pub(crate) fn make_folder(path: &[u8]) -> Result<(), Error> {
    let path = checked(path)?;
    // SAFETY: the path ends with a zero
    unsafe { call(number::MKDIRAT, HERE, path, 0o777, 0) }.map(drop)
}

/// Whether there is such a file.
pub(crate) fn exists(path: &[u8]) -> bool {
    let Ok(path) = checked(path) else { return false };
    // SAFETY: the path ends with a zero
    let result = unsafe { call(number::FACCESSAT, HERE, path, 0, 0) };
    !matches!(result, Err(Error(NO_ENTRY)))
}

fn set(signals: &[Signal]) -> u64 {
    signals.iter().fold(0, |set, signal| set | 1 << (signal.0 - 1))
}

/// Keeps signals back, for [`wait_for`].
pub(crate) fn block(signals: &[Signal]) -> Result<(), Error> {
    let set = set(signals);
    // SAFETY: the kernel reads a set of the size that is told
    unsafe { call(number::SIGPROCMASK, 0, (&raw const set).addr(), 0, SIGNAL_SET) }.map(drop)
}

/// Waits for signals that were kept back, but not longer than told; whether one came.
pub(crate) fn wait_for(signals: &[Signal], time: Seconds) -> bool {
    let (set, time) = (set(signals), [time.0, 0]);
    // SAFETY: the kernel reads a set of the size that is told, and a time
    unsafe { call(number::SIGTIMEDWAIT, (&raw const set).addr(), 0, time.as_ptr().addr(), SIGNAL_SET) }.is_ok()
}

/// An open file or socket. They stay open until the program ends.
pub(crate) struct Fd(usize);

#[repr(C)]
struct UnixAddress {
    family: u16,
    path: [u8; crate::LONGEST_ADDRESS],
}

/// A socket.
pub(crate) fn unix_socket() -> Result<Fd, Error> {
    // SAFETY: it touches no memory of ours
    unsafe { call(number::SOCKET, UNIX.into(), STREAM | CLOSE_ON_EXEC | NON_BLOCKING, 0, 0) }.map(Fd)
}

impl Fd {
    pub(crate) const STANDARD_ERROR: Self = Self(2);

    /// This program, for reading.
    pub(crate) fn open_itself() -> Result<Self, Error> {
        // SAFETY: the path ends with a zero
        unsafe { call(number::OPENAT, HERE, c"/proc/self/exe".as_ptr().addr(), READ_ONLY | CLOSE_ON_EXEC, 0) }.map(Self)
    }

    /// A new file that everybody may run.
    pub(crate) fn create_program(path: &[u8]) -> Result<Self, Error> {
        const MODE: usize = 0o755;
        let path = checked(path)?;
        // SAFETY: the path ends with a zero
        let file = unsafe { call(number::OPENAT, HERE, path, CREATE_NEW | CLOSE_ON_EXEC, MODE) }.map(Self)?;
        // whatever the mask of new files takes away
        // SAFETY: it touches no memory of ours
        unsafe { call(number::FCHMOD, file.0, MODE, 0, 0) }?;
        Ok(file)
    }

    pub(crate) fn read(&self, buffer: &mut [u8]) -> Result<usize, Error> {
        // SAFETY: the kernel writes no more than there is room for
        unsafe { call(number::READ, self.0, buffer.as_mut_ptr().addr(), buffer.len(), 0) }
    }

    pub(crate) fn write_all(&self, mut bytes: &[u8]) -> Result<(), Error> {
        while !bytes.is_empty() {
            // SAFETY: the kernel reads no more than there is
            let written = unsafe { call(number::WRITE, self.0, bytes.as_ptr().addr(), bytes.len(), 0) }?;
            bytes = bytes.get(written..).unwrap_or_default();
        }
        Ok(())
    }

    /// Gives the socket its address.
    pub(crate) fn bind(&self, path: &[u8; crate::LONGEST_ADDRESS]) -> Result<(), Error> {
        let address = UnixAddress { family: UNIX, path: *path };
        // SAFETY: the kernel reads an address of the size that is told
        unsafe { call(number::BIND, self.0, (&raw const address).addr(), size_of::<UnixAddress>(), 0) }.map(drop)
    }

    pub(crate) fn listen(&self) -> Result<(), Error> {
        // SAFETY: it touches no memory of ours
        unsafe { call(number::LISTEN, self.0, BACKLOG, 0, 0) }.map(drop)
    }

    /// Takes a connection and ends it; whether there was one.
    pub(crate) fn drop_connection(&self) -> bool {
        // SAFETY: it touches no memory of ours
        match unsafe { call(number::ACCEPT4, self.0, 0, 0, 0) } {
            // SAFETY: as above
            Ok(connection) => unsafe { call(number::CLOSE, connection, 0, 0, 0) }.is_ok(),
            Err(_) => false,
        }
    }
}
