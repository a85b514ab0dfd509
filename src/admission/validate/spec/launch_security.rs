//! Guests whose memory the host cannot read.

use super::firmware::has_smm;
use super::{Rule, Subject, closed};
use crate::admission::{Cause, Path};
use crate::api::v1::{LaunchSecurity, StartStrategy};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[judge];

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let Some(security) = &s.domain().launch_security else { return };
    match s.spec.architecture.as_str() {
        "amd64" => one_kind(s, security, causes),
        // Secure Execution needs no more than to be asked for.
        "s390x" => {}
        other => {
            let message = format!("guests on {other:?} cannot be protected; leave launchSecurity out");
            causes.push(Cause::invalid(s.at.key("architecture"), message));
        }
    }
}

fn one_kind(s: &Subject, security: &LaunchSecurity, causes: &mut Vec<Cause>) {
    let at = s.at.key("domain.launchSecurity");
    let kinds = [
        ("SEV", security.sev.is_some(), Gate::WorkloadEncryptionSev),
        ("SNP", security.snp.is_some(), Gate::WorkloadEncryptionSev),
        ("TDX", security.tdx.is_some(), Gate::WorkloadEncryptionTdx),
    ];
    let mut given = kinds.into_iter().filter(|(_, given, _)| *given);
    let (Some((kind, _, gate)), None) = (given.next(), given.next()) else {
        causes.push(Cause::forbidden(at, "a guest is protected in one way; give exactly one of sev, snp and tdx"));
        return;
    };
    if !s.enabled(gate) {
        causes.push(Cause::invalid(at, closed(gate)));
        return;
    }
    if kind == "TDX" && has_smm(s.domain().features.as_ref()) {
        causes.push(Cause::invalid(at, "TDX has no system management mode; set features.smm.enabled to false"));
    }
    firmware(s, &at, kind, causes);
    let attested = security.sev.as_ref().is_some_and(|sev| sev.attestation.is_some());
    if attested && s.spec.start_strategy != Some(StartStrategy::Paused) {
        causes.push(Cause::invalid(at, "the guest waits for its owner's word before it runs; set startStrategy to Paused"));
    }
    for interface in s.devices().interfaces.iter().filter(|interface| interface.boot_order.is_some()) {
        let message = format!("a guest with {kind} cannot boot from the network; leave the bootOrder of {:?} out", interface.name);
        causes.push(Cause::invalid(at, message));
    }
}

fn firmware(s: &Subject, at: &Path, kind: &str, causes: &mut Vec<Cause>) {
    let bootloader = s.domain().firmware.as_ref().and_then(|f| f.bootloader.as_ref());
    let Some(efi) = bootloader.and_then(|b| b.efi.as_ref()) else {
        causes.push(Cause::invalid(at, format!("{kind} needs EFI firmware; set firmware.bootloader.efi")));
        return;
    };
    if kind != "TDX" && efi.secure_boot != Some(false) {
        causes.push(Cause::invalid(at, format!("{kind} does not work with secure boot; set firmware.bootloader.efi.secureBoot to false")));
    }
    if kind != "SEV" && efi.persistent == Some(true) {
        causes.push(Cause::invalid(at, format!("{kind} keeps no EFI variables; leave firmware.bootloader.efi.persistent out")));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    const AT: &[&str] = &["s.domain.launchSecurity"];

    fn protected(security: Value, efi: Value) -> Value {
        json!({"architecture": "amd64", "domain": {"launchSecurity": security, "firmware": {"bootloader": {"efi": efi}}}})
    }

    #[test]
    fn a_protected_guest_has_what_it_needs() {
        let plain = json!({"secureBoot": false});
        check(
            RULES,
            &[Gate::WorkloadEncryptionTdx],
            &[
                (protected(json!({"sev": {}}), plain.clone()), &[]),
                (protected(json!({}), plain.clone()), AT),
                (protected(json!({"sev": {}, "tdx": {}}), plain.clone()), AT),
                (protected(json!({"snp": {}}), json!({})), AT),
                (protected(json!({"tdx": {}}), json!({})), &[]),
                (protected(json!({"tdx": {}}), json!({"persistent": true})), AT),
                (protected(json!({"sev": {"attestation": {}}}), plain), AT),
                (json!({"architecture": "amd64", "domain": {"launchSecurity": {"sev": {}}}}), AT),
                (json!({"architecture": "arm64", "domain": {"launchSecurity": {"sev": {}}}}), &["s.architecture"]),
                (json!({"architecture": "s390x", "domain": {"launchSecurity": {}}}), &[]),
            ],
        );
    }

    #[test]
    fn every_kind_needs_its_gate() {
        check(RULES, &[], &[(protected(json!({"tdx": {}}), json!({})), AT)]);
    }
}
