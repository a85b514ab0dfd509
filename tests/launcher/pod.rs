//! The launcher as process 1 of a pod: told by a handler what to run, as an ordinary user in namespaces of its own.
//!
//! These tests need root, to make what kubelet and handler make; `pod.sh` is that.

use std::fs;
use std::io::{self, BufRead as _, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;
use serde_json::{Value, json};

use crate::guest::{BOOT, Folder, binary, folder, repository};

const UID: &str = "0d3f0d3e-0024-4a4e-9b0a-00000000000a";
pub(crate) const MAC: &str = "02:00:00:00:00:01";
/// How long what is quick may take when the machine is busy.
pub(crate) const SOON: Duration = Duration::from_secs(30);

/// A pod, and its launcher.
pub(crate) struct Pod {
    child: Child,
    pub(crate) folder: Folder,
}

impl Pod {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::begin(Folder::new(), "tiny", 0, arguments)
    }

    /// With hook sidecars, which serve in the folder that they are given.
    pub(crate) fn with_hooks(count: u32, serve: impl FnOnce(&Path)) -> Self {
        let folder = Folder::new();
        fs::create_dir(folder.0.join("hooks")).expect("a folder");
        serve(&folder.0);
        // long enough for sidecars that are there already
        Self::begin(folder, "tiny", count, &["--qemu-timeout", "10s"])
    }

    /// With what kubelet and handler have put into `/run/kubevirt-private`.
    pub(crate) fn with_private(fill: impl FnOnce(&Path)) -> Self {
        Self::of("tiny", fill)
    }

    /// The same, for another guest.
    pub(crate) fn of(guest: &str, fill: impl FnOnce(&Path)) -> Self {
        let folder = Folder::new();
        let private = folder.0.join("private");
        fs::create_dir(&private).expect("a folder");
        fill(&private);
        Self::begin(folder, guest, 0, &[])
    }

    /// With the sockets of containers that share folders.
    pub(crate) fn with_shares(serve: impl FnOnce(&Path)) -> Self {
        let folder = Folder::new();
        let sockets = folder.0.join("virtiofs");
        fs::create_dir(&sockets).expect("a folder");
        serve(&sockets);
        Self::begin(folder, "tiny", 0, &[])
    }

    /// With folders of claims that a handler has shown.
    pub(crate) fn with_claims(names: &[&str]) -> Self {
        let folder = Folder::new();
        for name in names {
            fs::create_dir_all(folder.0.join("hotplug").join(name)).expect("a folder");
        }
        Self::begin(folder, "tiny", 0, &[])
    }

    pub(crate) fn private(&self) -> PathBuf {
        self.folder.0.join("private")
    }

    fn begin(scratch: Folder, guest: &str, hooks: u32, arguments: &[&str]) -> Self {
        let image = folder(guest).join(format!("{guest}.qcow2"));
        let log = fs::File::create(scratch.0.join("log")).expect("a log");
        let mut command = Command::new("unshare");
        command.args(["--mount", "--pid", "--net", "--uts", "--fork", "--mount-proc"]).arg(repository("tests/launcher/pod.sh"));
        command.arg(binary()).arg(UID).arg(image).arg(&scratch.0).args(arguments);
        command.env("KUBEVIRT_RS_LOG", "info").env("HOOKS", hooks.to_string());
        let child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(log).spawn().expect("unshare runs");
        let mut pod = Self { child, folder: scratch };
        pod.until("it has no socket", SOON, |pod| pod.socket().exists().then_some(()));
        pod
    }

    fn socket(&self) -> PathBuf {
        self.folder.0.join("sockets/launcher-sock")
    }

    pub(crate) fn log(&self) -> String {
        fs::read_to_string(self.folder.0.join("log")).unwrap_or_default()
    }

    pub(crate) fn until<T>(&mut self, fault: &str, limit: Duration, mut look: impl FnMut(&mut Self) -> Option<T>) -> T {
        let begin = Instant::now();
        loop {
            if let Some(found) = look(self) {
                return found;
            }
            assert!(begin.elapsed() < limit, "{fault} after {limit:?}; it told:\n{}", self.log());
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    pub(crate) fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> BufReader<UnixStream> {
        let mut stream = UnixStream::connect(self.socket()).expect("the launcher listens");
        stream.set_read_timeout(Some(BOOT)).expect("a limit");
        let head = format!("{method} {path} HTTP/1.1\r\nHost: launcher\r\nContent-Length: {}\r\n{headers}\r\n", body.len());
        stream.write_all((head + body).as_bytes()).expect("it reads");
        BufReader::new(stream)
    }

    pub(crate) fn ask(&self, method: &str, path: &str, body: &Value) -> (u16, Value) {
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let mut answer = String::new();
        self.send(method, path, "Connection: close\r\n", &body).read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head and a body");
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok()).expect("a status");
        (status, serde_json::from_str(body).unwrap_or_default())
    }

    pub(crate) fn status(&self) -> Value {
        self.ask("GET", "/v1/domain", &Value::Null).1
    }

    pub(crate) fn console(&self) -> BufReader<UnixStream> {
        let mut stream = self.send("GET", "/v1/console", "Connection: upgrade\r\nUpgrade: raw\r\n", "");
        let mut line = String::new();
        while line != "\r\n" {
            line.clear();
            stream.read_line(&mut line).expect("a head");
        }
        stream
    }

    /// What the launcher left for a handler that was not there.
    pub(crate) fn last_status(&self) -> Value {
        let text = fs::read(self.folder.0.join("sockets/launcher-last-status")).expect("a last status");
        serde_json::from_slice(&text).expect("it is JSON")
    }

    /// Processes of the pod whose command line holds a text.
    pub(crate) fn processes(&self, text: &str) -> Vec<Pid> {
        let root = |pid: &Pid| fs::read_link(format!("/proc/{pid}/ns/pid")).ok();
        let children = format!("/proc/{0}/task/{0}/children", self.child.id());
        let first =
            fs::read_to_string(children).expect("a child").split_whitespace().next().and_then(|pid| pid.parse().ok()).map(Pid::from_raw);
        let own = first.as_ref().and_then(root).expect("a namespace");
        let all =
            fs::read_dir("/proc").expect("processes").flatten().filter_map(|e| e.file_name().to_str()?.parse().ok().map(Pid::from_raw));
        let named = |pid: &Pid| fs::read(format!("/proc/{pid}/cmdline")).is_ok_and(|line| String::from_utf8_lossy(&line).contains(text));
        all.filter(|pid| root(pid).as_ref() == Some(&own)).filter(named).collect()
    }

    pub(crate) fn end(&mut self, limit: Duration) -> Option<i32> {
        self.until("it has not ended", limit, |pod| pod.child.try_wait().expect("its state")).code()
    }
}

impl Drop for Pod {
    fn drop(&mut self) {
        if self.child.try_wait().is_ok_and(|ended| ended.is_none()) {
            // process 1 of the namespace, and with it every other
            for pid in self.processes("launcher") {
                let _ = kill(pid, Signal::SIGKILL);
            }
            let _ = self.child.wait();
        }
    }
}

pub(crate) fn root() -> bool {
    let root = nix::unistd::geteuid().is_root();
    if !root {
        eprintln!("passed over: only root can make what a pod is made of");
    }
    root
}

pub(crate) fn order(change: impl FnOnce(&mut Value)) -> Value {
    let mut vmi = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": {"name": "tiny", "namespace": "lab", "uid": UID},
        "spec": {
            "architecture": "amd64", "terminationGracePeriodSeconds": 20,
            "domain": {
                "machine": {"type": "q35"}, "cpu": {"cores": 1, "model": "host-model"}, "memory": {"guest": "256Mi"},
                "firmware": {"uuid": "6a1a24a1-4061-4607-8bf4-a3963d0c5895"}, "features": {"acpi": {"enabled": true}},
                "devices": {
                    "rng": {}, "disks": [{"name": "root", "disk": {"bus": "virtio"}}, {"name": "seed", "disk": {"bus": "virtio"}}],
                    "interfaces": [{"name": "default", "model": "virtio", "macAddress": MAC, "masquerade": {}}],
                },
            },
            "networks": [{"name": "default", "pod": {}}],
            "volumes": [
                {"name": "root", "containerDisk": {"image": "localhost/kubevirt-rs/tiny:latest"}},
                {"name": "seed", "cloudInitNoCloud": {"userData": "#cloud-config\nhostname: tiny\npassword: kubevirt\n"}},
            ],
        },
    });
    change(&mut vmi);
    let lease = json!({
        "link": "k6t-eth0", "mac": MAC, "address": "10.0.2.2", "prefix": 24, "server": "10.0.2.1", "gateway": "10.0.2.1", "mtu": 1450,
    });
    json!({
        "vmi": vmi, "configuration": {"developerConfiguration": {"useEmulation": true}},
        "interfaces": {"default": {"tap": "tap0", "mtu": 1450, "dhcp": lease}}, "later": "passed over",
    })
}

