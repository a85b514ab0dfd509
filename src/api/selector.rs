//! Label selectors, by the rules of Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};

/// A selector that Kubernetes would not take.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "set the operator of the label selector's expression for {key:?} to In, NotIn, Exists or DoesNotExist, with values for the first two"
)]
pub struct SelectorError {
    key: String,
}

/// Whether labels match a selector. One without requirements matches everything.
pub fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> Result<bool, SelectorError> {
    let exact = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let mut all = exact;
    for expression in selector.match_expressions.iter().flatten() {
        all &= holds(expression, labels)?;
    }
    Ok(all)
}

fn holds(expression: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> Result<bool, SelectorError> {
    let value = labels.get(&expression.key);
    let values = expression.values.as_deref().unwrap_or_default();
    let named = value.is_some_and(|v| values.contains(v));
    match (expression.operator.as_str(), values.is_empty()) {
        ("In", false) => Ok(named),
        ("NotIn", false) => Ok(!named),
        ("Exists", true) => Ok(value.is_some()),
        ("DoesNotExist", true) => Ok(value.is_none()),
        _ => Err(SelectorError { key: expression.key.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn selectors_match_as_kubernetes_does() {
        let labels = BTreeMap::from([("app".to_owned(), "db".to_owned())]);
        for (wanted, expected) in [
            (json!({}), Some(true)),
            (json!({"matchLabels": {"app": "db"}}), Some(true)),
            (json!({"matchLabels": {"app": "web"}}), Some(false)),
            (json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["db", "web"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "zone", "operator": "NotIn", "values": ["a"]}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "zone", "operator": "Exists"}]}), Some(false)),
            (json!({"matchExpressions": [{"key": "zone", "operator": "DoesNotExist"}]}), Some(true)),
            (json!({"matchExpressions": [{"key": "app", "operator": "In"}]}), None),
            (json!({"matchExpressions": [{"key": "app", "operator": "Like", "values": ["d"]}]}), None),
        ] {
            let selector = serde_json::from_value(wanted.clone()).unwrap();
            assert_eq!(matches(&selector, &labels).ok(), expected, "{wanted}");
        }
    }
}
