//! Whether labels match a selector, by the rules of Kubernetes.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;

/// Whether the labels match. An empty selector matches everything; one with an operator that nobody knows, nothing.
pub(super) fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let same = selector.match_labels.iter().flatten().all(|(key, value)| labels.get(key) == Some(value));
    let met = selector.match_expressions.iter().flatten().all(|wanted| {
        let values = wanted.values.as_deref().unwrap_or_default();
        let found = labels.get(&wanted.key);
        match wanted.operator.as_str() {
            "In" => found.is_some_and(|value| values.contains(value)),
            "NotIn" => found.is_none_or(|value| !values.contains(value)),
            "Exists" => found.is_some(),
            "DoesNotExist" => found.is_none(),
            _ => false,
        }
    });
    same && met
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_select_as_in_kubernetes() {
        let labels = BTreeMap::from([("tier".to_owned(), "gold".to_owned())]);
        for (selector, expected) in [
            ("{}", true),
            ("{matchLabels: {tier: gold}}", true),
            ("{matchLabels: {tier: tin}}", false),
            ("{matchExpressions: [{key: tier, operator: In, values: [tin, gold]}]}", true),
            ("{matchExpressions: [{key: tier, operator: NotIn, values: [gold]}]}", false),
            ("{matchExpressions: [{key: zone, operator: NotIn, values: [gold]}]}", true),
            ("{matchExpressions: [{key: zone, operator: Exists}]}", false),
            ("{matchExpressions: [{key: zone, operator: DoesNotExist}]}", true),
            ("{matchExpressions: [{key: tier, operator: Resembles, values: [gold]}]}", false),
        ] {
            let selector: LabelSelector = serde_yaml::from_str(selector).expect(selector);
            assert_eq!(matches(&selector, &labels), expected, "{selector:?}");
        }
    }
}
