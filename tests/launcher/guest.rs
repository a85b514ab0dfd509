//! A launcher that a test has started, and a folder of its own for it.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How long a guest may take to boot when the machine is busy: under emulation it takes 12 s on an idle one.
pub(crate) const BOOT: Duration = Duration::from_secs(240);

/// The binary under test.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("KUBEVIRT_RS").map_or_else(|| env!("CARGO_BIN_EXE_kubevirt-rs").into(), PathBuf::from)
}

/// A path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

/// The folder of a test guest, which is made if the cache does not have it.
pub(crate) fn folder(name: &str) -> PathBuf {
    let output =
        Command::new(repository("tests/guests/build.sh")).arg(name).stderr(Stdio::inherit()).output().expect("the guests' script runs");
    assert!(output.status.success(), "the guest {name} cannot be made");
    PathBuf::from(String::from_utf8(output.stdout).expect("a path").trim())
}

/// The `--image` that gives the tiny guest to a machine that names it.
pub(crate) fn tiny() -> [String; 2] {
    ["--image".to_owned(), format!("localhost/kubevirt-rs/tiny:latest={}", folder("tiny").join("tiny.oci.tar").display())]
}

/// A port that is free now.
pub(crate) fn free_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").and_then(|l| l.local_addr()).expect("a free port").port()
}

