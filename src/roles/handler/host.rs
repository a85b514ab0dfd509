//! What the node can do for its guests: asked of libvirt once, by a container that ends before the handler begins, so that
//! the handler itself needs no libvirt and its memory.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use anyhow::Context as _;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::domain::facts::Architecture;
use kubevirt_rs::node::capabilities::{self, Documents};
use kubevirt_rs::node::labels;

use crate::libvirt::{Connection, Daemon, Kind, Layout};
use crate::linux::children::Children;
use crate::linux::kvm;
use crate::linux::scratch::Scratch;

/// The files, by the names that KubeVirt gives them.
const DOMAIN: &str = "virsh_domcapabilities.xml";
const FEATURES: &str = "supported_features.xml";
const HOST: &str = "capabilities.xml";
/// Those of other architectures: libvirt's name, and the machine type that is asked for.
const FOREIGN: [(Architecture, &str, &str); 2] = [(Architecture::Amd64, "x86_64", "q35"), (Architecture::Arm64, "aarch64", "virt")];

/// The node.
pub(super) struct Host {
    architecture: Architecture,
    found: Option<labels::Host>,
}

impl Host {
    /// The labels; `None` if nothing is known, which takes none away.
    pub(super) fn labels(&self, config: &ClusterConfig) -> Option<BTreeMap<String, String>> {
        self.found.as_ref().map(|host| labels::labels(host, self.architecture, config))
    }

    /// Whether the model of the CPU is known.
    pub(super) fn has_model(&self) -> bool {
        self.found.as_ref().is_some_and(|host| host.capabilities.host_model.is_some())
    }
}

fn architecture() -> Architecture {
    match std::env::consts::ARCH {
        "aarch64" => Architecture::Arm64,
        "s390x" => Architecture::S390x,
        _ => Architecture::Amd64,
    }
}

fn foreign_file(name: &str) -> String {
    format!("virsh_domcapabilities_{name}.xml")
}

/// Reads what was written.
pub(super) fn read(folder: &Path) -> Host {
    let architecture = architecture();
    let found = match read_documents(folder, architecture).map(|documents| capabilities::read(&documents, architecture)) {
        Ok(Ok(capabilities)) => Some(labels::Host { capabilities, hyperv: kvm::hyperv(), realtime: is_realtime() }),
        Ok(Err(error)) => {
            tracing::error!(folder = %folder.display(), "no labels of CPUs and machines are set: {error}");
            None
        }
        Err(error) => {
            tracing::error!(folder = %folder.display(), "no labels of CPUs and machines are set, what libvirt says is not there: {error}");
            None
        }
    };
    Host { architecture, found }
}

fn read_documents(folder: &Path, architecture: Architecture) -> io::Result<Documents> {
    let foreign = FOREIGN.iter().filter(|(of, name, _)| *of != architecture && holds_something(&folder.join(foreign_file(name))));
    Ok(Documents {
        domain: fs::read_to_string(folder.join(DOMAIN))?,
        features: fs::read_to_string(folder.join(FEATURES)).ok().filter(|text| !text.is_empty()),
        host: fs::read_to_string(folder.join(HOST))?,
        foreign: foreign.map(|(of, ..)| *of).collect(),
    })
}

fn holds_something(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|metadata| metadata.len() > 0)
}

/// Whether the kernel lets real-time work run without limit.
fn is_realtime() -> bool {
    fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").is_ok_and(|limit| limit.trim() == "-1")
}

/// Asks libvirt, writes what it says, and ends.
pub(super) fn look(folder: &Path) -> anyhow::Result<()> {
    let architecture = architecture();
    fs::create_dir_all(folder).with_context(|| format!("make {}", folder.display()))?;
    // the files are made by root; what is written is found out by a user, since libvirt's session is no root's
    let make = |name: &str| File::create(folder.join(name)).with_context(|| format!("make {}", folder.join(name).display()));
    let (mut domain, mut features, mut host) = (make(DOMAIN)?, make(FEATURES)?, make(HOST)?);
    let foreign: Vec<_> = FOREIGN.iter().filter(|(of, ..)| *of != architecture).collect();
    let mut foreign_files = foreign.iter().map(|(_, name, _)| make(&foreign_file(name))).collect::<Result<Vec<_>, _>>()?;
    become_launcher_user()?;
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().context("start the runtime")?;
    let found = runtime.block_on(ask(architecture, &foreign));
    runtime.shutdown_background();
    let found = found?;
    write(&mut domain, &found.domain)?;
    write(&mut features, found.features.as_deref().unwrap_or_default())?;
    write(&mut host, &found.host)?;
    for (file, text) in foreign_files.iter_mut().zip(&found.foreign) {
        write(file, text)?;
    }
    tracing::info!(folder = %folder.display(), "what libvirt says about the node is written");
    Ok(())
}

fn write(file: &mut File, text: &str) -> anyhow::Result<()> {
    io::Write::write_all(file, text.as_bytes()).context("write what libvirt says")
}

/// From root to the user that launchers are; who is no root stays.
fn become_launcher_user() -> anyhow::Result<()> {
    const USER: u32 = 107;
    if !nix::unistd::geteuid().is_root() {
        return Ok(());
    }
    // this container's own device node
    let everyone = std::os::unix::fs::PermissionsExt::from_mode(0o666);
    match fs::set_permissions("/dev/kvm", everyone) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => tracing::warn!(%error, "let a user open /dev/kvm"),
        _ => {}
    }
    nix::unistd::setgroups(&[]).context("give up the groups of root")?;
    nix::unistd::setgid(nix::unistd::Gid::from_raw(USER)).context("become the group of launchers")?;
    nix::unistd::setuid(nix::unistd::Uid::from_raw(USER)).context("become the user of launchers")
}

/// What libvirt said, as text.
struct Said {
    domain: String,
    features: Option<String>,
    host: String,
    /// For each other architecture; empty where its guests cannot be emulated.
    foreign: Vec<String>,
}

async fn ask(architecture: Architecture, foreign: &[&(Architecture, &'static str, &'static str)]) -> anyhow::Result<Said> {
    let hypervisor = if kvm::usable().is_ok() { "kvm" } else { "qemu" };
    let (name, machine) = match architecture {
        Architecture::Amd64 => ("x86_64", "q35"),
        Architecture::Arm64 => ("aarch64", "virt"),
        Architecture::S390x => ("s390x", "s390-ccw-virtio"),
    };
    let program = Daemon::find().context("find libvirt's daemon; is it installed?")?;
    let scratch = Scratch::new(&std::env::temp_dir()).context("make a folder for libvirt")?;
    let children = Children::reap().context("look after libvirt's daemon")?;
    let daemon = Daemon::start(&program, Layout::under(scratch.path()), &children).await?;
    let connection = Connection::open(&daemon.socket).await?;
    let kind = Kind { architecture: name, machine, hypervisor };
    let domain = connection.domain_capabilities(kind).await?;
    let features = match capabilities::host_cpu(&domain).filter(|_| architecture != Architecture::Arm64) {
        Some(cpu) => Some(connection.baseline(kind, cpu).await?),
        None => None,
    };
    let mut emulated = Vec::new();
    for (_, architecture, machine) in foreign {
        let kind = Kind { architecture, machine, hypervisor: "qemu" };
        // without the emulator there is an error, which is the answer
        emulated.push(connection.domain_capabilities(kind).await.unwrap_or_default());
    }
    let host = connection.capabilities().await?;
    let _ = scratch.remove();
    Ok(Said { domain, features, host, foreign: emulated })
}
