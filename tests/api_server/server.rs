//! etcd and an API server, which end with the value, and kubectl.

use std::fs;
use std::io::Write as _;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use kube::{Client, Config};
use rcgen::KeyPair;

/// How long anything may take on a busy machine.
const SOON: Duration = Duration::from_secs(60);
/// Of an administrator.
const TOKEN: &str = "token";

/// The program that is tested.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("KUBEVIRT_RS").map_or_else(|| env!("CARGO_BIN_EXE_kubevirt-rs").into(), PathBuf::from)
}

/// What the program prints, which must succeed.
pub(crate) fn printed(arguments: &[&str]) -> String {
    let output = Command::new(binary()).args(arguments).output().expect("the program runs");
    assert!(output.status.success(), "{arguments:?}: {}", text(&output.stderr));
    text(&output.stdout)
}

pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Waits until the probe finds something.
pub(crate) fn until<T>(what: &str, mut probe: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(found) = probe() {
            return found;
        }
        assert!(begin.elapsed() < SOON, "not after {} s: {what}", SOON.as_secs());
        std::thread::sleep(Duration::from_millis(200));
    }
}

/// The server. It listens on loopback alone, and everything that it writes is in one folder.
pub(crate) struct Server {
    folder: PathBuf,
    kubectl: PathBuf,
    url: String,
    /// The API server first: it is to end while etcd is still there.
    children: Vec<Child>,
}

impl Server {
    /// Starts both, and waits until the API server is ready.
    pub(crate) fn start() -> Result<Self, String> {
        let output = Command::new(repository("tests/cluster/programs.sh")).arg("cluster").stderr(Stdio::inherit()).output();
        let output = output.map_err(|e| format!("programs.sh: {e}"))?;
        if !output.status.success() {
            return Err("the Go programs cannot be built, see above".to_owned());
        }
        let programs = PathBuf::from(text(&output.stdout).trim());
        let folder = std::env::temp_dir().join(format!("kubevirt-rs-api-server-{}", std::process::id()));
        let [client, peer, secure] = free_ports().map_err(|e| format!("find free ports: {e}"))?;
        let etcd = format!("http://127.0.0.1:{client}");
        let peers = format!("http://127.0.0.1:{peer}");
        let url = format!("https://127.0.0.1:{secure}");
        let mut server = Self { kubectl: programs.join("kubectl"), url, children: Vec::new(), folder };
        server.write_files().map_err(|e| format!("{}: {e}", server.folder.display()))?;
        let at = |name: &str| server.folder.join(name).display().to_string();
        let database = [
            format!("--data-dir={}", at("etcd")),
            "--unsafe-no-fsync".to_owned(),
            "--log-level=warn".to_owned(),
            format!("--listen-client-urls={etcd}"),
            format!("--advertise-client-urls={etcd}"),
            format!("--listen-peer-urls={peers}"),
            format!("--initial-advertise-peer-urls={peers}"),
            format!("--initial-cluster=default={peers}"),
        ];
        let api_server = [
            format!("--etcd-servers={etcd}"),
            "--bind-address=127.0.0.1".to_owned(),
            format!("--secure-port={secure}"),
            format!("--cert-dir={}", at("pki")),
            "--authorization-mode=RBAC".to_owned(),
            format!("--token-auth-file={}", at("tokens")),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            format!("--service-account-key-file={}", at("accounts.pub")),
            format!("--service-account-signing-key-file={}", at("accounts.key")),
            "--service-cluster-ip-range=10.96.0.0/16".to_owned(),
        ];
        for (name, arguments) in [("etcd", &database[..]), ("kube-apiserver", &api_server[..])] {
            let child = server.spawn(&programs.join("testcluster"), name, arguments).map_err(|e| format!("{name}: {e}"))?;
            server.children.insert(0, child);
        }
        server.until_ready()?;
        Ok(server)
    }

    fn write_files(&self) -> std::io::Result<()> {
        fs::create_dir_all(&self.folder)?;
        let key = KeyPair::generate().map_err(std::io::Error::other)?;
        fs::write(self.folder.join("accounts.key"), key.serialize_pem())?;
        fs::write(self.folder.join("accounts.pub"), key.public_key_pem())?;
        fs::write(self.folder.join("tokens"), format!("{TOKEN},admin,admin,\"system:masters\"\n"))
    }

    /// Starts a component that ends with this process, however that ends.
    fn spawn(&self, program: &Path, name: &str, arguments: &[String]) -> std::io::Result<Child> {
        let log = fs::File::create(self.folder.join(format!("{name}.log")))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL"]).arg(program).arg(name).args(arguments);
        command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log).spawn()
    }

    fn until_ready(&mut self) -> Result<(), String> {
        let begin = Instant::now();
        while !self.kubectl(&["get", "--raw", "/readyz"]).status.success() {
            let ended = self.children.iter_mut().any(|child| !matches!(child.try_wait(), Ok(None)));
            if ended || begin.elapsed() > SOON {
                return Err(format!("the API server does not become ready: {}", self.logs()));
            }
            std::thread::sleep(Duration::from_millis(200));
        }
        Ok(())
    }

    fn logs(&self) -> String {
        let log = |name: &str| fs::read_to_string(self.folder.join(format!("{name}.log"))).unwrap_or_default();
        let last = |text: String| text.lines().rev().take(5).map(str::to_owned).collect::<Vec<_>>().join("\n");
        ["etcd", "kube-apiserver"].map(|name| format!("\n{name}:\n{}", last(log(name)))).concat()
    }

    /// The address, and the token of an administrator.
    pub(crate) fn client(&self) -> Client {
        let mut config = Config::new(self.url.parse().expect("an address"));
        config.accept_invalid_certs = true;
        config.auth_info.token = Some(TOKEN.to_owned().into());
        Client::try_from(config).expect("a client")
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Output {
        self.kubectl_with(arguments, "")
    }

    pub(crate) fn kubectl_with(&self, arguments: &[&str], input: &str) -> Output {
        let mut command = Command::new(&self.kubectl);
        command.args(["--server", &self.url, "--insecure-skip-tls-verify", "--token", TOKEN]).args(arguments);
        // nothing is kept from one server to the next
        command.env("HOME", &self.folder).env_remove("KUBECONFIG");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl runs");
        if let Some(mut stdin) = child.stdin.take() {
            // kubectl may end before it has read all
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().expect("kubectl ends")
    }

    /// What kubectl prints, which must succeed.
    pub(crate) fn ok(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl_with(arguments, input);
        assert!(output.status.success(), "kubectl {}: {}", arguments.join(" "), text(&output.stderr));
        text(&output.stdout)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        for child in &mut self.children {
            let _ = child.kill();
            let _ = child.wait();
        }
        let _ = fs::remove_dir_all(&self.folder);
    }
}

/// Ports that nobody uses at this moment.
fn free_ports() -> std::io::Result<[u16; 3]> {
    let listener = || TcpListener::bind("127.0.0.1:0");
    let listeners = [listener()?, listener()?, listener()?];
    let mut ports = [0; 3];
    for (port, listener) in ports.iter_mut().zip(&listeners) {
        *port = listener.local_addr()?.port();
    }
    Ok(ports)
}
