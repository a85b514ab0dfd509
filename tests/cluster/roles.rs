//! How roles end, and what they tell.

use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use nix::sys::signal::Signal;
use serde_json::Value;

use crate::cluster::{BOOT, Cluster, SOON, repository, text};
use crate::containers::{role_pods, role_process, until_role_is_ready};
use crate::guest;

pub(crate) fn roles_stop_soon_and_tell_what_they_change(cluster: &Cluster) {
    let namespace = cluster.namespace("roles");
    guest::running(&namespace);
    namespace.ok(&["delete", "vm", "vm-tiny", "--wait=false"]);
    namespace.until_gone("vm/vm-tiny", BOOT);

    // which role changes which kind of object of a machine's life
    for (role, kind) in [
        ("controller", "VirtualMachineInstance"),
        ("controller", "Pod"),
        ("controller", "VirtualMachine"),
        ("handler", "VirtualMachineInstance"),
    ] {
        cluster.until(&format!("{role} has told that it changed a {kind} of the namespace roles"), SOON, || {
            role_pods(cluster, role).iter().any(|pod| tells(cluster, pod, kind)).then_some(())
        });
    }

    for role in ["handler", "controller", "api", "operator"] {
        until_role_is_ready(cluster, role);
        for pod in role_pods(cluster, role) {
            let process = role_process(&pod, role);
            let begin = Instant::now();
            process.signal(Signal::SIGTERM);
            cluster.until(&format!("{role} ends within 5 s of SIGTERM"), Duration::from_secs(5), || (!process.runs()).then_some(()));
            println!("{role} has ended after {:.1} s", begin.elapsed().as_secs_f64());
        }
        until_role_is_ready(cluster, role);
    }
}

/// What is done when a value goes, also when a test fails.
struct AtTheEnd<F: Fn()>(F);

impl<F: Fn()> Drop for AtTheEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}

/// One pod of the api role after the other is exchanged, as a rollout does, while objects are judged without a pause.
pub(crate) fn an_exchange_of_the_api_drops_no_request(cluster: &Cluster) {
    let namespace = cluster.namespace("exchange");
    let example = repository("examples/vm-tiny.yaml").display().to_string();
    // without a webhook that answers nothing is made
    let arguments = ["create", "--namespace", &namespace.name, "--dry-run=server", "--filename", &example];
    let over = AtomicBool::new(false);
    let judge_on = |mut command: Command| {
        let (mut asked, mut failed) = (0, Vec::new());
        while !over.load(Ordering::Relaxed) {
            let output = command.output().expect("kubectl runs");
            asked += 1;
            if !output.status.success() {
                failed.push(text(&output.stderr));
            }
        }
        (asked, failed)
    };
    let (asked, failed) = thread::scope(|scope| {
        let judges: Vec<_> = (0..2).map(|_| cluster.kubectl_command(&arguments)).map(|command| scope.spawn(|| judge_on(command))).collect();
        let end = AtTheEnd(|| over.store(true, Ordering::Relaxed));
        for pod in role_pods(cluster, "api") {
            let name = pod["metadata"]["name"].as_str().unwrap_or_default();
            cluster.ok(&["delete", "pod", name, "--namespace", "kubevirt", "--wait=true"]);
            until_role_is_ready(cluster, "api");
        }
        drop(end);
        let mut all = (0, Vec::new());
        for judge in judges {
            let (asked, failed) = judge.join().expect("it ends");
            all.0 += asked;
            all.1.extend(failed);
        }
        all
    });
    println!("{asked} objects were judged meanwhile");
    assert!(asked > 20, "only {asked} objects were judged");
    assert!(failed.is_empty(), "{} of {asked} failed:\n{}", failed.len(), failed.join("\n"));
}

/// Whether a line of a role's log tells a change of an object: its kind, namespace, name and what was done.
fn tells(cluster: &Cluster, pod: &Value, kind: &str) -> bool {
    let name = pod["metadata"]["name"].as_str().unwrap_or_default();
    let log = cluster.kubectl(&["logs", name, "--namespace", "kubevirt", "--tail", "5000"]);
    text(&log.stdout).lines().any(|line| {
        let Ok(line) = serde_json::from_str::<Value>(line) else { return false };
        let field = |name: &str| line["fields"][name].as_str().or_else(|| line[name].as_str()).unwrap_or_default().to_owned();
        field("kind") == kind && field("namespace") == "roles" && field("name").contains("vm-tiny") && !field("message").is_empty()
    })
}
