//! Preferences for Linux and for guests that are known by no name.

use std::collections::BTreeMap;

use crate::api::instancetype::{
    CpuPreferenceRequirement, CpuPreferences, DevicePreferences, FeaturePreferences, FirmwarePreferences, MemoryPreferenceRequirement,
    PreferenceRequirements, PreferredCpuTopology, SpreadAcross, SpreadOptions, VirtualMachineClusterPreference,
    VirtualMachinePreferenceSpec,
};
use crate::api::v1::{DiskBus, Efi, FeatureState, InputBus, InputType, Rng};
use k8s_openapi::Resource;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::Memory::{self, Gi, GiAndHalf, Mi};
use super::VENDOR;
use super::series::Labels;

/// A family of guest systems.
pub(super) struct Family {
    pub(super) os: &'static str,
    pub(super) icon: &'static str,
}

/// One preference.
pub(super) struct Guest {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) tags: &'static str,
    /// vCPUs and memory that it does not run without.
    pub(super) needs: Option<(u32, Memory)>,
    pub(super) arch: Option<&'static str>,
}

/// What a Linux guest likes beyond what all of them do.
#[derive(Clone, Copy)]
enum Taste {
    /// A tablet, so that the pointer follows the hand.
    Desktop,
    /// A thread for every disk.
    IoThread,
    /// Many queues, and vCPUs over sockets, cores and threads with that ratio.
    Dpdk(Option<u32>),
    /// Nothing that interrupts: neither graphics nor a balloon.
    Quiet,
    Efi,
    SecureBoot,
    /// Virtio devices as they were before version 1.0.
    Transitional,
}
use Taste::{Desktop, Dpdk, Efi as PlainEfi, IoThread, Quiet, SecureBoot, Transitional};

const AMD64: Option<&str> = Some("amd64");
const ARM64: Option<&str> = Some("arm64");
const S390X: Option<&str> = Some("s390x");

const fn guest(
    name: &'static str,
    title: &'static str,
    tags: &'static str,
    needs: Option<(u32, Memory)>,
    arch: Option<&'static str>,
) -> Guest {
    Guest { name, title, tags, needs, arch }
}

const fn linux(icon: &'static str) -> Family {
    Family { os: "linux", icon }
}

