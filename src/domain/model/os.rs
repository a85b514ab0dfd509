//! How the guest boots, and what it is told about its machine.

use super::super::xml::{Element, Xml};
use super::yes_no;

/// How the guest boots.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Os {
    /// libvirt's name of the architecture.
    pub arch: &'static str,
    /// The machine type.
    pub machine: String,
    /// Whether libvirt finds a UEFI image with SecureBoot and enrolled keys by itself.
    pub efi_auto_selection: bool,
    /// The UEFI image.
    pub loader: Option<Loader>,
    /// The UEFI variables.
    pub nvram: Option<Nvram>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The initial RAM disk.
    pub initrd: Option<String>,
    /// The command line of the kernel.
    pub cmdline: Option<String>,
    /// Additional ACPI tables.
    pub acpi_tables: Vec<AcpiTable>,
    /// For how many milliseconds a boot menu is shown.
    pub boot_menu: Option<u32>,
    /// Whether SeaBIOS uses the serial line.
    pub bios_serial: bool,
    /// Whether SMBIOS shows what is in [`Sysinfo`].
    pub smbios: bool,
}

/// A UEFI image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Loader {
    /// The file.
    pub path: String,
    /// Whether it insists on SecureBoot.
    pub secure: bool,
    /// How it is put into the machine: `pflash` or `rom`.
    pub kind: &'static str,
}

/// UEFI variables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nvram {
    /// The file.
    pub path: String,
    /// What it is made from.
    pub template: Option<String>,
    /// Its format, where it is not known by the image.
    pub format: Option<&'static str>,
}

/// An additional ACPI table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AcpiTable {
    /// `slic` or `msdm`.
    pub kind: &'static str,
    /// The file.
    pub path: String,
}

/// What the guest is told about its machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sysinfo {
    /// The system.
    pub system: Vec<(&'static str, String)>,
    /// The chassis.
    pub chassis: Vec<(&'static str, String)>,
}

impl Element for Os {
    fn write(&self, x: &mut Xml) {
        x.element("os", |x| {
            if self.efi_auto_selection {
                x.attribute("firmware", "efi");
            }
            x.text("type", &[("arch", &self.arch), ("machine", &self.machine)], "hvm");
            if self.efi_auto_selection {
                x.element("firmware", |x| {
                    for name in ["secure-boot", "enrolled-keys"] {
                        x.leaf("feature", &[("enabled", &"yes"), ("name", &name)]);
                    }
                });
            }
            if let Some(loader) = &self.loader {
                let attributes: &[(&str, &dyn super::Scalar)] =
                    &[("readonly", &"yes"), ("secure", &yes_no(loader.secure)), ("type", &loader.kind)];
                x.text("loader", attributes, &loader.path);
            }
            if let Some(nvram) = &self.nvram {
                x.text("nvram", &[("template", &nvram.template), ("format", &nvram.format)], &nvram.path);
            }
            x.text("kernel", &[], &self.kernel);
            x.text("initrd", &[], &self.initrd);
            x.text("cmdline", &[], &self.cmdline);
            if !self.acpi_tables.is_empty() {
                x.element("acpi", |x| {
                    for table in &self.acpi_tables {
                        x.text("table", &[("type", &table.kind)], &table.path);
                    }
                });
            }
            if self.boot_menu.is_some() {
                x.leaf("bootmenu", &[("enable", &"yes"), ("timeout", &self.boot_menu)]);
            }
            if self.bios_serial {
                x.leaf("bios", &[("useserial", &"yes")]);
            }
            if self.smbios {
                x.leaf("smbios", &[("mode", &"sysinfo")]);
            }
        });
    }
}

impl Element for Sysinfo {
    fn write(&self, x: &mut Xml) {
        x.element("sysinfo", |x| {
            x.attribute("type", "smbios");
            for (part, entries) in [("system", &self.system), ("chassis", &self.chassis)] {
                if !entries.is_empty() {
                    x.element(part, |x| {
                        for (name, value) in entries {
                            x.text("entry", &[("name", name)], value);
                        }
                    });
                }
            }
        });
    }
}
