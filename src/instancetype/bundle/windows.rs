//! Preferences for Windows: each release once as it installs, most of them once more with virtio drivers.

use crate::api::instancetype::{
    ClockPreferences, CpuPreferences, DevicePreferences, PreferredCpuTopology, VirtualMachineClusterPreference,
    VirtualMachinePreferenceSpec,
};
use crate::api::names::DISABLE_PCI_HOLE_64;
use crate::api::v1::{
    ClockOffset, ClockOffsetUtc, DiskBus, Efi, FeatureApic, FeatureHyperv, FeatureSpinlocks, FeatureState, HpetTimer, HypervTimer,
    PitTickPolicy, PitTimer, RtcTickPolicy, RtcTimer, SynicTimer, Timer, TlbFlush, TpmDevice,
};

use super::Memory::{self, Gi, Mi};
use super::guests::{Family, Guest, efi, tablet};

/// A release.
struct Release {
    name: &'static str,
    title: &'static str,
    needs: (u32, Memory),
    /// The network card that it has a driver for when it installs.
    card: &'static str,
    firmware: Firmware,
    /// Its name with virtio drivers, where there are any.
    virtio: Option<&'static str>,
    /// Whether it fails with a window for devices above 4 GiB.
    low_memory_only: bool,
}

#[derive(Clone, Copy)]
enum Firmware {
    Bios,
    SecureBoot,
    /// With keys and secrets that last: what is sealed with them must open again.
    SecureBootAndTpm,
}
use Firmware::{Bios, SecureBoot, SecureBootAndTpm};

#[rustfmt::skip]
const RELEASES: &[Release] = &[
    Release { name: "windows.xp", title: "XP", needs: (1, Mi(128)), card: "e1000e", firmware: Bios, virtio: None, low_memory_only: true },
    Release { name: "windows.7", title: "7", needs: (1, Gi(2)), card: "e1000e", firmware: Bios, virtio: Some("windows.7.virtio"), low_memory_only: false },
    Release { name: "windows.10", title: "10", needs: (1, Gi(2)), card: "e1000e", firmware: SecureBoot, virtio: Some("windows.10.virtio"), low_memory_only: false },
    Release { name: "windows.11", title: "11", needs: (2, Gi(4)), card: "e1000e", firmware: SecureBootAndTpm, virtio: Some("windows.11.virtio"), low_memory_only: false },
    Release { name: "windows.2k3", title: "Server 2003", needs: (1, Mi(256)), card: "rtl8139", firmware: Bios, virtio: None, low_memory_only: true },
    Release { name: "windows.2k8", title: "Server 2008", needs: (1, Mi(512)), card: "e1000", firmware: Bios, virtio: Some("windows.2k8.virtio"), low_memory_only: false },
    Release { name: "windows.2k12", title: "Server 2012", needs: (1, Mi(512)), card: "e1000e", firmware: Bios, virtio: Some("windows.2k12.virtio"), low_memory_only: false },
    Release { name: "windows.2k16", title: "Server 2016", needs: (1, Gi(2)), card: "e1000e", firmware: SecureBoot, virtio: Some("windows.2k16.virtio"), low_memory_only: false },
    Release { name: "windows.2k19", title: "Server 2019", needs: (1, Gi(2)), card: "e1000e", firmware: SecureBoot, virtio: Some("windows.2k19.virtio"), low_memory_only: false },
    Release { name: "windows.2k22", title: "Server 2022", needs: (1, Gi(2)), card: "e1000e", firmware: SecureBootAndTpm, virtio: Some("windows.2k22.virtio"), low_memory_only: false },
    Release { name: "windows.2k25", title: "Server 2025", needs: (1, Gi(2)), card: "e1000e", firmware: SecureBootAndTpm, virtio: Some("windows.2k25.virtio"), low_memory_only: false },
];

/// How long a guest may take to install its updates before it goes.
const GRACE_SECONDS: i64 = 3600;

