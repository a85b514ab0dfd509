//! The cluster under test, and kubectl.

use std::cell::RefCell;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

/// How long a guest may take from its object to its answer when the machine is busy; 20 s on an idle one.
pub(crate) const BOOT: Duration = Duration::from_secs(240);
/// How long anything may take that only programs do.
pub(crate) const SOON: Duration = Duration::from_secs(60);

/// The binary that is installed.
pub(crate) fn binary() -> PathBuf {
    std::env::var_os("KUBEVIRT_RS").map_or_else(|| env!("CARGO_BIN_EXE_kubevirt-rs").into(), PathBuf::from)
}

/// A path in the repository.
pub(crate) fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A cluster that runs, with the program installed.
///
/// `KUBEVIRT_RS_CLUSTER` names one that `make cluster` has started, which is then used as it is and left as it is. Without
/// it one is started, and ended with this value, also when this process is killed.
pub(crate) struct Cluster {
    name: String,
    kubectl: PathBuf,
    kubeconfig: PathBuf,
    client: PathBuf,
    ours: bool,
    /// The namespace of the test that runs, for what is told when a wait is over.
    namespace: RefCell<String>,
}

/// Runs a script of this folder and returns what it prints; what it tells goes to the terminal.
fn script(name: &str, cluster: &str, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new(repository("tests/cluster").join(name))
        .args(arguments)
        .env("KUBEVIRT_RS_CLUSTER_NAME", cluster)
        .stderr(Stdio::inherit())
        .output()
        .map_err(|e| format!("{name}: {e}"))?;
    if !output.status.success() {
        return Err(format!("{name} {} failed, see above", arguments.join(" ")));
    }
    Ok(text(&output.stdout).trim().to_owned())
}

impl Cluster {
    pub(crate) fn start() -> Result<Self, String> {
        let reused = std::env::var("KUBEVIRT_RS_CLUSTER").ok();
        let name = reused.clone().unwrap_or_else(|| "kvtest".to_owned());
        let programs = PathBuf::from(script("programs.sh", &name, &["cluster"])?);
        let client = PathBuf::from(script("programs.sh", &name, &["client"])?).join("client");
        let mut cluster = Self {
            name,
            kubectl: programs.join("kubectl"),
            kubeconfig: PathBuf::new(),
            client,
            ours: reused.is_none(),
            namespace: RefCell::default(),
        };
        if cluster.ours {
            cluster.watch_over()?;
            script("install.sh", &cluster.name, &[&binary().display().to_string()])?;
        }
        let env = script("cluster.sh", &cluster.name, &["env"])?;
        let kubeconfig = env.lines().find_map(|line| line.strip_prefix("export KUBECONFIG="));
        cluster.kubeconfig = kubeconfig.ok_or("cluster.sh env tells no KUBECONFIG")?.into();
        Ok(cluster)
    }

    /// Ends the cluster when this process ends, however it ends.
    fn watch_over(&self) -> Result<(), String> {
        let script = repository("tests/cluster/cluster.sh");
        Command::new("setsid")
            .args(["bash", "-c", "tail --pid \"$1\" -f /dev/null; exec \"$2\" down", "-", &std::process::id().to_string()])
            .arg(script)
            .env("KUBEVIRT_RS_CLUSTER_NAME", &self.name)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map(drop)
            .map_err(|e| format!("setsid: {e}"))
    }

    /// Runs a script of this folder for this cluster.
    pub(crate) fn script(&self, name: &str, arguments: &[&str]) -> String {
        script(name, &self.name, arguments).unwrap_or_else(|error| panic!("{error}"))
    }

    /// Makes a namespace for a test; it is deleted with the value.
    pub(crate) fn namespace(&self, name: &str) -> Namespace<'_> {
        name.clone_into(&mut self.namespace.borrow_mut());
        self.ok(&["create", "namespace", name]);
        Namespace { cluster: self, name: name.to_owned() }
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Output {
        self.kubectl_with(arguments, None)
    }

