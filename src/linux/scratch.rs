//! A private folder that is gone when its owner is.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use nix::fcntl::{Flock, FlockArg};

const PREFIX: &str = "kubevirt-rs-";
/// A folder younger than this may be one that its owner has not locked yet.
const YOUNG: Duration = Duration::from_secs(10);

/// A private folder. Whoever holds it holds a lock on it; what is not locked has lost its owner and is swept away by
/// the next one.
pub(crate) struct Scratch {
    path: PathBuf,
    // released by the kernel when the last process that holds it ends, however it ends
    _lock: Flock<File>,
}

impl Scratch {
    /// Makes a folder in `base`, readable by nobody else, after sweeping those that lost their owner.
    pub(crate) fn new(base: &Path) -> io::Result<Self> {
        sweep(base);
        for _ in 0..100 {
            let path = base.join(format!("{PREFIX}{}", random_name()?));
            match DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    let lock = Flock::lock(File::open(&path)?, FlockArg::LockExclusiveNonblock).map_err(|(_, e)| io::Error::from(e))?;
                    return Ok(Self { path, _lock: lock });
                }
                Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
                Err(e) => return Err(e),
            }
        }
        Err(io::Error::new(io::ErrorKind::AlreadyExists, "no free name was found"))
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// Removes the folder and all in it. Not found is fine: both sides of a sandbox clean up.
    pub(crate) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.path) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(e),
            _ => Ok(()),
        }
    }
}

/// Whether a folder is called as ours are, to the letter: somebody else's must never be taken for one.
fn is_name(name: &str) -> bool {
    name.strip_prefix(PREFIX).is_some_and(|rest| rest.len() == 8 && rest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')))
}

fn random_name() -> io::Result<String> {
    let mut bytes = [0; 4];
    io::Read::read_exact(&mut File::open("/dev/urandom")?, &mut bytes)?;
    Ok(bytes.iter().map(|b| format!("{b:02x}")).collect())
}

/// Removes the folders of this user whose owner died with all its processes at once.
fn sweep(base: &Path) {
    let me = nix::unistd::geteuid().as_raw();
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let path = entry.path();
        let ours = is_name(&entry.file_name().to_string_lossy());
        let Ok(meta) = fs::symlink_metadata(&path) else { continue };
        let young = meta.modified().ok().and_then(|m| m.elapsed().ok()).is_none_or(|age| age < YOUNG);
        if !ours || !meta.is_dir() || meta.uid() != me || young {
            continue;
        }
        let Ok(folder) = File::open(&path) else { continue };
        if Flock::lock(folder, FlockArg::LockExclusiveNonblock).is_ok() {
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_is_private_and_goes_with_its_owner() {
        let base = std::env::temp_dir().join(format!("scratch-test-{}", std::process::id()));
        fs::create_dir_all(&base).unwrap();
        let scratch = Scratch::new(&base).unwrap();
        assert_eq!(fs::metadata(scratch.path()).unwrap().mode() & 0o777, 0o700);
        // an old folder that nobody holds is swept; one that is held stays, and one that is called otherwise
        let (stale, other) = (base.join("kubevirt-rs-0123abcd"), base.join("kubevirt-rs-mine"));
        fs::create_dir(&stale).unwrap();
        fs::create_dir(&other).unwrap();
        let old = std::time::SystemTime::now() - Duration::from_secs(60);
        for path in [&stale, &other, scratch.path()] {
            File::open(path).unwrap().set_modified(old).unwrap();
        }
        let second = Scratch::new(&base).unwrap();
        assert!(!stale.exists() && scratch.path().exists() && other.exists());
        fs::remove_dir(&other).unwrap();
        second.remove().unwrap();
        scratch.remove().unwrap();
        scratch.remove().unwrap();
        assert_eq!(fs::read_dir(&base).unwrap().count(), 0);
        fs::remove_dir(&base).unwrap();
    }
}
