//! The VirtualMachineInstance controller: the launcher pod of a guest, and what the instance tells of it until the node's
//! handler takes over.
//!
//! Up to phase `Scheduling` the instance belongs to this controller, which writes it as a whole. From `Scheduled` to the
//! guest's end the handler writes it, too: then only what differs is patched, and only if it is still what it was.

mod data_volumes;
mod hotplug;
mod launch;
mod live_update;
mod network;
mod observe;
mod pass;
mod phase;
mod pods;
mod quiet;
mod status;
mod topology;
mod volume_status;

pub(crate) use live_update::cpu_count;
pub(crate) use network::is_ordinal as is_ordinal_link;
pub use observe::Observed;
pub use pods::{current_pod, is_down, is_going_down, is_ready};
pub use status::ALL_BUT_THE_GUEST;
pub use topology::needs_frequency;

pub(crate) use volume_status::claim_info;

use k8s_openapi::jiff::Timestamp;

use crate::config::ClusterConfig;
use crate::lifecycle::action::{Action, Event, Failure};
use pass::Pass;

/// What is to be done about an instance.
pub fn plan(observed: &Observed, config: &ClusterConfig, now: Timestamp) -> Vec<Action> {
    let mut pass = Pass::new(observed, config, now);
    let failure = pass.decide().err();
    status::report(&mut pass, failure);
    pass.finish()
}

/// What is told when an action of a plan did not succeed: the plan is not carried on.
pub fn failed(observed: &Observed, config: &ClusterConfig, now: Timestamp, action: &Action, error: &str) -> Vec<Action> {
    let (reason, message, event) = match action {
        Action::CreatePod(_) => (FAILED_CREATE, why_no_pod(error), true),
        Action::DeletePod { name, .. } => (FAILED_DELETE, format!("the pod {name:?} cannot be deleted: {error}"), true),
        Action::CreateClaim(_) => {
            ("FailedBackendStorageCreate", format!("the claim for the guest's own state cannot be made: {error}"), false)
        }
        Action::PatchPod { .. } | Action::PatchPodStatus { .. } => {
            ("FailedPodPatch", format!("a change of the pod cannot be written: {error}"), false)
        }
        // The instance itself could not be written: so neither could this be.
        _ => return Vec::new(),
    };
    let mut pass = Pass::new(observed, config, now);
    let event = event.then(|| Event::warning(reason, &message));
    status::report(&mut pass, Some(Failure::new(reason, message)));
    event.into_iter().chain(pass.instance_action()).collect()
}

/// What the API server says when it does not take a pod, and what is to be done then. Only the words tell.
const REFUSALS: [(&str, &str); 4] = [
    ("violates PodSecurity", "it needs a namespace whose Pod Security level is privileged"),
    ("exceeded quota", "raise the namespace's ResourceQuota, or end something that counts in it"),
    ("failed calling webhook", "an admission webhook does not answer: have it repaired by who runs it, or its configuration deleted"),
    ("denied the request", "an admission webhook does not want it: ask who runs it"),
];

fn why_no_pod(error: &str) -> String {
    let advice = REFUSALS.iter().find(|(words, _)| error.contains(words)).map(|(_, advice)| format!("; {advice}"));
    format!("the launcher pod cannot be made{}: {error}", advice.unwrap_or_default())
}

