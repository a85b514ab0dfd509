//! Certificates: an authority of the installation's own, and what it signs for the components.
//!
//! What is to be made is decided here, from the certificates that there are and the time; the operator makes it. At any
//! time every certificate in use is signed by an authority in the bundle, and whoever verifies has had the time to learn
//! of an authority before one shows what it has signed:
//!
//! ```text
//!  authority 1  ├───────────────────────────────────┤        in the bundle until its end
//!  authority 2                         ├─────────────────── …in the bundle at once
//!  signs                               ·├ settled: from now on, what is due
//! ```

mod lifetimes;
mod profile;
mod read;
#[cfg(test)]
pub(super) mod testing;

use std::collections::BTreeMap;

use jiff::{SignedDuration, Timestamp};
use serde::Serialize;
use serde_json::json;

pub use lifetimes::{Lifetime, Lifetimes};
pub use profile::{AUTHORITY, AUTHORITY_SUBJECT, BUNDLE, OPERATOR, PROFILES, Profile, Usage};
pub use read::Certificate;

use super::Object;
use crate::api::names;

/// Certificates begin to count a little earlier than they are made: not every clock is right.
pub const BACKDATED: SignedDuration = SignedDuration::from_mins(1);
/// How long everyone has to learn of a new authority before it signs what can wait.
const SETTLED: SignedDuration = SignedDuration::from_mins(10);
/// More authorities than any rotation needs.
const MOST: usize = 50;

/// The certificates that there are.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The authority that signs, if its key is there.
    pub authority: Option<Certificate>,
    /// Whom the components believe.
    pub bundle: Vec<Certificate>,
    /// What was signed, by secret, where the key is there.
    pub leaves: BTreeMap<String, Certificate>,
}

/// A certificate to make.
#[derive(Clone, Copy, Debug)]
pub enum Make {
    /// A new authority.
    Authority,
    /// A certificate, signed by the authority.
    Leaf(&'static Profile),
}

impl PartialEq for Make {
    fn eq(&self, other: &Self) -> bool {
        self.secret() == other.secret()
    }
}

impl Serialize for Make {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.secret())
    }
}

impl Make {
    /// The secret that it goes to.
    pub fn secret(&self) -> &'static str {
        match self {
            Self::Authority => AUTHORITY,
            Self::Leaf(profile) => profile.secret,
        }
    }
}

/// What is to be made now. What waits for another certificate is told once that is there.
pub fn plan(observed: &Observed, lifetimes: &Lifetimes, namespace: &str, now: Timestamp) -> Vec<Make> {
    let Some(authority) = observed.authority.as_ref().filter(|authority| !is_due(authority, &lifetimes.authority, None, now)) else {
        return vec![Make::Authority];
    };
    let bundle = bundle(observed, now);
    let due = |profile: &&Profile| match observed.leaves.get(profile.secret) {
        None => true,
        Some(leaf) => {
            let signer = bundle.iter().find(|authority| authority.key == leaf.signer);
            let mut names = profile.names(namespace);
            names.sort();
            let is_other = leaf.subject != profile.subject(namespace) || leaf.names != names;
            let Some(signer) = signer.filter(|_| !is_other) else { return true };
            let settled = SETTLED.min(lifetimes.leaf.renew_before / 2);
            let is_new = now < after(authority.not_before, BACKDATED + settled);
            // whoever looks half as often as certificates are renewed still comes back in time
            let may_wait = is_new && signer.key != authority.key && leaf.not_after > after(now, lifetimes.leaf.renew_before / 2);
            is_due(leaf, &lifetimes.leaf, Some(signer), now) && !may_wait
        }
    };
    PROFILES.iter().filter(due).map(Make::Leaf).collect()
}

fn after(time: Timestamp, duration: SignedDuration) -> Timestamp {
    time.checked_add(duration).unwrap_or(Timestamp::MAX)
}

/// When a certificate that is made now ends. What an authority signs does not outlive it.
pub fn end(lifetime: &Lifetime, signer: Option<&Certificate>, now: Timestamp) -> Timestamp {
    let end = after(now, lifetime.duration);
    signer.map_or(end, |signer| end.min(signer.not_after))
}

/// Whether a certificate is to be replaced: its time has come, or it was made for another time.
fn is_due(certificate: &Certificate, lifetime: &Lifetime, signer: Option<&Certificate>, now: Timestamp) -> bool {
    let made = after(certificate.not_before, BACKDATED);
    let wanted = end(lifetime, signer, made);
    let differs = certificate.not_after.duration_since(wanted).abs() > SignedDuration::from_secs(2);
    // One that ends with its authority may live for less than it is renewed before its end.
    let lives = certificate.not_after.duration_since(made);
    let renew_before = lifetime.renew_before.min(lives / 2);
    differs || now >= certificate.not_after.checked_sub(renew_before).unwrap_or(Timestamp::MIN)
}

/// Whom the components are to believe: the authority that signs, and those before it until their end.
pub fn bundle(observed: &Observed, now: Timestamp) -> Vec<Certificate> {
    let mut all: Vec<Certificate> = observed.authority.iter().chain(&observed.bundle).filter(|it| it.not_after > now).cloned().collect();
    all.sort_by(|a, b| b.not_before.cmp(&a.not_before).then_with(|| a.pem.cmp(&b.pem)));
    all.dedup_by(|a, b| a.pem == b.pem);
    all.truncate(MOST);
    all
}

