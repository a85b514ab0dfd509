//! Rules of migrations and of migration policies.

use crate::config::Gate;

use super::Rule;
use super::forms::no_label_value;

/// Of new migrations.
pub(super) const NEW: &[Rule] = &[
    Rule::one("instance-named", "object.spec.?vmiName.orValue('') == ''", "spec.vmiName", "the name of the instance is missing"),
    Rule::one(
        "instance-name",
        concat!("object.spec.?vmiName.orValue('') != '' && ", no_label_value!("object.spec.vmiName")),
        "spec.vmiName",
        "\"{object.spec.vmiName}\" cannot be the value of a label, by which the migrations of an instance are found",
    ),
    Rule::one(
        "priority",
        "object.spec.?priority.hasValue() && !$by_controller",
        "spec.migrationPriority",
        "only KubeVirt's controller decides how urgent a migration is; remove the priority",
    ),
    Rule::gated("send", Gate::DecentralizedLiveMigration, "object.spec.?sendTo.hasValue()", "spec.sendTo"),
    Rule::gated("receive", Gate::DecentralizedLiveMigration, "object.spec.?receive.hasValue()", "spec.receive"),
    Rule::one(
        "same-identifier",
        "object.spec.?sendTo.hasValue() && object.spec.?receive.hasValue() && \
         object.spec.sendTo.?migrationID.orValue('') != object.spec.receive.?migrationID.orValue('')",
        "spec.receive.migrationID",
        "both ends need the same identifier; sendTo has \"{object.spec.sendTo.migrationID}\"",
    ),
];

/// Of changed migrations.
pub(super) const CHANGED: &[Rule] = &[
    Rule::one(
        "unchanged",
        "object.?spec.orValue({}) != oldObject.?spec.orValue({})",
        "spec",
        "a migration cannot be changed; delete it and create another",
    ),
    Rule::one(
        "label-stays",
        "oldObject.metadata.?labels[?$migration_label].hasValue() && \
         oldObject.metadata.labels[$migration_label] != object.metadata.?labels[?$migration_label].orValue('') && \
         !(object.?status.?phase.orValue('') in ['Succeeded', 'Failed'])",
        "metadata.labels",
        "the label {$migration_label} must stay while the migration is under way",
    ),
];

/// A factor of the detection of stalled migrations.
macro_rules! factor {
    ($form:literal, $range:literal, $key:literal, $outside:literal, $says:literal) => {
        [
            Rule::one(
                $form,
                // What is no plain number with at most three decimal places is left to the webhook, where it may be one.
                concat!("object.spec.?experimental.?stallDetector.?", $key, ".orValue('1').matches('[^0-9.eE+_ \\t-]')"),
                concat!("spec.experimental.stallDetector.", $key),
                concat!("\"{object.spec.experimental.stallDetector.", $key, "}\" is no number"),
            ),
            Rule::one(
                $range,
                concat!(
                    "[object.spec.?experimental.?stallDetector.?",
                    $key,
                    ".orValue('')].exists(f, f.matches('^-?[0-9]{1,9}([.][0-9]{1,9})?$') && [double(f)].exists(v, ",
                    $outside,
                    "))"
                ),
                concat!("spec.experimental.stallDetector.", $key),
                concat!("\"{object.spec.experimental.stallDetector.", $key, "}\" must be ", $says),
            ),
        ]
    };
}

const ALPHA: [Rule; 2] = factor!("ewma-alpha-form", "ewma-alpha", "ewmaAlpha", "v <= 0.0 || v > 1.0", "greater than 0 and at most 1");
const PRECOPY: [Rule; 2] = factor!("precopy-form", "precopy", "precopyPossibleFactor", "v < 1.0", "at least 1");
const PATIENCE: [Rule; 2] = factor!("patience-form", "patience", "patienceWindowDecayFactor", "v < 0.0 || v > 1.0", "between 0 and 1");
const COMPLETION: [Rule; 2] = factor!("completion-form", "completion", "completionTimeoutFactor", "v < 1.0", "at least 1");

/// Of migration policies.
pub(super) const POLICY: &[Rule] = &[
    Rule::one(
        "timeout",
        "object.spec.?completionTimeoutPerGiB.orValue(0) < 0",
        "spec.completionTimeoutPerGiB",
        "{object.spec.completionTimeoutPerGiB} is negative; a timeout is not",
    ),
    Rule::one(
        "bandwidth",
        "object.spec.?bandwidthPerMigration.hasValue() && quantity(string(object.spec.bandwidthPerMigration)).compareTo(quantity('0')) < 0",
        "spec.bandwidthPerMigration",
        "{object.spec.bandwidthPerMigration} is negative; a bandwidth is not, and 0 means no limit",
    ),
    Rule::gated(
        "downtime",
        Gate::MigrationStallDetection,
        "object.spec.?maxDowntimeMs.hasValue() && ($creates || oldObject.?spec.?maxDowntimeMs.orValue(-1) != object.spec.maxDowntimeMs)",
        "spec.maxDowntimeMs",
    ),
    Rule::gated(
        "stall-detector",
        Gate::MigrationStallDetection,
        "object.spec.?experimental.?stallDetector.hasValue() && \
         ($creates || oldObject.?spec.?experimental.?stallDetector.orValue({}) != object.spec.experimental.stallDetector)",
        "spec.experimental.stallDetector",
    ),
    ALPHA[0],
    ALPHA[1],
    PRECOPY[0],
    PRECOPY[1],
    PATIENCE[0],
    PATIENCE[1],
    COMPLETION[0],
    COMPLETION[1],
];
