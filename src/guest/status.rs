//! What a launcher tells of its guest: plain values that travel from the pod to the node's handler.
//!
//! Every field may be missing and unknown ones are passed over, since the two sides are not upgraded at once: a guest
//! keeps the launcher that it was started by.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use serde::{Deserialize, Serialize};

use super::order::Volumes;
use crate::api::v1::{
    GuestAgentCommandInfo, VirtualMachineInstanceFileSystem, VirtualMachineInstanceGuestOsInfo, VirtualMachineInstanceGuestOsUser,
};

/// All that a launcher knows of its guest.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Status {
    /// How far the launcher is.
    pub stage: Stage,
    /// The UID of the instance that the launcher is for.
    pub uid: String,
    /// The guest's domain; `None` until it is defined.
    pub domain: Option<Domain>,
    /// Why the guest could not be started, or why it ended other than by itself.
    pub fault: Option<Fault>,
    /// What the agent inside the guest tells; `None` while it is not connected.
    pub agent: Option<Agent>,
    /// Whether keys and passwords are in the guest that the agent shall bring there; `None` where there are none, or nobody
    /// has tried yet.
    pub credentials: Option<Credentials>,
    /// What it was told last of the volumes; `None` before it has been told anything, and by one that cannot be told anew.
    pub volumes: Option<Volumes>,
    /// The last dump of the guest's memory, whether it goes on or is over; `None` when there was none.
    pub memory_dump: Option<MemoryDump>,
    /// The last lines that QEMU printed, when it has ended.
    pub last_words: String,
}

/// A dump of the guest's memory.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MemoryDump {
    /// The volume that it goes to.
    pub volume: String,
    /// The file that it is in, by its name in the volume.
    pub file: String,
    /// When it began.
    pub begun: Option<Time>,
    /// When it ended, well or not; `None` while it goes on.
    pub ended: Option<Time>,
    /// Why there is no dump, when it ended otherwise than well.
    pub failure: Option<String>,
}

impl MemoryDump {
    /// Whether it goes on.
    pub fn goes_on(&self) -> bool {
        self.ended.is_none()
    }
}

/// How the agent has done with keys and passwords.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Credentials {
    /// Whether the guest has all of them.
    pub succeeded: bool,
    /// What went wrong.
    pub message: String,
}

/// How far a launcher is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stage {
    /// Nobody has told it yet what to run.
    #[default]
    Waiting,
    /// Disks and domain are being made.
    Preparing,
    /// The guest was started.
    Started,
    /// The guest was asked to power off.
    Stopping,
    /// The guest is gone, and the launcher is about to end.
    Ended,
}

/// The guest's domain.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Domain {
    /// Its state.
    pub state: State,
    /// What led to the state.
    pub reason: StateReason,
    /// Its name in libvirt.
    pub name: String,
    /// Its UUID: the one of the firmware.
    pub uuid: String,
    /// The machine type in full, such as `pc-q35-10.0`.
    pub machine: String,
    /// The sockets, cores and threads of its processor.
    pub topology: Topology,
    /// The memory that the guest was started with, in bytes.
    pub memory_at_boot: u64,
    /// The memory that the guest has now, in bytes.
    pub memory: u64,
    /// Its interfaces.
    pub interfaces: Vec<Interface>,
    /// Its disks.
    pub disks: Vec<Disk>,
    /// How often its kernel has reported a panic.
    pub panics: u32,
}

/// The shape of a guest's processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Topology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of each socket.
    pub cores: u32,
    /// Threads of each core.
    pub threads: u32,
}

/// The state of a domain, by KubeVirt's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// There is no such domain.
    #[default]
    NoState,
    /// It runs.
    Running,
    /// It waits for a resource.
    Blocked,
    /// Its processors stand still.
    Paused,
    /// It is powering off.
    ShuttingDown,
    /// It is off.
    Shutoff,
    /// Its kernel has crashed.
    Crashed,
    /// It has put itself to sleep.
    #[serde(rename = "PMSuspended")]
    PmSuspended,
    /// One that this version does not know.
    #[serde(other)]
    Unknown,
}

/// What led to the state of a domain, by KubeVirt's names.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum StateReason {
    /// Somebody wanted it.
    User,
    /// The guest powered off.
    Shutdown,
    /// It was destroyed.
    Destroyed,
    /// It has moved away.
    Migrated,
    /// It crashed.
    Crashed,
    /// Its kernel reported a panic.
    Panicked,
    /// It was saved.
    Saved,
    /// QEMU failed.
    Failed,
    /// It comes from a snapshot.
    FromSnapshot,
    /// There is no such domain.
    NonExistent,
    /// It is moving.
    Migration,
    /// It is being saved.
    Save,
    /// Its memory is being dumped.
    Dump,
    /// A disk failed.
    #[serde(rename = "IOError")]
    IoError,
    /// Its watchdog barked.
    Watchdog,
    /// It is powering off.
    ShuttingDown,
    /// A snapshot is being taken.
    Snapshot,
    /// It is being started.
    StartingUp,
    /// It is moving, and runs elsewhere already.
    Postcopy,
    /// It was moving, and ran elsewhere already when that failed.
    PostcopyFailed,
    /// One that libvirt or this version does not know.
    #[default]
    #[serde(other)]
    Unknown,
}

/// An interface of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Interface {
    /// Its name in the instance.
    pub name: String,
    /// Its MAC address.
    pub mac: String,
    /// The device of the pod behind it.
    pub device: String,
    /// Whether its link is up.
    pub up: bool,
}

