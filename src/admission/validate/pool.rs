//! Rules for `VirtualMachinePool`.

use crate::admission::{Cause, Findings, Operation, Path, Request};
use crate::api::pool::{VirtualMachinePool, VirtualMachinePoolSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;

use super::{replicaset, spec, vm};

/// Judges a pool. Its machines are judged again when they are made, with their defaults.
pub fn judge(pool: &VirtualMachinePool, old: Option<&VirtualMachinePool>, request: &Request, findings: &mut Findings) {
    if request.operation == Operation::Delete {
        return;
    }
    let path = Path::new("spec");
    let Some(template) = &pool.spec.virtual_machine_template else {
        let text = "the template is missing, from which machines are made";
        findings.deny(Cause::required(path.key("virtualMachineTemplate"), text));
        return;
    };
    let causes = &mut findings.causes;
    let machine = path.key("virtualMachineTemplate.spec");
    vm::vm_spec(&machine, &template.spec, request.config, request.is_component(), causes);
    let selector = path.key("selector");
    replicaset::selects(&selector, pool.spec.selector.as_ref(), &template.metadata, causes);
    unavailable(&pool.spec, &path.key("maxUnavailable"), causes);
    strategies(&pool.spec, &path, causes);
    if old.is_some_and(|old| old.spec.selector != pool.spec.selector) {
        causes.push(Cause::invalid(selector, "the selector cannot be changed: machines that it found would be lost"));
    }
    if let (Operation::Create, Some(template)) = (request.operation, &template.spec.template) {
        spec::discontinued_bindings(&machine.key("template.spec"), &template.spec, causes);
    }
}

fn unavailable(spec: &VirtualMachinePoolSpec, at: &Path, causes: &mut Vec<Cause>) {
    let text = match &spec.max_unavailable {
        Some(IntOrString::Int(number)) if *number <= 0 => format!("{number} must be at least 1"),
        Some(IntOrString::String(text)) => match text.strip_suffix('%').map(str::parse::<i64>) {
            Some(Ok(1..=100)) => return,
            Some(Ok(_)) => format!("{text} must be between 1% and 100%"),
            _ => format!("{text:?} is neither a number nor a percentage, such as 25%"),
        },
        _ => return,
    };
    causes.push(Cause::invalid(at, text));
}

/// There is one way to update, and one to scale in.
fn strategies(spec: &VirtualMachinePoolSpec, path: &Path, causes: &mut Vec<Cause>) {
    let update = spec.update_strategy.as_ref();
    let scale = spec.scale_in_strategy.as_ref();
    for (field, given) in [
        ("updateStrategy", update.map(|s| [s.unmanaged.is_some(), s.opportunistic.is_some(), s.proactive.is_some()])),
        ("scaleInStrategy", scale.map(|s| [s.unmanaged.is_some(), s.opportunistic.is_some(), s.proactive.is_some()])),
    ] {
        if given.unwrap_or_default().iter().filter(|given| **given).count() > 1 {
            causes.push(Cause::invalid(path.key(field), "there can be only one of unmanaged, opportunistic and proactive"));
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::admission::testing::{denied, denied_update};

    fn pool(rest: Value) -> Value {
        let machine = json!({"metadata": {"labels": {"a": "b"}}, "spec": {"runStrategy": "Halted", "template": {"spec": {
            "domain": {"devices": {}, "memory": {"guest": "1Gi"}},
        }}}});
        let mut spec = json!({"selector": {"matchLabels": {"a": "b"}}, "virtualMachineTemplate": machine});
        spec.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
        json!({"metadata": {"name": "p", "namespace": "lab"}, "spec": spec})
    }

    #[test]
    fn rules_for_pools() {
        for (rest, want) in [
            (json!({}), &[] as &[&str]),
            (json!({"virtualMachineTemplate": null}), &["spec.virtualMachineTemplate"]),
            (json!({"selector": {"matchLabels": {"a": "c"}}}), &["spec.selector"]),
            (json!({"maxUnavailable": 0}), &["spec.maxUnavailable"]),
            (json!({"maxUnavailable": 1}), &[]),
            (json!({"maxUnavailable": "100%"}), &[]),
            (json!({"maxUnavailable": "101%"}), &["spec.maxUnavailable"]),
            (json!({"maxUnavailable": "1"}), &["spec.maxUnavailable"]),
            (json!({"maxUnavailable": "x%"}), &["spec.maxUnavailable"]),
            (json!({"updateStrategy": {"proactive": {}}, "scaleInStrategy": {"unmanaged": {}}}), &[]),
            (json!({"updateStrategy": {"proactive": {}, "unmanaged": {}}}), &["spec.updateStrategy"]),
            (json!({"scaleInStrategy": {"proactive": {}, "opportunistic": {}}}), &["spec.scaleInStrategy"]),
        ] {
            assert_eq!(denied("VirtualMachinePool", &pool(rest.clone()), &json!({}), &json!([])), want, "{rest}");
        }
    }

    #[test]
    fn a_pool_keeps_its_machines() {
        let other = pool(json!({"selector": {"matchLabels": {"a": "b"}, "matchExpressions": []}}));
        assert!(denied_update("VirtualMachinePool", &pool(json!({"replicas": 2})), &pool(json!({}))).is_empty());
        let wider = pool(json!({"selector": {"matchLabels": {}}}));
        assert_eq!(denied_update("VirtualMachinePool", &wider, &other), ["spec.selector"]);
    }
}
