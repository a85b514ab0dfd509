//! A libvirt daemon of one's own, in a private folder.

use std::fs::File;
use std::io;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use crate::linux::children::{Child, Children};
use crate::linux::files;

/// The daemons that serve QEMU: the modular one first, then the one of all drivers. With the socket of each.
const PROGRAMS: [(&str, &str); 2] = [("virtqemud", "virtqemud-sock"), ("libvirtd", "libvirt-sock")];
const FOLDERS: [&str; 4] = ["/usr/sbin", "/usr/bin", "/usr/local/sbin", "/usr/local/bin"];
/// The last argument that libvirt gives to QEMU, which it writes into QEMU's log.
const END_OF_COMMAND: &str = "-msg timestamp=on\n";
const START_TIMEOUT: Duration = Duration::from_secs(20);

/// Why there is no daemon.
#[derive(Debug, thiserror::Error)]
pub(crate) enum DaemonError {
    #[error("Failed to prepare libvirt's folder {}: {error}", path.display())]
    Folder { path: PathBuf, error: io::Error },
    #[error("Failed to start {}: {error}", program.display())]
    Spawn { program: PathBuf, error: io::Error },
    #[error("{} ended at once ({status}):\n{log}", program.display())]
    Ended { program: PathBuf, status: String, log: String },
    #[error("{} has not opened its socket within {} s:\n{log}", program.display(), START_TIMEOUT.as_secs())]
    Silent { program: PathBuf, log: String },
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) socket: PathBuf,
    child: Child,
    folder: PathBuf,
}

impl Daemon {
    /// The program, if one is installed.
    pub(crate) fn find() -> Option<PathBuf> {
        PROGRAMS.iter().flat_map(|(name, _)| FOLDERS.iter().map(move |f| Path::new(f).join(name))).find(|p| p.is_file())
    }

    /// Starts the daemon in `folder`, which must be empty or absent, and waits until it listens.
    pub(crate) async fn start(program: &Path, folder: &Path, children: &Children) -> Result<Self, DaemonError> {
        let prepare = |path: PathBuf, result: io::Result<()>| result.map_err(|error| DaemonError::Folder { path, error });
        for name in ["run", "cache", "data"] {
            let path = folder.join(name);
            prepare(path.clone(), files::private_dir(&path))?;
        }
        let config = folder.join("config/libvirt/qemu.conf");
        // QEMU's own output goes to a file, so that no virtlogd is needed
        prepare(config.clone(), files::write_new(&config, b"stdio_handler = \"file\"\n"))?;
        let log_path = folder.join("daemon.log");
        let log = File::create_new(&log_path).map_err(|error| DaemonError::Folder { path: log_path.clone(), error })?;

        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", folder).env("LIBVIRT_LOG_OUTPUTS", "3:stderr");
        for (variable, name) in
            [("XDG_RUNTIME_DIR", "run"), ("XDG_CONFIG_HOME", "config"), ("XDG_CACHE_HOME", "cache"), ("XDG_DATA_HOME", "data")]
        {
            command.env(variable, folder.join(name));
        }
        // a group of its own: what a terminal sends to ours (Ctrl-C) must not end it before the guest
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).current_dir("/").process_group(0);
        let spawn_error = |error| DaemonError::Spawn { program: program.to_owned(), error };
        let child = children.spawn(&mut command).map_err(spawn_error)?;
        let socket = PROGRAMS.iter().find(|(name, _)| program.ends_with(name)).map_or("libvirt-sock", |(_, socket)| socket);
        let mut daemon = Self { socket: folder.join("run/libvirt").join(socket), child, folder: folder.to_owned() };
        daemon.listening(program).await?;
        Ok(daemon)
    }

    async fn listening(&mut self, program: &Path) -> Result<(), DaemonError> {
        let begin = Instant::now();
        let mut tick = tokio::time::interval(Duration::from_millis(5));
        while begin.elapsed() < START_TIMEOUT {
            tokio::select! {
                _ = tick.tick() => if self.socket.exists() { return Ok(()) },
                status = self.child.wait() => {
                    let status = status.map_or_else(|e| e.to_string(), |s: ExitStatus| s.to_string());
                    return Err(DaemonError::Ended { program: program.to_owned(), status, log: self.log() });
                }
            }
        }
        Err(DaemonError::Silent { program: program.to_owned(), log: self.log() })
    }

    /// The last lines of its log.
    pub(crate) fn log(&self) -> String {
        files::tail(&self.folder.join("daemon.log"), 2000)
    }

    /// The last lines that the QEMU of a domain printed.
    pub(crate) fn qemu_log(&self, domain: &str) -> String {
        let log = files::tail(&self.folder.join("cache/libvirt/qemu/log").join(format!("{domain}.log")), 8000);
        // the command line comes first, and is no news
        let words = log.rsplit_once(END_OF_COMMAND).map_or(log.as_str(), |(_, words)| words);
        words.trim().to_owned()
    }

    /// Waits until the daemon ends, which it does not by itself.
    pub(crate) async fn ended(&mut self) -> String {
        self.child.wait().await.map_or_else(|e| e.to_string(), |s| s.to_string())
    }
}