/// A folder of a test, short enough for sockets below it, removed at the end.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    /// An empty folder. Its name is short, since sockets lie below it.
    pub(crate) fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let path = PathBuf::from(format!("/tmp/kt{}.{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed)));
        std::fs::create_dir_all(&path).expect("a folder");
        Self(path)
    }

    pub(crate) fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.0.join(name);
        std::fs::write(&path, content).expect("a file is written");
        path
    }

    /// What is in it.
    pub(crate) fn list(&self) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(&self.0)
            .expect("the folder")
            .map(|e| e.expect("an entry").file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A launcher that runs. Its private folder lies in `scratch`, so that a test sees what it leaves there.
pub(crate) struct Launcher {
    child: Child,
    stdin: Option<ChildStdin>,
    printed: Arc<Mutex<Vec<u8>>>,
    told: Arc<Mutex<Vec<u8>>>,
    read: usize,
    commands: u32,
}

fn command(scratch: &Folder, arguments: &[String]) -> Command {
    let mut command = Command::new(binary());
    command.arg("launcher").args(arguments).env("TMPDIR", &scratch.0);
    command
}

/// Runs a launcher that is to end by itself at once.
pub(crate) fn refused(scratch: &Folder, arguments: &[String]) -> Output {
    command(scratch, arguments).stdin(Stdio::null()).output().expect("the launcher runs")
}

fn collect(mut from: impl Read + Send + 'static) -> Arc<Mutex<Vec<u8>>> {
    let all = Arc::new(Mutex::new(Vec::new()));
    let here = Arc::clone(&all);
    std::thread::spawn(move || {
        let mut buffer = [0; 4096];
        while let Ok(n @ 1..) = from.read(&mut buffer) {
            here.lock().expect("the output").extend_from_slice(&buffer[..n]);
        }
    });
    all
}

impl Launcher {
    pub(crate) fn start(scratch: &Folder, arguments: &[String]) -> Self {
        Self::spawn(&mut command(scratch, arguments))
    }

    /// Starts it as `nobody`, with a copy of the binary that `nobody` can read.
    pub(crate) fn start_as_nobody(scratch: &Folder, binary: &Path, arguments: &[String]) -> Self {
        let mut command = Command::new(binary);
        Self::spawn(command.arg("launcher").args(arguments).env("TMPDIR", &scratch.0).uid(65534).gid(65534).current_dir("/"))
    }

    fn spawn(command: &mut Command) -> Self {
        // a group of its own, as a shell makes it
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()
            .expect("the launcher starts");
        let (stdin, stdout, stderr) =
            (child.stdin.take(), child.stdout.take().expect("its output"), child.stderr.take().expect("its errors"));
        Self { child, stdin, printed: collect(stdout), told: collect(stderr), read: 0, commands: 0 }
    }

    pub(crate) fn pid(&self) -> i32 {
        i32::try_from(self.child.id()).expect("a process number")
    }

    /// What it told on standard error.
    pub(crate) fn told(&self) -> String {
        String::from_utf8_lossy(&self.told.lock().expect("the errors")).into_owned()
    }

    /// Waits until it has told a text on standard error.
    pub(crate) fn wait_until_told(&self, text: &str, limit: Duration) {
        let begin = Instant::now();
        while !self.told().contains(text) {
            assert!(begin.elapsed() < limit, "it has not told {text:?}, but:\n{}", self.told());
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    /// All that it printed.
    pub(crate) fn printed(&self) -> String {
        String::from_utf8_lossy(&self.printed.lock().expect("the output")).into_owned()
    }

    /// Waits until it prints a text, after what was waited for before.
    pub(crate) fn wait_for(&mut self, text: &str, limit: Duration) {
        if let Err(ended) = self.reaches(text, limit) {
            panic!("no {text:?} ({ended}); printed:\n{}\ntold:\n{}", self.printed(), self.told());
        }
    }

    /// The same, for one that may end before; says how it did.
    pub(crate) fn reaches(&mut self, text: &str, limit: Duration) -> Result<(), String> {
        let begin = Instant::now();
        loop {
            let printed = self.printed.lock().expect("the output").clone();
            let new = printed.get(self.read..).unwrap_or_default();
            if let Some(at) = new.windows(text.len()).position(|w| w == text.as_bytes()) {
                self.read += at + text.len();
                return Ok(());
            }
            if let Some(status) = self.child.try_wait().expect("its state") {
                return Err(status.to_string());
            }
            if begin.elapsed() > limit {
                return Err(format!("after {limit:?}"));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn type_line(&mut self, line: &str) {
        let stdin = self.stdin.as_mut().expect("its input");
        stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| stdin.flush()).expect("the launcher takes keys");
    }

    /// Logs in at the console.
    pub(crate) fn log_in(&mut self, user: &str, password: &str) {
        self.wait_for("login: ", BOOT);
        self.answer(user, password);
    }

    /// The same, at a prompt that is there.
    pub(crate) fn answer(&mut self, user: &str, password: &str) {
        self.type_line(user);
        self.wait_for("assword: ", BOOT);
        self.type_line(password);
        self.wait_for("# ", BOOT);
    }

    /// Runs a command at the console and waits for a text that only its output can hold.
    pub(crate) fn ask(&mut self, line: &str, answer: &str) {
        self.type_line(line);
        self.wait_for(answer, BOOT);
    }

    /// After a login: has the shell run what [`Self::run`] says, without a prompt and without an echo.
    pub(crate) fn listen(&mut self) {
        self.type_line(r#"stty -echo; while read -r _n _c; do echo "<$_n"; eval "$_c" 2>&1; echo "$_n>"; done"#);
    }

    /// Runs a command in a shell that listens; returns what it prints.
    pub(crate) fn run(&mut self, command: &str) -> String {
        self.commands += 1;
        let number = self.commands;
        self.type_line(&format!("{number} {command}"));
        self.wait_for(&format!("<{number}\r\n"), BOOT);
        let begin = self.read;
        let end = format!("{number}>\r\n");
        self.wait_for(&end, BOOT);
        let printed = self.printed.lock().expect("the output");
        String::from_utf8_lossy(printed.get(begin..self.read - end.len()).unwrap_or_default()).trim().to_owned()
    }

    pub(crate) fn signal(&self, signal: nix::sys::signal::Signal) {
        nix::sys::signal::kill(nix::unistd::Pid::from_raw(self.pid()), signal).expect("it is there");
    }

    /// Waits until it ends; returns its exit code.
    pub(crate) fn end(&mut self, limit: Duration) -> Option<i32> {
        let begin = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait().expect("its state") {
                return status.code();
            }
            assert!(begin.elapsed() < limit, "it has not ended after {limit:?}; told:\n{}", self.told());
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

impl Drop for Launcher {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|s| s.is_none()) {
            // twice, so that the guest is ended at once, and everything with it
            let pid = nix::unistd::Pid::from_raw(self.pid());
            for _ in 0..2 {
                let _ = nix::sys::signal::kill(pid, nix::sys::signal::Signal::SIGTERM);
                std::thread::sleep(Duration::from_millis(1200));
            }
            let _ = self.child.wait();
        }
    }
}
