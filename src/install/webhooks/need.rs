//! Which requests need an answer of a webhook, told to the API server as a CEL expression.
//!
//! An expression that fails would refuse the request, so each one first makes sure of the fields that it looks at.

/// Which requests need an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// All.
    Always,
    /// New objects, and those whose spec changes.
    Spec,
    /// New objects, and those whose spec or labels change.
    SpecOrLabels,
    /// About pods whose name begins so.
    Named(&'static str),
    /// New machines, and those that change in more than when they run. A new run strategy is judged where something is
    /// in its way, or where it is none.
    Machine,
    /// New instances. What the controller makes, it has judged.
    NewInstance,
    /// Changed instances: users may change metadata, components what can be plugged in, and a handler what is on its
    /// node.
    Instance,
    /// New instances, and those whose status someone else than a component writes.
    InstanceDefaults,
    /// Requests to plug volumes into machines.
    VolumeRequests,
    /// As [`Need::Spec`], but what the operator brings along is good.
    OfUsers,
    /// Removals of an installation that is to stay while there are machines.
    BlockedUninstall,
}

/// A condition by which the API server decides whether it asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Its name, which error messages quote.
    pub name: &'static str,
    /// The expression, true where an answer is needed.
    pub expression: String,
}

const CHANGED_SPEC: &str = "request.operation != 'UPDATE' || has(object.spec) != has(oldObject.spec) || \
     (has(object.spec) && object.spec != oldObject.spec)";
const CHANGED_LABELS: &str = "has(object.metadata.labels) != has(oldObject.metadata.labels) || \
     (has(object.metadata.labels) && object.metadata.labels != oldObject.metadata.labels)";
const CHANGED_STATUS: &str = "has(object.status) != has(oldObject.status) || (has(object.status) && object.status != oldObject.status)";

impl Need {
    /// The condition for an installation in that namespace, if not every request needs an answer.
    pub fn condition(self, namespace: &str) -> Option<Condition> {
        let condition = |name, expression| Some(Condition { name, expression });
        match self {
            Self::Always => None,
            Self::Spec => condition("spec-changes", CHANGED_SPEC.to_owned()),
            Self::SpecOrLabels => condition("spec-or-labels-change", format!("{CHANGED_SPEC} || {CHANGED_LABELS}")),
            Self::Named(prefix) => condition("is-of-a-guest", format!("object.metadata.name.startsWith('{prefix}')")),
            Self::Machine => condition("is-more-than-power", machine()),
            Self::NewInstance => condition("is-not-judged-yet", format!("!({})", is(namespace, CONTROLLER))),
            Self::Instance => condition("is-restricted", instance(namespace)),
            Self::InstanceDefaults => condition(
                "is-not-of-a-component",
                format!(
                    "request.operation != 'UPDATE' ? !({}) : (!({}) && ({CHANGED_STATUS}))",
                    is(namespace, CONTROLLER),
                    is_component(namespace)
                ),
            ),
            Self::VolumeRequests => condition("asks-for-volumes", volume_requests(namespace)),
            Self::OfUsers => condition("is-not-of-the-operator", format!("!({}) && ({CHANGED_SPEC})", is(namespace, OPERATOR))),
            Self::BlockedUninstall => condition(
                "may-be-blocked",
                "oldObject != null && has(oldObject.spec) && has(oldObject.spec.uninstallStrategy) && \
                 oldObject.spec.uninstallStrategy == 'BlockUninstallIfWorkloadsExist'"
                    .to_owned(),
            ),
        }
    }
}

const CONTROLLER: &str = "kubevirt-controller";
const OPERATOR: &str = "kubevirt-operator";
const HANDLER: &str = "kubevirt-handler";
/// Those who act for the user whom they have judged already, and may change instances.
const OTHERS: [&str; 2] = ["kubevirt-apiserver", "kubevirt-synchronization-controller"];

/// CEL that holds where KubeVirt's controller asks.
pub(in crate::install) fn by_controller(namespace: &str) -> String {
    is(namespace, CONTROLLER)
}