const FAILED_CREATE: &str = "FailedCreate";
const FAILED_DELETE: &str = "FailedDelete";
const CREATED: &str = "SuccessfulCreate";
const DELETED: &str = "SuccessfulDelete";
const CLAIM_MISSING: &str = "FailedPvcNotFound";
const CLAIM_NOT_READY: &str = "PVCNotReady";

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::api::v1::KubeVirtConfiguration;
    use crate::lifecycle::settle;
    use crate::lifecycle::store::{Log, Store};
    use crate::pod::Context;

    fn yaml(text: &str) -> Value {
        serde_yaml::from_str(text).unwrap_or_else(|e| panic!("{text}: {e}"))
    }

    /// Follows an instance with that metadata, spec and status, and its pod, to the end.
    fn follow(meta: &str, spec: &str, status: &str, pod: &str) -> (Store, Log) {
        let instance = format!(
            "{{apiVersion: kubevirt.io/v1, kind: VirtualMachineInstance,
               metadata: {{name: a, namespace: lab, uid: i, finalizers: [kubevirt.io/foregroundDeleteVirtualMachine]{meta}}},
               spec: {{architecture: amd64, domain: {{devices: {{}}, resources: {{requests: {{memory: 1Gi}}}}}}{spec}}}, status: {{{status}}}}}"
        );
        let mut store = Store { instance: Some(yaml(&instance)), ..Store::default() };
        if !pod.is_empty() {
            let pod = format!(
                "{{metadata: {{name: p, namespace: lab, uid: p, ownerReferences: [{{apiVersion: v, kind: VirtualMachineInstance, name: a, uid: i, controller: true}}]}},
                   spec: {{nodeName: n, containers: [{{name: compute, image: x}}], volumes: [{{name: root}}]}}, status: {{{pod}}}}}"
            );
            store.pods.insert("p".to_owned(), serde_json::from_value(yaml(&pod)).unwrap());
        }
        let log = settle(&mut store);
        (store, log)
    }

    fn settle(store: &mut Store) -> Log {
        let context = Context { image: "x".to_owned(), ..Context::default() };
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        settle::instance(store, &config, "2026-12-01T00:00:00Z".parse().unwrap(), &context).unwrap()
    }

    fn condition(store: &Store, kind: &str) -> String {
        let conditions = store.instance.as_ref().and_then(|i| i.pointer("/status/conditions")?.as_array().cloned()).unwrap_or_default();
        let found = conditions.iter().find(|c| c["type"] == kind);
        found.map_or_else(String::new, |c| {
            format!("{} {}", c["status"].as_str().unwrap_or_default(), c["reason"].as_str().unwrap_or_default())
        })
    }

    const RUNNING: &str = "phase: Running, containerStatuses: [{name: compute, image: i, imageID: i, ready: true, restartCount: 0, state: {running: {}}}], conditions: [{type: Ready, status: 'True'}]";
    const CONDITIONS: &str = "conditions: [{type: LiveMigratable, status: 'True'}]";

    #[test]
    fn the_phase_follows_the_pod() {
        let running = format!("phase: Running, nodeName: n, {CONDITIONS}");
        for (status, pod, phase, ready) in [
            ("", "", "Scheduling", "False GuestNotRunning"),
            ("phase: Scheduling", "", "Failed", "False PodNotExists"),
            ("phase: Scheduling", "phase: Pending", "Scheduling", "False GuestNotRunning"),
            ("phase: Scheduling", RUNNING, "Scheduled", "False GuestNotRunning"),
            ("phase: Scheduling", "phase: Failed", "Failed", "False PodTerminating"),
            ("phase: WaitingForSync", "phase: Pending", "Scheduling", "False GuestNotRunning"),
            (running.as_str(), RUNNING, "Running", "True "),
            (running.as_str(), "phase: Running", "Running", "False PodConditionMissing"),
            (running.as_str(), "", "Failed", "False PodNotExists"),
            ("phase: Strange", RUNNING, "Strange", ""),
        ] {
            let (store, _) = follow("", "", status, pod);
            let got = store.instance.as_ref().and_then(|i| i.pointer("/status/phase")).cloned();
            assert_eq!((got, condition(&store, "Ready").as_str()), (Some(json!(phase)), ready), "{status} {pod}");
        }
    }

    #[test]
    fn a_pod_is_made_once_and_goes_with_the_instance() {
        let (store, log) = follow("", "", "", "");
        assert_eq!((log.made.as_slice(), store.pods.len()), (&["pod"][..], 1));
        let (store, log) = follow(", deletionTimestamp: '2026-01-01T00:00:00Z'", "", "phase: Scheduling", "phase: Pending");
        assert_eq!((log.deleted_pods, store.instance), (vec!["p".to_owned()], None));
        let (store, _) = follow("", "", "phase: Succeeded", "");
        assert!(store.instance.unwrap().pointer("/metadata/finalizers").is_none());
    }

    #[test]
    fn the_pod_of_a_guest_that_its_node_ends_is_left_alone() {
        let ended = |code: u8| {
            format!(
                "phase: Running, containerStatuses: [{{name: compute, image: i, imageID: i, ready: false, restartCount: 0, state: {{terminated: {{exitCode: {code}}}}}}}]"
            )
        };
        for (at, phase, pod, deleted, left) in [
            ("2025-12-31T23:59:55Z", "Running", RUNNING, 0, true),
            ("2025-12-31T23:59:55Z", "Succeeded", RUNNING, 0, true),
            ("2025-12-31T23:59:55Z", "Running", ended(0).as_str(), 0, false),
            ("2025-12-31T23:59:55Z", "Failed", ended(1).as_str(), 0, false),
            ("2025-12-31T23:59:55Z", "Scheduling", "phase: Pending", 1, false),
            ("2025-12-31T23:59:00Z", "Running", RUNNING, 1, false),
        ] {
            let status = format!("phase: {phase}, nodeName: n, {CONDITIONS}");
            let (mut store, _) = follow("", "", &status, pod);
            store.instance.as_mut().unwrap()["metadata"]["deletionTimestamp"] = json!(at);
            let context = Context { image: "x".to_owned(), ..Context::default() };
            let config = ClusterConfig::new(&KubeVirtConfiguration::default());
            let log = settle::instance(&mut store, &config, "2026-01-01T00:00:00Z".parse().unwrap(), &context).unwrap();
            assert_eq!((log.deleted_pods.len(), store.instance.is_some()), (deleted, left), "{at} {phase} {pod}");
        }
    }

    #[test]
    fn a_pod_is_told_as_soon_as_it_has_a_node() {
        let pending = |scheduled: &str| format!("phase: Pending, conditions: [{{type: PodScheduled, status: '{scheduled}'}}]");
        for (scheduled, told) in [("True", Some("n")), ("False", None)] {
            let (store, _) = follow("", "", "phase: Scheduling", &pending(scheduled));
            let pod = &store.pods["p"];
            let label = pod.metadata.labels.as_ref().and_then(|l| l.get("kubevirt.io/nodeName"));
            let open = pods::condition(pod, "kubevirt.io/virtual-machine-unpaused").is_some_and(|c| c.status == "True");
            assert_eq!((label.map(String::as_str), open), (told, told.is_some()), "{scheduled}");
        }
    }

    #[test]
    fn what_keeps_the_guest_from_starting_is_told() {
        let waiting = |reason: &str| {
            format!(
                "phase: Pending, containerStatuses: [{{name: compute, image: i, imageID: i, ready: false, restartCount: 0, state: {{waiting: {{reason: {reason}, message: m}}}}}}]"
            )
        };
        for (spec, status, pod, kind, told) in [
            ("", "phase: Scheduling", waiting("ErrImagePull"), "Synchronized", "False ErrImagePull"),
            ("", "phase: Scheduling", waiting("ImagePullBackOff"), "Synchronized", "False ImagePullBackOff"),
            (
                "",
                "phase: Scheduling",
                "phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: Unschedulable}]".to_owned(),
                "PodScheduled",
                "False Unschedulable",
            ),
            (
                ", volumes: [{name: root, persistentVolumeClaim: {claimName: c}}]",
                "",
                String::new(),
                "Synchronized",
                "False FailedPvcNotFound",
            ),
            (", volumes: [{name: root, persistentVolumeClaim: {claimName: c}}]", "", String::new(), "PodScheduled", "False Unschedulable"),
        ] {
            let (store, _) = follow("", spec, status, &pod);
            assert_eq!(condition(&store, kind), told, "{spec} {pod}");
        }
    }

    #[test]
    fn what_is_to_be_done_about_a_pod_that_is_not_taken_is_told() {
        for (error, advice) in [
            (r#"pods "p" is forbidden: violates PodSecurity "baseline:latest""#, "Pod Security level is privileged"),
            (
                r#"pods "p" is forbidden: exceeded quota: few, requested: pods=1, used: pods=0, limited: pods=0"#,
                "raise the namespace's ResourceQuota",
            ),
            (r#"failed calling webhook "w.example.com": service "judge" not found"#, "have it repaired"),
            (r#"admission webhook "w.example.com" denied the request: no"#, "ask who runs it"),
            ("etcdserver: request timed out", "cannot be made: "),
        ] {
            let (store, _) = follow("", "", "", "");
            let observed = settle::observe_instance(&store, &Context::default()).unwrap().unwrap();
            let config = ClusterConfig::new(&KubeVirtConfiguration::default());
            let told = failed(&observed, &config, "2026-12-01T00:00:00Z".parse().unwrap(), &Action::CreatePod(Box::default()), error);
            let said = told.iter().find_map(|a| if let Action::Record(event) = a { Some(event.message.as_str()) } else { None });
            assert!(said.is_some_and(|s| s.contains(advice) && s.contains(error)), "{error}: {said:?}");
        }
    }

    #[test]
    fn a_claim_that_keeps_the_scheduler_waiting_is_named() {
        const UNBOUND: &str = "0/2 nodes are available: pod has unbound immediate PersistentVolumeClaims.";
        for (phase, scheduler, named) in [
            ("Pending", UNBOUND, true),
            ("Bound", UNBOUND, false),
            ("Pending", "0/2 nodes are available: 2 node(s) didn't find available persistent volumes to bind.", true),
            // a claim may wait for the pod to get a node, and is not what keeps it from one
            ("Pending", "0/2 nodes are available: 2 Insufficient memory.", false),
        ] {
            let spec = ", volumes: [{name: root, persistentVolumeClaim: {claimName: waits}}]";
            let pod = format!(
                "phase: Pending, conditions: [{{type: PodScheduled, status: 'False', reason: Unschedulable, message: \"{scheduler}\"}}]"
            );
            let (mut store, _) = follow("", spec, "phase: Scheduling", &pod);
            let claim = yaml(&format!("{{metadata: {{name: waits, namespace: lab}}, spec: {{}}, status: {{phase: {phase}}}}}"));
            store.claims.insert("waits".to_owned(), serde_json::from_value(claim).unwrap());
            settle(&mut store);
            let conditions = store.instance.as_ref().unwrap()["status"]["conditions"].as_array().unwrap();
            let said = conditions.iter().find(|c| c["type"] == "PodScheduled").unwrap()["message"].as_str().unwrap();
            assert_eq!((said.starts_with(scheduler), said.contains("\"waits\"")), (true, named), "{phase} {scheduler}: {said}");
        }
    }

    #[test]
    fn a_guest_with_state_of_its_own_waits_for_the_claim() {
        let instance = |class: &str| {
            let config =
                ClusterConfig::new(&serde_yaml::from_str::<KubeVirtConfiguration>(&format!("{{vmStateStorageClass: '{class}'}}")).unwrap());
            let (store, _) = follow("", "", "phase: Failed", "");
            let mut observed = settle::observe_instance(&store, &Context::default()).unwrap().unwrap();
            observed.instance.status = serde_json::from_value(json!({})).unwrap();
            observed.instance.spec.domain.devices.tpm = serde_json::from_value(json!({"persistent": true})).unwrap();
            plan(&observed, &config, "2026-12-01T00:00:00Z".parse().unwrap())
        };
        let made = |plan: &[Action]| plan.iter().find_map(|a| if let Action::CreateClaim(claim) = a { claim.spec.clone() } else { None });
        let claim = made(&instance("fast")).unwrap();
        assert_eq!((claim.storage_class_name.as_deref(), claim.access_modes), (Some("fast"), Some(vec!["ReadWriteMany".to_owned()])));
        let plan = instance("");
        assert!(made(&plan).is_none() && json!(plan).to_string().contains("vmStateStorageClass"));
    }

    #[test]
    fn volumes_that_come_get_a_pod_that_holds_them() {
        let spec =
            ", volumes: [{name: root, containerDisk: {image: i}}, {name: data, persistentVolumeClaim: {claimName: c, hotpluggable: true}}]";
        let status = format!("phase: Running, nodeName: n, selinuxContext: none, {CONDITIONS}");
        let (mut store, _) = follow("", spec, &status, RUNNING);
        let claim = yaml("{metadata: {name: c, namespace: lab}, spec: {}, status: {phase: Bound}}");
        store.claims.insert("c".to_owned(), serde_json::from_value(claim).unwrap());
        let observed = settle::observe_instance(&store, &Context { image: "x".to_owned(), ..Context::default() }).unwrap().unwrap();
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let plan = plan(&observed, &config, "2026-12-01T00:00:00Z".parse().unwrap());
        let attached = plan.iter().find_map(|a| {
            if let Action::CreateAttachmentPod { volumes, populate, .. } = a { Some((volumes.clone(), *populate)) } else { None }
        });
        assert_eq!(attached, Some((vec!["data".to_owned()], false)));
        let pod = yaml(
            "{metadata: {name: h, namespace: lab, uid: h, ownerReferences: [{apiVersion: v1, kind: Pod, name: p, uid: p, controller: true}]},
              spec: {containers: [], volumes: [{name: hotplug-disks}, {name: token}, {name: data, persistentVolumeClaim: {claimName: c}}]},
              status: {phase: Running, containerStatuses: [{name: h, image: i, imageID: i, ready: true, restartCount: 0}]}}",
        );
        store.pods.insert("h".to_owned(), serde_json::from_value(pod).unwrap());
        settle(&mut store);
        let told = store.instance.as_ref().unwrap().pointer("/status/volumeStatus/0").unwrap();
        assert_eq!((&told["phase"], &told["hotplugVolume"]["attachPodUID"]), (&json!("AttachedToNode"), &json!("h")));
        // Taken out of the spec, it is let go of.
        store.instance.as_mut().unwrap()["spec"]["volumes"].as_array_mut().unwrap().pop();
        let log = settle(&mut store);
        assert_eq!(log.deleted_pods, ["h"]);
    }

    #[test]
    fn a_guest_that_was_given_a_network_asks_for_its_migration() {
        let spec = ", networks: [{name: net, multus: {networkName: x}}]";
        let status = format!("phase: Running, nodeName: n, {CONDITIONS}");
        let (mut store, _) = follow("", spec, &status, RUNNING);
        store.instance.as_mut().unwrap()["spec"]["domain"]["devices"]["interfaces"] = yaml("[{name: net, bridge: {}}]");
        settle(&mut store);
        assert_eq!(condition(&store, "MigrationRequired"), "False AutoMigrationPending");
        let pod = &store.pods["p"];
        assert!(pod.metadata.annotations.as_ref().unwrap()["k8s.v1.cni.cncf.io/networks"].contains("\"x\""));
    }
}
