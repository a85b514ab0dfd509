//! What may change in an instance: for users nothing but metadata, for KubeVirt's own components what can be plugged
//! into a running guest.

use super::{hotplug, metadata};
use crate::admission::request::HANDLER;
use crate::admission::{Cause, Path, Request};
use crate::api::v1::VirtualMachineInstance;
use crate::config::Gate;

/// Judges an update.
pub(super) fn judge(new: &VirtualMachineInstance, old: &VirtualMachineInstance, request: &Request, causes: &mut Vec<Cause>) {
    if request.config.enabled(Gate::NodeRestriction) && request.is_account(HANDLER) {
        own_node(new, old, request.user_node, causes);
        if !causes.is_empty() {
            return;
        }
    }
    if request.is_component() {
        if new.spec != old.spec {
            resources(new, old, causes);
            hotplug::judge(new, old, request.config, causes);
        }
        return;
    }
    if new.spec != old.spec {
        let message = "a running instance is changed through its virtual machine or its subresources, not here; leave spec as it is";
        causes.push(Cause::not_supported("spec", message));
    } else if metadata::reserved(new.metadata.labels.as_ref()) != metadata::reserved(old.metadata.labels.as_ref()) {
        causes.push(Cause::not_supported("metadata.labels", "labels that KubeVirt sets itself have changed; leave them as they are"));
    }
}

/// A handler changes only what runs on its node, or is about to.
fn own_node(new: &VirtualMachineInstance, old: &VirtualMachineInstance, node: Option<&str>, causes: &mut Vec<Cause>) {
    let Some(node) = node else {
        causes.push(Cause::invalid("", "the token of the handler is bound to no node, so nothing tells whose instances it may change"));
        return;
    };
    let target = |vmi: &'_ VirtualMachineInstance| vmi.status.migration_state.as_ref().map(|state| state.target_node.clone());
    let given = target(old).filter(|target| !target.is_empty());
    if node != old.status.node_name && given.as_deref() != Some(node) {
        causes.push(Cause::invalid("", format!("the handler of node {node:?} may change only instances that run there, or move there")));
    } else if given.is_none() && target(new).is_some_and(|target| !target.is_empty()) {
        causes.push(Cause::invalid("status.migrationState.targetNode", "a handler does not choose where an instance moves to"));
    }
}

/// The limits up to which a guest can grow are settled when it starts.
fn resources(new: &VirtualMachineInstance, old: &VirtualMachineInstance, causes: &mut Vec<Cause>) {
    let domain = Path::new("spec.domain");
    let sockets = |vmi: &VirtualMachineInstance| vmi.spec.domain.cpu.as_ref().map_or(0, |cpu| cpu.max_sockets);
    if sockets(new) != sockets(old) {
        causes.push(Cause::invalid(
            domain.key("cpu.maxSockets"),
            format!("{} was {} when the guest started; leave it so", sockets(new), sockets(old)),
        ));
    }
    let most = |vmi: &'_ VirtualMachineInstance| vmi.spec.domain.memory.as_ref().and_then(|m| m.max_guest.clone());
    if let (Some(new), Some(old)) = (most(new), most(old))
        && new != old
    {
        causes.push(Cause::invalid(domain.key("memory.maxGuest"), format!("{new} was {old} when the guest started; leave it so")));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::{Operation, Seed};
    use crate::config::ClusterConfig;
    use serde_json::{Value, json};

    fn fields(new: Value, old: Value, user: &str) -> Vec<String> {
        let config = ClusterConfig::new(&Default::default());
        let request = Request {
            kind: "VirtualMachineInstance",
            operation: Operation::Update,
            config: &config,
            object: &Value::Null,
            old: None,
            user,
            user_node: None,
            namespace: "kubevirt",
            cluster: &[],
            seed: Seed(0),
            now: jiff::Timestamp::UNIX_EPOCH,
        };
        let mut causes = Vec::new();
        judge(&serde_json::from_value(new).unwrap(), &serde_json::from_value(old).unwrap(), &request, &mut causes);
        causes.into_iter().map(|c| c.field).collect()
    }

    #[test]
    fn only_components_change_what_runs() {
        let of = |cpu: Value, label: &str| json!({"metadata": {"labels": {"kubevirt.io/nodeName": label, "own": label}}, "spec": {"domain": {"cpu": cpu}}});
        let controller = "system:serviceaccount:kubevirt:kubevirt-controller";
        let impostor = "system:serviceaccount:other:kubevirt-controller";
        for (new, old, user, wanted) in [
            (of(json!({"sockets": 1}), "a"), of(json!({"sockets": 1}), "a"), "me", &[][..]),
            (of(json!({"sockets": 2}), "a"), of(json!({"sockets": 1}), "a"), "me", &["spec"]),
            (of(json!({"sockets": 2}), "a"), of(json!({"sockets": 1}), "a"), impostor, &["spec"]),
            (of(json!({"sockets": 2}), "b"), of(json!({"sockets": 1}), "a"), controller, &[]),
            (of(json!({}), "b"), of(json!({}), "a"), "me", &["metadata.labels"]),
            (of(json!({"maxSockets": 2}), "a"), of(json!({"maxSockets": 1}), "a"), controller, &["spec.domain.cpu.maxSockets"]),
        ] {
            assert_eq!(fields(new.clone(), old, user), wanted, "{user} {new}");
        }
    }
}
