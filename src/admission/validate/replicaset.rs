//! Rules for `VirtualMachineInstanceReplicaSet`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::selector;
use crate::api::v1::VirtualMachineInstanceReplicaSet;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta};

use super::{selectors, spec};

/// Judges a replica set. Its instances are judged again when they are made, with their defaults.
pub fn judge(
    set: &VirtualMachineInstanceReplicaSet,
    _: Option<&VirtualMachineInstanceReplicaSet>,
    request: &Request,
    findings: &mut Findings,
) {
    if request.operation == Operation::Delete {
        return;
    }
    let Some(template) = &set.spec.template else {
        findings.deny(Cause::required("spec.template", "the template is missing, from which instances are made"));
        return;
    };
    let causes = &mut findings.causes;
    let (at, meta) = (Path::new("spec.template.spec"), Path::new("spec.template.metadata"));
    spec::grace_annotations(&meta, &template.spec, template.metadata.annotations.as_ref(), request.config, causes);
    spec::judge(&spec::Subject { at: &at, spec: &template.spec, config: request.config }, causes);
    selects(&Path::new("spec.selector"), set.spec.selector.as_ref(), &template.metadata, causes);
    if request.operation == Operation::Create {
        spec::discontinued_bindings(&at, &template.spec, causes);
    }
}

/// The selector has its form and finds what is made from the template; one that is missing finds nothing.
pub(super) fn selects(at: &Path, selector: Option<&LabelSelector>, template: &ObjectMeta, causes: &mut Vec<Cause>) {
    let Some(selector) = selector else {
        causes.push(Cause::invalid(at, "the selector is missing, by which what is made from the template is found"));
        return;
    };
    // the selector is one thing to whoever writes it: what is wrong below it is said, but it is what has to change
    let (mut faults, whole) = (Vec::new(), at.to_string());
    selectors::selector(at, selector, &mut faults);
    let labels = template.labels.clone().unwrap_or_default();
    let form_is_right = faults.is_empty();
    causes.extend(faults.into_iter().map(|fault| {
        let below = fault.field.strip_prefix(whole.as_str()).unwrap_or_default().trim_start_matches('.');
        Cause { message: format!("{below}: {}", fault.message), field: whole.clone(), reason: fault.reason }
    }));
    if form_is_right && selector::matches(selector, &labels) != Ok(true) {
        causes.push(Cause::invalid(at, "the selector does not match the labels of the template; what is made from it would not be found"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::denied;

    #[test]
    fn a_replica_set_finds_its_instances() {
        let domain = json!({"domain": {"devices": {}, "memory": {"guest": "1Gi"}}});
        let set = |selector: Value, spec: &Value| {
            let template = json!({"metadata": {"labels": {"a": "b"}}, "spec": spec});
            json!({"metadata": {"name": "s", "namespace": "lab"}, "spec": {"selector": selector, "template": template}})
        };
        for (selector, want) in [
            (json!({"matchLabels": {"a": "b"}}), &[] as &[&str]),
            (json!({"matchExpressions": [{"key": "a", "operator": "In", "values": ["b", "c"]}]}), &[]),
            (json!({"matchLabels": {"a": "c"}}), &["spec.selector"]),
            (json!({"matchLabels": {"a": "Bad Value!"}}), &["spec.selector"]),
            (json!({"matchExpressions": [{"key": "a", "operator": "Near", "values": ["b"]}]}), &["spec.selector"]),
        ] {
            let got = denied("VirtualMachineInstanceReplicaSet", &set(selector.clone(), &domain), &json!({}), &json!([]));
            assert_eq!(got, want, "{selector}");
        }
        let odd = json!({"domain": {"devices": {"disks": [{"name": "x", "disk": {}}]}, "memory": {"guest": "1Gi"}}});
        let selector = json!({"matchLabels": {"a": "b"}});
        let got = denied("VirtualMachineInstanceReplicaSet", &set(selector, &odd), &json!({}), &json!([]));
        assert!(!got.is_empty() && got.iter().all(|field| field.starts_with("spec.template.spec.")), "{got:?}");
    }
}
