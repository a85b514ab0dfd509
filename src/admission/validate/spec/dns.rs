//! Name resolution of the pod, judged as Kubernetes judges it in pods.

use std::net::IpAddr;

use super::{Rule, Subject};
use crate::admission::Cause;
use crate::admission::validate::naming;

pub(super) const RULES: &[Rule] = &[policy, config];

const POLICIES: [&str; 4] = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
const MOST_SERVERS: usize = 3;
const MOST_SEARCHES: usize = 6;
const MOST_SEARCH_CHARACTERS: usize = 256;

fn policy(s: &Subject, causes: &mut Vec<Cause>) {
    let policy = s.spec.dns_policy.as_str();
    if !policy.is_empty() && !POLICIES.contains(&policy) {
        let message = format!("{policy:?} is no policy; take one of {}", POLICIES.join(", "));
        causes.push(Cause::not_supported(s.at.key("dnsPolicy"), message));
    }
}

fn config(s: &Subject, causes: &mut Vec<Cause>) {
    let alone = s.spec.dns_policy == "None";
    let at = s.at.key("dnsConfig");
    let Some(config) = &s.spec.dns_config else {
        if alone {
            causes.push(Cause::required(at, "with the policy None only this tells the servers; give it"));
        }
        return;
    };
    let servers = config.nameservers.as_deref().unwrap_or_default();
    let field = at.key("nameservers");
    if alone && servers.is_empty() {
        causes.push(Cause::required(field, "with the policy None only these are asked; give at least one"));
        return;
    }
    if servers.len() > MOST_SERVERS {
        causes.push(Cause::invalid(field, format!("{} servers are too many; give at most {MOST_SERVERS}", servers.len())));
    }
    for server in servers {
        if server.parse::<IpAddr>().is_err() {
            causes.push(Cause::invalid(field, format!("{server:?} is no IP address")));
        }
    }
    let searches = config.searches.as_deref().unwrap_or_default();
    let field = at.key("searchDomains");
    if searches.len() > MOST_SEARCHES {
        causes.push(Cause::invalid(field, format!("{} search domains are too many; give at most {MOST_SEARCHES}", searches.len())));
    }
    let characters = searches.iter().map(String::len).sum::<usize>() + searches.len().saturating_sub(1);
    if characters > MOST_SEARCH_CHARACTERS {
        let message =
            format!("the search domains have {characters} characters with the spaces between; keep them within {MOST_SEARCH_CHARACTERS}");
        causes.push(Cause::invalid(field, message));
    }
    for search in searches {
        if let Err(right) = naming::dns_subdomain(search) {
            causes.push(Cause::invalid(field, format!("{search:?} is no domain; {right}")));
        }
    }
    if config.options.iter().flatten().any(|option| option.name.as_deref().unwrap_or_default().is_empty()) {
        causes.push(Cause::invalid(at.key("options"), "an option has no name; give it one, such as ndots"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn names_can_be_resolved() {
        check(
            RULES,
            &[],
            &[
                (
                    json!({"dnsPolicy": "None", "dnsConfig": {"nameservers": ["10.0.0.1"], "searches": ["a.b"], "options": [{"name": "ndots"}]}}),
                    &[],
                ),
                (json!({"dnsPolicy": "Guess"}), &["s.dnsPolicy"]),
                (json!({"dnsPolicy": "None"}), &["s.dnsConfig"]),
                (json!({"dnsPolicy": "None", "dnsConfig": {}}), &["s.dnsConfig.nameservers"]),
                (json!({"dnsConfig": {"nameservers": ["a"]}}), &["s.dnsConfig.nameservers"]),
                (json!({"dnsConfig": {"nameservers": ["::1", "::2", "::3", "::4"]}}), &["s.dnsConfig.nameservers"]),
                (json!({"dnsConfig": {"searches": ["a", "b", "c", "d", "e", "f", "g"]}}), &["s.dnsConfig.searchDomains"]),
                (json!({"dnsConfig": {"searches": ["a".repeat(130), "b".repeat(130)]}}), &["s.dnsConfig.searchDomains"]),
                (json!({"dnsConfig": {"searches": ["A"]}}), &["s.dnsConfig.searchDomains"]),
                (json!({"dnsConfig": {"options": [{"value": "1"}]}}), &["s.dnsConfig.options"]),
            ],
        );
    }
}
