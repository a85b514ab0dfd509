//! Attestation of a guest with AMD SEV.

use super::{Answer, Case, Patch, Race, Refusal, Success, Target};
use crate::api::v1::{Sev, SevSessionOptions, VirtualMachineInstance, VirtualMachineInstancePhase as Phase};

const PATH: &str = "/spec/domain/launchSecurity/sev";

fn attested(instance: &VirtualMachineInstance) -> Option<&Sev> {
    let security = instance.spec.domain.launch_security.as_ref()?;
    // A guest with SEV-SNP attests itself.
    security.sev.as_ref().filter(|sev| security.snp.is_none() && sev.attestation.is_some())
}

pub(super) fn must_ask_for_attestation(case: &Case<'_>, instance: &VirtualMachineInstance) -> Result<(), Refusal> {
    match attested(instance) {
        Some(_) => Ok(()),
        None => Err(case.instance_conflict("the guest does not ask for attestation (spec.domain.launchSecurity.sev.attestation)")),
    }
}

pub(super) fn set_up_session(case: &mut Case<'_>) -> Answer {
    if case.request.body.is_none() {
        return Err(Refusal::bad_request("a body with session and dhCert is needed"));
    }
    let options: SevSessionOptions = case.options()?;
    if options.session.is_empty() {
        return Err(Refusal::bad_request("session must not be empty"));
    }
    if options.dh_cert.is_empty() {
        return Err(Refusal::bad_request("dhCert must not be empty"));
    }
    let instance = case.instance()?;
    if instance.status.phase != Phase::Scheduled {
        return Err(case.instance_conflict("the session is set up while the guest is in phase Scheduled"));
    }
    must_ask_for_attestation(case, instance)?;
    let Some(sev) = attested(instance).filter(|sev| sev.session.is_empty() && sev.dh_cert.is_empty()) else {
        return Err(case.instance_conflict("the guest has a session already"));
    };
    let wanted = Sev { session: options.session, dh_cert: options.dh_cert, ..sev.clone() };
    let patch = Patch::default().test(PATH, sev).replace(PATH, wanted);
    case.patch(Target::Instance, patch, &[], Race::Internal);
    Ok(Success::Accepted)
}
