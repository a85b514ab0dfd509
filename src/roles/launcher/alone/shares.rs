//! Folders that the guest shares: a virtiofsd for each. In a cluster containers of the pod are that.

use std::ffi::OsString;
use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::os::unix::net::UnixListener;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::storage::Files;
use tokio::sync::mpsc;

use super::machine::Machine;
use crate::linux::children::Children;
use crate::linux::{files, namespaces};
use crate::roles::launcher::{Refusal, host};

/// Where distributions put virtiofsd beside the folders of programs.
const PLACES: [&str; 3] = ["/usr/lib/qemu/virtiofsd", "/usr/lib/virtiofsd", "/usr/libexec/qemu/virtiofsd"];
/// How much of a daemon's last words is told.
const WORDS: usize = 1000;

/// virtiofsd, as it is installed here.
#[derive(Debug)]
pub(super) struct Virtiofsd {
    program: PathBuf,
    /// It is that of QEMU before 8, which has other arguments.
    is_qemus: bool,
}

impl Virtiofsd {
    /// The program, if one is installed and runs.
    pub(super) fn find() -> Option<Self> {
        let other = || PLACES.iter().map(PathBuf::from).find(|path| path.is_file());
        let program = host::program("virtiofsd").or_else(other)?;
        let help = Command::new(&program).arg("--help").stdin(Stdio::null()).output().ok()?.stdout;
        Some(Self { is_qemus: !String::from_utf8_lossy(&help).contains("--shared-dir"), program })
    }

    /// Shares a folder by the socket that is its standard input. It sees nothing but the folder.
    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.arg("--fd=0");
        if self.is_qemus {
            command
                .args(["-f", "-o", "sandbox=namespace", "-o", "cache=auto", "-o", "log_level=warn", "-o"])
                .arg(option("source=", folder));
        } else {
            command.args(["--sandbox=namespace", "--cache=auto", "--log-level=warn", "--shared-dir"]).arg(folder);
        }
        command
    }
}

/// An option of QEMU's virtiofsd. It takes a comma for the end of the option.
fn option(name: &str, value: &Path) -> OsString {
    let mut text = name.as_bytes().to_vec();
    for byte in value.as_os_str().as_bytes() {
        if matches!(byte, b',' | b'\\') {
            text.push(b'\\');
        }
        text.push(*byte);
    }
    OsString::from_vec(text)
}

/// A folder that the guest shares.
#[derive(Debug)]
pub(super) struct Share {
    /// The name of the file system.
    pub(super) name: String,
    /// The field of the volume's source.
    pub(super) field: String,
    pub(super) content: Content,
}

/// What is in it.
pub(super) enum Content {
    /// The user's own folder.
    Folder(PathBuf),
    /// Files that are made for the guest, and are gone with it.
    Files(Files),
}

// the contents of Secrets are shown nowhere
impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Folder(path) => path.fmt(f),
            Self::Files(files) => files.keys().collect::<Vec<_>>().fmt(f),
        }
    }
}

/// The daemons.
pub(super) struct Daemons {
    ended: mpsc::UnboundedReceiver<String>,
    /// Keeps the other end open while there is none.
    _told: mpsc::UnboundedSender<String>,
}

impl Daemons {
    /// Starts one for each folder. `own` is the private folder of the launcher.
    pub(super) fn start(
        shares: &[Share],
        daemon: Option<&Virtiofsd>,
        machine: &Machine,
        paths: &Paths,
        own: &Path,
        children: &Children,
    ) -> Result<Self, Refusal> {
        let (told, ended) = mpsc::unbounded_channel();
        for share in shares {
            let failed = |e: io::Error| Refusal::failure(machine.at(&share.field, &format!("the folder cannot be shared: {e}")));
            let daemon = daemon.ok_or_else(|| failed(io::ErrorKind::NotFound.into()))?;
            one(share, daemon, machine, paths, own, children, &told).map_err(failed)?;
        }
        Ok(Self { ended, _told: told })
    }

