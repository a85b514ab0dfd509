//! What a launcher leaves behind, seen from outside: processes, sockets and files.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::guest::Folder;

/// Where libvirt, QEMU and this program would leave files of their own.
const PLACES: [&str; 8] = [
    "/run/libvirt",
    "/run/user",
    "/var/lib/libvirt",
    "/var/cache/libvirt",
    "/var/log/libvirt",
    "/etc/libvirt",
    "/var/lib/swtpm-localca",
    "/dev/shm",
];
const HOME: [&str; 4] = [".cache/libvirt", ".config/libvirt", ".local/share/libvirt", ".config/swtpm_setup.conf"];

/// The files that are there, and the sockets that have a name.
pub(crate) fn files() -> BTreeSet<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).unwrap_or_default();
    let mut found = BTreeSet::new();
    for place in PLACES.iter().map(PathBuf::from).chain(HOME.iter().map(|h| home.join(h))) {
        walk(&place, &mut found);
    }
    found
}

fn walk(path: &Path, found: &mut BTreeSet<PathBuf>) {
    if fs::symlink_metadata(path).is_ok() {
        found.insert(path.to_owned());
    }
    if fs::symlink_metadata(path).is_ok_and(|m| m.is_dir()) {
        for entry in fs::read_dir(path).into_iter().flatten().flatten() {
            walk(&entry.path(), found);
        }
    }
}

/// The processes that belong to a launcher whose private folder is in `scratch`: it stands in their environment or arguments.
pub(crate) fn processes(scratch: &Folder) -> Vec<String> {
    let needle = scratch.0.to_string_lossy().into_owned();
    let own = std::process::id().to_string();
    let mut found = Vec::new();
    for entry in fs::read_dir("/proc").into_iter().flatten().flatten() {
        let pid = entry.file_name().to_string_lossy().into_owned();
        if !pid.bytes().all(|b| b.is_ascii_digit()) || pid == own {
            continue;
        }
        let text =
            |name: &str| fs::read(entry.path().join(name)).map(|b| String::from_utf8_lossy(&b).replace('\0', " ")).unwrap_or_default();
        let (arguments, environment) = (text("cmdline"), text("environ"));
        if arguments.contains(&needle) || environment.contains(&needle) {
            found.push(format!("{pid} {arguments}"));
        }
    }
    found
}

/// A child of a process.
pub(crate) fn child(of: i32) -> Option<i32> {
    let parent = |stat: &str| stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse::<i32>().ok();
    let entries = fs::read_dir("/proc").ok()?.flatten();
    let mut pids = entries.filter_map(|e| e.file_name().to_string_lossy().parse::<i32>().ok());
    pids.find(|pid| fs::read_to_string(format!("/proc/{pid}/stat")).ok().as_deref().and_then(parent) == Some(of))
}

/// Waits until nothing is left, and fails if something still is when the time is over.
pub(crate) fn none_left(scratch: &Folder, before: &BTreeSet<PathBuf>, limit: Duration) {
    let begin = Instant::now();
    loop {
        let (processes, files) = (processes(scratch), scratch.list());
        if processes.is_empty() && files.is_empty() {
            break;
        }
        assert!(begin.elapsed() < limit, "left after {limit:?}: processes {processes:#?}, files {files:?}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let after = files();
    let new: Vec<_> = after.difference(before).collect();
    assert!(new.is_empty(), "left behind: {new:#?}");
}
