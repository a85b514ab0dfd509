//! Figures of the host. In a container they are the host's as well: the kernel keeps no others.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use kubevirt_rs::downward_metrics::Host;
use nix::unistd::{SysconfVar, sysconf};

const PROCESSORS: &str = "/sys/devices/system/cpu";
const FILES: [&str; 3] = ["/proc/stat", "/proc/meminfo", "/proc/vmstat"];

/// The figures as they are now; `packages` do not change.
pub(crate) fn read(packages: Option<usize>) -> Host {
    let known = |variable| sysconf(variable).ok().flatten().and_then(|number| u64::try_from(number).ok()).unwrap_or_default();
    let texts = FILES.map(|path| fs::read_to_string(path).ok());
    Host::read(packages, texts.each_ref().map(Option::as_deref), known(SysconfVar::CLK_TCK), known(SysconfVar::PAGE_SIZE))
}

/// How many processor packages there are; `None` where the kernel does not tell.
pub(crate) fn packages() -> Option<usize> {
    packages_in(Path::new(PROCESSORS))
}

fn packages_in(folder: &Path) -> Option<usize> {
    let mut found = BTreeSet::new();
    for entry in fs::read_dir(folder).ok()?.flatten() {
        let name = entry.file_name();
        let is_processor = name.to_str()?.strip_prefix("cpu").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()));
        // a processor that is switched off is in no package
        if is_processor && let Ok(package) = fs::read_to_string(entry.path().join("topology/physical_package_id")) {
            found.insert(package.trim().to_owned());
        }
    }
    (!found.is_empty()).then_some(found.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_tells_its_figures() {
        let host = read(Some(1));
        assert!(host.cpu_time.is_some_and(|time| !time.is_zero()) && host.memory.is_some() && host.paging.is_some(), "{host:?}");
    }

    #[test]
    fn packages_are_counted_once() {
        let folder = std::env::temp_dir().join(format!("packages-{}", std::process::id()));
        for (name, package) in [("cpu0", "0"), ("cpu1", "0"), ("cpu12", "3"), ("cpufreq", "7"), ("cpu", "8")] {
            fs::create_dir_all(folder.join(name).join("topology")).unwrap();
            fs::write(folder.join(name).join("topology/physical_package_id"), format!("{package}\n")).unwrap();
        }
        fs::create_dir_all(folder.join("cpu13")).unwrap();
        assert_eq!((packages_in(&folder), packages_in(&folder.join("cpu13"))), (Some(2), None));
        fs::remove_dir_all(&folder).unwrap();
    }
}
