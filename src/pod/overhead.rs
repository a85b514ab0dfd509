//! The memory that a launcher pod needs beside its guest's own, term by term.
//!
//! The sum is an estimate: too small and the kernel kills the guest, too large and nodes stay empty. The terms are
//! those of KubeVirt, so that a VM fits the same nodes and quotas as there, unless an annotation of the KubeVirt object
//! asks for those that were measured of this program's pods. `explain` shows how a sum comes about.

use std::borrow::Cow;

use crate::api::Quantity;
use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, MemoryOverhead};

use super::traits;

const MI: i128 = 1 << 20;

/// One term of the sum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// What the memory is for.
    pub what: Cow<'static, str>,
    /// How much, in bytes.
    pub bytes: i128,
}

struct Term {
    what: &'static str,
    bytes: fn(&VirtualMachineInstance, &ClusterConfig) -> i128,
}

/// A term that is there or not.
const fn when(there: bool, mebibytes: i128) -> i128 {
    if there { mebibytes * MI } else { 0 }
}

fn has_screen(vmi: &VirtualMachineInstance) -> bool {
    vmi.spec.domain.devices.autoattach_graphics_device != Some(false)
}

/// The processes of every pod, as KubeVirt's are counted.
#[rustfmt::skip]
const KUBEVIRT: [Term; 9] = [
    Term { what: "page tables", bytes: |vmi, _| page_tables(traits::requested_memory(vmi).value()) },
    Term { what: "launcher monitor", bytes: |_, _| 25 * MI },
    Term { what: "launcher", bytes: |_, _| 100 * MI },
    Term { what: "log daemon", bytes: |_, _| 25 * MI },
    Term { what: "libvirt daemon", bytes: |_, _| 40 * MI },
    Term { what: "QEMU", bytes: |_, _| 30 * MI },
    Term { what: "vCPUs, 8 MiB each", bytes: |vmi, _| vcpus(vmi) * 8 * MI },
    Term { what: "IO thread", bytes: |_, _| 8 * MI },
    Term { what: "video memory", bytes: |vmi, _| when(has_screen(vmi), 32) },
];

/// The same as they were measured, plus a quarter and rounded up; what cannot be measured without KVM has a term of its
/// own. docs/memory.md has the table of what was seen, benches/overhead.py makes it.
#[rustfmt::skip]
const MEASURED: [Term; 8] = [
    // KVM has tables of its own for the guest's memory
    Term { what: "page tables, QEMU's and KVM's", bytes: |vmi, _| 2 * page_tables(guest_memory(vmi)) },
    Term { what: "launcher, measured", bytes: |_, _| 20 * MI },
    Term { what: "libvirt daemon, measured", bytes: |_, _| 40 * MI },
    Term { what: "QEMU with its IO threads, measured", bytes: |_, _| 88 * MI },
    Term { what: "vCPUs, 4 MiB each", bytes: |vmi, _| vcpus(vmi) * 4 * MI },
    // a screen's memory is 16 MiB, of which a guest in text mode uses little
    Term { what: "video memory", bytes: |vmi, _| when(has_screen(vmi), 20) },
    Term { what: "the kernel's own, sockets and buffers", bytes: |_, _| 16 * MI },
    Term { what: "translated code of an emulated guest", bytes: |_, config| when(config.allow_emulation(), 128) },
];

/// What only some guests need.
#[rustfmt::skip]
const WISHES: [Term; 8] = [
    // QEMU's machine for it holds two flash chips of 64 MiB
    Term { what: "arm64 firmware flash", bytes: |vmi, config| when(architecture(vmi, config) == "arm64", 128) },
    // all memory is locked, the devices' own windows included
    Term { what: "VFIO devices", bytes: |vmi, _| when(traits::has_vfio(vmi), 1024) },
    Term { what: "downward metrics disk", bytes: |vmi, _| when(vmi.spec.volumes.iter().any(|v| v.downward_metrics.is_some()), 1) },
    Term { what: "exec probes", bytes: |vmi, _| probes(vmi) },
    Term { what: "AMD SEV", bytes: |vmi, _| when(traits::is_sev(vmi), 256) },
    Term { what: "TPM emulator", bytes: |vmi, _| when(traits::has_tpm(vmi), 53) },
    // such a pod is killed at its limit, it cannot borrow
    Term { what: "margin of a pod with resources of its own", bytes: |vmi, _| when(traits::exclusive(vmi), 100) },
    Term { what: "reserved by spec.domain.memory.reservedOverhead", bytes: |vmi, _| reserved(vmi) },
];

/// KubeVirt counts in thousands in two places, rounded up.
fn thousands(bytes: i128) -> i128 {
    bytes / 1000 + i128::from(bytes % 1000 > 0)
}

