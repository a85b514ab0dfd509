//! How a machine boots, what identifies it, and what protects it.

use crate::api;

/// What the SMBIOS tables say of the chassis.
#[api]
pub struct Chassis {
    /// Who made it.
    pub manufacturer: String,
    /// Its version.
    pub version: String,
    /// Its serial number.
    pub serial: String,
    /// Its asset tag.
    pub asset: String,
    /// Its stock number.
    pub sku: String,
}

/// The firmware; one of both. Unset: BIOS on x86, EFI elsewhere.
#[api]
pub struct Bootloader {
    /// BIOS; x86 only.
    pub bios: Option<Bios>,
    /// UEFI.
    pub efi: Option<Efi>,
}

/// BIOS.
#[api]
pub struct Bios {
    /// Whether the BIOS prints to the serial console. Default: false.
    pub use_serial: Option<bool>,
}

/// UEFI.
#[api]
pub struct Efi {
    /// Whether only signed loaders start; needs system management mode on x86. Default: true.
    pub secure_boot: Option<bool>,
    /// Whether the variables outlive the machine, on a volume made for it. Default: false.
    pub persistent: Option<bool>,
}

/// An image that holds a kernel.
#[api]
pub struct KernelBootContainer {
    /// The image.
    #[api(required)]
    pub image: String,
    /// The secret to pull it with.
    pub image_pull_secret: String,
    /// Always, IfNotPresent or Never. Default: Always for the tag latest and none, else IfNotPresent.
    pub image_pull_policy: String,
    /// The path of the kernel in the image.
    pub kernel_path: String,
    /// The path of the initial RAM disk in the image.
    pub initrd_path: String,
}

/// A kernel that is started without a loader.
#[api]
pub struct KernelBoot {
    /// The kernel's command line; needs a container.
    pub kernel_args: String,
    /// The image with the kernel, the initial RAM disk, or both.
    pub container: Option<KernelBootContainer>,
}

/// The chipset that is emulated.
#[api]
pub struct Machine {
    /// A machine type that QEMU knows and the cluster's configuration allows, such as q35 or pc-q35-9.2. Unset: the default of
    /// the architecture.
    #[api(always)]
    pub type_: String,
}

/// How the machine boots, and what identifies it.
#[api]
pub struct Firmware {
    /// The UUID that the SMBIOS tables report. Unset: made from the name of the machine, the same for every start.
    pub uuid: String,
    /// BIOS or EFI.
    pub bootloader: Option<Bootloader>,
    /// The serial number that the SMBIOS tables report.
    pub serial: String,
    /// A kernel that is started without a loader.
    pub kernel_boot: Option<KernelBoot>,
    /// Further ACPI tables.
    pub acpi: Option<Acpi>,
}

/// ACPI tables, each the content of a volume that is a secret.
#[api]
pub struct Acpi {
    /// The volume with the table SLIC, which licences of older Windows need.
    pub slic_name_ref: String,
    /// The volume with the table MSDM, which holds a licence of Windows.
    pub msdm_name_ref: String,
}

/// Memory encryption by the processor; one of the three.
#[api]
pub struct LaunchSecurity {
    /// AMD's Secure Encrypted Virtualization.
    pub sev: Option<Sev>,
    /// AMD's SEV with Secure Nested Paging.
    pub snp: Option<Sevsnp>,
    /// Intel's Trust Domain Extensions.
    pub tdx: Option<Tdx>,
}

/// AMD's Secure Encrypted Virtualization.
#[api]
pub struct Sev {
    /// What the processor enforces.
    pub policy: Option<SevPolicy>,
    /// Whether the machine waits, paused, for its owner to verify the measurement and to inject a secret.
    pub attestation: Option<SevAttestation>,
    /// The session blob of the owner, base64.
    pub session: String,
    /// The Diffie-Hellman certificate of the owner, base64.
    pub dh_cert: String,
}

/// What the processor enforces.
#[api]
pub struct SevPolicy {
    /// Whether registers are encrypted too (SEV-ES). Default: false.
    pub encrypted_state: Option<bool>,
}

/// AMD's SEV with Secure Nested Paging.
#[api]
pub struct Sevsnp {}

/// The machine waits, paused, for its owner.
#[api]
pub struct SevAttestation {}

/// Intel's Trust Domain Extensions.
#[api]
pub struct Tdx {}
