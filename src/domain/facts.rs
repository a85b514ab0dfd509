//! What the converter must know about the place where the guest will run.
//!
//! [`Facts`] is one plain value: whoever runs a guest (the launcher in its pod, the launcher without a cluster, a person
//! at a desk) looks once and fills it in. The converter itself never looks at anything.

mod cluster;
mod host_devices;
mod paths;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use host_devices::{ClaimedDevice, HostDevices};
pub use paths::{CLAIM_IMAGE, Paths};
pub use volumes::{BlockSizes, VolumeFacts, Volumes};

pub use super::arch::Architecture;

/// Facts about the place where a guest will run. `Default` is a pod on a host with KVM of which nothing else is known.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Facts {
    /// The architecture of the host; `None` takes it to be the guest's.
    pub host_architecture: Option<Architecture>,
    /// Which hypervisor the cluster uses.
    pub hypervisor: Hypervisor,
    /// Whether the hypervisor's device (`/dev/kvm`, `/dev/mshv`) can be opened.
    pub hypervisor_device: bool,
    /// Whether the guest may be emulated when that device is not there.
    pub emulation_allowed: bool,
    /// The emulators of guests of another architecture than the host's; none when that is not allowed.
    pub foreign_emulators: BTreeMap<Architecture, String>,
    /// The emulator of guests of the host's own architecture; `None` leaves the choice to libvirt.
    pub emulator: Option<String>,
    /// The CPUs that the pod may use, in ascending order; needed for dedicated CPUs.
    pub cpu_set: Vec<u32>,
    /// The cells of the host, with the CPUs and the memory of each; needed for dedicated CPUs and NUMA.
    pub numa_cells: Vec<NumaCell>,
    /// The UEFI images that are there.
    pub firmware: Firmware,
    /// What the guest's SMBIOS tables say about its maker.
    pub smbios: Option<Smbios>,
    /// The interval of balloon statistics in seconds; 0 for none.
    pub balloon_period: u32,
    /// Whether free pages are given back to the host. [`super::wants_free_page_reporting`] is the VMI's side of it.
    pub free_page_reporting: bool,
    /// Whether the serial console is written to a log. [`super::wants_serial_console_log`] is the VMI's side of it.
    pub serial_console_log: bool,
    /// Whether UEFI guests on amd64 get the plain `bochs` display in place of VGA.
    pub bochs_for_efi: bool,
    /// The verbosity of the launcher; above 5, SeaBIOS' messages are collected.
    pub verbosity: u32,
    /// Whether memory can be plugged into the running guest. libvirt before 10 has no room for it without slots and
    /// NUMA cells, which a virtio memory device does not need; the guest then has the memory that it starts with.
    pub memory_hotplug: bool,
    /// What is known of the volumes.
    pub volumes: Volumes,
    /// How the guest's interfaces reach their networks.
    pub networks: Networks,
    /// The host devices handed out to the pod; `None` when nobody asked for them yet: the domain has none then.
    pub host_devices: Option<HostDevices>,
    /// Whether an IOMMUFD descriptor was handed out to the pod.
    pub iommufd: bool,
    /// Whether passed-through PCI devices sit behind a PCIe expander bus of their NUMA node.
    pub pci_numa_aware: bool,
    /// Whether this is the target of a migration: what is plugged in later is left out.
    pub migration_target: bool,
    /// Arguments that are handed to QEMU as they are, after the guest's own.
    pub qemu_args: Vec<String>,
    /// Whether two attributes are written as KubeVirt writes them although libvirt's schema knows them not: `accessMode`
    /// of a shared file system, and the name of the volume at a block device. libvirt passes over both; a hook sidecar
    /// that was made for KubeVirt may look for them.
    pub kubevirt_spelling: bool,
    /// Where files and sockets are.
    pub paths: Paths,
}

impl Default for Facts {
    fn default() -> Self {
        Self {
            host_architecture: None,
            hypervisor: Hypervisor::Kvm,
            hypervisor_device: true,
            emulation_allowed: false,
            foreign_emulators: BTreeMap::new(),
            emulator: None,
            cpu_set: Vec::new(),
            numa_cells: Vec::new(),
            firmware: Firmware::default(),
            smbios: None,
            balloon_period: 10,
            free_page_reporting: false,
            serial_console_log: true,
            bochs_for_efi: false,
            verbosity: 0,
            memory_hotplug: true,
            volumes: Volumes::default(),
            networks: Networks::default(),
            host_devices: None,
            iommufd: false,
            pci_numa_aware: false,
            migration_target: false,
            qemu_args: Vec::new(),
            kubevirt_spelling: false,
            paths: Paths::default(),
        }
    }
}

