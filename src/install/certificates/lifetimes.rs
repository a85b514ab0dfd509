//! How long certificates live, and when they are replaced.

use jiff::SignedDuration;

use crate::api::Duration;
use crate::api::v1::{CertConfig, KubeVirtSelfSignConfiguration};

/// A week for authorities, a day for what they sign.
const AUTHORITY: SignedDuration = SignedDuration::from_hours(7 * 24);
const LEAF: SignedDuration = SignedDuration::from_hours(24);

/// How long a certificate lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetime {
    /// From its making to its end.
    pub duration: SignedDuration,
    /// How long before its end it is replaced.
    pub renew_before: SignedDuration,
}

/// How long authorities and what they sign live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lifetimes {
    /// The authority.
    pub authority: Lifetime,
    /// What it signs.
    pub leaf: Lifetime,
}

impl Lifetimes {
    /// What the configuration says. Its older fields win over the newer ones, as they always did.
    pub fn new(settings: Option<&KubeVirtSelfSignConfiguration>) -> Self {
        let none = KubeVirtSelfSignConfiguration::default();
        let settings = settings.unwrap_or(&none);
        let authority =
            lifetime(settings.ca_rotate_interval.as_ref(), settings.ca_overlap_interval.as_ref(), settings.ca.as_ref(), AUTHORITY);
        Self { authority, leaf: lifetime(settings.cert_rotate_interval.as_ref(), None, settings.server.as_ref(), LEAF) }
    }
}

fn lifetime(duration: Option<&Duration>, renew: Option<&Duration>, config: Option<&CertConfig>, default: SignedDuration) -> Lifetime {
    let signed = |duration: &Duration| SignedDuration::from_nanos(duration.nanoseconds());
    // What lives for no time at all would be made over and over.
    let positive = |duration: &SignedDuration| *duration >= SignedDuration::from_secs(2);
    let given = duration.or(config.and_then(|config| config.duration.as_ref())).map(signed).filter(positive);
    let duration = given.unwrap_or(default);
    let given = renew.or(config.and_then(|config| config.renew_before.as_ref())).map(signed);
    let renew_before = given.filter(|renew| !renew.is_negative() && *renew < duration).unwrap_or(duration / 5);
    Lifetime { duration, renew_before }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn hours(settings: Value) -> [i64; 4] {
        let settings = serde_json::from_value(settings).unwrap();
        let Lifetimes { authority, leaf } = Lifetimes::new(Some(&settings));
        [authority.duration, authority.renew_before, leaf.duration, leaf.renew_before].map(|d| d.as_hours())
    }

    #[test]
    fn what_is_not_set_is_a_week_and_a_day_less_a_fifth() {
        for (settings, wanted) in [
            (json!({}), [168, 33, 24, 4]),
            (json!({"ca": {"duration": "100h"}, "server": {"duration": "10h", "renewBefore": "5h"}}), [100, 20, 10, 5]),
            (json!({"ca": {"duration": "100h"}, "caRotateInterval": "50h", "caOverlapInterval": "7h"}), [50, 7, 24, 4]),
            (json!({"server": {"duration": "10h", "renewBefore": "20h"}}), [168, 33, 10, 2]),
            (json!({"server": {"duration": "0s"}}), [168, 33, 24, 4]),
        ] {
            assert_eq!(hours(settings.clone()), wanted, "{settings}");
        }
        assert_eq!(Lifetimes::new(None), Lifetimes::new(Some(&KubeVirtSelfSignConfiguration::default())));
    }
}
