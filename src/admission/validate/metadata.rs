//! Labels and annotations of an instance, or of the template of one.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use crate::admission::{Cause, Path};
use crate::api::names;
use crate::config::{ClusterConfig, Gate};

/// Labels that only KubeVirt's own components may set.
const RESERVED: [&str; 6] = [
    names::CREATED_BY_LABEL,
    names::MIGRATION_JOB_LABEL,
    names::NODE_NAME_LABEL,
    names::MIGRATION_TARGET_NODE_NAME_LABEL,
    names::NODE_SCHEDULABLE,
    names::INSTALL_STRATEGY_LABEL,
];

/// Annotations that need a feature.
const GATED: [(&str, Gate); 2] = [(names::IGNITION_ANNOTATION, Gate::Ignition), (names::HOOK_SIDECARS_ANNOTATION, Gate::Sidecar)];

/// The reserved labels among these.
pub(crate) fn reserved(labels: Option<&BTreeMap<String, String>>) -> BTreeMap<&str, &str> {
    let all = labels.into_iter().flatten().map(|(key, value)| (key.as_str(), value.as_str()));
    all.filter(|(key, _)| RESERVED.contains(key)).collect()
}

/// Judges labels and annotations; `component` says that one of KubeVirt's own asks.
pub(crate) fn judge(at: &Path, metadata: &ObjectMeta, config: &ClusterConfig, component: bool, causes: &mut Vec<Cause>) {
    if !component {
        for label in reserved(metadata.labels.as_ref()).into_keys() {
            causes.push(Cause::not_supported(at.key("labels"), format!("{label:?} is set by KubeVirt itself; leave it out")));
        }
    }
    for (annotation, gate) in GATED {
        let given = metadata.annotations.as_ref().and_then(|all| all.get(annotation)).is_some_and(|value| !value.is_empty());
        if given && !config.enabled(gate) {
            let message = format!(
                "{annotation:?} needs the feature gate {0}, which is off; enable it in the KubeVirt configuration, or leave this out",
                gate.name()
            );
            causes.push(Cause::invalid(at.key("annotations"), message));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_reserved_or_gated_is_refused() {
        for (metadata, component, wanted) in [
            (json!({"labels": {"app": "a"}}), false, &[][..]),
            (json!({"labels": {"kubevirt.io/created-by": "a"}}), false, &["m.labels"]),
            (json!({"labels": {"kubevirt.io/created-by": "a"}}), true, &[]),
            (json!({"annotations": {"kubevirt.io/ignitiondata": "{}"}}), true, &["m.annotations"]),
            (json!({"annotations": {"kubevirt.io/ignitiondata": ""}}), false, &[]),
            (json!({"annotations": {"hooks.kubevirt.io/hookSidecars": "[]"}}), false, &["m.annotations"]),
        ] {
            let config = ClusterConfig::new(&Default::default());
            let mut causes = Vec::new();
            judge(&Path::new("m"), &serde_json::from_value(metadata.clone()).unwrap(), &config, component, &mut causes);
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), wanted, "{metadata}");
        }
    }
}
