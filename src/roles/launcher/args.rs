//! What the launcher is told.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use clap::ValueEnum;
use kubevirt_rs::pod::paths;

use super::Refusal;

/// The arguments of `launcher`.
///
/// The exit code tells how it ended: 0 the guest powered off, 1 the object is invalid, 2 wrong arguments, 3 this
/// machine lacks something, 4 QEMU or libvirt failed, 5 the guest crashed, 6 the guest did not power off within its
/// grace period and was ended, 7 its time was over.
#[derive(Clone, clap::Args)]
#[command(
    after_help = "Exit codes: 0 the guest powered off; 1 the object is invalid; 2 wrong arguments; 3 this machine lacks something;\n4 QEMU or libvirt failed; 5 the guest crashed; 6 it did not power off in its grace period; 7 its time was over."
)]
pub(crate) struct Args {
    /// The VirtualMachineInstance or VirtualMachine (YAML or JSON; `-` reads standard input); other objects in the file count too
    #[arg(long, value_name = "FILE", required_unless_present_any = ["uid", "nothing"])]
    pub(crate) vmi: Option<PathBuf>,
    /// Files with the Secrets, ConfigMaps, instance types and preferences that the machine names
    #[arg(short, long = "file", value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// The container image of a containerDisk: an OCI or Docker archive, an OCI layout, a folder, or the disk image itself
    #[arg(long = "image", value_name = "REF=PATH")]
    pub(crate) images: Vec<Pair>,
    /// The disk of a claim or DataVolume, by the name of the claim or of the volume: a raw image or a block device
    #[arg(long = "volume", value_name = "NAME=PATH")]
    pub(crate) volumes: Vec<Pair>,
    /// Where UEFI variables and the TPM are kept that the machine calls persistent, in a folder for each machine; else they are thrown away
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
    /// Forward a port of this machine into the guest
    #[arg(long = "forward", value_name = "[tcp|udp:][ADDRESS:]HOST:GUEST")]
    pub(crate) forwards: Vec<Forward>,
    /// What the guest's interfaces are connected to
    #[arg(long, value_enum, default_value_t = Network::User)]
    pub(crate) network: Network,
    /// What is done with the serial console [default: stdio, or none with `-o json`]
    #[arg(long, value_enum)]
    pub(crate) console: Option<Console>,
    /// Serve the screen by VNC at this address (such as 127.0.0.1:5900)
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) vnc: Option<SocketAddr>,
    /// How progress and events are told: for people on standard error, or as JSON, an object a line, on standard output
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    pub(crate) output: Output,
    /// Stop the guest after this time (such as 90s or 1h30m)
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
    /// What runs the guest's processor
    #[arg(long, value_enum, default_value_t = Accelerator::Auto)]
    pub(crate) accelerator: Accelerator,
    /// A KubeVirt object whose configuration counts (feature gates, defaults)
    #[arg(long, value_name = "FILE")]
    pub(crate) kubevirt: Option<PathBuf>,
    /// Print the libvirt domain, and start nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) pod: PodArgs,
}

/// What the controller tells the launcher of a pod.
#[derive(Clone, clap::Args)]
#[command(next_help_heading = "As process 1 of a pod, as the controller starts it")]
pub(crate) struct PodArgs {
    /// The name of the instance
    #[arg(long, requires = "uid", conflicts_with = "vmi")]
    pub(crate) name: Option<String>,
    /// The namespace of the instance
    #[arg(long, requires = "uid", conflicts_with = "vmi")]
    pub(crate) namespace: Option<String>,
    /// The UID of the instance
    #[arg(long, requires_all = ["name", "namespace"], conflicts_with = "vmi")]
    pub(crate) uid: Option<String>,
    /// How long the handler may take to say what to run, and the guest to start
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "3m")]
    pub(crate) qemu_timeout: Duration,
    /// The folder that is shared with the handler
    #[arg(long, value_name = "FOLDER", default_value = paths::SHARE)]
    pub(crate) kubevirt_share_dir: PathBuf,
    /// Where disks lie that nobody keeps
    #[arg(long, value_name = "FOLDER", default_value = paths::EPHEMERAL_DISKS)]
    pub(crate) ephemeral_disk_dir: PathBuf,
    /// Where the handler puts the images of containerDisks
    #[arg(long, value_name = "FOLDER", default_value = paths::CONTAINER_DISKS)]
    pub(crate) container_disk_dir: PathBuf,
    /// How long the guest may take to power off; what the instance says counts
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    pub(crate) grace_period_seconds: u64,
    /// How many hook sidecars to wait for
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    pub(crate) hook_sidecars: u32,
    /// The folder of the UEFI images
    #[arg(long, value_name = "FOLDER")]
    pub(crate) ovmf_path: Option<PathBuf>,
    /// How much memory looking at a disk may take; this launcher needs no more than a few KiB
    #[arg(long, value_name = "BYTES", hide = true)]
    pub(crate) disk_memory_limit: Option<u64>,
    /// The hypervisor
    #[arg(long, value_name = "NAME", default_value = "kvm")]
    pub(crate) hypervisor: String,
    /// Whether the guest may be emulated
    #[arg(long)]
    pub(crate) allow_emulation: bool,
    /// Whether a guest of another architecture may be emulated
    #[arg(long)]
    pub(crate) allow_cross_arch_emulation: bool,
    /// Whether containerDisks are volumes of the pod
    #[arg(long)]
    pub(crate) image_volume: bool,
    /// Stay when the guest could not be started, so that someone can look
    #[arg(long)]
    pub(crate) keep_after_failure: bool,
    /// Fail at once, as a test
    #[arg(long)]
    pub(crate) simulate_crash: bool,
    /// Do nothing: the pod is only there to bind its volumes
    #[arg(long, conflicts_with_all = ["vmi", "uid"])]
    pub(crate) nothing: bool,
    /// What libvirt logs, in its own words
    #[arg(long, value_name = "FILTERS")]
    pub(crate) libvirt_log_filters: Option<String>,
    /// The pod's user decides it; known for the sake of older controllers
    #[arg(long, hide = true)]
    pub(crate) run_as_nonroot: bool,
    /// Features that need nothing of this launcher
    #[arg(long, hide = true)]
    pub(crate) libvirt_hook_server_and_client: bool,
    #[arg(long, hide = true)]
    pub(crate) upgrade_ordinal_ifaces: bool,
    #[arg(long, hide = true)]
    pub(crate) vgpu_dedicated_hook: bool,
    #[arg(long, hide = true)]
    pub(crate) vm_stats_collector: bool,
    #[arg(long, hide = true)]
    pub(crate) firmware_auto_selection: bool,
}

