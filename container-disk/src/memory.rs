//! What the compiler calls for larger pieces of memory, and a C library would bring along.

/// # Safety
/// As in C: `n` bytes can be read at `from` and written at `to`, and they do not overlap.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcpy(to: *mut u8, from: *const u8, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller promises it
        unsafe { *to.add(i) = *from.add(i) };
    }
    to
}

/// # Safety
/// As in C: `n` bytes can be written at `to`.
#[unsafe(no_mangle)]
unsafe extern "C" fn memset(to: *mut u8, byte: i32, n: usize) -> *mut u8 {
    for i in 0..n {
        // SAFETY: the caller promises it
        unsafe { *to.add(i) = byte.to_le_bytes()[0] };
    }
    to
}

/// # Safety
/// As in C: `n` bytes can be read at both.
#[unsafe(no_mangle)]
unsafe extern "C" fn memcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    for i in 0..n {
        // SAFETY: the caller promises it
        let (a, b) = unsafe { (*a.add(i), *b.add(i)) };
        if a != b {
            return i32::from(a) - i32::from(b);
        }
    }
    0
}

/// # Safety
/// As [`memcmp`].
#[unsafe(no_mangle)]
unsafe extern "C" fn bcmp(a: *const u8, b: *const u8, n: usize) -> i32 {
    // SAFETY: the caller promises it
    unsafe { memcmp(a, b, n) }
}

#[panic_handler]
fn panic(_: &core::panic::PanicInfo) -> ! {
    crate::system::exit(101)
}
