use crate::api;

#[api]
pub struct Chassis {
    pub manufacturer: String,
    pub version: String,
    pub serial: String,
    pub asset: String,
    pub sku: String,
}

#[api]
pub struct Bootloader {
    pub bios: Option<Bios>,
    pub efi: Option<Efi>,
}

#[api]
pub struct Bios {
    pub use_serial: Option<bool>,
}

#[api]
pub struct Efi {
    pub secure_boot: Option<bool>,
    pub persistent: Option<bool>,
}

#[api]
pub struct KernelBootContainer {
    #[api(required)]
    pub image: String,
    pub image_pull_secret: String,
    pub image_pull_policy: String,
    pub kernel_path: String,
    pub initrd_path: String,
}

#[api]
pub struct KernelBoot {
    pub kernel_args: String,
    pub container: Option<KernelBootContainer>,
}

#[api]
pub struct Machine {
    #[api(always)]
    pub type_: String,
}

#[api]
pub struct Firmware {
    pub uuid: String,
    pub bootloader: Option<Bootloader>,
    pub serial: String,
    pub kernel_boot: Option<KernelBoot>,
    pub acpi: Option<Acpi>,
}

#[api]
pub struct Acpi {
    pub slic_name_ref: String,
    pub msdm_name_ref: String,
}

#[api]
pub struct LaunchSecurity {
    pub sev: Option<Sev>,
    pub snp: Option<Sevsnp>,
    pub tdx: Option<Tdx>,
}

#[api]
pub struct Sev {
    pub policy: Option<SevPolicy>,
    pub attestation: Option<SevAttestation>,
    pub session: String,
    pub dh_cert: String,
}

#[api]
pub struct SevPolicy {
    pub encrypted_state: Option<bool>,
}

#[api]
pub struct Sevsnp {}

#[api]
pub struct SevAttestation {}

#[api]
pub struct Tdx {}
