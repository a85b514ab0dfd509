//! Certificates without cryptography, for tests of what is decided about them.

use jiff::Timestamp;

use super::{BACKDATED, Certificate, Lifetimes, Make, Observed, bundle, end};

/// Makes what was asked for, as the operator does, but without any cryptography.
pub(in crate::install) fn make(
    observed: &mut Observed,
    makes: &[Make],
    lifetimes: &Lifetimes,
    namespace: &str,
    now: Timestamp,
    count: &mut u8,
) {
    for it in makes {
        *count = count.wrapping_add(1);
        let signer = observed.authority.clone();
        let mut certificate = Certificate {
            pem: format!("{count}"),
            not_before: now.checked_sub(BACKDATED).unwrap(),
            not_after: now,
            key: vec![*count],
            signer: vec![*count],
            subject: String::new(),
            names: Vec::new(),
        };
        match it {
            Make::Authority => {
                certificate.not_after = end(&lifetimes.authority, None, now);
                observed.authority = Some(certificate);
            }
            Make::Leaf(profile) => {
                let signer = signer.unwrap();
                certificate.not_after = end(&lifetimes.leaf, Some(&signer), now);
                certificate.signer = signer.key;
                certificate.subject = profile.subject(namespace);
                certificate.names = profile.names(namespace);
                certificate.names.sort();
                observed.leaves.insert(profile.secret.to_owned(), certificate);
            }
        }
    }
    observed.bundle = bundle(observed, now);
}