/// The text of a bundle.
pub fn text(bundle: &[Certificate]) -> String {
    bundle.iter().map(|authority| authority.pem.as_str()).collect()
}

/// The `ConfigMap` by which the components learn whom to believe.
pub(super) fn config_map(namespace: &str, bundle: &str) -> Object {
    Object::new(json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": AUTHORITY, "namespace": namespace, "labels": {names::MANAGED_BY_LABEL: names::MANAGED_BY_OPERATOR}},
        "data": {BUNDLE: bundle},
    }))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::testing::make;
    use super::*;

    const HOUR: i64 = 3600;

    fn lifetimes(hours: [i64; 4]) -> Lifetimes {
        let lifetime =
            |duration, renew| Lifetime { duration: SignedDuration::from_hours(duration), renew_before: SignedDuration::from_hours(renew) };
        Lifetimes { authority: lifetime(hours[0], hours[1]), leaf: lifetime(hours[2], hours[3]) }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    /// Passes until nothing is left to do.
    fn settle(observed: &mut Observed, lifetimes: &Lifetimes, now: Timestamp, count: &mut u8) -> usize {
        for passes in 0..4 {
            let makes = plan(observed, lifetimes, "n", now);
            if makes.is_empty() {
                return passes;
            }
            make(observed, &makes, lifetimes, "n", now, count);
        }
        panic!("there is no end to it: {:?}", plan(observed, lifetimes, "n", now));
    }

    #[test]
    fn a_first_installation_gets_all_and_a_settled_one_nothing() {
        let (mut observed, lifetimes, mut count) = (Observed::default(), Lifetimes::new(None), 0);
        assert_eq!(plan(&observed, &lifetimes, "n", at(0)), [Make::Authority]);
        assert_eq!(settle(&mut observed, &lifetimes, at(0), &mut count), 2);
        assert_eq!(observed.leaves.len(), PROFILES.len());
        assert!(plan(&observed, &lifetimes, "n", at(19 * HOUR)).is_empty());
        // four fifths of a day
        assert_eq!(plan(&observed, &lifetimes, "n", at(20 * HOUR)).len(), PROFILES.len());
        observed.leaves.remove("kubevirt-controller-certs");
        let missing = plan(&observed, &lifetimes, "n", at(1));
        assert_eq!(missing.iter().map(Make::secret).collect::<Vec<_>>(), ["kubevirt-controller-certs"]);
    }

    #[test]
    fn a_new_authority_is_believed_before_it_signs() {
        let (mut observed, lifetimes, mut count) = (Observed::default(), Lifetimes::new(None), 0);
        settle(&mut observed, &lifetimes, at(0), &mut count);
        // the leaves are renewed shortly before their authority is
        let mut now = at(0);
        while observed.bundle.len() == 1 {
            now = after(now, SignedDuration::from_hours(1));
            settle(&mut observed, &lifetimes, now, &mut count);
        }
        let signers = |observed: &Observed| observed.leaves.values().map(|leaf| leaf.signer.clone()).collect::<Vec<_>>();
        let old = observed.bundle[1].key.clone();
        assert!(signers(&observed).iter().all(|signer| *signer == old));
        let later = after(now, SignedDuration::from_hours(24));
        settle(&mut observed, &lifetimes, later, &mut count);
        assert!(signers(&observed).iter().all(|signer| *signer == observed.bundle[0].key));
        assert_eq!(observed.bundle.len(), 2);
    }

    #[test]
    fn names_of_another_namespace_are_other_names() {
        let (mut observed, lifetimes, mut count) = (Observed::default(), Lifetimes::new(None), 0);
        settle(&mut observed, &lifetimes, at(0), &mut count);
        let servers = PROFILES.iter().filter(|profile| profile.usage == Usage::Server).count();
        assert_eq!(plan(&observed, &lifetimes, "other", at(0)).len(), servers);
    }

    proptest! {
        /// Whatever the lifetimes and however often someone looks, as long as it is often enough: each certificate
        /// counts, and is signed by an authority that everyone believes.
        #[test]
        fn every_certificate_is_believed_at_any_time(
            authority in 4_i64..400, renew in 1_i64..4, leaf in 2_i64..100, leaf_renew in 1_i64..3,
            steps in prop::collection::vec(60_i64..1700, 1..300),
            change in prop::option::of((10_i64..400, 2_i64..100)),
        ) {
            let leaf = leaf.min(authority);
            let mut wanted = lifetimes([authority, renew.min(authority - 1).max(1), leaf, leaf_renew.min(leaf - 1).max(1)]);
            let (mut observed, mut now, mut count) = (Observed::default(), at(0), 0);
            settle(&mut observed, &wanted, now, &mut count);
            for (i, step) in steps.iter().enumerate() {
                now = after(now, SignedDuration::from_secs(*step));
                if let (Some((authority, leaf)), true) = (change, i == steps.len() / 2) {
                    wanted = lifetimes([authority, (authority / 5).max(1), leaf.min(authority), 1]);
                }
                for leaf in observed.leaves.values() {
                    prop_assert!(leaf.not_after > now, "{} has ended", leaf.subject);
                }
                settle(&mut observed, &wanted, now, &mut count);
                prop_assert!(plan(&observed, &wanted, "n", now).is_empty());
                for leaf in observed.leaves.values() {
                    let signer = observed.bundle.iter().find(|authority| authority.key == leaf.signer);
                    prop_assert!(signer.is_some_and(|signer| signer.not_after >= leaf.not_after && signer.not_after > now));
                }
            }
        }
    }
}
