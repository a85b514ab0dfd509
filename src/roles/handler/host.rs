//! What the node can do for its guests: asked of libvirt once, by a container that ends before the handler begins, so that
//! the handler itself needs no libvirt and its memory.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use anyhow::Context as _;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::domain::facts::Architecture;
use kubevirt_rs::node::capabilities::{self, Documents};
use kubevirt_rs::node::labels;

use crate::linux::kvm;

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
    let foreign = FOREIGN.iter().filter(|(of, name, _)| *of != architecture && folder.join(foreign_file(name)).exists());
    Ok(Documents {
        domain: fs::read_to_string(folder.join(DOMAIN))?,
        features: fs::read_to_string(folder.join(FEATURES)).ok(),
        host: fs::read_to_string(folder.join(HOST))?,
        foreign: foreign.map(|(of, ..)| *of).collect(),
    })
}

/// Whether the kernel lets real-time work run without limit.
fn is_realtime() -> bool {
    fs::read_to_string("/proc/sys/kernel/sched_rt_runtime_us").is_ok_and(|limit| limit.trim() == "-1")
}

/// Asks libvirt, writes what it says, and ends.
pub(super) fn look(_folder: &Path) -> anyhow::Result<()> {
    anyhow::bail!("todo")
}
