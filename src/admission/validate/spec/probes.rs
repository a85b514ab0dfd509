//! How the guest is asked whether it is well.

use super::{Rule, Subject};
use crate::admission::{Cause, Path};
use crate::api::v1::Probe;

pub(super) const RULES: &[Rule] = &[judge];

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let on_pod_network = s.spec.networks.iter().any(|n| n.pod.is_some());
    for (key, probe) in [("readinessProbe", &s.spec.readiness_probe), ("livenessProbe", &s.spec.liveness_probe)] {
        if let Some(probe) = probe {
            let at = s.at.key(key);
            one_question(&at, probe, causes);
            scheme(&at, probe, causes);
            if !on_pod_network {
                reachable(&at, probe, causes);
            }
        }
    }
}

fn one_question(at: &Path, probe: &Probe, causes: &mut Vec<Cause>) {
    let given = [probe.http_get.is_some(), probe.tcp_socket.is_some(), probe.exec.is_some(), probe.guest_agent_ping.is_some()];
    match given.into_iter().filter(|given| *given).count() {
        1 => {}
        0 => causes.push(Cause::required(at, "the probe asks nothing; give one of httpGet, tcpSocket, exec and guestAgentPing")),
        _ => causes.push(Cause::invalid(at, "the probe asks several things; keep one of httpGet, tcpSocket, exec and guestAgentPing")),
    }
}

fn scheme(at: &Path, probe: &Probe, causes: &mut Vec<Cause>) {
    let scheme = probe.http_get.as_ref().and_then(|get| get.scheme.as_deref()).unwrap_or_default();
    if !matches!(scheme, "" | "HTTP" | "HTTPS") {
        causes.push(Cause::not_supported(at.key("httpGet.scheme"), format!("{scheme:?} cannot be asked by; give HTTP or HTTPS")));
    }
}

fn reachable(at: &Path, probe: &Probe, causes: &mut Vec<Cause>) {
    for (key, given) in [("httpGet", probe.http_get.is_some()), ("tcpSocket", probe.tcp_socket.is_some())] {
        if given {
            causes.push(Cause::invalid(
                at.key(key),
                "the guest is not on the pod network, over which it is asked; take exec or guestAgentPing",
            ));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::json;

    #[test]
    fn a_probe_asks_one_thing_that_can_be_asked() {
        let pod = json!([{"name": "a", "pod": {}}]);
        let get = json!({"httpGet": {"port": 80}});
        check(
            RULES,
            &[],
            &[
                (json!({"livenessProbe": get, "networks": pod}), &[]),
                (
                    json!({"livenessProbe": {"httpGet": {"port": 80, "scheme": "FTP"}}, "networks": pod}),
                    &["s.livenessProbe.httpGet.scheme"],
                ),
                (json!({"livenessProbe": {}}), &["s.livenessProbe"]),
                (json!({"readinessProbe": {"exec": {}, "guestAgentPing": {}}}), &["s.readinessProbe"]),
                (json!({"readinessProbe": get}), &["s.readinessProbe.httpGet"]),
                (json!({"readinessProbe": {"tcpSocket": {"port": 1}}}), &["s.readinessProbe.tcpSocket"]),
            ],
        );
    }
}