/// One byte for each 512 of the memory; as KubeVirt does it, from the memory in thousands.
fn page_tables(memory: i128) -> i128 {
    thousands(memory).saturating_mul(1000) / 512
}

/// All that the guest may use, whether or not it is requested.
fn guest_memory(vmi: &VirtualMachineInstance) -> i128 {
    let guest = vmi.spec.domain.memory.as_ref().and_then(|memory| memory.guest.as_ref()).map_or(0, Quantity::value);
    guest.max(traits::requested_memory(vmi).value())
}

fn architecture<'a>(vmi: &'a VirtualMachineInstance, config: &'a ClusterConfig) -> &'a str {
    match vmi.spec.architecture.as_str() {
        "" => config.default_architecture(),
        own => own,
    }
}

fn vcpus(vmi: &VirtualMachineInstance) -> i128 {
    let domain = &vmi.spec.domain;
    let count = match &domain.cpu {
        Some(cpu) => traits::vcpus(cpu).into(),
        None => domain.resources.limits.get("cpu").or_else(|| domain.resources.requests.get("cpu")).map_or(1, Quantity::value),
    };
    count.max(1)
}

fn probes(vmi: &VirtualMachineInstance) -> i128 {
    let count = [&vmi.spec.liveness_probe, &vmi.spec.readiness_probe].into_iter().flatten().filter(|p| p.exec.is_some()).count();
    // 10 MiB for each, and 100 MiB once for the program that carries them out
    if count == 0 { 0 } else { (100 + 10 * count as i128) * MI }
}

fn reserved(vmi: &VirtualMachineInstance) -> i128 {
    let reserved = vmi.spec.domain.memory.as_ref().and_then(|m| m.reserved_overhead.as_ref()?.added_overhead.as_ref());
    reserved.map_or(0, Quantity::value)
}