/// A guest, and what it likes beyond what all of them do.
type Linux = (Guest, &'static [Taste]);

/// Every system of every family. The tags are what a console filters by.
#[rustfmt::skip]
const LINUX: &[(Family, &[Linux])] = &[
    (linux("alpine"), &[(guest("alpine", "Alpine", "alpine", Some((1, Mi(512))), None), &[])]),
    (linux("centos"), &[
        (guest("centos.stream9", "CentOS Stream 9", "linux,centos-stream", Some((1, GiAndHalf)), None), &[IoThread]),
        (guest("centos.stream9.desktop", "CentOS Stream 9 Desktop", "linux,centos-stream", Some((1, GiAndHalf)), None), &[IoThread, Desktop]),
        (guest("centos.stream9.dpdk", "CentOS Stream 9 DPDK", "linux,centos-stream,dpdk", Some((8, GiAndHalf)), None), &[IoThread, Dpdk(Some(4))]),
        (guest("centos.stream10", "CentOS Stream 10", "linux,centos-stream", Some((1, GiAndHalf)), None), &[IoThread]),
        (guest("centos.stream10.desktop", "CentOS Stream 10 Desktop", "linux,centos-stream", Some((1, GiAndHalf)), None), &[IoThread, Desktop]),
    ]),
    (linux("cirros"), &[(guest("cirros", "CirrOS", "cirros", Some((1, Mi(256))), None), &[])]),
    (linux("debian"), &[(guest("debian", "Debian", "debian", Some((1, Mi(512))), None), &[PlainEfi])]),
    (linux("fedora"), &[
        (guest("fedora", "Fedora (amd64)", "fedora", Some((1, Gi(2))), AMD64), &[SecureBoot]),
        (guest("fedora.arm64", "Fedora (arm64)", "fedora", Some((1, Gi(2))), ARM64), &[]),
        (guest("fedora.s390x", "Fedora (s390x)", "fedora", Some((1, Gi(2))), S390X), &[]),
    ]),
    (linux("linux"), &[
        (guest("linux", "Linux", "linux", None, None), &[]),
        (guest("linux.efi", "Linux with EFI", "linux-efi", None, None), &[PlainEfi]),
        (guest("linux.virtiotransitional", "Linux with transitional virtio", "linux-virtio-transitional", None, None), &[Transitional]),
    ]),
    (linux("opensuse-leap"), &[(guest("opensuse.leap", "openSUSE Leap", "opensuse.leap", Some((1, Gi(2))), None), &[])]),
    (linux("opensuse-tumbleweed"), &[(guest("opensuse.tumbleweed", "openSUSE Tumbleweed", "opensuse.tumbleweed", Some((1, Gi(2))), None), &[])]),
    (linux("oracle"), &[(guest("oraclelinux", "Oracle Linux", "oraclelinux", Some((2, Gi(4))), None), &[PlainEfi])]),
    (linux("rhel"), &[
        (guest("rhel.7", "Red Hat Enterprise Linux 7", "linux,rhel", Some((1, Gi(1))), None), &[]),
        (guest("rhel.7.desktop", "Red Hat Enterprise Linux 7 Desktop", "linux,rhel", Some((1, Gi(1))), None), &[Desktop]),
        (guest("rhel.8", "Red Hat Enterprise Linux 8", "linux,rhel", Some((1, GiAndHalf)), None), &[]),
        (guest("rhel.8.desktop", "Red Hat Enterprise Linux 8 Desktop", "linux,rhel", Some((1, GiAndHalf)), None), &[Desktop]),
        (guest("rhel.8.dpdk", "Red Hat Enterprise Linux 8 DPDK", "linux,rhel,dpdk", Some((8, GiAndHalf)), None), &[Dpdk(Some(4))]),
        (guest("rhel.9", "Red Hat Enterprise Linux 9 (amd64)", "linux,rhel", Some((1, GiAndHalf)), AMD64), &[IoThread, SecureBoot]),
        (guest("rhel.9.arm64", "Red Hat Enterprise Linux 9 (arm64)", "linux,rhel", Some((1, GiAndHalf)), ARM64), &[IoThread]),
        (guest("rhel.9.desktop", "Red Hat Enterprise Linux 9 Desktop (amd64)", "linux,rhel", Some((1, GiAndHalf)), AMD64), &[IoThread, SecureBoot, Desktop]),
        (guest("rhel.9.dpdk", "Red Hat Enterprise Linux 9 DPDK (amd64)", "linux,rhel,dpdk", Some((8, GiAndHalf)), AMD64), &[IoThread, SecureBoot, Dpdk(Some(4))]),
        (guest("rhel.9.realtime", "Red Hat Enterprise Linux 9 Realtime (amd64)", "linux,rhel,realtime", Some((4, Gi(4))), AMD64), &[IoThread, SecureBoot, Dpdk(None), Quiet]),
        (guest("rhel.9.s390x", "Red Hat Enterprise Linux 9 (s390x)", "linux,rhel", Some((1, GiAndHalf)), S390X), &[IoThread]),
        (guest("rhel.10", "Red Hat Enterprise Linux 10 (amd64)", "linux,rhel", Some((1, GiAndHalf)), AMD64), &[IoThread, SecureBoot]),
        (guest("rhel.10.arm64", "Red Hat Enterprise Linux 10 (arm64)", "linux,rhel", Some((1, GiAndHalf)), ARM64), &[IoThread]),
        (guest("rhel.10.s390x", "Red Hat Enterprise Linux 10 (s390x)", "linux,rhel", Some((1, GiAndHalf)), S390X), &[IoThread]),
    ]),
    (linux("sles"), &[(guest("sles", "SUSE Linux Enterprise Server", "sles", Some((1, Gi(2))), None), &[])]),
    (linux("ubuntu"), &[(guest("ubuntu", "Ubuntu", "ubuntu", Some((1, Gi(2))), None), &[])]),
];

/// The preferences of Linux, and of systems that know no virtio.
pub(super) fn preferences() -> impl Iterator<Item = VirtualMachineClusterPreference> {
    let linux = LINUX.iter().flat_map(|(family, guests)| {
        guests.iter().map(move |(guest, tastes)| {
            let mut spec = VirtualMachinePreferenceSpec::default();
            let devices = spec.devices.get_or_insert_default();
            devices.preferred_disk_bus = DiskBus::Virtio;
            devices.preferred_interface_model = "virtio".to_owned();
            devices.preferred_rng = Some(Rng {});
            tastes.iter().for_each(|taste| taste.write(&mut spec));
            guest.preference(family, spec)
        })
    });
    linux.chain([legacy()])
}

fn legacy() -> VirtualMachineClusterPreference {
    let devices = DevicePreferences {
        preferred_disk_bus: DiskBus::Sata,
        preferred_interface_model: "e1000".to_owned(),
        ..DevicePreferences::default()
    };
    let spec = VirtualMachinePreferenceSpec { devices: Some(devices), ..VirtualMachinePreferenceSpec::default() };
    guest("legacy", "Legacy guest", "legacy", None, None).preference(&Family { os: "legacy", icon: "other" }, spec)
}

impl Taste {
    fn write(self, spec: &mut VirtualMachinePreferenceSpec) {
        let devices = spec.devices.get_or_insert_default();
        match self {
            Desktop => tablet(devices),
            IoThread => devices.preferred_disk_dedicated_io_thread = Some(true),
            Dpdk(ratio) => {
                devices.preferred_network_interface_multi_queue = Some(true);
                spec.cpu = Some(CpuPreferences {
                    preferred_cpu_topology: Some(PreferredCpuTopology::Spread),
                    spread_options: Some(SpreadOptions { across: Some(SpreadAcross::SocketsCoresThreads), ratio }),
                    ..CpuPreferences::default()
                });
            }
            Quiet => {
                devices.preferred_autoattach_graphics_device = Some(false);
                devices.preferred_autoattach_mem_balloon = Some(false);
                devices.preferred_autoattach_serial_console = Some(true);
            }
            PlainEfi => efi(spec, Efi { secure_boot: Some(false), persistent: None }),
            SecureBoot => efi(spec, Efi { secure_boot: Some(true), persistent: None }),
            Transitional => devices.preferred_use_virtio_transitional = Some(true),
        }
    }
}

/// An input device that reports where the pointer is, not how it moved.
pub(super) fn tablet(devices: &mut DevicePreferences) {
    devices.preferred_autoattach_input_device = Some(true);
    devices.preferred_input_bus = InputBus::Virtio;
    devices.preferred_input_type = InputType::Tablet;
}

/// EFI; one that checks signatures needs system management mode.
pub(super) fn efi(spec: &mut VirtualMachinePreferenceSpec, efi: Efi) {
    if efi.secure_boot == Some(true) {
        spec.features.get_or_insert_with(FeaturePreferences::default).preferred_smm = Some(FeatureState::default());
    }
    spec.firmware = Some(FirmwarePreferences { preferred_efi: Some(efi), ..FirmwarePreferences::default() });
}

impl Guest {
    /// The preference of this guest, with labels that tell what is in it.
    pub(super) fn preference(&self, family: &Family, mut spec: VirtualMachinePreferenceSpec) -> VirtualMachineClusterPreference {
        let mut labels = Labels::new();
        labels.add("os-type", family.os);
        spec.annotations.insert("vm.kubevirt.io/os".to_owned(), family.os.to_owned());
        if let Some((cpus, memory)) = self.needs {
            labels.add("required-cpu", cpus.to_string());
            labels.add("required-memory", memory.to_string());
            spec.requirements = Some(PreferenceRequirements {
                cpu: Some(CpuPreferenceRequirement { guest: cpus }),
                memory: Some(MemoryPreferenceRequirement { guest: memory.quantity() }),
                architecture: self.arch.map(str::to_owned),
            });
        }
        if let Some(arch) = self.arch {
            spec.preferred_architecture = Some(arch.to_owned());
            for name in ["arch", "preferred-architecture", "required-architecture"] {
                labels.add(name, arch);
            }
        }
        let annotations = [
            ("iconClass", format!("icon-{}", family.icon)),
            ("openshift.io/display-name", self.title.to_owned()),
            ("openshift.io/provider-display-name", VENDOR.to_owned()),
            ("tags", format!("hidden,kubevirt,{}", self.tags)),
        ];
        VirtualMachineClusterPreference {
            api_version: VirtualMachineClusterPreference::API_VERSION.to_owned(),
            kind: VirtualMachineClusterPreference::KIND.to_owned(),
            metadata: ObjectMeta {
                name: Some(self.name.to_owned()),
                labels: Some(labels.0),
                annotations: Some(annotations.into_iter().map(|(name, text)| (name.to_owned(), text)).collect::<BTreeMap<_, _>>()),
                ..ObjectMeta::default()
            },
            spec,
        }
    }
}
