//! The agent inside the guest: what it is asked, when, and how its answers are read.
//!
//! The answers come out of the guest: anything may stand in them, and whatever is not understood is left out.

use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use super::status::{Agent, AgentInterface};
use crate::api::v1::{
    GuestAgentCommandInfo, VirtualMachineInstanceFileSystem, VirtualMachineInstanceFileSystemDisk, VirtualMachineInstanceGuestOsInfo,
    VirtualMachineInstanceGuestOsUser,
};

/// What is asked again and again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Question {
    /// Its version and commands.
    Agent,
    /// File systems.
    Filesystems,
    /// Whether file systems stand still.
    Freeze,
    /// The operating system.
    Os,
    /// Addresses.
    Interfaces,
    /// The guest's name for itself.
    Hostname,
    /// The time zone.
    Timezone,
    /// Who is logged in.
    Users,
}

/// How often what is asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Intervals {
    /// System, addresses, name, time zone.
    pub system: Duration,
    /// File systems.
    pub files: Duration,
    /// Users.
    pub users: Duration,
    /// Version and commands.
    pub version: Duration,
    /// Whether file systems stand still.
    pub freeze: Duration,
}

impl Default for Intervals {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { system: seconds(120), files: seconds(300), users: seconds(10), version: seconds(300), freeze: seconds(5) }
    }
}

/// The first interval; each further is twice as long, until it is as long as it shall be: what a guest says while it
/// boots is soon out of date.
const FIRST: Duration = Duration::from_secs(10);

/// When which question is due. Times are counted from any fixed moment.
#[derive(Debug)]
pub struct Schedule {
    due: Vec<Due>,
}

#[derive(Debug)]
struct Due {
    question: Question,
    at: Duration,
    interval: Duration,
    longest: Duration,
}

impl Schedule {
    /// All questions are due at once.
    pub fn new(intervals: &Intervals, now: Duration) -> Self {
        let all = [
            (Question::Agent, intervals.version),
            (Question::Os, intervals.system),
            (Question::Hostname, intervals.system),
            (Question::Interfaces, intervals.system),
            (Question::Timezone, intervals.system),
            (Question::Filesystems, intervals.files),
            (Question::Users, intervals.users),
            (Question::Freeze, intervals.freeze),
        ];
        Self { due: all.map(|(question, longest)| Due { question, at: now, interval: longest.min(FIRST), longest }).into() }
    }

    /// When the next question is due.
    pub fn wake(&self) -> Option<Duration> {
        self.due.iter().map(|due| due.at).min()
    }

    /// The question that is due longest, if one is; it is taken to be asked now.
    pub fn next(&mut self, now: Duration) -> Option<Question> {
        let due = self.due.iter_mut().filter(|due| due.at <= now).min_by_key(|due| due.at)?;
        due.at = now + due.interval;
        due.interval = (due.interval * 2).min(due.longest);
        Some(due.question)
    }
}

impl Question {
    /// The command of the agent.
    pub fn command(self) -> String {
        let name = match self {
            Self::Agent => "guest-info",
            Self::Filesystems => "guest-get-fsinfo",
            Self::Freeze => "guest-fsfreeze-status",
            Self::Os => "guest-get-osinfo",
            Self::Interfaces => "guest-network-get-interfaces",
            Self::Hostname => "guest-get-host-name",
            Self::Timezone => "guest-get-timezone",
            Self::Users => "guest-get-users",
        };
        command(name)
    }

    /// Takes an answer in; whether anything changed.
    pub fn take(self, answer: &str, agent: &mut Agent) -> bool {
        let Some(value) = returned(answer) else { return false };
        let before = agent.clone();
        match self {
            Self::Agent => {
                agent.version = text(&value, "version");
                agent.commands = list::<Command>(&value["supported_commands"]).into_iter().map(Command::told).collect();
            }
            Self::Filesystems => agent.filesystems = list::<Filesystem>(&value).into_iter().map(Filesystem::told).collect(),
            Self::Freeze => agent.fs_freeze_status = value.as_str().unwrap_or_default().to_owned(),
            Self::Os => agent.os = os(&value),
            Self::Interfaces => {
                let all = list::<Link>(&value).into_iter().filter(|link| link.name != "lo");
                agent.interfaces = all.map(Link::told).collect();
            }
            Self::Hostname => agent.hostname = text(&value, "host-name"),
            Self::Timezone => agent.timezone = format!("{}, {}", text(&value, "zone"), value["offset"].as_i64().unwrap_or(0)),
            Self::Users => agent.users = list::<User>(&value).into_iter().map(User::told).collect(),
        }
        *agent != before
    }
}

/// A command without arguments.
pub fn command(name: &str) -> String {
    json!({"execute": name}).to_string()
}