/// A hypervisor that libvirt drives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Hypervisor {
    /// Linux' own.
    #[default]
    Kvm,
    /// Microsoft's, in the root partition.
    HypervDirect,
}

/// A NUMA cell of the host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct NumaCell {
    /// Its number.
    pub id: u32,
    /// Its memory in bytes.
    pub memory: u64,
    /// Its CPUs.
    pub cpus: Vec<HostCpu>,
}

/// A CPU of the host: a hardware thread.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HostCpu {
    /// Its number.
    pub id: u32,
    /// The threads of its core, itself among them; empty when it is alone.
    pub siblings: Vec<u32>,
}

/// The UEFI images of the host; an image that is not there is `None`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Firmware {
    /// Let libvirt find the image for SecureBoot by the descriptors of the firmware packages.
    pub auto_selection: bool,
    /// Without SecureBoot.
    pub plain: Option<Efi>,
    /// With SecureBoot and enrolled keys.
    pub secure_boot: Option<Efi>,
    /// For AMD SEV and SEV-ES.
    pub sev: Option<Efi>,
    /// For AMD SEV-SNP.
    pub snp: Option<Rom>,
    /// For Intel TDX.
    pub tdx: Option<Rom>,
    /// For Intel TDX with SecureBoot.
    pub tdx_secure_boot: Option<Rom>,
}

/// A UEFI image: its code, and the variables with which a new guest starts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Efi {
    /// The code.
    pub code: String,
    /// The template of the variables.
    pub vars: String,
}

/// A UEFI image that keeps no variables, because it is measured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Rom {
    /// The code.
    pub code: String,
    /// Whether libvirt shall insist on SecureBoot: it then adds system management mode, which TDX does not have.
    #[serde(default)]
    pub secure: bool,
}

/// What SMBIOS says about the maker of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Smbios {
    /// The manufacturer.
    pub manufacturer: String,
    /// The family.
    pub family: String,
    /// The product.
    pub product: String,
    /// The stock-keeping unit.
    pub sku: String,
    /// The version.
    pub version: String,
}

/// How the guest's interfaces reach their networks.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Networks {
    /// How an interface with a `bridge` or `masquerade` binding is realised when `interfaces` does not name it.
    pub fallback: Attachment,
    /// The interfaces of which more is known, by name.
    pub interfaces: BTreeMap<String, Attachment>,
    /// The binding plugins whose interfaces are tap devices; those of other plugins are added by the plugin's sidecar.
    pub tap_plugins: BTreeSet<String>,
}

/// How an interface of the guest is realised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Attachment {
    /// A tap device that was made beforehand.
    Tap(Tap),
    /// The network stack inside QEMU: no device of the host, no privilege.
    User,
}

impl Default for Attachment {
    fn default() -> Self {
        Self::Tap(Tap::default())
    }
}

/// A tap device; what is not known (yet) is left to libvirt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Tap {
    /// Its name.
    pub device: Option<String>,
    /// The MTU of its network.
    pub mtu: Option<u32>,
    /// The MAC address that the guest's side takes over when the VMI names none.
    pub mac: Option<String>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn facts_survive_a_file_and_refuse_what_they_do_not_know() {
        let facts = Facts {
            networks: Networks {
                interfaces: [
                    ("default".to_owned(), Attachment::User),
                    ("blue".to_owned(), Attachment::Tap(Tap { mtu: Some(1400), ..Tap::default() })),
                ]
                .into(),
                ..Networks::default()
            },
            foreign_emulators: [(Architecture::Arm64, "/usr/bin/qemu-system-aarch64".to_owned())].into(),
            ..Facts::default()
        };
        let text = serde_json::to_string(&facts).unwrap();
        assert_eq!(serde_json::from_str::<Facts>(&text).unwrap(), facts);
        assert_eq!(serde_json::from_str::<Facts>("{}").unwrap(), Facts::default());
        assert!(serde_json::from_str::<Facts>(r#"{"cpuset": [1]}"#).unwrap_err().to_string().contains("cpuset"));
    }
}