/// CEL that holds where one of KubeVirt's own components asks.
pub(in crate::install) fn by_component(namespace: &str) -> String {
    is_component(namespace)
}

fn is(namespace: &str, account: &str) -> String {
    format!("request.userInfo.username == 'system:serviceaccount:{namespace}:{account}'")
}

fn is_component(namespace: &str) -> String {
    let accounts = [CONTROLLER, HANDLER].into_iter().chain(OTHERS);
    let names: Vec<String> = accounts.map(|account| format!("'system:serviceaccount:{namespace}:{account}'")).collect();
    format!("request.userInfo.username in [{}]", names.join(", "))
}

/// Whatever the spec of a machine holds: all of it but the power switch stays as it is.
fn machine() -> String {
    const POWER: &str = "['running', 'runStrategy']";
    let differs = |other: &str, one: &str| {
        format!("{one}.spec.exists(f, !(f in {POWER}) && !(f in {other}.spec && {other}.spec[f] == {one}.spec[f]))")
    };
    let has_specs = "has(object.spec) && has(oldObject.spec)";
    let more = format!("{} || {}", differs("object", "oldObject"), differs("oldObject", "object"));
    let switched = "has(object.spec.runStrategy) != has(oldObject.spec.runStrategy) || has(object.spec.running) != has(oldObject.spec.running) || \
         (has(object.spec.running) && object.spec.running != oldObject.spec.running) || \
         (has(object.spec.runStrategy) && object.spec.runStrategy != oldObject.spec.runStrategy)";
    // A deprecated switch deserves its warning, two of them are one too many, and WaitAsReceiver hangs on a gate.
    let odd = "has(object.spec.running) || !has(object.spec.runStrategy) || \
         !(object.spec.runStrategy in ['Always', 'Halted', 'Manual', 'RerunOnFailure', 'Once']) || \
         (has(object.status) && (has(object.status.snapshotInProgress) || has(object.status.restoreInProgress)))";
    format!(
        "request.operation != 'UPDATE' || \
         (!has(object.metadata.deletionTimestamp) && (!({has_specs}) || {more} || (({switched}) && ({odd}))))"
    )
}

fn instance(namespace: &str) -> String {
    const NODE: &str = "'authentication.kubernetes.io/node-name'";
    let target = |object: &str| {
        let path = format!("{object}.status.migrationState");
        format!("(has({object}.status) && has({path}) && has({path}.targetNode) ? {path}.targetNode : '')")
    };
    let (new, old) = (target("object"), target("oldObject"));
    let node = format!(
        "(has(request.userInfo.extra) && {NODE} in request.userInfo.extra && size(request.userInfo.extra[{NODE}]) == 1 ? \
         request.userInfo.extra[{NODE}][0] : '')"
    );
    let here = "(has(oldObject.status) && has(oldObject.status.nodeName) ? oldObject.status.nodeName : '')";
    let at_home = format!("{node} != '' && (({node} == {here} && {new} == {old}) || {node} == {old})");
    let by_user = format!("!({}) && ({CHANGED_LABELS})", is_component(namespace));
    let by_handler = format!("{} && !({at_home})", is(namespace, HANDLER));
    format!("{CHANGED_SPEC} || ({by_user}) || ({by_handler})")
}

fn volume_requests(namespace: &str) -> String {
    let asks = |object: &str| format!("has({object}.status) && has({object}.status.volumeRequests)");
    format!(
        "request.resource.resource == 'virtualmachines' && !({}) && {} && \
         (oldObject == null || !({}) || object.status.volumeRequests != oldObject.status.volumeRequests)",
        is(namespace, CONTROLLER),
        asks("object"),
        asks("oldObject")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_accounts_are_those_of_the_installation() {
        for need in [Need::NewInstance, Need::Instance, Need::InstanceDefaults, Need::VolumeRequests] {
            let expression = need.condition("virt").unwrap().expression;
            assert!(expression.contains("system:serviceaccount:virt:kubevirt-controller"), "{expression}");
        }
    }
}
