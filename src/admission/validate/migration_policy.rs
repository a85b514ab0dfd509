//! Rules for `MigrationPolicy`.

use crate::admission::{Cause, Findings, Path, Request};
use crate::api::migrations::{MigrationPolicy, MigrationPolicySpec};
use crate::api::v1::StallDetectorOptions;
use crate::config::Gate;

/// Judges a policy.
pub fn judge(policy: &MigrationPolicy, old: Option<&MigrationPolicy>, request: &Request, findings: &mut Findings) {
    let (spec, old) = (&policy.spec, old.map(|old| &old.spec));
    let path = Path::new("spec");
    if spec.completion_timeout_per_gib.is_some_and(|seconds| seconds < 0) {
        findings.deny(Cause::invalid(path.key("completionTimeoutPerGiB"), "a timeout is not negative"));
    }
    if spec.bandwidth_per_migration.as_ref().is_some_and(|bandwidth| bandwidth.nanos() < 0) {
        findings.deny(Cause::invalid(path.key("bandwidthPerMigration"), "a bandwidth is not negative; 0 means no limit"));
    }
    gated(spec, old, &path, request, findings);
    if let Some(detector) = stall_detector(spec) {
        factors(detector, &path.key("experimental.stallDetector"), findings);
    }
}

fn stall_detector(spec: &MigrationPolicySpec) -> Option<&StallDetectorOptions> {
    spec.experimental.as_ref().and_then(|experimental| experimental.stall_detector.as_ref())
}

/// What the detection of stalled migrations brought can be changed only while it is enabled; what is there may stay.
fn gated(spec: &MigrationPolicySpec, old: Option<&MigrationPolicySpec>, path: &Path, request: &Request, findings: &mut Findings) {
    let gate = Gate::MigrationStallDetection;
    if request.config.enabled(gate) {
        return;
    }
    let detector = stall_detector(spec);
    let changes = [
        ("maxDowntimeMs", spec.max_downtime_ms.is_some() && spec.max_downtime_ms != old.and_then(|old| old.max_downtime_ms)),
        ("experimental.stallDetector", detector.is_some() && detector != old.and_then(stall_detector)),
    ];
    for (field, _) in changes.iter().filter(|(_, changed)| *changed) {
        let text = format!("the feature gate {} has to be enabled to set this", gate.name());
        findings.deny(Cause::invalid(path.key(field), text));
    }
}

/// The range of a factor.
enum Range {
    /// More than nothing, at most one.
    Share,
    /// From nothing to one.
    Decay,
    /// One or more.
    Multiple,
}

fn factors(detector: &StallDetectorOptions, path: &Path, findings: &mut Findings) {
    for (field, value, range) in [
        ("ewmaAlpha", &detector.ewma_alpha, Range::Share),
        ("precopyPossibleFactor", &detector.precopy_possible_factor, Range::Multiple),
        ("patienceWindowDecayFactor", &detector.patience_window_decay_factor, Range::Decay),
        ("completionTimeoutFactor", &detector.completion_timeout_factor, Range::Multiple),
    ] {
        if let Some(value) = value
            && let Err(text) = factor(value, &range)
        {
            findings.deny(Cause::invalid(path.key(field), format!("{value:?} {text}")));
        }
    }
}

fn factor(text: &str, range: &Range) -> Result<(), &'static str> {
    let value: f64 = text.trim().parse().ok().filter(|value: &f64| value.is_finite()).ok_or("is no number")?;
    // what is finer would be lost where it is used
    if (value - (value * 1000.0).round() / 1000.0).abs() > 1e-9 {
        return Err("has more than three decimal places");
    }
    match range {
        Range::Share if value <= 0.0 || value > 1.0 => Err("must be greater than 0 and at most 1"),
        Range::Decay if !(0.0..=1.0).contains(&value) => Err("must be between 0 and 1"),
        Range::Multiple if value < 1.0 => Err("must be at least 1"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn policy(rest: Value) -> Value {
        let mut spec = json!({"selectors": {}});
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"metadata": {"name": "p"}, "spec": spec})
    }

    #[test]
    fn rules_for_policies() {
        let gate = json!({"developerConfiguration": {"featureGates": ["MigrationStallDetection"]}});
        let detector = |field: &str, value: &str| json!({"experimental": {"stallDetector": {field: value}}});
        for (spec, config, want) in [
            (json!({}), json!({}), &[] as &[&str]),
            (json!({"completionTimeoutPerGiB": -1}), json!({}), &["spec.completionTimeoutPerGiB"]),
            (json!({"bandwidthPerMigration": "-1Gi"}), json!({}), &["spec.bandwidthPerMigration"]),
            (json!({"bandwidthPerMigration": "0"}), json!({}), &[]),
            (json!({"maxDowntimeMs": 100}), json!({}), &["spec.maxDowntimeMs"]),
            (json!({"maxDowntimeMs": 100}), gate.clone(), &[]),
            (detector("ewmaAlpha", "0.5"), json!({}), &["spec.experimental.stallDetector"]),
            (detector("ewmaAlpha", "1"), gate.clone(), &[]),
            (detector("ewmaAlpha", "0"), gate.clone(), &["spec.experimental.stallDetector.ewmaAlpha"]),
            (detector("ewmaAlpha", "1.001"), gate.clone(), &["spec.experimental.stallDetector.ewmaAlpha"]),
            (detector("ewmaAlpha", "0.0005"), gate.clone(), &["spec.experimental.stallDetector.ewmaAlpha"]),
            (detector("ewmaAlpha", "half"), gate.clone(), &["spec.experimental.stallDetector.ewmaAlpha"]),
            (detector("patienceWindowDecayFactor", "0"), gate.clone(), &[]),
            (detector("patienceWindowDecayFactor", "NaN"), gate.clone(), &["spec.experimental.stallDetector.patienceWindowDecayFactor"]),
            (detector("precopyPossibleFactor", "0.9"), gate.clone(), &["spec.experimental.stallDetector.precopyPossibleFactor"]),
            (detector("completionTimeoutFactor", "1e6"), gate.clone(), &[]),
            (detector("completionTimeoutFactor", "inf"), gate.clone(), &["spec.experimental.stallDetector.completionTimeoutFactor"]),
        ] {
            assert_eq!(denied("MigrationPolicy", &policy(spec.clone()), &config, &json!([])), want, "{spec}");
        }
    }

    #[test]
    fn what_is_there_may_stay() {
        let with = |downtime: u32| policy(json!({"maxDowntimeMs": downtime}));
        assert!(denied_update("MigrationPolicy", &with(5), &with(5)).is_empty());
        assert!(denied_update("MigrationPolicy", &policy(json!({})), &with(5)).is_empty());
        assert_eq!(denied_update("MigrationPolicy", &with(6), &with(5)), ["spec.maxDowntimeMs"]);
    }
}
