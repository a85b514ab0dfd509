//! The claim that keeps a guest's own state across restarts: TPM, EFI variables, and which blocks have changed.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;

pub use crate::pod::persistence::{is_needed, tracks_changes};

/// The label that names the machine whose state a claim keeps; also how the names of such claims and volumes begin.
pub const PREFIX: &str = "persistent-state-for";
/// The name of the volume in the instance's status.
pub const VOLUME_NAME: &str = "persistent-state-for-this-vm";
/// How much such a claim asks for.
pub const CLAIM_SIZE: &str = "10Mi";

/// The claim that keeps the state of the machine of that name; one of an older release bears no label, only its name.
pub fn claim_of<'a>(claims: &'a [PersistentVolumeClaim], name: &str) -> Option<&'a PersistentVolumeClaim> {
    let alive = || claims.iter().filter(|c| c.metadata.deletion_timestamp.is_none());
    let labelled = alive().find(|c| c.metadata.labels.as_ref().and_then(|l| l.get(PREFIX)).is_some_and(|n| n == name));
    labelled.or_else(|| alive().find(|c| c.metadata.name.as_deref() == Some(&format!("{PREFIX}-{name}"))))
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    #[test]
    fn the_labelled_claim_goes_before_the_named_one() {
        let named = |name: &str, label: Option<&str>| {
            let mut claim = PersistentVolumeClaim::default();
            claim.metadata.name = Some(name.to_owned());
            claim.metadata.labels = label.map(|l| BTreeMap::from([(PREFIX.to_owned(), l.to_owned())]));
            claim
        };
        let claims = [named("persistent-state-for-a", None), named("x", Some("a")), named("y", Some("b"))];
        let name = |of: &str| claim_of(&claims, of).and_then(|c| c.metadata.name.as_deref());
        assert_eq!((name("a"), name("b"), name("c")), (Some("x"), Some("y"), None));
    }
}
