//! A process of a pod, found by the socket that it listens at. It is held by its folder in /proc, which never becomes
//! that of another process.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::Path;

use nix::fcntl::{OFlag, OpenHow, openat2};
use nix::sys::socket::{getsockopt, sockopt::PeerCredentials};

use super::beneath::{Folder, Held};

/// The most that is read of a process' list of control groups.
const LIST: u64 = 64 * 1024;

/// A process of a pod.
#[derive(Debug)]
pub(crate) struct PodProcess {
    folder: Folder,
}

impl PodProcess {
    /// The process that listens at a socket, if it is one of the pod's.
    pub(crate) fn listening_at(socket: &Held, pod: &str) -> io::Result<Self> {
        if !socket.is_socket()? {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "what should be a socket is none"));
        }
        let stream = UnixStream::connect(socket.path())?;
        let peer = getsockopt(&stream, PeerCredentials)?;
        let folder = Folder::open(Path::new(&format!("/proc/{}", peer.pid())))?;
        let groups = folder.read("cgroup", LIST)?;
        if !belongs_to(&groups, pod) {
            let message = format!("process {}, which listens at the socket, does not belong to the pod {pod}", peer.pid());
            return Err(io::Error::new(io::ErrorKind::PermissionDenied, message));
        }
        Ok(Self { folder })
    }

    /// Its SELinux context, where there is SELinux.
    pub(crate) fn selinux_context(&self) -> Option<String> {
        if !Path::new("/sys/fs/selinux/enforce").exists() {
            return None;
        }
        let context = self.folder.read("attr/current", LIST).ok()?;
        Some(context.trim_end_matches(['\0', '\n']).to_owned()).filter(|context| !context.is_empty())
    }

    /// Its network namespace.
    pub(crate) fn network(&self) -> io::Result<OwnedFd> {
        self.namespace("ns/net")
    }

    /// Its mount namespace.
    pub(crate) fn mounts(&self) -> io::Result<OwnedFd> {
        self.namespace("ns/mnt")
    }

    fn namespace(&self, path: &str) -> io::Result<OwnedFd> {
        // these are the kernel's own links, which nobody can change
        Ok(openat2(&self.folder, path, OpenHow::new().flags(OFlag::O_RDONLY | OFlag::O_CLOEXEC))?)
    }
}

/// Whether a list of control groups is that of a process of the pod. systemd writes the UID with underscores.
fn belongs_to(groups: &str, pod: &str) -> bool {
    let (plain, systemd) = (format!("pod{pod}"), format!("pod{}", pod.replace('-', "_")));
    let parts = groups.lines().flat_map(|line| line.split('/'));
    let mut names = parts.map(|part| part.trim_end_matches(".slice"));
    !pod.is_empty() && names.any(|name| name == plain || name.ends_with(&format!("-{systemd}")) || name == systemd)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::linux::testing::TestFolder;

    #[test]
    fn a_process_belongs_to_the_pod_whose_control_group_it_is_in() {
        let pod = "5d307ca9-b3ef-428c-8861-06e72d69f223";
        for groups in [
            "0::/kubepods/burstable/pod5d307ca9-b3ef-428c-8861-06e72d69f223/abc\n",
            "9:memory:/kubepods/pod5d307ca9-b3ef-428c-8861-06e72d69f223/x\n8:cpu:/\n",
            "0::/kubepods.slice/kubepods-burstable.slice/kubepods-burstable-pod5d307ca9_b3ef_428c_8861_06e72d69f223.slice/cri-x.scope\n",
            "0::/../../kubepods-besteffort-pod5d307ca9_b3ef_428c_8861_06e72d69f223.slice/x",
        ] {
            assert!(belongs_to(groups, pod), "{groups}");
            assert!(!belongs_to(groups, "5d307ca9-b3ef-428c-8861-06e72d69f22") && !belongs_to(groups, ""), "{groups}");
        }
        assert!(!belongs_to("0::/system.slice/pod5d307ca9.service\n", pod));
    }

    #[test]
    fn a_process_of_no_pod_is_refused() {
        let scratch = TestFolder::new();
        let _listener = std::os::unix::net::UnixListener::bind(scratch.path().join("s")).unwrap();
        std::fs::write(scratch.path().join("file"), "").unwrap();
        let folder = Folder::open(scratch.path()).unwrap();
        let error = PodProcess::listening_at(&folder.hold("s").unwrap(), "5d307ca9").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::PermissionDenied, "{error}");
        assert!(PodProcess::listening_at(&folder.hold("file").unwrap(), "5d307ca9").is_err());
    }
}
