//! What differs between the architectures of guests, as a table.

use std::fmt;

use serde::{Deserialize, Serialize};

/// The architecture of a guest or a host, by the names that Kubernetes uses.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Architecture {
    /// 64-bit x86.
    Amd64,
    /// 64-bit ARM.
    Arm64,
    /// IBM Z.
    S390x,
}

impl Architecture {
    /// Every architecture of which a guest can be.
    pub const ALL: [Self; 3] = [Self::Amd64, Self::Arm64, Self::S390x];

    /// The architecture of a Kubernetes name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.name() == name)
    }

    /// Its name in Kubernetes.
    pub fn name(self) -> &'static str {
        match self {
            Self::Amd64 => "amd64",
            Self::Arm64 => "arm64",
            Self::S390x => "s390x",
        }
    }

    /// Its row of the table.
    pub(super) fn rules(self) -> &'static Rules {
        match self {
            Self::Amd64 => &AMD64,
            Self::Arm64 => &ARM64,
            Self::S390x => &S390X,
        }
    }
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What holds for the guests of an architecture.
#[derive(Debug)]
pub(super) struct Rules {
    pub(super) architecture: Architecture,
    /// libvirt's name of the architecture.
    pub(super) os_arch: &'static str,
    /// The machine type when the VMI names none: the newest of the family.
    pub(super) machine: &'static str,
    /// The model of virtio devices. On s390x they sit on the channel subsystem, where only the neutral name works.
    pub(super) virtio: &'static str,
    /// The same when the VMI asks for transitional devices.
    pub(super) virtio_transitional: &'static str,
    /// The model of the SCSI controller, if it is not that of virtio devices.
    pub(super) scsi: Option<&'static str>,
    /// Whether there is a USB controller even if no device needs it.
    pub(super) usb: bool,
    /// Whether there is USB at all.
    pub(super) has_usb: bool,
    /// Whether sockets can be plugged into a running guest.
    pub(super) cpu_hotplug: bool,
    /// Whether SMBIOS tables are shown to the guest.
    pub(super) smbios: bool,
    /// Whether network cards have an option ROM that can be switched off.
    pub(super) option_rom: bool,
    /// Whether libvirt's CPU models claim `mpx`, which no current CPU has: it must then be switched off.
    pub(super) stale_mpx: bool,
    /// Whether there is VMware's I/O port, to be switched off.
    pub(super) vmport: bool,
    /// Whether SeaBIOS writes to a debug port.
    pub(super) seabios: bool,
    /// Whether the 64-bit PCI window can be closed.
    pub(super) pci_hole: bool,
    /// Whether devices can be placed on PCI Express buses.
    pub(super) pci_express: bool,
    /// The model of the display.
    pub(super) video: &'static str,
    /// The video memory in KiB, where the model has a choice.
    pub(super) video_memory: Option<u32>,
}

const AMD64: Rules = Rules {
    architecture: Architecture::Amd64,
    os_arch: "x86_64",
    machine: "q35",
    virtio: "virtio-non-transitional",
    virtio_transitional: "virtio-transitional",
    scsi: None,
    usb: false,
    has_usb: true,
    cpu_hotplug: true,
    smbios: true,
    option_rom: true,
    stale_mpx: true,
    vmport: true,
    seabios: true,
    pci_hole: true,
    pci_express: true,
    video: "vga",
    video_memory: Some(16384),
};

const ARM64: Rules = Rules {
    architecture: Architecture::Arm64,
    os_arch: "aarch64",
    machine: "virt",
    virtio: "virtio-non-transitional",
    virtio_transitional: "virtio-transitional",
    scsi: None,
    usb: true,
    has_usb: true,
    cpu_hotplug: false,
    smbios: true,
    option_rom: true,
    stale_mpx: false,
    vmport: false,
    seabios: false,
    pci_hole: false,
    pci_express: true,
    video: "virtio",
    video_memory: None,
};

const S390X: Rules = Rules {
    architecture: Architecture::S390x,
    os_arch: "s390x",
    machine: "s390-ccw-virtio",
    virtio: "virtio",
    virtio_transitional: "virtio",
    scsi: Some("virtio-scsi"),
    usb: false,
    has_usb: false,
    cpu_hotplug: true,
    smbios: false,
    option_rom: false,
    stale_mpx: false,
    vmport: false,
    seabios: false,
    pci_hole: false,
    pci_express: false,
    video: "virtio",
    video_memory: None,
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_architecture_finds_its_own_row() {
        for architecture in Architecture::ALL {
            assert_eq!(architecture.rules().architecture, architecture);
            assert_eq!(Architecture::from_name(architecture.name()), Some(architecture));
            assert_eq!(serde_json::to_value(architecture).unwrap(), architecture.name());
        }
        assert_eq!(Architecture::from_name("ppc64le"), None);
    }
}