/// The command that sets the guest's clock, to a time since 1970.
pub fn set_time(now: Duration) -> String {
    json!({"execute": "guest-set-time", "arguments": {"time": i64::try_from(now.as_nanos()).unwrap_or(i64::MAX)}}).to_string()
}

/// The command that runs a program inside the guest.
pub fn exec(path: &str, args: &[String]) -> String {
    json!({"execute": "guest-exec", "arguments": {"path": path, "arg": args, "capture-output": true}}).to_string()
}

/// The command that asks how a program goes.
pub fn exec_status(pid: i64) -> String {
    json!({"execute": "guest-exec-status", "arguments": {"pid": pid}}).to_string()
}

/// The process that a program became.
pub fn started(answer: &str) -> Option<i64> {
    returned(answer)?["pid"].as_i64()
}

/// How a program ended: its exit code and what it printed; `None` while it runs.
pub fn ended(answer: &str) -> Option<(i32, String)> {
    use base64::Engine as _;
    let value = returned(answer)?;
    if value["exited"] != true {
        return None;
    }
    let code = value["exitcode"].as_i64().and_then(|code| i32::try_from(code).ok()).unwrap_or(-1);
    let output = base64::engine::general_purpose::STANDARD.decode(text(&value, "out-data")).unwrap_or_default();
    Some((code, String::from_utf8_lossy(&output).into_owned()))
}

fn returned(answer: &str) -> Option<Value> {
    serde_json::from_str::<Value>(answer).ok()?.get("return").cloned()
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_default().to_owned()
}

/// The elements of a list that are understood.
fn list<T: for<'de> Deserialize<'de>>(value: &Value) -> Vec<T> {
    value.as_array().into_iter().flatten().filter_map(|element| T::deserialize(element).ok()).collect()
}

fn os(value: &Value) -> VirtualMachineInstanceGuestOsInfo {
    VirtualMachineInstanceGuestOsInfo {
        name: text(value, "name"),
        kernel_release: text(value, "kernel-release"),
        version: text(value, "version"),
        pretty_name: text(value, "pretty-name"),
        version_id: text(value, "version-id"),
        kernel_version: text(value, "kernel-version"),
        machine: text(value, "machine"),
        id: text(value, "id"),
    }
}

#[derive(Deserialize)]
struct Command {
    name: String,
    #[serde(default)]
    enabled: bool,
}