/// A disk of the guest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Disk {
    /// The name of its volume.
    pub volume: String,
    /// The name that libvirt has for it, such as `vda`.
    pub target: String,
}

/// What the agent inside the guest tells.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Agent {
    /// Its version.
    pub version: String,
    /// The commands that it knows.
    pub commands: Vec<GuestAgentCommandInfo>,
    /// The guest's name for itself.
    pub hostname: String,
    /// The operating system.
    pub os: VirtualMachineInstanceGuestOsInfo,
    /// The time zone: its name and its offset from UTC in seconds.
    pub timezone: String,
    /// The interfaces that the guest sees.
    pub interfaces: Vec<AgentInterface>,
    /// `frozen` while the file systems stand still.
    pub fs_freeze_status: String,
    /// Who is logged in.
    pub users: Vec<VirtualMachineInstanceGuestOsUser>,
    /// The file systems.
    pub filesystems: Vec<VirtualMachineInstanceFileSystem>,
}

/// An interface as the guest sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AgentInterface {
    /// The guest's name for it.
    pub name: String,
    /// Its MAC address.
    pub mac: String,
    /// Its address: the first of IPv4, else the first.
    pub ip: String,
    /// All its addresses.
    pub ips: Vec<String>,
}

/// Why something could not be done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[serde(rename_all = "camelCase", default)]
#[error("{message}")]
pub struct Fault {
    /// In one word, for events, conditions and metrics.
    pub reason: FaultReason,
    /// In words: what failed, and what would be right.
    pub message: String,
    /// The field of the instance that it is about, if it is about one.
    pub field: Option<String>,
}

impl Fault {
    /// What is told to people: the message, and the field before it if it does not name it itself.
    pub fn sentence(&self) -> String {
        match &self.field {
            Some(field) if !self.message.contains(field.as_str()) => format!("{field}: {}", self.message),
            _ => self.message.clone(),
        }
    }
}

/// The kinds of faults.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum FaultReason {
    /// The instance asks for something that cannot be.
    InvalidInstance,
    /// A disk of the instance is not there or cannot be made.
    DiskNotReady,
    /// The node lacks something that the instance needs.
    NodeLacks,
    /// libvirt's daemon could not be started, or has ended.
    LibvirtFailed,
    /// QEMU could not be started, or has failed.
    QemuFailed,
    /// The guest's network could not be served.
    NetworkFailed,
    /// No guest runs for which this could be done.
    NotRunning,
    /// What was asked for does not fit the state of the guest.
    Conflict,
    /// The agent inside the guest is not there or refused.
    AgentFailed,
    /// A hook sidecar is not there, or has not done what it was called for.
    HookFailed,
    /// Nobody said in time what to run.
    TimedOut,
    /// The request was not understood.
    BadRequest,
    /// Anything else.
    #[default]
    #[serde(other)]
    Failed,
}

impl FaultReason {
    /// Its name, as it is written in events.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::InvalidInstance => "InvalidInstance",
            Self::DiskNotReady => "DiskNotReady",
            Self::NodeLacks => "NodeLacks",
            Self::LibvirtFailed => "LibvirtFailed",
            Self::QemuFailed => "QemuFailed",
            Self::NetworkFailed => "NetworkFailed",
            Self::NotRunning => "NotRunning",
            Self::Conflict => "Conflict",
            Self::AgentFailed => "AgentFailed",
            Self::HookFailed => "HookFailed",
            Self::TimedOut => "TimedOut",
            Self::BadRequest => "BadRequest",
            Self::Failed => "Failed",
        }
    }
}

/// Something to tell whoever looks after the instance.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum News {
    /// The guest's state, as it is now.
    Status(Box<Status>),
    /// An event to record at the instance.
    Event(Notice),
}

/// An event of Kubernetes, to be recorded at the instance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Notice {
    /// Whether something is wrong.
    pub warning: bool,
    /// In one word.
    pub reason: String,
    /// In words.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use serde_json::{from_value, json, to_value};

    use super::*;

    #[test]
    fn the_words_are_those_of_kubevirt() {
        let domain = Domain { state: State::PmSuspended, reason: StateReason::IoError, ..Domain::default() };
        let value = to_value(&domain).unwrap();
        assert_eq!((&value["state"], &value["reason"]), (&json!("PMSuspended"), &json!("IOError")));
        assert_eq!(from_value::<Domain>(value).unwrap(), domain);
    }

    #[test]
    fn what_a_newer_launcher_says_beyond_is_passed_over() {
        let status: Status = from_value(json!({
            "stage": "Started", "later": 1,
            "domain": {"state": "Levitating", "reason": "Magic", "name": "a_b"},
            "fault": {"reason": "OutOfPaper", "message": "m"},
        }))
        .unwrap();
        let domain = status.domain.unwrap();
        assert_eq!((status.stage, domain.state, domain.reason), (Stage::Started, State::Unknown, StateReason::Unknown));
        assert_eq!(status.fault.unwrap().reason, FaultReason::Failed);
    }

    #[test]
    fn the_name_of_a_reason_is_how_it_travels() {
        for reason in [FaultReason::InvalidInstance, FaultReason::QemuFailed, FaultReason::NotRunning, FaultReason::Failed] {
            assert_eq!(to_value(reason).unwrap(), json!(reason.as_str()));
        }
    }
}
