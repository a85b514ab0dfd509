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

/// Where a daemon keeps its things. The sockets that it makes below `config` have addresses of up to 62 characters more
/// than that folder, of 107 that there may be.
#[derive(Clone, Debug)]
pub(crate) struct Layout {
    /// Sockets of the daemon, in a folder `libvirt`.
    pub(crate) runtime: PathBuf,
    /// Settings, and what QEMU and swtpm keep, in a folder `libvirt`.
    pub(crate) config: PathBuf,
    /// What it knows of QEMU, and QEMU's output, in a folder `libvirt`.
    pub(crate) cache: PathBuf,
    /// The rest, and the daemon's own log.
    pub(crate) home: PathBuf,
    /// What it shall log, in its own words, to our standard error; `None`: warnings and errors, to a file.
    pub(crate) log_filters: Option<String>,
}

impl Layout {
    /// Everything below one folder.
    pub(crate) fn under(folder: &Path) -> Self {
        Self {
            runtime: folder.join("run"),
            config: folder.join("config"),
            cache: folder.join("cache"),
            home: folder.to_owned(),
            log_filters: None,
        }
    }

    fn log(&self) -> PathBuf {
        self.home.join("daemon.log")
    }
}

/// A running daemon.
pub(crate) struct Daemon {
    pub(crate) socket: PathBuf,
    child: Child,
    layout: Layout,
}

impl Daemon {
    /// The program, if one is installed.
    pub(crate) fn find() -> Option<PathBuf> {
        PROGRAMS.iter().flat_map(|(name, _)| FOLDERS.iter().map(move |f| Path::new(f).join(name))).find(|p| p.is_file())
    }

    /// Starts the daemon and waits until it listens.
    pub(crate) async fn start(program: &Path, layout: Layout, children: &Children) -> Result<Self, DaemonError> {
        let prepare = |path: PathBuf, result: io::Result<()>| result.map_err(|error| DaemonError::Folder { path, error });
        let data = layout.home.join("data");
        for path in [&layout.runtime, &layout.cache, &data] {
            prepare(path.clone(), files::private_dir(path))?;
        }
        let config = layout.config.join("libvirt/qemu.conf");
        // QEMU's own output goes to a file, so that no virtlogd is needed
        prepare(config.clone(), files::replace(&config, b"stdio_handler = \"file\"\n"))?;
        let log_path = layout.log();
        let log = File::create(&log_path).map_err(|error| DaemonError::Folder { path: log_path.clone(), error })?;

        let mut command = Command::new(program);
        command.env_clear().env("PATH", "/usr/sbin:/usr/bin:/sbin:/bin").env("HOME", &layout.home);
        command.env("XDG_DATA_HOME", &data);
        match &layout.log_filters {
            Some(filters) => command.env("LIBVIRT_LOG_FILTERS", filters).env("LIBVIRT_LOG_OUTPUTS", "1:stderr"),
            None => command.env("LIBVIRT_LOG_OUTPUTS", "3:stderr").stderr(log),
        };
        for (variable, folder) in
            [("XDG_RUNTIME_DIR", &layout.runtime), ("XDG_CONFIG_HOME", &layout.config), ("XDG_CACHE_HOME", &layout.cache)]
        {
            command.env(variable, folder);
        }
        // a group of its own: what a terminal sends to ours (Ctrl-C) must not end it before the guest
        command.stdin(Stdio::null()).stdout(Stdio::null()).current_dir("/").process_group(0);
        let spawn_error = |error| DaemonError::Spawn { program: program.to_owned(), error };
        let child = children.spawn(&mut command).map_err(spawn_error)?;
        let socket = PROGRAMS.iter().find(|(name, _)| program.ends_with(name)).map_or("libvirt-sock", |(_, socket)| socket);
        let mut daemon = Self { socket: layout.runtime.join("libvirt").join(socket), child, layout };
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
        files::tail(&self.layout.log(), 2000)
    }

    /// The last lines that the QEMU of a domain printed.
    pub(crate) fn qemu_log(&self, domain: &str) -> String {
        let log = files::tail(&self.layout.cache.join("libvirt/qemu/log").join(format!("{domain}.log")), 8000);
        // the command line comes first, and is no news
        let words = log.rsplit_once(END_OF_COMMAND).map_or(log.as_str(), |(_, words)| words);
        words.trim().to_owned()
    }

    /// Waits until the daemon ends, which it does not by itself.
    pub(crate) async fn ended(&mut self) -> String {
        self.child.wait().await.map_or_else(|e| e.to_string(), |s| s.to_string())
    }
}
