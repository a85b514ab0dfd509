//! Keeping small: a launcher stays in memory for as long as its guest, and most roles have nothing to do for most of the time.

use std::time::Duration;

use nix::libc;

/// Keeps the allocator from making an arena for every thread; to be called before the first thread. More than one takes
/// more memory, but threads that are busy at the same time do not wait for each other.
pub(crate) fn arenas(at_most: u8) {
    // SAFETY: the call only sets a parameter of the allocator
    unsafe { libc::mallopt(libc::M_ARENA_MAX, at_most.into()) };
}

/// Gives back now and then what is not needed any more, for as long as the runtime lives.
pub(crate) fn keep_small() {
    const EVERY: Duration = Duration::from_secs(5);
    tokio::spawn(async {
        loop {
            tokio::time::sleep(EVERY).await;
            give_back();
        }
    });
}

/// Gives back what is not needed any more: memory that was freed, and the pages of the program itself that only its
/// beginning used. What is needed again is read again.
pub(crate) fn give_back() {
    // SAFETY: the call may be made at any time
    unsafe { libc::malloc_trim(0) };
    let maps = std::fs::read_to_string("/proc/self/maps").unwrap_or_default();
    let program = std::fs::read_link("/proc/self/exe").unwrap_or_default();
    for range in maps.lines().filter_map(|line| unwritten(line, &program.to_string_lossy())) {
        // SAFETY: the range is a mapping of the program's file that nothing ever writes to, so a page that is dropped
        // comes back with the same content
        unsafe { libc::madvise(std::ptr::with_exposed_provenance_mut(range.start), range.len(), libc::MADV_DONTNEED) };
    }
}

/// The range of a line of /proc/self/maps, if it maps a part of the program that nothing ever writes to: its code, and
/// the constants at the beginning of the file. (What else is read-only now was written when the program was relocated.)
fn unwritten(line: &str, program: &str) -> Option<std::ops::Range<usize>> {
    let mut fields = line.split_ascii_whitespace();
    let (range, mode, offset) = (fields.next()?, fields.next()?, fields.next()?);
    let path = fields.nth(2)?;
    let constants = mode == "r--p" && usize::from_str_radix(offset, 16) == Ok(0);
    if path != program || !(mode == "r-xp" || constants) {
        return None;
    }
    let (start, end) = range.split_once('-')?;
    Some(usize::from_str_radix(start, 16).ok()?..usize::from_str_radix(end, 16).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_never_written_is_dropped() {
        for (line, range) in [
            ("7f00-7f10 r-xp 00001000 fe:00 42 /bin/x", Some(0x7f00..0x7f10)),
            ("1000-2000 r--p 00000000 fe:00 42 /bin/x", Some(0x1000..0x2000)),
            ("3000-4000 r--p 00003000 fe:00 42 /bin/x", None),
            ("3000-4000 rw-p 00003000 fe:00 42 /bin/x", None),
            ("7f00-7f10 r-xp 00001000 fe:00 42 /lib/y", None),
            ("7f00-7f10 r-xp 00000000 00:00 0 [vdso]", None),
            ("7f00-7f10 rw-p 00000000 00:00 0", None),
        ] {
            assert_eq!(unwritten(line, "/bin/x"), range, "{line}");
        }
    }

    /// How many KiB of the ranges are in memory.
    fn resident(ranges: &[std::ops::Range<usize>]) -> usize {
        let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let starts: Vec<_> = ranges.iter().map(|range| format!("{:x}-", range.start)).collect();
        let mut ours = false;
        let mut sum = 0;
        for line in smaps.lines() {
            if !line.starts_with(|c: char| c.is_ascii_uppercase()) {
                ours = starts.iter().any(|start| line.starts_with(start));
            } else if let (true, Some(size)) = (ours, line.strip_prefix("Rss:")) {
                sum += size.trim().trim_end_matches(" kB").parse::<usize>().unwrap();
            }
        }
        sum
    }

    #[test]
    fn what_was_read_of_the_program_is_given_back_and_comes_again() {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let program = std::fs::read_link("/proc/self/exe").unwrap();
        let ranges: Vec<_> = maps.lines().filter_map(|line| unwritten(line, program.to_str().unwrap())).collect();
        let sum = || {
            let bytes = ranges.iter().cloned().flatten().step_by(4096);
            // SAFETY: the addresses are of the program's own readable mappings
            bytes.map(|at| u64::from(unsafe { std::ptr::read_volatile(std::ptr::with_exposed_provenance::<u8>(at)) })).sum::<u64>()
        };
        let (before, all) = (sum(), resident(&ranges));
        give_back();
        let left = resident(&ranges);
        // what runs meanwhile brings a part back
        assert!(left < all * 3 / 4, "{left} of {all} KiB are left");
        assert_eq!(sum(), before);
    }
}
