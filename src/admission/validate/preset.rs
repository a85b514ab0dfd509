//! Rules for `VirtualMachineInstancePreset`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::v1::{VirtualMachineInstancePreset, VirtualMachineInstanceSpec};

use super::spec;

/// Judges a preset by what can be said of disks and firmware before they are merged into an instance.
pub fn judge(preset: &VirtualMachineInstancePreset, _: Option<&VirtualMachineInstancePreset>, request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Delete {
        return;
    }
    let Some(domain) = &preset.spec.domain else {
        findings.deny(Cause::required("spec.domain", "the domain is missing, which is what a preset gives to instances"));
        return;
    };
    let whole = VirtualMachineInstanceSpec { domain: domain.clone(), ..VirtualMachineInstanceSpec::default() };
    spec::judge_part(&spec::Subject { at: &Path::new("spec"), spec: &whole, config: request.config }, &mut findings.causes);
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::admission::testing::denied;

    #[test]
    fn a_preset_has_disks_and_firmware_that_can_be() {
        for (domain, want) in [
            (json!({"devices": {"disks": [{"name": "a", "disk": {"bus": "virtio"}}]}}), &[] as &[&str]),
            (json!(null), &["spec.domain"]),
            (json!({"devices": {"disks": [{"name": "a"}, {"name": "a"}]}}), &["spec.domain.devices.disks[1].name"]),
            (json!({"devices": {}, "firmware": {"bootloader": {"bios": {}, "efi": {}}}}), &["spec.domain.firmware.bootloader"]),
        ] {
            let object = json!({"metadata": {"name": "p", "namespace": "lab"}, "spec": {"selector": {}, "domain": domain}});
            let got = denied("VirtualMachineInstancePreset", &object, &json!({}), &json!([]));
            let got: Vec<&str> = got.iter().map(String::as_str).collect();
            assert!(
                want.iter().all(|field| got.iter().any(|g| g.starts_with(field))) && got.is_empty() == want.is_empty(),
                "{domain}: {got:?}"
            );
        }
    }
}
