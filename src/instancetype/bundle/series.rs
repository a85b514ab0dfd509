//! Instance types: series of sizes.

use std::collections::BTreeMap;

use crate::api::instancetype::{CpuInstancetype, MemoryInstancetype, VirtualMachineClusterInstancetype, VirtualMachineInstancetypeSpec};
use crate::api::v1::{Hugepages, IoThreadsPolicy, Numa, NumaGuestMappingPassthrough, Realtime};
use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Memory::{self, Gi, Mi};
use super::{VENDOR, VERSION};

/// The name of a size, its vCPUs and its memory.
type Size = (&'static str, u32, Memory);

/// What every instance type of a series has in common.
struct Series {
    name: &'static str,
    class: &'static str,
    title: &'static str,
    icon: &'static str,
    description: &'static str,
    sizes: &'static [Size],
    traits: &'static [Trait],
}

/// A property of a series.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Trait {
    /// Physical CPUs of its own, and another one for the emulator.
    Dedicated,
    /// The guest sees which CPUs share memory.
    Numa,
    Realtime,
    /// As many sockets as there are vCPUs, none to be plugged in later: hosts rarely have that many CPUs to reserve.
    NoMoreSockets,
    /// A thread for every disk.
    IoThreads,
    /// Huge pages of that size.
    Pages(&'static str),
    /// Every size a second time with huge pages of 1Gi.
    AlsoGigapages,
    /// The pod asks for that much less memory than the guest has.
    Overcommit(i64),
    /// No interrupts and no time slices on its CPUs, by annotations that CRI-O follows.
    Undisturbed,
}

/// One vCPU and 4Gi, then twice as much of both a step.
const BALANCED: &[Size] = &[
    ("nano", 1, Mi(512)),
    ("micro", 1, Gi(1)),
    ("small", 1, Gi(2)),
    ("medium", 1, Gi(4)),
    ("2xmedium", 2, Gi(4)),
    ("large", 2, Gi(8)),
    ("xlarge", 4, Gi(16)),
    ("2xlarge", 8, Gi(32)),
    ("4xlarge", 16, Gi(64)),
    ("8xlarge", 32, Gi(128)),
];
const OVERCOMMITTED: &[Size] = &[
    ("nano", 1, Mi(512)),
    ("micro", 1, Gi(1)),
    ("small", 1, Gi(2)),
    ("medium", 1, Gi(4)),
    ("large", 2, Gi(8)),
    ("xlarge", 4, Gi(16)),
    ("2xlarge", 8, Gi(32)),
    ("4xlarge", 16, Gi(64)),
    ("8xlarge", 32, Gi(128)),
];
const REALTIME: &[Size] = &[
    ("micro", 1, Gi(1)),
    ("small", 1, Gi(2)),
    ("medium", 1, Gi(4)),
    ("large", 2, Gi(8)),
    ("xlarge", 4, Gi(16)),
    ("2xlarge", 8, Gi(32)),
    ("4xlarge", 16, Gi(64)),
    ("8xlarge", 32, Gi(128)),
];
const COMPUTE: &[Size] = &[
    ("medium", 1, Gi(2)),
    ("large", 2, Gi(4)),
    ("xlarge", 4, Gi(8)),
    ("2xlarge", 8, Gi(16)),
    ("4xlarge", 16, Gi(32)),
    ("8xlarge", 32, Gi(64)),
];
const MEMORY: &[Size] =
    &[("large", 2, Gi(16)), ("xlarge", 4, Gi(32)), ("2xlarge", 8, Gi(64)), ("4xlarge", 16, Gi(128)), ("8xlarge", 32, Gi(256))];
const NETWORK: &[Size] = &[
    ("medium", 4, Gi(4)),
    ("large", 4, Gi(8)),
    ("xlarge", 8, Gi(16)),
    ("2xlarge", 16, Gi(32)),
    ("4xlarge", 32, Gi(64)),
    ("8xlarge", 64, Gi(128)),
];

const SERIES: &[Series] = &[
    Series {
        name: "cx1",
        class: "compute.exclusive",
        title: "Compute Exclusive",
        icon: "pficon-registry",
        description: "CX: for work that computes all the time. The guest has physical CPUs of its own and sees how they share memory; \
                      disks are served by further CPUs. No CPU can be plugged in. Nodes need the CPU manager and huge pages.",
        sizes: COMPUTE,
        traits: &[Trait::Dedicated, Trait::Numa, Trait::NoMoreSockets, Trait::IoThreads, Trait::Pages("2Mi"), Trait::AlsoGigapages],
    },
    Series {
        name: "d1",
        class: "dedicated.vcpu",
        title: "Dedicated vCPU",
        icon: "pficon-server-group",
        description: "D: for work that must always run equally fast. The guest has physical CPUs of its own, which it shares with nobody.",
        sizes: BALANCED,
        traits: &[Trait::Dedicated, Trait::IoThreads],
    },
    Series {
        name: "m1",
        class: "memory.intensive",
        title: "Memory Intensive",
        icon: "fa-memory",
        description: "M: for work that needs much memory, in huge pages.",
        sizes: MEMORY,
        traits: &[Trait::Pages("2Mi"), Trait::AlsoGigapages],
    },
    Series {
        name: "n1",
        class: "network",
        title: "Network",
        icon: "pficon-network",
        description: "N: for network functions that poll their devices (DPDK). Nodes must be prepared for that and carry the label \
                      node-role.kubevirt.io/worker-dpdk.",
        sizes: NETWORK,
        traits: &[Trait::Dedicated, Trait::Pages("1Gi"), Trait::Undisturbed],
    },
    Series {
        name: "o1",
        class: "overcommitted",
        title: "Overcommitted",
        icon: "pficon-virtual-machine",
        description: "O: like U, but only half of the memory is reserved on the node. For guests that rarely use all of it.",
        sizes: OVERCOMMITTED,
        traits: &[Trait::Overcommit(50)],
    },
    Series {
        name: "rt1",
        class: "realtime",
        title: "Realtime",
        icon: "pficon-server-group",
        description: "RT: for work that must answer in time. Nodes need a realtime kernel, the CPU manager and huge pages.",
        sizes: REALTIME,
        traits: &[Trait::Dedicated, Trait::Numa, Trait::Realtime, Trait::Pages("1Gi"), Trait::Undisturbed],
    },
    Series {
        name: "u1",
        class: "general.purpose",
        title: "General Purpose",
        icon: "pficon-server-group",
        description: "U: for everything else. The guest shares the physical CPUs with others, a slice of time each.",
        sizes: BALANCED,
        traits: &[],
    },
];

/// Every instance type of every series.
pub(super) fn instancetypes() -> impl Iterator<Item = VirtualMachineClusterInstancetype> {
    SERIES.iter().flat_map(|series| {
        let gigapages = series.traits.contains(&Trait::AlsoGigapages).then_some("1Gi");
        series
            .sizes
            .iter()
            .flat_map(move |size| [None].into_iter().chain(gigapages.map(Some)).map(|pages| series.instancetype(size, pages)))
    })
}

impl Series {
    fn instancetype(&self, &(size, cpus, memory): &Size, pages: Option<&str>) -> VirtualMachineClusterInstancetype {
        let size = if pages.is_some() { format!("{size}1gi") } else { size.to_owned() };
        let mut labels = Labels::new();
        labels.add("class", self.class);
        labels.add("cpu", cpus.to_string());
        labels.add("icon-pf", self.icon);
        labels.add("memory", memory.to_string());
        labels.add("size", size.as_str());
        labels.add("version", "1");
        let mut spec = VirtualMachineInstancetypeSpec {
            cpu: CpuInstancetype { guest: cpus, ..CpuInstancetype::default() },
            memory: MemoryInstancetype { guest: memory.quantity(), ..MemoryInstancetype::default() },
            ..VirtualMachineInstancetypeSpec::default()
        };
        for property in self.traits {
            property.write(&mut spec, &mut labels, pages);
        }
        VirtualMachineClusterInstancetype {
            api_version: VirtualMachineClusterInstancetype::API_VERSION.to_owned(),
            kind: VirtualMachineClusterInstancetype::KIND.to_owned(),
            metadata: ObjectMeta {
                name: Some(format!("{}.{size}", self.name)),
                labels: Some(labels.0),
                annotations: Some(BTreeMap::from([
                    ("instancetype.kubevirt.io/description".to_owned(), self.description.to_owned()),
                    ("instancetype.kubevirt.io/displayName".to_owned(), self.title.to_owned()),
                ])),
                ..ObjectMeta::default()
            },
            spec,
        }
    }
}

impl Trait {
    fn write(self, spec: &mut VirtualMachineInstancetypeSpec, labels: &mut Labels, pages: Option<&str>) {
        match self {
            Self::Dedicated => {
                spec.cpu.dedicated_cpu_placement = Some(true);
                spec.cpu.isolate_emulator_thread = Some(true);
                labels.add("dedicatedCPUPlacement", "true");
                labels.add("isolateEmulatorThread", "true");
            }
            Self::Numa => {
                spec.cpu.numa = Some(Numa { guest_mapping_passthrough: Some(NumaGuestMappingPassthrough {}) });
                labels.add("numa", "true");
            }
            Self::Realtime => {
                spec.cpu.realtime = Some(Realtime::default());
                labels.add("realtime", "true");
            }
            Self::NoMoreSockets => spec.cpu.max_sockets = Some(spec.cpu.guest),
            Self::IoThreads => spec.io_threads_policy = Some(IoThreadsPolicy::Auto),
            Self::Pages(size) => {
                let size = pages.unwrap_or(size);
                spec.memory.hugepages = Some(Hugepages { page_size: size.to_owned() });
                labels.add("hugepages", size);
            }
            Self::AlsoGigapages => {}
            Self::Overcommit(percent) => spec.memory.overcommit_percent = percent,
            Self::Undisturbed => {
                let names = ["cpu-load-balancing.crio.io", "cpu-quota.crio.io", "irq-load-balancing.crio.io"];
                spec.annotations = names.map(|name| (name.to_owned(), "disable".to_owned())).into();
            }
        }
    }
}

/// Labels of the group.
pub(super) struct Labels(pub(super) BTreeMap<String, String>);

impl Labels {
    /// The labels that all objects of the bundle have.
    pub(super) fn new() -> Self {
        let mut labels = Self(BTreeMap::new());
        labels.add("vendor", VENDOR);
        labels.add("common-instancetypes-version", VERSION);
        labels
    }

    pub(super) fn add(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(format!("instancetype.kubevirt.io/{name}"), value.into());
    }
}
