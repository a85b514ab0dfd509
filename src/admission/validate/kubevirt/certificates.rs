//! How long the certificates of the components last.

use crate::admission::{Cause, Findings, Path};
use crate::api::Duration;
use crate::api::v1::{CertConfig, KubeVirtSelfSignConfiguration};

const HOUR: i64 = 3_600_000_000_000;
/// How long the authority lasts when nobody says it.
const AUTHORITY: i64 = 7 * 24 * HOUR;
/// How long what it signs lasts.
const SERVER: i64 = 24 * HOUR;

/// A span of time and the field that it was taken from.
struct Span {
    nanoseconds: i64,
    field: &'static str,
}

/// The three fields of old win over the two sections that replaced them; with neither, a fifth of the duration
/// before its end is the time to renew.
pub(super) fn judge(config: &KubeVirtSelfSignConfiguration, path: &Path, findings: &mut Findings) {
    let old = [
        (&config.ca_rotate_interval, "caRotateInterval"),
        (&config.cert_rotate_interval, "certRotateInterval"),
        (&config.ca_overlap_interval, "caOverlapInterval"),
    ];
    if let Some((_, field)) = old.iter().find(|(value, _)| value.is_some())
        && (config.ca.is_some() || config.server.is_some())
    {
        let text = "it is deprecated and cannot stand beside ca and server, which say the same; remove it";
        findings.deny(Cause::not_supported(path.key(field), text));
    }
    let section = |of: &Option<CertConfig>, part: fn(&CertConfig) -> &Option<Duration>| of.as_ref().and_then(|of| part(of).clone());
    let duration = |of: &Option<CertConfig>| section(of, |of| &of.duration);
    let renewal = |of: &Option<CertConfig>| section(of, |of| &of.renew_before);
    let first = |candidates: [(Option<Duration>, &'static str); 2], default: i64, at: &'static str| {
        let given = candidates.into_iter().find_map(|(value, field)| value.map(|v| Span { nanoseconds: v.nanoseconds(), field }));
        given.unwrap_or(Span { nanoseconds: default, field: at })
    };
    let fifth = |of: &Span| (of.nanoseconds as f64 * 0.2) as i64;
    let ca =
        first([(config.ca_rotate_interval.clone(), "caRotateInterval"), (duration(&config.ca), "ca.duration")], AUTHORITY, "ca.duration");
    let ca_renewal = first(
        [(config.ca_overlap_interval.clone(), "caOverlapInterval"), (renewal(&config.ca), "ca.renewBefore")],
        fifth(&ca),
        "ca.renewBefore",
    );
    let server = first(
        [(config.cert_rotate_interval.clone(), "certRotateInterval"), (duration(&config.server), "server.duration")],
        SERVER,
        "server.duration",
    );
    let server_renewal = first([(renewal(&config.server), "server.renewBefore"), (None, "")], fifth(&server), "server.renewBefore");
    for (short, long, what) in [
        (&ca_renewal, &ca, "the authority is to be renewed before it begins"),
        (&server_renewal, &server, "the certificates are to be renewed before they begin"),
        (&server, &ca, "the certificates outlast the authority that signs them"),
    ] {
        if short.nanoseconds > long.nanoseconds {
            let [short_text, long_text] = [short, long].map(|span| Duration::from_secs(span.nanoseconds / 1_000_000_000));
            let text = format!("{what}: {short_text} must be at most {long_text} ({})", long.field);
            findings.deny(Cause::invalid(path.key(short.field), text));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::tests::updated;

    #[test]
    fn certificates_end_after_they_are_renewed_and_before_their_authority() {
        let section = |duration: &str, renewal: &str| json!({"duration": duration, "renewBefore": renewal});
        for (config, want) in [
            (json!({}), &[] as &[&str]),
            (json!({"ca": section("48h", "24h"), "server": section("24h", "12h")}), &[]),
            (json!({"ca": section("24h", "48h"), "server": section("12h", "6h")}), &["ca.renewBefore"]),
            (json!({"ca": section("48h", "24h"), "server": section("12h", "13h")}), &["server.renewBefore"]),
            (json!({"ca": {"duration": "12h"}}), &["server.duration"]),
            (json!({"server": {"duration": "200h"}}), &["server.duration"]),
            (json!({"ca": {"renewBefore": "169h"}}), &["ca.renewBefore"]),
            (json!({"caRotateInterval": "48h", "certRotateInterval": "24h", "caOverlapInterval": "1h"}), &[]),
            (json!({"caRotateInterval": "2h", "caOverlapInterval": "3h", "certRotateInterval": "1h"}), &["caOverlapInterval"]),
            (json!({"caRotateInterval": "48h", "server": section("24h", "12h")}), &["caRotateInterval"]),
        ] {
            let got = updated(json!({}), json!({"certificateRotateStrategy": {"selfSigned": config}}));
            let want: Vec<String> = want.iter().map(|field| format!("certificateRotateStrategy.selfSigned.{field}")).collect();
            assert_eq!(got, want, "{config}");
        }
        assert_eq!(updated(json!({}), json!({"certificateRotateStrategy": {}})), Vec::<String>::new());
        let _: Value = json!({});
    }
}
