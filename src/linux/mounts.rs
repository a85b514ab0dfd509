//! Files and folders that are shown elsewhere by a bind mount, held by descriptors all the way.

use std::fs;
use std::io;
use std::os::fd::{AsFd, AsRawFd as _, FromRawFd as _, OwnedFd};
use std::path::PathBuf;

use nix::errno::Errno;
use nix::libc;
use nix::mount::{MntFlags, umount2};

use super::beneath::{Folder, Held};

/// A copy of a mount that is nowhere yet.
#[derive(Debug)]
pub(crate) struct Detached(OwnedFd);

/// Takes a copy of a file's mount, read-only. To be called in the mount namespace that the file is of.
pub(crate) fn copy_read_only(file: &Held) -> io::Result<Detached> {
    copy(file, libc::MOUNT_ATTR_RDONLY)
}

/// Takes a copy of a folder's mount, in which no link is followed. To be called in the mount namespace that it is of.
pub(crate) fn copy_writable(folder: &Held) -> io::Result<Detached> {
    copy(folder, libc::MOUNT_ATTR_NOSYMFOLLOW)
}

fn copy(file: &Held, attributes_beyond: u64) -> io::Result<Detached> {
    let flags = libc::OPEN_TREE_CLONE | libc::O_CLOEXEC as libc::c_uint | libc::AT_EMPTY_PATH as libc::c_uint;
    // SAFETY: the path is an empty string that ends by zero
    let tree = unsafe { libc::syscall(libc::SYS_open_tree, file.as_fd().as_raw_fd(), c"".as_ptr(), flags) };
    let number = i32::try_from(Errno::result(tree)?).map_err(io::Error::other)?;
    // SAFETY: the call has just returned this descriptor, which nobody else owns
    let tree = unsafe { OwnedFd::from_raw_fd(number) };
    // SAFETY: all zeroes is a valid value: no attribute is set or cleared
    let mut attributes: libc::mount_attr = unsafe { std::mem::zeroed() };
    attributes.attr_set = libc::MOUNT_ATTR_NOSUID | libc::MOUNT_ATTR_NODEV | libc::MOUNT_ATTR_NOEXEC | attributes_beyond;
    // SAFETY: the path ends by zero, and the attributes are as large as is said
    let set = unsafe {
        libc::syscall(
            libc::SYS_mount_setattr,
            tree.as_raw_fd(),
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            &raw const attributes,
            size_of::<libc::mount_attr>(),
        )
    };
    Errno::result(set)?;
    Ok(Detached(tree))
}

impl Detached {
    /// Puts it on a file or a folder, whichever it is of.
    pub(crate) fn attach(self, place: &Held) -> io::Result<()> {
        const FROM_EMPTY_PATH: libc::c_uint = 0x04;
        const TO_EMPTY_PATH: libc::c_uint = 0x40;
        // SAFETY: both paths are empty strings that end by zero
        let moved = unsafe {
            libc::syscall(
                libc::SYS_move_mount,
                self.0.as_raw_fd(),
                c"".as_ptr(),
                place.as_fd().as_raw_fd(),
                c"".as_ptr(),
                FROM_EMPTY_PATH | TO_EMPTY_PATH,
            )
        };
        Errno::result(moved)?;
        Ok(())
    }
}

/// Whether something is mounted on a name in a folder.
pub(crate) fn is_mounted(folder: &Folder, name: &str) -> io::Result<bool> {
    let held = match folder.hold(name) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        held => held?,
    };
    // SAFETY: all zeroes is a valid statx
    let mut stat: libc::statx = unsafe { std::mem::zeroed() };
    // SAFETY: the path ends by zero, and there is room for the answer
    let looked =
        unsafe { libc::statx(held.as_fd().as_raw_fd(), c"".as_ptr(), libc::AT_EMPTY_PATH, libc::STATX_BASIC_STATS, &raw mut stat) };
    Errno::result(looked)?;
    Ok(stat.stx_attributes & libc::STATX_ATTR_MOUNT_ROOT as u64 != 0)
}

/// Takes away what is mounted on a name in a folder, however often.
pub(crate) fn unmount(folder: &Folder, name: &str) -> io::Result<()> {
    let path = folder.path(name);
    loop {
        match umount2(&path, MntFlags::MNT_DETACH | MntFlags::UMOUNT_NOFOLLOW) {
            Ok(()) => {}
            // nothing is mounted there, or the place is gone
            Err(Errno::EINVAL | Errno::ENOENT) => return Ok(()),
            Err(error) => return Err(error.into()),
        }
    }
}

/// Where something is mounted, as this process sees it.
pub(crate) fn points() -> io::Result<Vec<PathBuf>> {
    Ok(parse(&fs::read_to_string("/proc/self/mountinfo")?))
}

fn parse(mountinfo: &str) -> Vec<PathBuf> {
    mountinfo.lines().filter_map(|line| line.split(' ').nth(4)).map(|point| PathBuf::from(unescaped(point))).collect()
}

