//! Label selectors, judged as Kubernetes judges them.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

use super::naming;
use crate::admission::{Cause, Path};

/// Judges a label selector.
pub(crate) fn selector(at: &Path, selector: &LabelSelector, causes: &mut Vec<Cause>) {
    let labels = at.key("matchLabels");
    for (name, value) in selector.match_labels.iter().flatten() {
        key(&labels, name, causes);
        if let Err(right) = naming::label_value(value) {
            causes.push(Cause::invalid(labels, format!("{value:?} is no value of a label; {right}")));
        }
    }
    let expressions = at.key("matchExpressions");
    for (i, requirement) in selector.match_expressions.iter().flatten().enumerate() {
        let at = expressions.index(i);
        let operator = requirement.operator.as_str();
        let list = at.key("values");
        let values = requirement.values.as_deref().unwrap_or_default();
        match operator {
            "In" | "NotIn" if values.is_empty() => causes.push(Cause::invalid(list, format!("{operator} compares with values; give some"))),
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                causes.push(Cause::invalid(list, format!("{operator} compares with nothing; leave the values out")));
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            other => {
                causes
                    .push(Cause::invalid(at.key("operator"), format!("{other:?} is no operator; give In, NotIn, Exists or DoesNotExist")));
            }
        }
        key(&at.key("key"), &requirement.key, causes);
        for (i, value) in values.iter().enumerate() {
            if let Err(right) = naming::label_value(value) {
                causes.push(Cause::invalid(list.index(i), format!("{value:?} is no value of a label; {right}")));
            }
        }
    }
}

/// Judges the key of a label.
pub(crate) fn key(at: &Path, key: &str, causes: &mut Vec<Cause>) {
    if let Err(right) = naming::label_key(key) {
        causes.push(Cause::invalid(at, format!("{key:?} is no key of a label; {right}")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_have_their_form() {
        for (value, wanted) in [
            (json!({"matchLabels": {"a": "b"}}), &[][..]),
            (json!({"matchLabels": {"-": " "}}), &["s.matchLabels", "s.matchLabels"]),
            (json!({"matchExpressions": [{"key": "a", "operator": "In"}]}), &["s.matchExpressions[0].values"]),
            (json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}), &["s.matchExpressions[0].values"]),
            (
                json!({"matchExpressions": [{"key": "", "operator": "Like", "values": ["?"]}]}),
                &["s.matchExpressions[0].operator", "s.matchExpressions[0].key", "s.matchExpressions[0].values[0]"],
            ),
        ] {
            let mut causes = Vec::new();
            selector(&Path::new("s"), &serde_json::from_value(value.clone()).unwrap(), &mut causes);
            assert_eq!(causes.iter().map(|c| c.field.as_str()).collect::<Vec<_>>(), wanted, "{value}");
        }
    }
}
