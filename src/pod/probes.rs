//! The VMI's probes as probes of the compute container.
//!
//! HTTP and TCP reach the guest by the pod's address. A command runs inside the guest and a ping goes to its agent:
//! both go by the launcher's probe program, which gets a second more than the guest is given.

use k8s_openapi::api::core::v1::{ExecAction, Probe as PodProbe};

use crate::api::v1::Probe;

use super::programs::PROBE;

/// How long libvirt takes to start, in seconds; a probe begins that much later.
const START_DELAY: i32 = 10;

/// A probe of the compute container. `domain` is the guest's name in libvirt.
pub(super) fn probe(probe: &Probe, domain: &str) -> PodProbe {
    let timeout = positive_or(probe.timeout_seconds, 1);
    let ask = |rest: &[&str]| {
        let timeout = timeout.to_string();
        let first = [PROBE, "--domainName", domain, "--timeoutSeconds", &timeout];
        Some(ExecAction { command: Some(first.iter().chain(rest).map(|s| (*s).to_owned()).collect()) })
    };
    let command = probe.exec.as_ref().map(|exec| exec.command.as_deref().unwrap_or_default());
    let (exec, asks) = match command {
        _ if probe.guest_agent_ping.is_some() => (ask(&["--guestAgentPing"]), true),
        Some([first, rest @ ..]) if first != PROBE => {
            let mut exec = ask(&["--command", first, "--"]);
            exec.iter_mut().flat_map(|e| &mut e.command).for_each(|command| command.extend(rest.iter().cloned()));
            (exec, true)
        }
        _ => (probe.exec.clone(), false),
    };
    PodProbe {
        exec,
        http_get: probe.http_get.clone(),
        tcp_socket: probe.tcp_socket.clone(),
        initial_delay_seconds: Some(probe.initial_delay_seconds.saturating_add(START_DELAY)),
        timeout_seconds: Some(timeout.saturating_add(i32::from(asks))),
        period_seconds: Some(positive_or(probe.period_seconds, 10)),
        success_threshold: Some(positive_or(probe.success_threshold, 1)),
        failure_threshold: Some(positive_or(probe.failure_threshold, 3)),
        ..PodProbe::default()
    }
}

fn positive_or(given: i32, default: i32) -> i32 {
    if given < 1 { default } else { given }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_the_guest_answers_is_asked_by_the_probe_program() {
        for (given, exec, delay, timeout) in [
            ("{exec: {command: [cat, /ready]}, timeoutSeconds: 3}", json!("--timeoutSeconds 3 --command cat -- /ready"), 10, 4),
            ("{guestAgentPing: {}, initialDelaySeconds: 5}", json!("--timeoutSeconds 1 --guestAgentPing"), 15, 2),
            ("{tcpSocket: {port: 80}}", Value::Null, 10, 1),
            ("{exec: {command: []}}", Value::Null, 10, 1),
        ] {
            let found = probe(&serde_yaml::from_str(given).expect(given), "lab_vm");
            let command = found.exec.and_then(|e| e.command).filter(|c| !c.is_empty()).map(|c| c.join(" "));
            let command = command.map(|c| c.replace("virt-probe --domainName lab_vm ", ""));
            assert_eq!((json!(command), found.initial_delay_seconds, found.timeout_seconds), (exec, Some(delay), Some(timeout)), "{given}");
        }
        let own = "{exec: {command: [virt-probe, x]}}";
        let found = probe(&serde_yaml::from_str(own).expect(own), "lab_vm");
        assert_eq!((found.exec.and_then(|e| e.command), found.timeout_seconds), (Some(vec!["virt-probe".into(), "x".into()]), Some(1)));
    }
}