/// Reads until a text comes.
pub(crate) fn read_until(from: &mut impl Read, text: &str) -> String {
    let (begin, mut read) = (Instant::now(), Vec::new());
    while !String::from_utf8_lossy(&read).contains(text) {
        let mut piece = [0; 4096];
        let n = from.read(&mut piece).expect("the guest prints");
        assert!(n > 0 && begin.elapsed() < BOOT, "no {text:?} in {:?}", String::from_utf8_lossy(&read));
        read.extend_from_slice(&piece[..n]);
    }
    String::from_utf8_lossy(&read).into_owned()
}

pub(crate) fn type_line(to: &mut BufReader<UnixStream>, line: &str) {
    to.get_mut().write_all(format!("{line}\n").as_bytes()).expect("the guest takes keys");
}

/// Waits for the login prompt of a host, and logs in.
pub(crate) fn login(console: &mut BufReader<UnixStream>, host: &str, password: &str) {
    read_until(console, &format!("{host} login: "));
    type_line(console, "root");
    read_until(console, "assword: ");
    type_line(console, password);
    read_until(console, "# ");
}

/// The memory of a process that belongs to it alone, in KiB.
fn anonymous(pid: Pid) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).expect("its state");
    let line = status.lines().find(|line| line.starts_with("RssAnon:")).expect("its memory");
    line.split_whitespace().nth(1).and_then(|number| number.parse().ok()).expect("a number")
}

