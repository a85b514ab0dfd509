//! Rules of pools and replica sets beyond those of their templates.

use super::Rule;
use super::forms::no_label_value;
use super::variables::Table;

/// The variables of a pool.
pub(super) const POOL_VARIABLES: Table =
    &[("selector", "object.spec.?selector.orValue({})"), ("labels", "object.spec.?virtualMachineTemplate.?metadata.?labels.orValue({})")];

/// The variables of a replica set.
pub(super) const SET_VARIABLES: Table = &[
    ("selector", "object.spec.?selector.orValue({})"),
    ("template", "object.spec.?template.orValue({})"),
    ("labels", "$template.?metadata.?labels.orValue({})"),
];

/// Of both.
pub(super) const SELECTOR: &[Rule] = &[
    Rule::one(
        "selector-labels-form",
        concat!("$selector.?matchLabels.orValue({}).exists(k, [$selector.matchLabels[k]].exists(v, ", no_label_value!("v"), "))"),
        "set.selector",
        "a value in matchLabels is none of a label; use at most 63 letters, digits, '-', '_' and '.'",
    ),
    Rule::one(
        "selector-labels-match",
        "$selector.?matchLabels.orValue({}).exists(k, !(k in $labels) || $labels[k] != $selector.matchLabels[k])",
        "set.selector",
        "the selector does not match the labels of the template; what is made from it would not be found",
    ),
];

/// Of pools.
pub(super) const POOL: &[Rule] = &[
    Rule::one(
        "selector-stays",
        "!$creates && object.spec.?selector.orValue({}) != oldObject.spec.?selector.orValue({})",
        "set.selector",
        "the selector cannot be changed: machines that it found would be lost",
    ),
    Rule::one(
        "machine-template",
        "object.spec.?virtualMachineTemplate.hasValue() && !object.spec.?virtualMachineTemplate.?spec.?template.hasValue()",
        "set.virtualMachineTemplate.spec.template",
        "nothing says what the machine's instances are like; give a template",
    ),
    Rule::one(
        "unavailable",
        "object.spec.?maxUnavailable.hasValue() && !string(object.spec.maxUnavailable).matches('^([1-9][0-9]*|(100|[1-9][0-9]?)%)$')",
        "set.maxUnavailable",
        "{object.spec.maxUnavailable} is neither a number of at least 1 nor a percentage, such as 25%",
    ),
    Rule::one(
        "one-update-strategy",
        "['unmanaged', 'opportunistic', 'proactive'].filter(k, k in object.spec.?updateStrategy.orValue({})).size() > 1",
        "set.updateStrategy",
        "there can be only one of unmanaged, opportunistic and proactive",
    ),
    Rule::one(
        "one-scale-in-strategy",
        "['unmanaged', 'opportunistic', 'proactive'].filter(k, k in object.spec.?scaleInStrategy.orValue({})).size() > 1",
        "set.scaleInStrategy",
        "there can be only one of unmanaged, opportunistic and proactive",
    ),
];