    /// kubectl, for who runs it without this value.
    pub(crate) fn kubectl_command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(&self.kubectl);
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        command
    }

    pub(crate) fn kubectl_with(&self, arguments: &[&str], input: Option<&str>) -> Output {
        let mut command = self.kubectl_command(arguments);
        command.stdin(if input.is_some() { Stdio::piped() } else { Stdio::null() }).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("kubectl runs");
        if let (Some(input), Some(mut stdin)) = (input, child.stdin.take()) {
            // kubectl may refuse before it has read all
            let _ = stdin.write_all(input.as_bytes());
        }
        child.wait_with_output().expect("kubectl ends")
    }

    /// What kubectl prints, which must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        let output = self.kubectl(arguments);
        assert!(output.status.success(), "kubectl {}: {}{}", arguments.join(" "), text(&output.stderr), self.explain());
        text(&output.stdout)
    }

    /// The same with an input.
    pub(crate) fn ok_with(&self, arguments: &[&str], input: &str) -> String {
        let output = self.kubectl_with(arguments, Some(input));
        assert!(output.status.success(), "kubectl {}: {}{}", arguments.join(" "), text(&output.stderr), self.explain());
        text(&output.stdout)
    }

    /// An object as JSON, if it is there.
    pub(crate) fn find(&self, arguments: &[&str]) -> Option<Value> {
        let output = self.kubectl(&[&["get", "--output", "json", "--ignore-not-found"], arguments].concat());
        output.status.success().then(|| serde_json::from_slice(&output.stdout).ok()).flatten()
    }

    /// Waits until the probe finds something; when the time is over, fails with all that may tell why.
    pub(crate) fn until<T>(&self, what: &str, limit: Duration, mut probe: impl FnMut() -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = probe() {
                return found;
            }
            assert!(begin.elapsed() < limit, "not after {} s: {what}{}", limit.as_secs(), self.explain());
            std::thread::sleep(Duration::from_millis(300));
        }
    }

    /// Runs a command in a node's namespaces.
    pub(crate) fn on_node(&self, node: &str, command: &[&str]) -> Output {
        Command::new(repository("tests/cluster/cluster.sh"))
            .args(["exec", node])
            .args(command)
            .env("KUBEVIRT_RS_CLUSTER_NAME", &self.name)
            .stdin(Stdio::null())
            .output()
            .expect("cluster.sh runs")
    }

    /// The program that is made with KubeVirt's client library; its arguments are to follow.
    pub(crate) fn client(&self, namespace: &str) -> Command {
        let mut command = Command::new(&self.client);
        command.args(["-n", namespace]).env("KUBECONFIG", &self.kubeconfig);
        command
    }

    /// Where the client and the configuration are, for programs that start it themselves.
    pub(crate) fn client_line(&self, namespace: &str) -> String {
        format!("env KUBECONFIG={} {} -n {namespace}", self.kubeconfig.display(), self.client.display())
    }

    /// The state of what the test's namespace and the program's own hold, for the message of a failure.
    fn explain(&self) -> String {
        let namespace = self.namespace.borrow().clone();
        let mut told = String::new();
        let mut tell = |title: &str, arguments: &[&str], last: usize| {
            let output = self.kubectl(arguments);
            let printed = text(&output.stdout) + &text(&output.stderr);
            let lines: Vec<&str> = printed.lines().collect();
            told.push_str(&format!("\n--- {title}\n{}", lines[lines.len().saturating_sub(last)..].join("\n")));
        };
        if !namespace.is_empty() {
            tell("status of machines", &["get", "vm,vmi", "--namespace", &namespace, "--output", STATUS], 400);
            tell("pods", &["get", "pods", "--namespace", &namespace, "--output", "wide"], 40);
            tell("events", &["get", "events", "--namespace", &namespace, "--sort-by", ".metadata.creationTimestamp"], 30);
        }
        tell("pods of the program", &["get", "pods", "--namespace", "kubevirt", "--output", "wide"], 40);
        for (of, selector) in [(namespace.as_str(), "kubevirt.io=virt-launcher"), ("kubevirt", "kubevirt.io")] {
            let pods = self.kubectl(&["get", "pods", "--namespace", of, "--selector", selector, "--output", "name"]);
            for pod in text(&pods.stdout).lines() {
                tell(&format!("log of {pod}"), &["logs", pod, "--namespace", of, "--all-containers", "--prefix", "--tail", "15"], 60);
            }
        }
        told
    }
}

const STATUS: &str = "jsonpath={range .items[*]}{.kind}/{.metadata.name}: {.status}{\"\\n\"}{end}";

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.ours && std::env::var_os("KUBEVIRT_RS_CLUSTER_KEEP").is_none() {
            let _ = script("cluster.sh", &self.name, &["down"]);
        }
    }
}

/// A test's own namespace.
pub(crate) struct Namespace<'a> {
    pub(crate) cluster: &'a Cluster,
    pub(crate) name: String,
}

impl Namespace<'_> {
    /// kubectl in this namespace, which must succeed.
    pub(crate) fn ok(&self, arguments: &[&str]) -> String {
        self.cluster.ok(&[&["--namespace", &self.name], arguments].concat())
    }

    pub(crate) fn kubectl(&self, arguments: &[&str]) -> Output {
        self.cluster.kubectl(&[&["--namespace", &self.name], arguments].concat())
    }

    pub(crate) fn apply(&self, manifest: &str) {
        let arguments = ["apply", "--namespace", &self.name, "--filename", "-"];
        self.cluster.ok_with(&arguments, manifest);
    }

    pub(crate) fn find(&self, object: &str) -> Option<Value> {
        self.cluster.find(&[object, "--namespace", &self.name])
    }

    /// Waits until an object is there and is as wanted; returns it.
    pub(crate) fn until(&self, object: &str, what: &str, limit: Duration, wanted: impl Fn(&Value) -> bool) -> Value {
        self.cluster.until(&format!("{object}: {what}"), limit, || self.find(object).filter(&wanted))
    }

    pub(crate) fn until_gone(&self, object: &str, limit: Duration) {
        self.cluster.until(&format!("{object} is gone"), limit, || {
            let output = self.kubectl(&["get", object, "--ignore-not-found", "--output", "name"]);
            (output.status.success() && output.stdout.is_empty()).then_some(())
        });
    }

    /// The verb of KubeVirt's client library, which must succeed.
    pub(crate) fn client(&self, arguments: &[&str]) -> String {
        let output = self.cluster.client(&self.name).args(arguments).stdin(Stdio::null()).output().expect("the client runs");
        assert!(output.status.success(), "client {}: {}{}", arguments.join(" "), text(&output.stderr), self.cluster.explain());
        text(&output.stdout)
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        let _ = self.cluster.kubectl(&["delete", "namespace", &self.name, "--wait=false"]);
        self.cluster.namespace.borrow_mut().clear();
    }
}

/// Whether an object's condition of a type has a status.
pub(crate) fn condition(object: &Value, kind: &str, status: &str) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.is_some_and(|all| all.iter().any(|c| c["type"] == kind && c["status"] == status))
}
