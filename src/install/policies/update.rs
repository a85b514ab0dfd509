//! Rules of changes of instances.

use super::Rule;

pub(super) const RULES: &[Rule] = &[
    Rule::one(
        "unchanged",
        "!$by_component && object.?spec.orValue({}) != oldObject.?spec.orValue({})",
        "spec",
        "a running instance is changed through its virtual machine or its subresources, not here; leave spec as it is",
    ),
    Rule::one(
        "labels-stay",
        "!$by_component && $reserved_labels.exists(l, object.metadata.?labels[?l] != oldObject.metadata.?labels[?l])",
        "metadata.labels",
        "labels that KubeVirt sets itself have changed; leave them as they are",
    ),
    Rule::one(
        "sockets-limit",
        "object.spec.?domain.?cpu.?maxSockets.orValue(0) != oldObject.spec.?domain.?cpu.?maxSockets.orValue(0)",
        "spec.domain.cpu.maxSockets",
        "it was another number when the guest started; leave it so",
    ),
];
