//! Host names, service accounts, and what happens at start, eviction and reboot.

use super::{Rule, Subject, closed};
use crate::admission::Cause;
use crate::admission::validate::naming;
use crate::api::v1::{EvictionStrategy, StartStrategy};
use crate::config::Gate;

pub(super) const RULES: &[Rule] =
    &[hostname, subdomain, start_strategy, eviction_strategy, reboot_policy, service_account, no_utility_volumes];

fn hostname(s: &Subject, causes: &mut Vec<Cause>) {
    let name = &s.spec.hostname;
    if let (false, Err(right)) = (name.is_empty(), naming::dns_label(name)) {
        causes.push(Cause::invalid(s.at.key("hostname"), format!("{name:?} is no host name; {right}")));
    }
}

fn subdomain(s: &Subject, causes: &mut Vec<Cause>) {
    let name = &s.spec.subdomain;
    if let (false, Err(right)) = (name.is_empty(), naming::dns_subdomain(name)) {
        causes.push(Cause::invalid(s.at.key("subdomain"), format!("{name:?} is no subdomain; {right}")));
    }
}

fn start_strategy(s: &Subject, causes: &mut Vec<Cause>) {
    let at = s.at.key("startStrategy");
    match &s.spec.start_strategy {
        None => {}
        Some(StartStrategy::Paused) if s.spec.liveness_probe.is_some() => {
            causes.push(Cause::invalid(at, "a paused guest does not answer its livenessProbe and would be killed; leave one of them out"));
        }
        Some(StartStrategy::Paused) => {}
        Some(other) => {
            causes.push(Cause::invalid(at, format!("{:?} is no way to start; give Paused, or leave it out", other.as_str())));
        }
    }
}

fn eviction_strategy(s: &Subject, causes: &mut Vec<Cause>) {
    let strategy = s.spec.eviction_strategy.as_ref().or(s.config.spec().eviction_strategy.as_ref());
    if let Some(strategy) = strategy.filter(|strategy| !strategy.is_known()) {
        let message = format!("{:?} is no eviction strategy; give one of {}", strategy.as_str(), EvictionStrategy::VALUES.join(", "));
        causes.push(Cause::invalid(s.at.key("evictionStrategy"), message));
    }
}

fn reboot_policy(s: &Subject, causes: &mut Vec<Cause>) {
    if s.domain().reboot_policy.is_some() && !s.enabled(Gate::RebootPolicy) {
        causes.push(Cause::invalid(s.at.key("domain.rebootPolicy"), closed(Gate::RebootPolicy)));
    }
}

fn service_account(s: &Subject, causes: &mut Vec<Cause>) {
    let name = s.spec.service_account_name.as_str();
    if name.is_empty() {
        return;
    }
    let at = s.at.key("serviceAccountName");
    if let Err(right) = naming::dns_subdomain(name) {
        causes.push(Cause::invalid(at, format!("{name:?} is no name of a service account; {right}")));
    }
    let other = s.spec.volumes.iter().filter_map(|v| v.service_account.as_ref()).find(|account| account.service_account_name != name);
    if let Some(other) = other {
        let message = format!(
            "the pod runs as {name:?}, so its volume cannot hold the token of {:?}; name the same account",
            other.service_account_name
        );
        causes.push(Cause::invalid(at, message));
    }
}

fn no_utility_volumes(s: &Subject, causes: &mut Vec<Cause>) {
    if !s.spec.utility_volumes.is_empty() {
        causes.push(Cause::invalid(s.at.key("utilityVolumes"), "utility volumes are attached to a running guest only; leave them out"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn names_and_policies_are_checked() {
        check(
            RULES,
            &[],
            &[
                (json!({"hostname": "a-b", "subdomain": "c.d"}), &[]),
                (json!({"hostname": "a.b"}), &["s.hostname"]),
                (json!({"subdomain": "c..d"}), &["s.subdomain"]),
                (json!({"startStrategy": "Paused"}), &[]),
                (json!({"startStrategy": "Running"}), &["s.startStrategy"]),
                (json!({"startStrategy": "Paused", "livenessProbe": {}}), &["s.startStrategy"]),
                (json!({"evictionStrategy": "External"}), &[]),
                (json!({"evictionStrategy": "Leave"}), &["s.evictionStrategy"]),
                (json!({"domain": {"rebootPolicy": "Terminate"}}), &[]),
                (json!({"serviceAccountName": "Bad"}), &["s.serviceAccountName"]),
                (
                    json!({"serviceAccountName": "a", "volumes": [{"name": "v", "serviceAccount": {"serviceAccountName": "b"}}]}),
                    &["s.serviceAccountName"],
                ),
                (json!({"utilityVolumes": [{"name": "u", "claimName": "c"}]}), &["s.utilityVolumes"]),
            ],
        );
    }
}
