//! How the guest's memory is protected from the host.

use kubevirt_api::names;

use super::Architecture;
use super::guest::{Guest, Protection};
use super::model::LaunchSecurity;

// Bits of AMD's policies: SEV and SEV-ES never let the host debug the guest, SEV-SNP sets a bit that must be set.
const SEV_NO_DEBUG: u32 = 1;
const SEV_ENCRYPTED_STATE: u32 = 1 << 2;
const SNP_SMT: u32 = 1 << 16;
const SNP_RESERVED: u32 = 1 << 17;

/// The element for it. There is none for IBM Secure Execution: libvirt's would need a privileged pod and does no more
/// than to send the devices through the guest's IOMMU, which the converter does itself.
pub(super) fn convert(guest: &Guest<'_>) -> Option<LaunchSecurity> {
    if guest.architecture() != Architecture::Amd64 {
        return None;
    }
    let security = guest.spec().launch_security.as_ref()?;
    match guest.protection {
        Protection::Sev => {
            let sev = security.sev.as_ref()?;
            let encrypted = sev.policy.as_ref().is_some_and(|policy| policy.encrypted_state == Some(true));
            let given = |text: &String| (!text.is_empty()).then(|| text.clone());
            Some(LaunchSecurity::Sev {
                policy: if encrypted { SEV_NO_DEBUG | SEV_ENCRYPTED_STATE } else { SEV_NO_DEBUG },
                dh_cert: given(&sev.dh_cert),
                session: given(&sev.session),
            })
        }
        Protection::Snp => Some(LaunchSecurity::Snp { policy: SNP_SMT | SNP_RESERVED }),
        Protection::Tdx => {
            let quotes = guest.annotation(names::QGS_SOCKET_PATH_ANNOTATION).filter(|path| !path.is_empty());
            Some(LaunchSecurity::Tdx { quotes: quotes.map(str::to_owned) })
        }
        Protection::None | Protection::SecureExecution | Protection::Other => None,
    }
}
