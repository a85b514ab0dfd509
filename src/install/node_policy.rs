//! What a handler may change about nodes: on its own, what is KubeVirt's there. The API server judges that itself, so
//! that whoever takes over one node gets no power over the others.

use serde_json::{Value, json};

use super::Object;
use crate::api::names::APP_LABEL;

const POLICY: &str = "kubevirt-node-restriction-policy";
const BINDING: &str = "kubevirt-node-restriction-binding";
/// Where the API server notes the node of the pod whose token was shown.
const NODE: &str = "'authentication.kubernetes.io/node-name'";
/// The keys of labels and annotations that handlers write.
const OURS: &str = "(k.matches('^([a-z0-9-]+[.])*kubevirt[.]io/') || k == 'cpumanager')";

/// The rules: an expression that holds for what is allowed, and what is said about the rest.
fn rules() -> [(String, &'static str); 5] {
    let rest_stays = |what: &str| {
        let (new, old) = (format!("object.metadata.?{what}.orValue({{}})"), format!("oldObject.metadata.?{what}.orValue({{}})"));
        format!(
            "{new}.all(k, {OURS} || (k in {old} && oldObject.metadata.{what}[k] == object.metadata.{what}[k])) && \
             {old}.all(k, {OURS} || k in {new})"
        )
    };
    [
        (
            format!("request.userInfo.?extra[?{NODE}].orValue([]) == [object.metadata.name]"),
            "a handler changes only the node that it runs on",
        ),
        ("object.spec == oldObject.spec".to_owned(), "a handler leaves the spec of its node as it is"),
        (
            "object.metadata.?finalizers == oldObject.metadata.?finalizers && \
             object.metadata.?ownerReferences == oldObject.metadata.?ownerReferences"
                .to_owned(),
            "a handler decides neither when its node goes nor whose it is",
        ),
        (rest_stays("labels"), "a handler changes only labels of kubevirt.io"),
        (rest_stays("annotations"), "a handler changes only annotations of kubevirt.io"),
    ]
}

/// The policy and what puts it in force.
pub(super) fn objects(namespace: &str) -> [Object; 2] {
    let nodes = |operation: &str| json!([{"apiGroups": [""], "apiVersions": ["*"], "operations": [operation], "resources": ["nodes"], "scope": "*"}]);
    let validations: Vec<Value> = rules()
        .into_iter()
        .map(|(expression, message)| json!({"expression": expression, "message": message, "reason": "Forbidden"}))
        .collect();
    let object = |kind: &str, name: &str, spec: Value| {
        Object::new(json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": kind,
            "metadata": {"name": name, "labels": {APP_LABEL: "kubevirt-node-restriction"}},
            "spec": spec,
        }))
    };
    [
        object(
            "ValidatingAdmissionPolicy",
            POLICY,
            json!({
                "failurePolicy": "Fail",
                "matchConstraints": {"resourceRules": nodes("UPDATE")},
                "matchConditions": [{
                    "name": "is-a-handler",
                    "expression": format!("request.userInfo.username == 'system:serviceaccount:{namespace}:kubevirt-handler'"),
                }],
                "validations": validations,
            }),
        ),
        object(
            "ValidatingAdmissionPolicyBinding",
            BINDING,
            json!({"policyName": POLICY, "validationActions": ["Deny"], "matchResources": {"resourceRules": nodes("*")}}),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_policy_is_in_force_for_the_handlers_of_the_installation() {
        let [policy, binding] = objects("virt");
        assert_eq!(binding.value()["spec"]["policyName"], policy.name());
        let condition = policy.value()["spec"]["matchConditions"][0]["expression"].as_str().unwrap();
        assert!(condition.contains("system:serviceaccount:virt:kubevirt-handler"), "{condition}");
        assert_eq!(policy.value()["spec"]["validations"].as_array().unwrap().len(), 5);
    }
}