impl Command {
    fn told(self) -> GuestAgentCommandInfo {
        GuestAgentCommandInfo { name: self.name, enabled: self.enabled }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Filesystem {
    name: String,
    mountpoint: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    used_bytes: i64,
    #[serde(default)]
    total_bytes: i64,
    #[serde(default)]
    disk: Vec<FilesystemDisk>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct FilesystemDisk {
    #[serde(default)]
    serial: String,
    #[serde(default)]
    bus_type: String,
}

impl Filesystem {
    fn told(self) -> VirtualMachineInstanceFileSystem {
        let disk = |disk: FilesystemDisk| VirtualMachineInstanceFileSystemDisk { serial: disk.serial, bus_type: disk.bus_type };
        VirtualMachineInstanceFileSystem {
            disk_name: self.name,
            mount_point: self.mountpoint,
            file_system_type: self.kind,
            used_bytes: self.used_bytes,
            total_bytes: self.total_bytes,
            disk: self.disk.into_iter().map(disk).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct Link {
    name: String,
    #[serde(default)]
    hardware_address: String,
    #[serde(default)]
    ip_addresses: Vec<LinkAddress>,
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct LinkAddress {
    ip_address: String,
    ip_address_type: String,
}

impl Link {
    fn told(self) -> AgentInterface {
        let addresses = self.ip_addresses;
        let first = addresses.iter().find(|a| a.ip_address_type == "ipv4").or(addresses.first());
        AgentInterface {
            name: self.name,
            mac: self.hardware_address,
            ip: first.map(|a| a.ip_address.clone()).unwrap_or_default(),
            ips: addresses.into_iter().map(|a| a.ip_address).collect(),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "kebab-case")]
struct User {
    user: String,
    #[serde(default)]
    domain: String,
    #[serde(default)]
    login_time: f64,
}

impl User {
    fn told(self) -> VirtualMachineInstanceGuestOsUser {
        // in whole milliseconds, as libvirt tells it
        let login_time = (self.login_time * 1000.0).trunc() / 1000.0;
        VirtualMachineInstanceGuestOsUser { user_name: self.user, domain: self.domain, login_time }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_become_what_the_instance_shows() {
        let mut agent = Agent::default();
        for (question, answer) in [
            (
                Question::Agent,
                r#"{"return": {"version": "9.2.0", "supported_commands": [{"name": "guest-ping", "enabled": true, "success-response": true}]}}"#,
            ),
            (
                Question::Os,
                r#"{"return": {"name": "Debian GNU/Linux", "id": "debian", "kernel-release": "6.12", "pretty-name": "Debian 13", "machine": "x86_64"}}"#,
            ),
            (Question::Hostname, r#"{"return": {"host-name": "vm"}}"#),
            (Question::Timezone, r#"{"return": {"zone": "UTC", "offset": 0}}"#),
            (Question::Freeze, r#"{"return": "thawed"}"#),
            (Question::Users, r#"{"return": [{"user": "root", "login-time": 1700000000.123456}]}"#),
            (
                Question::Interfaces,
                r#"{"return": [{"name": "lo"}, {"name": "eth0", "hardware-address": "02:00:00:00:00:01", "ip-addresses": [
                    {"ip-address": "fe80::1", "ip-address-type": "ipv6", "prefix": 64}, {"ip-address": "10.0.2.2", "ip-address-type": "ipv4", "prefix": 24}]}]}"#,
            ),
            (
                Question::Filesystems,
                r#"{"return": [{"name": "vda1", "mountpoint": "/", "type": "ext4", "used-bytes": 5, "total-bytes": 9,
                    "disk": [{"bus-type": "virtio", "bus": 0, "unit": 0, "pci-controller": {}, "target": 0}]}, {"odd": 1}]}"#,
            ),
        ] {
            assert!(question.take(answer, &mut agent), "{question:?}");
            assert!(!question.take(answer, &mut agent), "{question:?} twice");
        }
        assert_eq!((agent.version.as_str(), agent.commands.len(), agent.os.id.as_str()), ("9.2.0", 1, "debian"));
        assert_eq!((agent.hostname.as_str(), agent.timezone.as_str(), agent.fs_freeze_status.as_str()), ("vm", "UTC, 0", "thawed"));
        assert_eq!((agent.users[0].user_name.as_str(), agent.users[0].login_time), ("root", 1_700_000_000.123));
        let ips = vec!["fe80::1".to_owned(), "10.0.2.2".to_owned()];
        assert_eq!(agent.interfaces, [AgentInterface { name: "eth0".into(), mac: "02:00:00:00:00:01".into(), ip: "10.0.2.2".into(), ips }]);
        assert_eq!((agent.filesystems.len(), agent.filesystems[0].disk[0].bus_type.as_str()), (1, "virtio"));
    }

    #[test]
    fn nonsense_changes_nothing_that_is_known() {
        let mut agent = Agent { hostname: "vm".to_owned(), ..Agent::default() };
        for answer in ["", "{", "null", r#"{"error": {"class": "GenericError"}}"#] {
            assert!(!Question::Hostname.take(answer, &mut agent), "{answer}");
        }
        assert_eq!(agent.hostname, "vm");
        Question::Filesystems.take(r#"{"return": {"a": [1]}}"#, &mut agent);
        Question::Interfaces.take(r#"{"return": [1, {"name": 5}]}"#, &mut agent);
        assert_eq!((agent.filesystems.len(), agent.interfaces.len()), (0, 0));
    }

    #[test]
    fn a_program_is_run_and_its_output_is_read() {
        assert_eq!(
            exec("cat", &["/x".to_owned()]),
            r#"{"arguments":{"arg":["/x"],"capture-output":true,"path":"cat"},"execute":"guest-exec"}"#
        );
        assert_eq!(started(r#"{"return": {"pid": 7}}"#), Some(7));
        assert_eq!(ended(r#"{"return": {"exited": false}}"#), None);
        assert_eq!(ended(r#"{"return": {"exited": true, "exitcode": 3, "out-data": "aGk="}}"#), Some((3, "hi".to_owned())));
    }

    #[test]
    fn a_question_is_asked_less_and_less_often() {
        let intervals = Intervals::default();
        let mut schedule = Schedule::new(&intervals, Duration::ZERO);
        let (mut os, mut users, mut freeze) = (vec![], vec![], vec![]);
        while let Some(at) = schedule.wake().filter(|at| at.as_secs() < 500) {
            match schedule.next(at) {
                Some(Question::Os) => os.push(at.as_secs()),
                Some(Question::Users) => users.push(at.as_secs()),
                Some(Question::Freeze) => freeze.push(at.as_secs()),
                _ => {}
            }
        }
        assert_eq!(os, [0, 10, 30, 70, 150, 270, 390]);
        assert_eq!((users[1], users[2], users.len()), (10, 20, 50));
        assert_eq!((freeze[1], freeze[2]), (5, 10));
        assert_eq!(schedule.next(Duration::from_secs(499)), None);
    }
}
