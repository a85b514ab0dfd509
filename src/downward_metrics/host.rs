//! Figures of the host, as its kernel tells them.

use std::time::Duration;

/// Figures of the host. What its kernel does not tell is left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Host {
    /// How many processor packages it has.
    pub packages: Option<usize>,
    /// For how long its processors have worked, all together.
    pub cpu_time: Option<Duration>,
    /// Its memory.
    pub memory: Option<Memory>,
    /// What has gone between memory and swap.
    pub paging: Option<Paging>,
}

/// Memory of the host, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    pub(super) total: u64,
    pub(super) free: u64,
    pub(super) buffers: u64,
    pub(super) cached: u64,
    pub(super) swap_total: u64,
    pub(super) swap_free: u64,
    pub(super) swap_cached: u64,
}

/// Memory that was brought from swap and out to it since the host has started, in KiB.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Paging {
    pub(super) paged_in: u64,
    pub(super) paged_out: u64,
}

/// For how long processors have worked, out of `/proc/stat`: as users, as users with little priority, and in the kernel.
fn cpu_time(stat: &str, ticks_per_second: u64) -> Option<Duration> {
    let mut words = stat.lines().find_map(|line| line.strip_prefix("cpu "))?.split_ascii_whitespace();
    let mut ticks = 0_u64;
    for _ in 0..3 {
        ticks = ticks.checked_add(words.next()?.parse().ok()?)?;
    }
    let (seconds, rest) = (ticks.checked_div(ticks_per_second)?, ticks.checked_rem(ticks_per_second)?);
    // a rest is less than a second, so this cannot overflow
    Some(Duration::from_secs(seconds) + Duration::from_secs(rest) / u32::try_from(ticks_per_second).ok()?)
}

impl Host {
    /// Reads `/proc/stat`, `/proc/meminfo` and `/proc/vmstat`; `None` is a file that could not be read.
    pub fn read(packages: Option<usize>, [stat, meminfo, vmstat]: [Option<&str>; 3], ticks_per_second: u64, page: u64) -> Self {
        Self {
            packages,
            cpu_time: stat.and_then(|text| cpu_time(text, ticks_per_second)),
            memory: meminfo.and_then(Memory::read),
            paging: vmstat.and_then(|text| Paging::read(text, page)),
        }
    }
}

impl Memory {
    /// Reads `/proc/meminfo`. What a kernel does not have, such as swap, is nothing.
    fn read(text: &str) -> Option<Self> {
        let mut memory = Self::default();
        let mut has_total = false;
        for line in text.lines() {
            let Some((name, value)) = line.split_once(':') else { continue };
            let field = match name {
                "MemTotal" => &mut memory.total,
                "MemFree" => &mut memory.free,
                "Buffers" => &mut memory.buffers,
                "Cached" => &mut memory.cached,
                "SwapTotal" => &mut memory.swap_total,
                "SwapFree" => &mut memory.swap_free,
                "SwapCached" => &mut memory.swap_cached,
                _ => continue,
            };
            has_total |= name == "MemTotal";
            *field = value.split_ascii_whitespace().next()?.parse().ok()?;
        }
        has_total.then_some(memory)
    }
}

impl Paging {
    /// Reads `/proc/vmstat`, which counts pages.
    fn read(text: &str, page: u64) -> Option<Self> {
        let mut paging = Self::default();
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let field = match name {
                "pswpin" => &mut paging.paged_in,
                "pswpout" => &mut paging.paged_out,
                _ => continue,
            };
            *field = value.trim().parse::<u64>().ok()?.checked_mul(page)? >> 10;
        }
        Some(paging)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "cpu  100 20 3 4000 5 6 7 8 9 10\ncpu0 1 1 1 1\nintr 5\n";

    #[test]
    fn the_kernels_files_are_read() {
        let meminfo = "MemTotal: 1000 kB\nMemFree:  100 kB\nMemAvailable: 7 kB\nBuffers: 10 kB\nCached: 200 kB\nSwapCached: 1 kB\nSwapTotal: 50 kB\nSwapFree: 40 kB\n";
        let vmstat = "nr_free_pages 5\npswpin 3\npswpout 4\n";
        let host = Host::read(Some(2), [Some(STAT), Some(meminfo), Some(vmstat)], 100, 4096);
        assert_eq!(host.cpu_time, Some(Duration::from_millis(1230)));
        let memory = Memory { total: 1000, free: 100, buffers: 10, cached: 200, swap_total: 50, swap_free: 40, swap_cached: 1 };
        assert_eq!((host.memory, host.paging), (Some(memory), Some(Paging { paged_in: 12, paged_out: 16 })));
    }

    #[test]
    fn what_is_not_there_or_not_understood_is_left_out() {
        let none = Host { packages: Some(1), ..Host::default() };
        assert_eq!(Host::read(Some(1), [None; 3], 100, 4096), none);
        assert_eq!(Host::read(Some(1), [Some("cpu 1 2"), Some("MemTotal: much"), Some("pswpin x")], 100, 4096), none);
        assert_eq!(cpu_time(STAT, 0), None);
        assert_eq!(cpu_time(&format!("cpu {} 1 1", u64::MAX), 100), None);
        assert_eq!(Paging::read(&format!("pswpin {}", u64::MAX), 4096), None);
        // a kernel without swap
        assert_eq!(Memory::read("MemTotal: 5 kB\nMemFree: 1 kB\n"), Some(Memory { total: 5, free: 1, ..Memory::default() }));
        assert_eq!(Paging::read("nr_free_pages 5\n", 4096), Some(Paging::default()));
        assert_eq!(Memory::read(""), None);
    }
}