/// Collects what the launcher tells, beside the test.
fn listen(events: BufReader<UnixStream>) -> std::thread::JoinHandle<Vec<Value>> {
    std::thread::spawn(move || {
        // chunks are lines here, with their lengths between them
        let lines = events.lines().map_while(Result::ok);
        lines.filter_map(|line| serde_json::from_str::<Value>(&line).ok()).filter(Value::is_object).collect()
    })
}

#[test]
fn a_guest_is_run_as_the_handler_says() {
    if !root() {
        return;
    }
    let mut pod = Pod::start(&[]);
    assert_eq!(pod.status()["stage"], "Waiting");
    assert_eq!(pod.ask("POST", "/v1/pause", &Value::Null).0, 409, "there is no guest yet");
    assert_eq!(pod.ask("GET", "/v1/nothing", &Value::Null).0, 404);
    assert_eq!(pod.ask("PUT", "/v1/instance", &json!("nonsense")).0, 400);
    let events = listen(pod.send("GET", "/v1/events", "", ""));

    // what cannot be is told with its field, and the next order is as good as the first
    let wrong = order(|vmi| vmi["spec"]["domain"]["devices"]["interfaces"][0]["dhcpOptions"] = json!({"ntpServers": ["noon"]}));
    let (status, fault) = pod.ask("PUT", "/v1/instance", &wrong);
    assert_eq!((status, &fault["field"]), (422, &json!("spec.domain.devices.interfaces[0].dhcpOptions.ntpServers[0]")), "{fault}");
    let missing = order(|vmi| {
        vmi["spec"]["volumes"].as_array_mut().expect("volumes").insert(1, json!({"name": "more", "containerDisk": {"image": "x"}}));
    });
    let (status, fault) = pod.ask("PUT", "/v1/instance", &missing);
    assert_eq!((status, &fault["field"]), (500, &json!("spec.volumes[1].containerDisk")), "{fault}");
    let other = order(|vmi| vmi["metadata"]["uid"] = json!("somebody-else"));
    assert_eq!(pod.ask("PUT", "/v1/instance", &other).0, 400);

    let (status, shown) = pod.ask("PUT", "/v1/instance", &order(|_| {}));
    assert_eq!(status, 200, "{shown}");
    assert_eq!((&shown["stage"], &shown["domain"]["state"], &shown["fault"]), (&json!("Started"), &json!("Running"), &Value::Null));
    assert_eq!((&shown["domain"]["interfaces"][0]["device"], &shown["domain"]["disks"][1]["target"]), (&json!("tap0"), &json!("vdb")));
    assert_eq!(pod.ask("PUT", "/v1/instance", &order(|_| {})).0, 200, "an order may be repeated");

    let (mut one, mut two) = (pod.console(), pod.console());
    read_until(&mut one, "tiny login: ");
    login(&mut two, "tiny", "kubevirt");
    // an independent client, busybox, has asked for an address
    type_line(
        &mut two,
        "until [ -s /etc/resolv.conf ]; do sleep 1; done; echo $(ip -4 -o address show eth0) $(cat /sys/class/net/eth0/mtu) $(cat /etc/resolv.conf) done-$?",
    );
    let told = read_until(&mut two, "done-0");
    for text in ["10.0.2.2/24", "1450", "nameserver 10.96.0.10", "search lab.svc.cluster.local svc.cluster.local cluster.local"] {
        assert!(told.contains(text), "no {text}: {told}");
    }
    assert!(read_until(&mut one, "done-0").contains("10.0.2.2/24"), "both look at the same console");

    // the agent
    let agent = pod.until("no agent", BOOT, |pod| Some(pod.status()["agent"].clone()).filter(|agent| agent["os"]["id"] == "tiny"));
    assert_eq!((&agent["hostname"], &agent["fsFreezeStatus"]), (&json!("tiny"), &json!("thawed")));
    let addresses =
        pod.until("no address", BOOT, |pod| Some(pod.status()["agent"]["interfaces"][0].clone()).filter(|i| i["ip"] == "10.0.2.2"));
    assert_eq!(addresses["mac"], MAC);
    assert_eq!(pod.ask("GET", "/v1/guest-info", &Value::Null).1["os"]["id"], "tiny");
    assert_eq!(pod.ask("POST", "/v1/ping", &json!({"timeoutSeconds": 5})).0, 204);
    let executed = pod.ask("POST", "/v1/exec", &json!({"command": "echo", "args": ["hi"], "timeoutSeconds": 20}));
    assert_eq!(executed, (200, json!({"exitCode": 0, "stdout": "hi\n"})));

    // probes ask by the same socket
    let probe = |arguments: &[&str]| {
        let socket = pod.socket().display().to_string();
        Command::new(binary()).args(["probe", "--socket", &socket, "--timeoutSeconds", "20"]).args(arguments).output().expect("it runs")
    };
    assert_eq!(probe(&["--guestAgentPing"]).status.code(), Some(0));
    let output = probe(&["--command", "sh", "--", "-c", "echo out; exit 3"]);
    assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(3), &b"out\n\n"[..]));

    let mut screen = pod.send("GET", "/v1/vnc", "Connection: upgrade\r\nUpgrade: raw\r\n", "");
    assert!(read_until(&mut screen, "RFB 003.").contains("101 Switching Protocols"));
    let mut picture = Vec::new();
    pod.send("GET", "/v1/screenshot", "Connection: close\r\n", "").read_to_end(&mut picture).expect("a picture");
    let text = String::from_utf8_lossy(&picture);
    assert!(
        text.starts_with("HTTP/1.1 200") && text.contains("content-type: image/png") && picture.len() > 1000,
        "{} bytes",
        picture.len()
    );

    for (wish, state) in [("pause", "Paused"), ("pause", "Paused"), ("unpause", "Running"), ("unpause", "Running")] {
        assert_eq!(pod.ask("POST", &format!("/v1/{wish}"), &Value::Null).0, 204, "{wish}");
        assert_eq!(pod.status()["domain"]["state"], state);
    }
    let [launcher] = pod.processes("launcher")[..] else { panic!("one launcher") };
    assert!(anonymous(launcher) < 10 << 10, "process 1 is small: {} KiB", anonymous(launcher));

    assert_eq!(pod.ask("POST", "/v1/shutdown", &json!({})).0, 204);
    assert_eq!(pod.end(SOON), Some(0), "{}", pod.log());
    let mut rest = Vec::new();
    let _ = io::copy(&mut one, &mut rest);
    let last = pod.last_status();
    assert_eq!(
        (&last["stage"], &last["domain"]["state"], &last["domain"]["reason"]),
        (&json!("Ended"), &json!("Shutoff"), &json!("Shutdown"))
    );
    assert_eq!(last["fault"], Value::Null);
    let told = events.join().expect("it listened");
    let stages: Vec<&str> = told.iter().filter_map(|news| news["status"]["stage"].as_str()).collect();
    assert_eq!((stages.first(), stages.last()), (Some(&"Waiting"), Some(&"Ended")), "{stages:?}");
    assert!(stages.contains(&"Started") && stages.contains(&"Stopping"), "{stages:?}");
    assert!(told.iter().any(|news| news["status"]["fault"]["reason"] == "DiskNotReady"), "what failed was told");
}