/// The terms that are not nothing, in the order in which they are added.
pub fn explain(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Vec<Line> {
    let processes = match config.memory_overhead() {
        MemoryOverhead::KubeVirt => &KUBEVIRT[..],
        MemoryOverhead::Measured => &MEASURED[..],
    };
    let mut lines: Vec<Line> = Vec::with_capacity(processes.len() + WISHES.len());
    let terms = processes.iter().chain(&WISHES);
    lines.extend(terms.map(|t| Line { what: Cow::Borrowed(t.what), bytes: (t.bytes)(vmi, config) }).filter(|l| l.bytes != 0));
    lines.extend(factor(config, sum(&lines)));
    lines.extend(networks(vmi, config));
    lines
}

/// The sum of all terms.
pub fn total(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Quantity {
    Quantity::from_units(sum(&explain(vmi, config)))
}

fn sum(lines: &[Line]) -> i128 {
    lines.iter().fold(0, |sum: i128, line| sum.saturating_add(line.bytes)).clamp(0, i64::MAX.into())
}

/// What the administrator's factor adds to what is there so far.
fn factor(config: &ClusterConfig, bytes: i128) -> Option<Line> {
    let text = config.spec().additional_guest_memory_overhead_ratio.as_deref()?;
    let ratio: f64 = text.parse().ok()?;
    let more = (thousands(bytes) as f64 * (ratio - 1.0)) as i128;
    Some(Line { what: Cow::Owned(format!("additionalGuestMemoryOverheadRatio {text}")), bytes: more.saturating_mul(1000) })
}

fn networks<'a>(vmi: &'a VirtualMachineInstance, config: &'a ClusterConfig) -> impl Iterator<Item = Line> + 'a {
    let interfaces = &vmi.spec.domain.devices.interfaces;
    // passt keeps a table of all ports that it forwards, and that is every port
    let passt = interfaces.iter().any(|i| i.passt_binding.is_some()).then_some(Line { what: Cow::Borrowed("passt"), bytes: 250 * MI });
    let mut names: Vec<&str> = Vec::new();
    for name in interfaces.iter().filter_map(|i| i.binding.as_ref()).map(|b| b.name.as_str()) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    let plugins = names.into_iter().filter_map(|name| {
        let memory = config.network_bindings()?.get(name)?.compute_resource_overhead.as_ref()?.requests.get("memory")?;
        Some(Line { what: Cow::Owned(format!("network binding {name}")), bytes: memory.value() })
    });
    passt.into_iter().chain(plugins)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    fn overhead(spec: &str) -> i128 {
        total(&vmi(spec), &config("{}")).value()
    }

    #[test]
    fn each_wish_of_a_guest_has_its_price() {
        let base = overhead("{domain: {devices: {}}}");
        assert_eq!(base, 268 * MI, "220 for the processes, 8 for the vCPU, 8 for the IO thread, 32 for the screen");
        for (spec, mebibytes) in [
            ("{domain: {cpu: {cores: 2, sockets: 2}, devices: {}}}", 24),
            ("{domain: {resources: {limits: {cpu: '3'}}, devices: {}}}", 16),
            ("{domain: {devices: {autoattachGraphicsDevice: false}}}", -32),
            ("{architecture: arm64, domain: {devices: {}}}", 128),
            ("{domain: {devices: {gpus: [{name: g, deviceName: a/b}]}}}", 1024),
            ("{domain: {devices: {interfaces: [{name: n, sriov: {}}]}}}", 1024),
            ("{domain: {devices: {interfaces: [{name: n, passtBinding: {}}]}}}", 250),
            ("{domain: {devices: {}}, volumes: [{name: m, downwardMetrics: {}}]}", 1),
            ("{domain: {devices: {}}, livenessProbe: {exec: {command: [a]}}}", 110),
            ("{domain: {devices: {}}, livenessProbe: {exec: {command: [a]}}, readinessProbe: {exec: {command: [a]}}}", 120),
            ("{domain: {devices: {}}, livenessProbe: {guestAgentPing: {}}}", 0),
            ("{domain: {devices: {}, launchSecurity: {snp: {}}}}", 256),
            ("{domain: {devices: {tpm: {}}}}", 53),
            ("{domain: {devices: {tpm: {enabled: false}}}}", 0),
            ("{domain: {cpu: {dedicatedCpuPlacement: true}, devices: {}}}", 100),
            ("{domain: {resources: {limits: {memory: 1Gi, cpu: 1}, requests: {cpu: 1}}, devices: {}}}", 100),
            ("{domain: {memory: {reservedOverhead: {addedOverhead: 7Mi}}, devices: {}}}", 7),
        ] {
            assert_eq!(overhead(spec) - base, mebibytes * MI, "{spec}");
        }
    }

    /// What benches/overhead.py saw at most, with disks, network and screen busy: vCPUs, the pod's processes and their
    /// page tables without the guest's memory, and the code that QEMU translated; in MiB.
    const SEEN: [(i128, f64, f64); 4] = [(1, 109.0, 90.0), (2, 112.2, 92.0), (4, 115.4, 96.0), (8, 121.7, 96.1)];

    #[test]
    fn the_measured_profile_is_at_least_what_was_seen_and_a_quarter_and_less_than_kubevirts() {
        let measured = |json: &str| {
            let annotations = [(crate::api::names::MEMORY_OVERHEAD_PROFILE_ANNOTATION.to_owned(), "measured".to_owned())];
            config(json).with_annotations(&annotations.into()).unwrap()
        };
        let (kvm, emulated) = (measured("{}"), measured("{developerConfiguration: {useEmulation: true}}"));
        for (cores, processes, translated) in SEEN {
            let vmi = vmi(&format!("{{domain: {{cpu: {{cores: {cores}}}, devices: {{}}}}}}"));
            // the screen's memory and the kernel's own come on top of what was seen
            let of = |config: &ClusterConfig| (total(&vmi, config).value() / MI) as f64 - 20.0 - 16.0;
            assert!(of(&kvm) >= processes * 1.25, "{cores}: {}", of(&kvm));
            assert!(of(&emulated) >= (processes + translated) * 1.25, "{cores}: {}", of(&emulated));
            assert!(total(&vmi, &kvm).value() < total(&vmi, &config("{}")).value());
        }
        // what was not measured is KubeVirt's
        let wishes = vmi("{domain: {devices: {tpm: {}, gpus: [{name: g, deviceName: a/b}]}}}");
        let plain = vmi("{domain: {devices: {}}}");
        assert_eq!(total(&wishes, &kvm).value() - total(&plain, &kvm).value(), (53 + 1024) * MI);
    }

    #[test]
    fn page_tables_grow_with_the_request_and_the_factor_stretches_all_of_it() {
        let spec = "{domain: {resources: {requests: {memory: 8Mi}}, devices: {}}}";
        assert_eq!(overhead(spec), 281_034_752);
        let stretched = total(&vmi(spec), &config("{additionalGuestMemoryOverheadRatio: '1.5'}")).value();
        assert_eq!(stretched, 281_034_752 + 140_517_000);
    }

    #[test]
    fn a_network_binding_is_counted_once_however_often_it_is_used() {
        let config = config("{network: {binding: {fast: {computeResourceOverhead: {requests: {memory: 10Mi}}}}}}");
        let vmi = vmi("{domain: {devices: {interfaces: [{name: a, binding: {name: fast}}, {name: b, binding: {name: fast}}]}}}");
        let lines = explain(&vmi, &config);
        assert_eq!(lines.last(), Some(&Line { what: "network binding fast".into(), bytes: 10 * MI }));
        assert_eq!(sum(&lines), (268 + 10) * MI);
    }
}