/// The preferences of every release.
pub(super) fn preferences() -> impl Iterator<Item = VirtualMachineClusterPreference> {
    let plain = RELEASES.iter().map(|release| release.preference(release.name, false));
    plain.chain(RELEASES.iter().filter_map(|release| release.virtio.map(|name| release.preference(name, true))))
}

impl Release {
    fn preference(&self, name: &'static str, virtio: bool) -> VirtualMachineClusterPreference {
        let mut devices = DevicePreferences { preferred_autoattach_input_device: Some(true), ..DevicePreferences::default() };
        if virtio {
            devices.preferred_disk_bus = DiskBus::Virtio;
            devices.preferred_interface_model = "virtio".to_owned();
            devices.preferred_video_type = Some("virtio".to_owned());
            tablet(&mut devices);
        } else {
            devices.preferred_disk_bus = DiskBus::Sata;
            devices.preferred_interface_model = self.card.to_owned();
        }
        let mut spec = VirtualMachinePreferenceSpec {
            clock: Some(clock()),
            cpu: Some(CpuPreferences { preferred_cpu_topology: Some(PreferredCpuTopology::Sockets), ..CpuPreferences::default() }),
            preferred_termination_grace_period_seconds: Some(GRACE_SECONDS),
            ..VirtualMachinePreferenceSpec::default()
        };
        let features = spec.features.get_or_insert_default();
        features.preferred_acpi = Some(FeatureState::default());
        features.preferred_apic = Some(FeatureApic::default());
        features.preferred_hyperv = Some(enlightenments());
        match self.firmware {
            Bios => {}
            SecureBoot => efi(&mut spec, Efi { secure_boot: Some(true), persistent: None }),
            SecureBootAndTpm => {
                efi(&mut spec, Efi { secure_boot: Some(true), persistent: Some(true) });
                devices.preferred_tpm = Some(TpmDevice { persistent: Some(true), enabled: None });
            }
        }
        if self.low_memory_only {
            spec.annotations.insert(DISABLE_PCI_HOLE_64.to_owned(), "true".to_owned());
        }
        spec.devices = Some(devices);
        let guest = Guest { name, title: "", tags: "windows", needs: Some(self.needs), arch: None };
        let mut preference = guest.preference(&Family { os: "windows", icon: "windows" }, spec);
        let title = format!("Microsoft Windows {}{}", self.title, if virtio { " with virtio drivers" } else { "" });
        preference.metadata.annotations.get_or_insert_default().insert("openshift.io/display-name".to_owned(), title);
        preference
    }
}

/// Windows takes the clock of the machine for UTC here, and ticks that were missed are made up for.
fn clock() -> ClockPreferences {
    ClockPreferences {
        preferred_clock_offset: Some(ClockOffset { utc: Some(ClockOffsetUtc::default()), timezone: None }),
        preferred_timer: Some(Timer {
            hpet: Some(HpetTimer { present: Some(false), ..HpetTimer::default() }),
            pit: Some(PitTimer { tick_policy: PitTickPolicy::Delay, present: None }),
            rtc: Some(RtcTimer { tick_policy: RtcTickPolicy::Catchup, ..RtcTimer::default() }),
            hyperv: Some(HypervTimer::default()),
            kvm: None,
        }),
    }
}

/// What Windows knows of the hypervisor that it was written for.
fn enlightenments() -> FeatureHyperv {
    let on = || Some(FeatureState::default());
    FeatureHyperv {
        relaxed: on(),
        vapic: on(),
        spinlocks: Some(FeatureSpinlocks { enabled: None, spinlocks: Some(8191) }),
        vpindex: on(),
        runtime: on(),
        synic: on(),
        synictimer: Some(SynicTimer { enabled: None, direct: on() }),
        reset: on(),
        vendorid: None,
        frequencies: on(),
        reenlightenment: on(),
        tlbflush: Some(TlbFlush::default()),
        ipi: on(),
        evmcs: None,
    }
}
