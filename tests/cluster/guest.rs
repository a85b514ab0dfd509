//! A machine of a test, and what its guest says.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::{BOOT, Namespace, condition, repository, text};

/// The smallest example, applied; it boots from here on.
pub(crate) fn apply_example(namespace: &Namespace<'_>) {
    let file = repository("examples/vm-tiny.yaml");
    namespace.ok(&["apply", "--filename", &file.display().to_string()]);
}

/// The smallest example, running and ready; returns its instance.
pub(crate) fn running(namespace: &Namespace<'_>) -> Value {
    apply_example(namespace);
    until_running(namespace)
}

/// Waits until the example is ready, which its readiness probe says when the guest answers.
pub(crate) fn until_running(namespace: &Namespace<'_>) -> Value {
    namespace.until("vm/vm-tiny", "Running and Ready", BOOT, |vm| {
        vm["status"]["printableStatus"] == "Running" && condition(vm, "Ready", "True")
    });
    // Between the agent's first word and the guest's lease there is no address.
    namespace.until("vmi/vm-tiny", "Running and Ready, with an address", BOOT, |vmi| {
        vmi["status"]["phase"] == "Running" && condition(vmi, "Ready", "True") && !address(vmi).is_empty()
    })
}

/// The address that an instance's status tells.
pub(crate) fn address(vmi: &Value) -> String {
    vmi["status"]["interfaces"][0]["ipAddress"].as_str().unwrap_or_default().to_owned()
}

/// The guest's own page: `hostname: NAME` and `boot-id: UUID`.
pub(crate) fn page(address: &str) -> Option<String> {
    let socket = format!("{address}:80").parse().ok()?;
    let mut stream = TcpStream::connect_timeout(&socket, Duration::from_secs(3)).ok()?;
    stream.set_read_timeout(Some(Duration::from_secs(5))).ok()?;
    stream.write_all(b"GET / HTTP/1.0\r\n\r\n").ok()?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).ok()?;
    let answer = text(&answer);
    answer.contains("200 OK").then_some(answer)
}

/// The id that the guest's kernel drew when it booted: another one means that it has booted again.
pub(crate) fn boot_id(namespace: &Namespace<'_>, vmi: &Value) -> String {
    let address = address(vmi);
    let page = namespace.cluster.until(&format!("the guest answers at {address}"), BOOT, || page(&address));
    page.lines().find_map(|line| line.strip_prefix("boot-id: ")).expect("the page tells the boot").trim().to_owned()
}

/// A program whose input and output are a stream to the guest.
pub(crate) struct Stream<'a> {
    namespace: &'a Namespace<'a>,
    child: Child,
    stdin: ChildStdin,
    printed: Arc<Mutex<Vec<u8>>>,
    read: usize,
}

impl<'a> Stream<'a> {
    /// Opens the console, or a port (`["portforward", NAME, PORT]`), with KubeVirt's client library.
    pub(crate) fn open(namespace: &'a Namespace<'a>, arguments: &[&str]) -> Self {
        let mut command = namespace.cluster.client(&namespace.name);
        let mut child =
            command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit()).spawn().expect("the client runs");
        let stdin = child.stdin.take().expect("its input");
        let mut stdout = child.stdout.take().expect("its output");
        let printed = Arc::new(Mutex::new(Vec::new()));
        let here = Arc::clone(&printed);
        std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(n @ 1..) = stdout.read(&mut buffer) {
                here.lock().expect("the output").extend_from_slice(&buffer[..n]);
            }
        });
        Self { namespace, child, stdin, printed, read: 0 }
    }

    pub(crate) fn printed(&self) -> String {
        text(&self.printed.lock().expect("the output"))
    }

    /// Whether a text has come since the last that was waited for.
    fn find(&mut self, wanted: &str) -> bool {
        let printed = self.printed.lock().expect("the output").clone();
        let new = printed.get(self.read..).unwrap_or_default();
        let Some(at) = new.windows(wanted.len()).position(|w| w == wanted.as_bytes()) else { return false };
        self.read += at + wanted.len();
        true
    }

    pub(crate) fn wait_for(&mut self, wanted: &str) {
        let begin = Instant::now();
        while !self.find(wanted) {
            let ended = self.child.try_wait().expect("its state");
            if ended.is_some() || begin.elapsed() > BOOT {
                let printed = self.printed();
                let what = format!("{wanted:?} in the stream ({ended:?}), which gave:\n{printed}");
                self.namespace.cluster.until::<()>(&what, Duration::ZERO, || None);
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    pub(crate) fn send(&mut self, line: &str) {
        self.stdin.write_all(format!("{line}\n").as_bytes()).and_then(|()| self.stdin.flush()).expect("the stream takes it");
    }

    /// Waits for the login prompt. What came before the stream was opened is not repeated, so a key asks for it.
    pub(crate) fn wait_for_login(&mut self) {
        self.send("");
        self.wait_for("login: ");
    }

    pub(crate) fn log_in(&mut self, password: &str) {
        self.wait_for_login();
        self.send("root");
        self.wait_for("assword: ");
        self.send(password);
        self.wait_for("# ");
    }

    /// Runs a command at the guest's console and waits for what only its output can hold.
    pub(crate) fn ask(&mut self, line: &str, answer: &str) {
        self.send(line);
        self.wait_for(answer);
    }
}

impl Drop for Stream<'_> {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
