//! The facts of this pod, for the converter.

use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::domain::Architecture;
use kubevirt_rs::domain::facts::{Attachment, Facts, Networks, Tap, VolumeFacts, Volumes};
use kubevirt_rs::guest::order::Order;
use nix::sched::{CpuSet, sched_getaffinity};
use nix::unistd::Pid;

use crate::linux::kvm;
use crate::roles::launcher::args::PodArgs;
use crate::roles::launcher::host;

/// The first libvirt that has room for memory that is plugged in later without slots for it.
const MEMORY_HOTPLUG: u32 = 10_000_000;

/// All facts but those about volumes, which are looked at in turn.
pub(super) fn look(args: &PodArgs, order: &Order, libvirt: u32) -> Facts {
    let facts = Facts {
        host_architecture: Some(if cfg!(target_arch = "aarch64") { Architecture::Arm64 } else { Architecture::Amd64 }),
        hypervisor_device: match kvm::usable() {
            Ok(()) => true,
            Err(why) => {
                tracing::info!("The guest is emulated if it may be: {why}");
                false
            }
        },
        emulation_allowed: args.allow_emulation,
        foreign_emulators: if args.allow_cross_arch_emulation { foreign_emulators() } else { Default::default() },
        cpu_set: cpus(),
        firmware: host::firmware(),
        memory_hotplug: libvirt >= MEMORY_HOTPLUG,
        networks: networks(order),
        volumes: volumes(order),
        ..Facts::default()
    };
    facts.of_cluster(&ClusterConfig::new(&order.configuration), &order.vmi)
}

fn foreign_emulators() -> std::collections::BTreeMap<Architecture, String> {
    const PROGRAMS: [(Architecture, &str); 3] = [
        (Architecture::Amd64, "qemu-system-x86_64"),
        (Architecture::Arm64, "qemu-system-aarch64"),
        (Architecture::S390x, "qemu-system-s390x"),
    ];
    let found = |(architecture, name): (Architecture, &str)| Some((architecture, host::program(name)?.to_str()?.to_owned()));
    PROGRAMS.into_iter().filter_map(found).collect()
}

/// The CPUs that the pod may use.
fn cpus() -> Vec<u32> {
    let Ok(set) = sched_getaffinity(Pid::from_raw(0)) else { return Vec::new() };
    (0..CpuSet::count()).filter(|cpu| set.is_set(*cpu).unwrap_or(false)).filter_map(|cpu| u32::try_from(cpu).ok()).collect()
}

fn networks(order: &Order) -> Networks {
    let tap = |(name, plug): (&String, &kubevirt_rs::guest::order::Plug)| {
        let device = Some(plug.tap.clone()).filter(|tap| !tap.is_empty());
        (name.clone(), Attachment::Tap(Tap { device, mtu: plug.mtu, mac: plug.mac.clone() }))
    };
    Networks { interfaces: order.interfaces.iter().map(tap).collect(), ..Networks::default() }
}

fn volumes(order: &Order) -> Volumes {
    let known = |(name, volume): (&String, &kubevirt_rs::guest::order::Volume)| {
        (name.clone(), VolumeFacts { preallocated: volume.preallocated, ..VolumeFacts::default() })
    };
    Volumes { by_name: order.volumes.iter().map(known).collect(), ..Volumes::default() }
}