/// `NAME=PATH`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pair {
    pub(crate) name: String,
    pub(crate) path: PathBuf,
}

impl FromStr for Pair {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, path)) if !name.is_empty() && !path.is_empty() => Ok(Self { name: name.to_owned(), path: path.into() }),
            _ => Err("write a name, an equals sign and a path".to_owned()),
        }
    }
}

/// A protocol of a forwarded port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Protocol {
    Tcp,
    Udp,
}

/// A port of this machine that leads into the guest.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Forward {
    pub(crate) protocol: Protocol,
    pub(crate) address: std::net::Ipv4Addr,
    pub(crate) host: u16,
    pub(crate) guest: u16,
}

impl FromStr for Forward {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (protocol, rest) = match text.split_once(':') {
            Some(("tcp", rest)) => (Protocol::Tcp, rest),
            Some(("udp", rest)) => (Protocol::Udp, rest),
            _ => (Protocol::Tcp, text),
        };
        let parts: Vec<&str> = rest.split(':').collect();
        let (address, host, guest) = match parts.as_slice() {
            [host, guest] => ("127.0.0.1", *host, *guest),
            [address, host, guest] => (*address, *host, *guest),
            _ => return Err("write HOST:GUEST, two port numbers, such as 2222:22".to_owned()),
        };
        let port =
            |text: &str| text.parse::<u16>().ok().filter(|p| *p != 0).ok_or_else(|| format!("{text:?} is no port; ports are 1 to 65535"));
        let address = address.parse().map_err(|_| format!("{address:?} is no IPv4 address"))?;
        Ok(Self { protocol, address, host: port(host)?, guest: port(guest)? })
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    let parsed: kubevirt_rs::api::Duration = text.parse().map_err(|e: kubevirt_rs::api::DurationError| e.to_string())?;
    if parsed.nanoseconds() <= 0 { Err("it must be more than nothing".to_owned()) } else { Ok(parsed.as_std()) }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Network {
    /// A network inside QEMU: the guest reaches out, and is reached by forwarded ports
    User,
    /// None: the guest has no interface
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Console {
    /// Attached to this terminal (leave with Ctrl-])
    Stdio,
    /// Printed, but nothing is typed
    Log,
    /// Left alone
    None,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    Text,
    Json,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Accelerator {
    /// KVM where it is usable, else emulation
    Auto,
    /// KVM, or nothing
    Kvm,
    /// Emulation
    Tcg,
}

impl Args {
    /// What clap cannot know.
    pub(super) fn check(&self) -> Result<(), Refusal> {
        if self.output == Output::Json && matches!(self.console, Some(Console::Stdio | Console::Log)) {
            return Err(Refusal::usage(
                "--console stdio and log print to standard output, where `-o json` prints its events; leave one of them out",
            ));
        }
        if self.network == Network::None && !self.forwards.is_empty() {
            return Err(Refusal::usage("--forward needs a network; leave `--network none` out"));
        }
        Ok(())
    }

    /// What is done with the console.
    pub(super) fn console(&self) -> Console {
        self.console.unwrap_or(if self.output == Output::Json { Console::None } else { Console::Stdio })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forwards_are_read() {
        let f = |text: &str| text.parse::<Forward>();
        let local = std::net::Ipv4Addr::LOCALHOST;
        assert_eq!(f("2222:22"), Ok(Forward { protocol: Protocol::Tcp, address: local, host: 2222, guest: 22 }));
        assert_eq!(f("udp:5353:53"), Ok(Forward { protocol: Protocol::Udp, address: local, host: 5353, guest: 53 }));
        assert_eq!(f("tcp:0.0.0.0:80:8080").map(|f| f.address.is_unspecified()), Ok(true));
        for text in ["22", "a:22", "22:0", "70000:1", "sctp:1:2:3:4", "x.y:1:2", ""] {
            assert!(f(text).is_err(), "{text}");
        }
    }
}
