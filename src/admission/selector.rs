//! Whether labels match a selector.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// Whether the labels match; `None` when the selector asks for something that there is not.
pub(super) fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Option<bool> {
    let mut all = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    for requirement in selector.match_expressions.iter().flatten() {
        all &= meets(requirement, labels)?;
    }
    Some(all)
}

fn meets(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> Option<bool> {
    let value = labels.get(&requirement.key);
    let listed = || value.is_some_and(|value| requirement.values.iter().flatten().any(|v| v == value));
    let any = requirement.values.iter().flatten().next().is_some();
    match requirement.operator.as_str() {
        "In" if any => Some(listed()),
        "NotIn" if any => Some(!listed()),
        "Exists" if !any => Some(value.is_some()),
        "DoesNotExist" if !any => Some(value.is_none()),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn labels_match_selectors() {
        let labels = BTreeMap::from([("os".to_owned(), "linux".to_owned())]);
        let expression =
            |operator: &str, values: Value| json!({"matchExpressions": [{"key": "os", "operator": operator, "values": values}]});
        for (selector, matched) in [
            (json!({}), Some(true)),
            (json!({"matchLabels": {"os": "linux"}}), Some(true)),
            (json!({"matchLabels": {"os": "bsd"}}), Some(false)),
            (expression("In", json!(["bsd", "linux"])), Some(true)),
            (expression("NotIn", json!(["linux"])), Some(false)),
            (expression("Exists", json!([])), Some(true)),
            (expression("DoesNotExist", json!([])), Some(false)),
            (expression("In", json!([])), None),
            (expression("Like", json!(["l"])), None),
        ] {
            assert_eq!(matches(&serde_json::from_value(selector.clone()).unwrap(), &labels), matched, "{selector}");
        }
    }
}