/// The kernel writes space, tab, line end and backslash by their octal numbers.
fn unescaped(point: &str) -> String {
    ["\\040", "\\011", "\\012", "\\134"]
        .iter()
        .zip([" ", "\t", "\n", "\\"])
        .fold(point.to_owned(), |text, (code, plain)| text.replace(code, plain))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use nix::sched::{CloneFlags, unshare};

    use super::*;
    use crate::linux::testing::TestFolder;

    #[test]
    fn mount_points_are_read() {
        let text = "36 35 98:0 /mnt1 /mnt/a\\040b rw,noatime master:1 - ext3 /dev/root rw\n37 35 0:1 / / rw - tmpfs t rw\nbroken\n";
        assert_eq!(parse(text), [Path::new("/mnt/a b"), Path::new("/")]);
    }

    /// A file of another mount namespace is shown in ours. Needs root; on a thread whose namespace is thrown away.
    #[test]
    fn a_file_of_elsewhere_is_shown_and_taken_away() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let scratch = TestFolder::new();
        let (theirs, ours) = (scratch.path().join("theirs"), scratch.path().join("ours"));
        fs::create_dir(&theirs).unwrap();
        fs::create_dir(&ours).unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        let none: Option<&str> = None;
        std::thread::scope(|scope| {
            let inner = theirs.clone();
            scope.spawn(move || {
                // a container: what it mounts is nobody else's
                unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).unwrap();
                nix::mount::mount(none, "/", none, nix::mount::MsFlags::MS_REC | nix::mount::MsFlags::MS_PRIVATE, none).unwrap();
                nix::mount::mount(Some("t"), &inner, Some("tmpfs"), nix::mount::MsFlags::empty(), none).unwrap();
                fs::write(inner.join("image"), "from elsewhere").unwrap();
                tell.send(fs::File::open("/proc/thread-self/ns/mnt").unwrap()).unwrap();
                let _ = wait.recv();
            });
            let namespace = told.recv().unwrap();
            scope
                .spawn(move || {
                    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).unwrap();
                    nix::mount::mount(none, "/", none, nix::mount::MsFlags::MS_REC | nix::mount::MsFlags::MS_PRIVATE, none).unwrap();
                    let copy =
                        crate::linux::namespaces::in_mounts(namespace.as_fd(), || copy_read_only(&Folder::open(&theirs)?.hold("image")?));
                    // the descriptor refers to the thread's own view of /proc/self, which is the whole process' here
                    let folder = Folder::open(&ours).unwrap();
                    let place = folder.place("disk_0.img").unwrap();
                    assert!(!is_mounted(&folder, "disk_0.img").unwrap());
                    copy.unwrap().attach(&place).unwrap();
                    assert!(is_mounted(&folder, "disk_0.img").unwrap());
                    assert_eq!(fs::read_to_string(ours.join("disk_0.img")).unwrap(), "from elsewhere");
                    let refused = fs::OpenOptions::new().append(true).open(ours.join("disk_0.img")).unwrap_err();
                    assert_eq!(refused.kind(), io::ErrorKind::ReadOnlyFilesystem);
                    unmount(&folder, "disk_0.img").unwrap();
                    unmount(&folder, "disk_0.img").unwrap();
                    unmount(&folder, "never").unwrap();
                    assert!(!is_mounted(&folder, "disk_0.img").unwrap());
                })
                .join()
                .unwrap();
            go.send(()).unwrap();
        });
    }

    /// A folder is shown with what can be written to it, and no link in it leads anywhere. Needs root, as above.
    #[test]
    fn a_folder_is_shown_without_its_links() {
        if !nix::unistd::geteuid().is_root() {
            eprintln!("skipped: needs root");
            return;
        }
        let scratch = TestFolder::new();
        let (claim, ours) = (scratch.path().join("claim"), scratch.path().join("ours"));
        fs::create_dir(&claim).unwrap();
        fs::create_dir(&ours).unwrap();
        std::os::unix::fs::symlink("target", claim.join("link")).unwrap();
        let none: Option<&str> = None;
        std::thread::scope(|scope| {
            scope
                .spawn(|| {
                    unshare(CloneFlags::CLONE_FS | CloneFlags::CLONE_NEWNS).unwrap();
                    nix::mount::mount(none, "/", none, nix::mount::MsFlags::MS_REC | nix::mount::MsFlags::MS_PRIVATE, none).unwrap();
                    let held = Folder::open(scratch.path()).unwrap().hold("claim").unwrap();
                    let folder = Folder::open(&ours).unwrap();
                    let place = folder.make("dump").unwrap().into_held();
                    copy_writable(&held).unwrap().attach(&place).unwrap();
                    assert!(is_mounted(&folder, "dump").unwrap());
                    fs::write(ours.join("dump/file"), "written").unwrap();
                    assert!(fs::write(ours.join("dump/link"), "misled").is_err());
                    unmount(&folder, "dump").unwrap();
                    folder.remove_folder("dump").unwrap();
                    folder.remove_folder("dump").unwrap();
                })
                .join()
                .unwrap();
        });
        assert_eq!(fs::read_to_string(claim.join("file")).unwrap(), "written");
        assert!(!claim.join("target").exists() && !ours.join("dump").exists());
    }
}
