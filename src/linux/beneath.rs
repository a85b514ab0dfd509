//! Paths that someone else has a hand in: opened below a folder that is held, so that no link and no renaming leads out.

use std::ffi::CStr;
use std::fs::{File, OpenOptions};
use std::io::{self, Seek as _, SeekFrom};
use std::os::fd::{AsFd, AsRawFd as _, BorrowedFd, OwnedFd};
use std::path::{Path, PathBuf};

use nix::fcntl::{AtFlags, OFlag, OpenHow, ResolveFlag, openat2};
use nix::libc;
use nix::sys::stat::{FileStat, Mode, fstat};
use nix::sys::statvfs::fstatvfs;

/// A folder that is held open.
#[derive(Debug)]
pub(crate) struct Folder(OwnedFd);

/// Something that is held open without having been opened: it can be looked at, mounted and connected to.
#[derive(Debug)]
pub(crate) struct Held(OwnedFd);

impl Folder {
    /// A folder whose whole path is ours.
    pub(crate) fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlag::O_PATH | OFlag::O_DIRECTORY | OFlag::O_CLOEXEC;
        Ok(Self(nix::fcntl::open(path, flags, Mode::empty())?))
    }

    /// A folder below; a link anywhere on the way is an error.
    pub(crate) fn folder(&self, path: impl AsRef<Path>) -> io::Result<Self> {
        Ok(Self(self.resolve(path.as_ref(), OFlag::O_PATH | OFlag::O_DIRECTORY, BENEATH)?))
    }

    /// Something below; a link anywhere on the way is an error.
    pub(crate) fn hold(&self, path: impl AsRef<Path>) -> io::Result<Held> {
        Ok(Held(self.resolve(path.as_ref(), OFlag::O_PATH | OFlag::O_NOFOLLOW, BENEATH)?))
    }

    /// Something in a tree that is not ours: links are followed, but as if this folder were the root of everything.
    pub(crate) fn hold_inside(&self, path: impl AsRef<Path>) -> io::Result<Held> {
        Ok(Held(self.resolve(path.as_ref(), OFlag::O_PATH, ResolveFlag::RESOLVE_IN_ROOT | ResolveFlag::RESOLVE_NO_MAGICLINKS)?))
    }

    /// A small file below, read as text.
    pub(crate) fn read(&self, path: impl AsRef<Path>, most: u64) -> io::Result<String> {
        let file = File::from(self.resolve(path.as_ref(), OFlag::O_RDONLY | OFlag::O_NONBLOCK, BENEATH)?);
        let mut text = String::new();
        io::Read::read_to_string(&mut io::Read::take(file, most), &mut text)?;
        Ok(text)
    }

    /// Makes an empty file, or holds the one that is there.
    pub(crate) fn place(&self, name: &str) -> io::Result<Held> {
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        match nix::fcntl::openat(&self.0, name, flags, Mode::empty()) {
            Ok(_) | Err(nix::errno::Errno::EEXIST) => self.hold(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Makes an empty file for this user and group; one that is there is an error, whatever it is.
    pub(crate) fn create(&self, name: &str) -> io::Result<File> {
        let flags = OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_WRONLY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        Ok(File::from(nix::fcntl::openat(&self.0, name, flags, Mode::from_bits_truncate(0o660))?))
    }

    /// Makes a folder, or opens the one that is there.
    pub(crate) fn make(&self, name: &str) -> io::Result<Self> {
        match nix::sys::stat::mkdirat(&self.0, name, Mode::from_bits_truncate(0o755)) {
            Ok(()) | Err(nix::errno::Errno::EEXIST) => self.folder(name),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes a file away; one that is not there is away.
    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        match nix::unistd::unlinkat(&self.0, name, nix::unistd::UnlinkatFlags::NoRemoveDir) {
            Ok(()) | Err(nix::errno::Errno::ENOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Takes an empty folder away; one that is not there is away.
    pub(crate) fn remove_folder(&self, name: &str) -> io::Result<()> {
        match nix::unistd::unlinkat(&self.0, name, nix::unistd::UnlinkatFlags::RemoveDir) {
            Ok(()) | Err(nix::errno::Errno::ENOENT) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The names in it. To be called on a thread that may change its working folder.
    pub(crate) fn names(&self) -> io::Result<Vec<String>> {
        // /proc, by which a descriptor could be read, is another one in other mounts
        let folder = self.resolve(Path::new("."), OFlag::O_RDONLY | OFlag::O_DIRECTORY, BENEATH)?;
        nix::unistd::fchdir(&folder)?;
        std::fs::read_dir(".")?.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect()
    }

    /// What its file system has left for this user, in bytes.
    pub(crate) fn available(&self) -> io::Result<u64> {
        available(self)
    }

    /// A path that leads to `name` in this folder, wherever the folder is now; valid as long as the folder is held.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}/{name}", self.0.as_raw_fd()))
    }

    fn resolve(&self, path: &Path, flags: OFlag, resolve: ResolveFlag) -> io::Result<OwnedFd> {
        let how = OpenHow::new().flags(flags | OFlag::O_CLOEXEC).resolve(resolve);
        Ok(openat2(&self.0, path, how)?)
    }
}

fn available(of: impl AsFd) -> io::Result<u64> {
    let system = fstatvfs(of)?;
    Ok(system.blocks_available().saturating_mul(system.fragment_size()))
}

const BENEATH: ResolveFlag = ResolveFlag::RESOLVE_BENEATH.union(ResolveFlag::RESOLVE_NO_SYMLINKS).union(ResolveFlag::RESOLVE_NO_MAGICLINKS);

impl Folder {
    /// The same, to be mounted on.
    pub(crate) fn into_held(self) -> Held {
        Held(self.0)
    }
}

impl AsFd for Folder {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

impl Held {
    /// A path that leads to it; valid as long as it is held.
    pub(crate) fn path(&self) -> PathBuf {
        PathBuf::from(format!("/proc/self/fd/{}", self.0.as_raw_fd()))
    }

    pub(crate) fn is_file(&self) -> io::Result<bool> {
        self.is(libc::S_IFREG)
    }

    pub(crate) fn is_folder(&self) -> io::Result<bool> {
        self.is(libc::S_IFDIR)
    }

    pub(crate) fn is_socket(&self) -> io::Result<bool> {
        self.is(libc::S_IFSOCK)
    }

    pub(crate) fn is_block_device(&self) -> io::Result<bool> {
        self.is(libc::S_IFBLK)
    }

    pub(crate) fn is_character_device(&self) -> io::Result<bool> {
        self.is(libc::S_IFCHR)
    }

    /// What is known of it.
    pub(crate) fn stat(&self) -> io::Result<FileStat> {
        Ok(fstat(&self.0)?)
    }

    /// Opens it for reading, and for writing as well if that is asked for: a file or a block device, which do not make wait.
    pub(crate) fn open(&self, write: bool) -> io::Result<File> {
        if !self.is_file()? && !self.is_block_device()? {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is neither a file nor a block device"));
        }
        OpenOptions::new().read(true).write(write).open(self.path())
    }

    /// The size of a file or a block device, in bytes.
    pub(crate) fn size(&self) -> io::Result<u64> {
        match self.is_file()? {
            true => u64::try_from(self.stat()?.st_size).map_err(io::Error::other),
            false => self.open(false)?.seek(SeekFrom::End(0)),
        }
    }

    /// What the file system that it is in has left for this user, in bytes.
    pub(crate) fn available(&self) -> io::Result<u64> {
        available(self)
    }

    fn is(&self, kind: libc::mode_t) -> io::Result<bool> {
        Ok(self.stat()?.st_mode & libc::S_IFMT == kind)
    }

    /// Makes it the user's of that number.
    pub(crate) fn give_to(&self, user: u32) -> io::Result<()> {
        let (uid, gid) = (nix::unistd::Uid::from_raw(user), nix::unistd::Gid::from_raw(user));
        Ok(nix::unistd::fchownat(&self.0, c"" as &CStr, Some(uid), Some(gid), AtFlags::AT_EMPTY_PATH)?)
    }

    /// Makes it the user's of that number, unless it is already.
    pub(crate) fn let_use(&self, user: u32) -> io::Result<()> {
        if self.stat()?.st_uid == user {
            return Ok(());
        }
        self.give_to(user).map_err(|error| io::Error::new(error.kind(), format!("make it the user's {user}: {error}")))
    }

    /// The folder that it is.
    pub(crate) fn into_folder(self) -> Folder {
        Folder(self.0)
    }
}

impl AsFd for Held {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;
    use crate::linux::testing::TestFolder;

    fn scene() -> (TestFolder, Folder) {
        let scratch = TestFolder::new();
        let inside = scratch.path().join("inside");
        fs::create_dir_all(inside.join("disk")).unwrap();
        fs::write(scratch.path().join("secret"), "s").unwrap();
        fs::write(inside.join("disk/image"), "i").unwrap();
        symlink("/secret", inside.join("absolute")).unwrap();
        symlink("../secret", inside.join("relative")).unwrap();
        symlink("disk", inside.join("link")).unwrap();
        symlink("/disk/image", inside.join("good")).unwrap();
        let folder = Folder::open(&inside).unwrap();
        (scratch, folder)
    }

    #[test]
    fn nothing_leads_out() {
        let (_scratch, folder) = scene();
        for path in ["absolute", "relative", "link/image", "../secret", "/secret", "good"] {
            assert!(folder.read(path, 9).is_err(), "{path}");
            assert!(folder.folder(path).is_err(), "{path}");
        }
        assert_eq!(folder.read("disk/image", 9).unwrap(), "i");
        for path in ["absolute", "relative", "../secret"] {
            assert!(folder.hold_inside(path).is_err(), "{path}");
        }
        for path in ["good", "link/image", "../../disk/image"] {
            assert!(folder.hold_inside(path).unwrap().is_file().unwrap(), "{path}");
        }
    }

    #[test]
    fn the_size_is_that_of_what_is_held() {
        let (scratch, folder) = scene();
        let image = folder.hold("disk/image").unwrap();
        assert_eq!(image.size().unwrap(), 1);
        // another one in its place is not the one that is held
        fs::rename(scratch.path().join("inside/disk/image"), scratch.path().join("inside/disk/old")).unwrap();
        symlink("/secret", scratch.path().join("inside/disk/image")).unwrap();
        image.open(true).unwrap().set_len(7).unwrap();
        assert_eq!((image.size().unwrap(), fs::metadata(scratch.path().join("inside/disk/old")).unwrap().len()), (7, 7));
        assert!(image.available().is_ok());
        // nothing that would make wait is opened
        nix::unistd::mkfifo(&scratch.path().join("inside/pipe"), Mode::from_bits_truncate(0o600)).unwrap();
        for other in ["pipe", "disk"] {
            let held = folder.hold(other).unwrap();
            assert_eq!(held.size().unwrap_err().kind(), io::ErrorKind::InvalidInput, "{other}");
        }
    }

    #[test]
    fn a_place_is_made_once_and_is_no_link() {
        let (_scratch, folder) = scene();
        assert!(folder.place("new").unwrap().is_file().unwrap() && folder.place("new").unwrap().is_file().unwrap());
        // a link is held as what it is, and is no file
        assert!(!folder.place("relative").is_ok_and(|held| held.is_file().unwrap()));
        folder.remove("new").unwrap();
        folder.remove("new").unwrap();
        for there in ["relative", "absolute", "disk"] {
            assert_eq!(folder.create(there).unwrap_err().kind(), io::ErrorKind::AlreadyExists, "{there}");
        }
        assert_eq!(folder.create("new").unwrap().metadata().unwrap().len(), 0);
        folder.remove("new").unwrap();
        assert!(folder.hold("new").is_err());
    }
}