    /// Waits until one of them has failed, and says which. Cancellation safe.
    pub(super) async fn failed(&mut self) -> String {
        match self.ended.recv().await {
            Some(words) => words,
            None => std::future::pending().await,
        }
    }

    /// What those have said that have failed until now.
    pub(super) fn words(&mut self) -> String {
        std::iter::from_fn(|| self.ended.try_recv().ok()).collect::<Vec<_>>().join("\n")
    }
}

fn one(
    share: &Share,
    daemon: &Virtiofsd,
    machine: &Machine,
    paths: &Paths,
    own: &Path,
    children: &Children,
    told: &mpsc::UnboundedSender<String>,
) -> io::Result<()> {
    let folder = match &share.content {
        Content::Folder(folder) => folder.clone(),
        Content::Files(files) => {
            let folder = own.join("shares").join(&share.name);
            fill(&folder, files)?;
            folder
        }
    };
    let socket = PathBuf::from(paths.virtiofs(&share.name));
    files::private_dir(socket.parent().unwrap_or(own))?;
    // it listens before anybody can connect, and needs no place of its own for the socket
    let listener = UnixListener::bind(&socket).map_err(|e| match e.kind() {
        io::ErrorKind::InvalidInput => io::Error::other(format!(
            "the path {} is too long for a socket; give the volume a shorter name, or set TMPDIR to a shorter path",
            socket.display()
        )),
        _ => e,
    })?;
    let log = socket.with_extension("log");
    let mut command = daemon.command(&folder);
    // a group of its own: what a terminal sends to ours must not end it before the guest
    command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").current_dir("/").process_group(0);
    command.stdin(Stdio::from(std::os::fd::OwnedFd::from(listener))).stdout(Stdio::null()).stderr(File::create(&log)?);
    namespaces::as_root_of_its_own(&mut command)?;
    let mut child = children.spawn(&mut command)?;
    let (told, at) = (told.clone(), machine.at(&share.field, "virtiofsd has ended"));
    tokio::spawn(async move {
        match child.wait().await {
            // QEMU has left it
            Ok(status) if status.success() => {}
            Ok(status) => drop(told.send(format!("{at} ({status})\n{}", files::tail(&log, WORDS)).trim_end().to_owned())),
            Err(error) => tracing::debug!(%error, "A virtiofsd is lost sight of"),
        }
    });
    Ok(())
}

/// Makes a folder with files that everybody in the guest may read, as a pod has them. Nobody else gets to them: the
/// launcher's own folder is closed.
fn fill(folder: &Path, files: &Files) -> io::Result<()> {
    let readable = |path: &Path, mode| fs::set_permissions(path, fs::Permissions::from_mode(mode));
    let make = |path: &Path| DirBuilder::new().recursive(true).mode(0o755).create(path).and_then(|()| readable(path, 0o755));
    make(folder)?;
    for (name, content) in files {
        let path = folder.join(name);
        path.parent().map_or(Ok(()), make)?;
        fs::write(&path, content)?;
        readable(&path, 0o644)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use super::*;

    #[test]
    fn no_folder_ends_its_option() {
        assert_eq!(option("source=", Path::new(r"/a,b\c")), OsStr::new(r"source=/a\,b\\c"));
    }

    #[test]
    fn each_kind_of_virtiofsd_is_given_what_it_knows() {
        let arguments = |is_qemus| {
            let daemon = Virtiofsd { program: "/x".into(), is_qemus };
            daemon.command(Path::new("/data")).get_args().map(|a| a.to_string_lossy().into_owned()).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(arguments(true), "--fd=0 -f -o sandbox=namespace -o cache=auto -o log_level=warn -o source=/data");
        assert_eq!(arguments(false), "--fd=0 --sandbox=namespace --cache=auto --log-level=warn --shared-dir /data");
    }
}
