//! What an older libvirt does not know, so that the field is named and not libvirt's own word for it.

use kubevirt_api::v1::{PanicDeviceModel, VirtualMachineInstance};

use super::error::{ConvertError, Fault};

/// Something that came with a version of libvirt.
struct Newer {
    /// As libvirt writes its versions: a million times the first number, a thousand times the second, the third.
    since: u32,
    what: &'static str,
    right: &'static str,
    /// The field that asks for it.
    field: fn(&VirtualMachineInstance) -> Option<String>,
}

const NEWER: [Newer; 2] = [
    Newer { since: 9_001_000, what: "the panic device pvpanic", right: "take the model isa or hyperv, or update libvirt", field: pvpanic },
    Newer { since: 10_005_000, what: "AMD SEV-SNP", right: "take sev, or update libvirt", field: snp },
];

fn pvpanic(vmi: &VirtualMachineInstance) -> Option<String> {
    let at = vmi.spec.domain.devices.panic_devices.iter().position(|device| device.model == Some(PanicDeviceModel::Pvpanic))?;
    Some(format!("spec.domain.devices.panicDevices[{at}].model"))
}

fn snp(vmi: &VirtualMachineInstance) -> Option<String> {
    let security = vmi.spec.domain.launch_security.as_ref()?;
    security.snp.as_ref().map(|_| "spec.domain.launchSecurity.snp".to_owned())
}

/// Whether this version of libvirt knows all that a guest asks for.
///
/// # Errors
///
/// The field that asks for what is newer.
pub fn check(vmi: &VirtualMachineInstance, libvirt: u32) -> Result<(), ConvertError> {
    let newer = NEWER.iter().filter(|newer| libvirt < newer.since);
    let fault = newer.filter_map(|newer| Some((newer, (newer.field)(vmi)?))).next();
    fault.map_or(Ok(()), |(newer, field)| {
        let version = |number: u32| format!("{}.{}.{}", number / 1_000_000, number / 1000 % 1000, number % 1000);
        let lack = format!("{} needs libvirt {}, and this one is {}", newer.what, version(newer.since), version(libvirt));
        Err(ConvertError::new(field, Fault::host(lack, newer.right)))
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::testing::with;
    use super::check;

    #[test]
    fn what_is_newer_than_libvirt_is_named() {
        let panics = json!({ "devices": { "panicDevices": [{ "model": "isa" }, { "model": "pvpanic" }] } });
        for (domain, libvirt, field) in [
            (json!({}), 1, None),
            (panics.clone(), 9_000_000, Some("spec.domain.devices.panicDevices[1].model")),
            (panics, 9_001_000, None),
            (json!({ "launchSecurity": { "snp": {} } }), 9_001_000, Some("spec.domain.launchSecurity.snp")),
        ] {
            let error = check(&with(json!({ "spec": { "domain": domain } })), libvirt).err();
            assert_eq!(error.as_ref().map(|error| error.field.as_str()), field);
            assert!(error.is_none_or(|error| error.depends_on_host()));
        }
    }
}