#[test]
fn a_guest_whose_qemu_or_libvirt_is_killed_is_said_to_have_failed() {
    if !root() {
        return;
    }
    for (victim, reason, word) in [("qemu-system", "QemuFailed", "without being asked"), ("/sbin/libvirtd", "LibvirtFailed", "SIGKILL")] {
        let mut pod = Pod::start(&[]);
        let events = listen(pod.send("GET", "/v1/events", "", ""));
        assert_eq!(pod.ask("PUT", "/v1/instance", &order(|_| {})).0, 200);
        let found = pod.processes(victim);
        let [pid] = found[..] else { panic!("one {victim}: {found:?}") };
        kill(pid, Signal::SIGKILL).expect("it is there");
        assert_eq!(pod.end(SOON), Some(0), "{}", pod.log());
        let last = pod.last_status();
        assert_eq!((&last["stage"], &last["fault"]["reason"]), (&json!("Ended"), &json!(reason)), "{last}");
        assert!(last["fault"]["message"].as_str().expect("words").contains(word), "{last}");
        // a handler learns the state and the reason at once
        let told = events.join().expect("it listened");
        let over = |news: &&Value| news["status"]["domain"]["state"] == "Shutoff";
        assert_eq!(told.iter().find(over).expect("the end is told")["status"]["fault"]["reason"], reason);
        assert_eq!((&last["domain"]["state"], &last["domain"]["reason"]), (&json!("Shutoff"), &json!("Crashed")), "{last}");
        assert!(pod.log().contains(last["fault"]["message"].as_str().expect("words")), "the pod's log says it too");
    }
}

#[test]
fn a_launcher_that_nobody_tells_anything_says_so_and_one_that_is_not_wanted_leaves() {
    if !root() {
        return;
    }
    let mut pod = Pod::start(&["--qemu-timeout", "1s"]);
    assert_eq!(pod.end(SOON), Some(2), "{}", pod.log());
    let last = pod.last_status();
    assert_eq!((&last["fault"]["reason"], &last["domain"]), (&json!("TimedOut"), &Value::Null), "{last}");
    assert!(pod.log().contains("has not said within 1 s what to run"), "{}", pod.log());

    let mut pod = Pod::start(&[]);
    let [launcher] = pod.processes("launcher")[..] else { panic!("one launcher") };
    kill(launcher, Signal::SIGTERM).expect("it is there");
    assert_eq!(pod.end(SOON), Some(0), "{}", pod.log());
    assert!(!Path::new(&pod.folder.0.join("sockets/launcher-sock.new")).exists());
}
