//! Keeping small: a launcher stays in memory for as long as its guest.

use nix::libc;

/// Keeps the allocator from making an arena for every thread; to be called before the first thread.
pub(crate) fn few_arenas() {
    // SAFETY: the call only sets a parameter of the allocator
    unsafe { libc::mallopt(libc::M_ARENA_MAX, 1) };
}

/// Gives memory that was freed back to the kernel.
pub(crate) fn give_back() {
    // SAFETY: the call may be made at any time
    unsafe { libc::malloc_trim(0) };
}
