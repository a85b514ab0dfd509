//! Tables: what is observed, and what follows.

use serde_json::{Value, json};

use super::*;
use crate::api::v1::{KubeVirtConfiguration, VirtualMachineInstanceConditionType as Kind};
use crate::guest::order::Volume;
use crate::guest::status::{Agent, AgentInterface, Disk, Domain, Interface, MemoryDump, State, StateReason};
use crate::lifecycle::conditions;
use crate::lifecycle::vmi::ALL_BUT_THE_GUEST;
use crate::network::PrivateNetwork;
use crate::storage::growth::Claim;

const NOW: &str = "2026-12-01T00:00:00Z";

fn instance(phase: &str, more: Value) -> VirtualMachineInstance {
    let mut object = json!({
        "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstance",
        "metadata": { "name": "a", "namespace": "lab", "uid": "i", "labels": { "kubevirt.io/nodeName": "n" } },
        "spec": {
            "architecture": "amd64",
            "domain": { "devices": { "interfaces": [{ "name": "default", "masquerade": {} }], "disks": [{ "name": "root", "disk": {} }] } },
            "networks": [{ "name": "default", "pod": {} }],
            "volumes": [{ "name": "root", "containerDisk": { "image": "x" } }],
        },
        "status": {
            "phase": phase, "nodeName": "n", "volumeStatus": [{ "name": "root", "target": "" }],
            "interfaces": [{ "name": "default", "podInterfaceName": "eth0" }],
        },
    });
    lay_over(&mut object, more);
    serde_json::from_value(object).unwrap()
}

fn lay_over(below: &mut Value, above: Value) {
    match (below, above) {
        (Value::Object(below), Value::Object(above)) => {
            for (name, value) in above {
                lay_over(below.entry(name).or_insert(Value::Null), value);
            }
        }
        (below, above) => *below = above,
    }
}

fn domain(state: State, reason: StateReason) -> Domain {
    Domain {
        state,
        reason,
        machine: "pc-q35-10.0".into(),
        memory: 64 << 20,
        interfaces: vec![Interface { name: "default".into(), mac: "52:54:00:00:00:01".into(), device: "tap0".into(), up: true }],
        disks: vec![Disk { volume: "root".into(), target: "vda".into() }],
        ..Domain::default()
    }
}

fn status(stage: Stage, domain: Option<Domain>) -> Box<Status> {
    Box::new(Status { stage, domain, ..Status::default() })
}

fn networks() -> Vec<Network> {
    vec![Network {
        name: "default".into(),
        link: "eth0".into(),
        pod_addresses: vec!["10.244.1.7".parse().unwrap()],
        bridge: Some("k6t-eth0".into()),
        private: vec![PrivateNetwork::ipv4("").unwrap()],
        tap: Some("tap0".into()),
        mtu: 1450,
    }]
}

fn observed(instance: VirtualMachineInstance, launcher: Launcher) -> Observed {
    Observed {
        instance: Some(instance),
        launcher,
        networks: networks(),
        traces: true,
        may_retry: true,
        host_model: true,
        ..Observed::default()
    }
}

fn planned(observed: &Observed) -> Vec<Action> {
    plan(observed, &ClusterConfig::new(&KubeVirtConfiguration::default()), NOW.parse().unwrap())
}

/// The plan in words, and the instance as it is afterwards.
fn follow(observed: &Observed) -> (String, Option<VirtualMachineInstance>) {
    let mut object = json!(observed.instance);
    let mut words = Vec::new();
    for action in planned(observed) {
        match action {
            Action::Patch(patch) => {
                patch.apply(&mut object).unwrap();
                words.push("patch".to_owned());
            }
            Action::Record(event) => words.push(format!("{} {}", event.kind(), event.reason)),
            Action::LookAgain { .. } => words.push("again".to_owned()),
            other => words.push(format!("{other:?}").to_lowercase()),
        }
    }
    (words.join(", "), serde_json::from_value(object).unwrap())
}

fn running() -> Launcher {
    Launcher::Alive(status(Stage::Started, Some(domain(State::Running, StateReason::Unknown))))
}

#[test]
fn a_claim_that_has_become_larger_is_told_once() {
    let info = json!({"capacity": {"storage": "2Gi"}, "requests": {"storage": "2Gi"}, "filesystemOverhead": "0.055"});
    let volumes = json!([{"name": "root", "target": "vda", "persistentVolumeClaimInfo": info}]);
    let mut seen = observed(instance("Running", json!({"status": {"volumeStatus": volumes}})), Launcher::Unknown);
    let known = order::volumes(seen.instance.as_ref().unwrap());
    let claim = |capacity| Some(Claim { capacity, overhead: 55 });
    assert_eq!(known["root"], Volume { preallocated: false, claim: claim(2 << 30) });
    let before = Volumes::from([("root".to_owned(), Volume { preallocated: false, claim: claim(1 << 30) })]);
    for (stage, told, expected) in [
        (Stage::Started, Some(&before), true),
        (Stage::Started, Some(&known), false),
        // a launcher of an earlier version
        (Stage::Started, None, false),
        (Stage::Stopping, Some(&before), false),
        (Stage::Preparing, Some(&before), false),
    ] {
        let status = Status { volumes: told.cloned(), ..*status(stage, Some(domain(State::Running, StateReason::Unknown))) };
        seen.launcher = Launcher::Alive(Box::new(status));
        assert_eq!(planned(&seen).contains(&Action::Tell(known.clone())), expected, "{stage:?} {told:?}");
    }
}

#[test]
fn a_life_from_hand_over_to_power_off() {
    let mut seen = observed(instance("Scheduled", json!({})), Launcher::Unknown);
    assert_eq!(follow(&seen).0, "");
    seen.launcher = Launcher::Alive(status(Stage::Waiting, None));
    assert_eq!(follow(&seen).0, "start");
    seen.start = Start::Running;
    assert_eq!(follow(&seen).0, "");
    seen.start = Start::Done;
    seen.launcher = running();
    let (words, told) = follow(&seen);
    assert_eq!(words, "patch, Normal Started");
    let told = told.unwrap();
    assert_eq!((told.status.phase.clone(), told.status.volume_status[0].target.as_str()), (Phase::Running, "vda"));
    let interface = &told.status.interfaces[0];
    assert_eq!((interface.ip_address.as_str(), interface.info_source.as_str(), interface.queue_count), ("10.244.1.7", "domain", 1));
    assert_eq!((interface.pod_interface_name.as_str(), interface.link_state.as_str()), ("eth0", "up"));
    assert!(conditions::has(&told.status.conditions, &Kind::LiveMigratable, "True"));
    assert_eq!(told.status.phase_transition_timestamps.len(), 1);
    // what was told is told once
    seen.instance = Some(told);
    assert_eq!(follow(&seen).0, "");
    seen.launcher = Launcher::Gone(Some(status(Stage::Ended, Some(domain(State::Shutoff, StateReason::Shutdown)))));
    let (words, told) = follow(&seen);
    assert_eq!((words.as_str(), told.as_ref().unwrap().status.phase.clone()), ("patch, Normal Stopped", Phase::Succeeded));
    seen.instance = told;
    assert_eq!(follow(&seen).0, "cleanup");
    seen.traces = false;
    assert_eq!(follow(&seen).0, "");
}

#[test]
fn a_guest_that_nothing_else_waits_for_is_ready_when_it_runs() {
    for (message, state, ready) in [
        (ALL_BUT_THE_GUEST, State::Running, "True"),
        (ALL_BUT_THE_GUEST, State::Paused, "False"),
        ("the guest does not run yet", State::Running, "False"),
    ] {
        let condition = json!({ "type": "Ready", "status": "False", "reason": "GuestNotRunning", "message": message });
        let scheduled = instance("Scheduled", json!({ "status": { "conditions": [condition] } }));
        let launcher = Launcher::Alive(status(Stage::Started, Some(domain(state, StateReason::User))));
        let (_, told) = follow(&observed(scheduled, launcher));
        assert!(conditions::has(&told.unwrap().status.conditions, &Kind::Ready, ready), "{message} {state:?}");
    }
}

#[test]
fn an_end_that_nobody_notes_is_not_told() {
    let deleted = |at: &str| instance("Running", json!({ "metadata": { "deletionTimestamp": at } }));
    let gone = Launcher::Gone(Some(status(Stage::Ended, Some(domain(State::Shutoff, StateReason::Shutdown)))));
    for (instance, unread, words) in [
        (deleted("2026-11-30T23:59:58Z"), true, "again"),
        (deleted("2026-11-30T23:59:58Z"), false, "patch, Normal Stopped"),
        (deleted("2026-11-30T23:59:00Z"), true, "patch, Normal Stopped"),
        (instance("Running", json!({})), true, "patch, Normal Stopped"),
    ] {
        let seen = Observed { unread, ..observed(instance, gone.clone()) };
        assert_eq!(follow(&seen).0, words, "{unread} {:?}", seen.instance);
        assert_eq!(seen.goes(), seen.instance.as_ref().unwrap().metadata.deletion_timestamp.is_some());
    }
    assert!(!observed(deleted("2026-11-30T23:59:58Z"), running()).goes());
}

#[test]
fn the_phase_follows_the_guest() {
    use {State as S, StateReason as R};
    let grace0 = json!({ "spec": { "terminationGracePeriodSeconds": 0 } });
    let no_button = json!({ "spec": { "domain": { "features": { "acpi": { "enabled": false } } } } });
    for (now, more, state, reason, then) in [
        ("Scheduled", json!({}), S::Paused, R::StartingUp, "Running"),
        ("Running", json!({}), S::Paused, R::User, "Running"),
        ("Running", json!({}), S::Paused, R::PostcopyFailed, "Failed"),
        ("Running", json!({}), S::ShuttingDown, R::Unknown, "Running"),
        ("Running", json!({}), S::Shutoff, R::Shutdown, "Succeeded"),
        ("Running", json!({}), S::Shutoff, R::Destroyed, "Failed"),
        ("Running", grace0, S::Shutoff, R::Destroyed, "Succeeded"),
        ("Running", no_button, S::Shutoff, R::Destroyed, "Succeeded"),
        ("Running", json!({}), S::Crashed, R::Panicked, "Failed"),
        ("Running", json!({}), S::Shutoff, R::Failed, "Failed"),
        ("Running", json!({}), S::Shutoff, R::Migrated, "Running"),
    ] {
        let launcher = Launcher::Alive(status(Stage::Started, Some(domain(state, reason))));
        let (_, told) = follow(&observed(instance(now, more), launcher));
        assert_eq!(told.unwrap().status.phase.to_string(), then, "{now} {state:?} {reason:?}");
    }
    for (now, launcher, then) in [
        ("Scheduled", Launcher::Gone(None), "Failed"),
        ("Running", Launcher::Gone(None), "Failed"),
        ("Running", Launcher::Gone(Some(status(Stage::Started, Some(domain(S::Running, R::Unknown))))), "Failed"),
        ("Running", Launcher::Alive(status(Stage::Waiting, None)), "Failed"),
        ("Scheduled", Launcher::Alive(status(Stage::Ended, None)), "Failed"),
        ("Running", Launcher::Unknown, "Running"),
    ] {
        let (words, told) = follow(&observed(instance(now, json!({})), launcher.clone()));
        assert_eq!(told.unwrap().status.phase.to_string(), then, "{now} {launcher:?} {words}");
    }
}

#[test]
fn a_deleted_guest_gets_its_time_once() {
    let deleted = |more: Value| {
        let mut object = instance("Running", more);
        object.metadata.deletion_timestamp = Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(NOW.parse().unwrap()));
        object
    };
    let first = |seen: &Observed| follow(seen).0.split(", ").next().unwrap_or_default().to_owned();
    let mut seen = observed(deleted(json!({})), running());
    assert_eq!(first(&seen), "shutdown");
    seen.asked_to_end = true;
    assert_ne!(first(&seen), "shutdown");
    assert_eq!(first(&observed(deleted(json!({ "spec": { "terminationGracePeriodSeconds": 0 } })), running())), "destroy");
    let stopping = Launcher::Alive(status(Stage::Stopping, Some(domain(State::Running, StateReason::Unknown))));
    assert_eq!(first(&observed(deleted(json!({})), stopping)), "", "what a guest loses on its way out is not told");
    let waiting = Launcher::Alive(status(Stage::Waiting, None));
    let mut seen = observed(deleted(json!({ "status": { "phase": "Scheduled" } })), waiting);
    assert_eq!(follow(&seen).0, "destroy");
    // an instance that is gone without having ended takes its guest with it
    seen = Observed { instance: None, launcher: running(), traces: true, ..Observed::default() };
    assert_eq!(follow(&seen).0, "destroy, again");
    seen.asked_to_end = true;
    assert_eq!(follow(&seen).0, "again");
    seen.launcher = Launcher::Gone(None);
    assert_eq!(follow(&seen).0, "cleanup");
}

#[test]
fn a_failed_start_is_told_and_tried_again_unless_it_is_hopeless() {
    let fault = |reason| Fault { reason, message: "no such disk".into(), field: Some("spec.volumes[0]".into()) };
    let mut seen = observed(instance("Scheduled", json!({})), Launcher::Alive(status(Stage::Waiting, None)));
    seen.start = Start::Failed(fault(FaultReason::DiskNotReady));
    let (words, told) = follow(&seen);
    assert_eq!(words, "start, patch");
    seen.may_retry = false;
    assert_eq!(follow(&seen).0, "patch");
    let told = told.unwrap();
    let condition = conditions::find(&told.status.conditions, &Kind::Synchronized).unwrap();
    assert_eq!((condition.reason.as_str(), condition.message.as_str()), ("DiskNotReady", "spec.volumes[0]: no such disk"));
    seen.start = Start::Failed(fault(FaultReason::InvalidInstance));
    let (words, told) = follow(&seen);
    assert_eq!((words.as_str(), told.as_ref().unwrap().status.phase.clone()), ("patch, Warning Stopped", Phase::Failed));
    assert_eq!(told.unwrap().status.reason, "InvalidInstance");
}

#[test]
fn a_crash_is_told_with_qemus_last_words() {
    let mut last = status(Stage::Ended, Some(domain(State::Shutoff, StateReason::Failed)));
    last.fault = Some(Fault { reason: FaultReason::QemuFailed, message: "QEMU was killed".into(), field: None });
    last.last_words = "terminating on signal 9".into();
    let (_, told) = follow(&observed(instance("Running", json!({})), Launcher::Gone(Some(last))));
    let told = told.unwrap();
    let condition = conditions::find(&told.status.conditions, &Kind::Synchronized).unwrap();
    assert_eq!((condition.reason.as_str(), told.status.reason.as_str()), ("QemuFailed", "QemuFailed"));
    assert!(condition.message.contains("QEMU was killed") && condition.message.contains("signal 9"), "{}", condition.message);
}

#[test]
fn an_end_is_explained_by_how_it_came() {
    for (state, reason, word) in [
        (State::Shutoff, StateReason::Crashed, "QemuFailed"),
        (State::Crashed, StateReason::Panicked, "Failed"),
        (State::Shutoff, StateReason::Destroyed, ""),
        (State::Running, StateReason::Unknown, "Failed"),
    ] {
        let last = Launcher::Gone(Some(status(Stage::Ended, Some(domain(state, reason)))));
        let (_, told) = follow(&observed(instance("Running", json!({})), last));
        assert_eq!(told.unwrap().status.reason, word, "{state:?} {reason:?}");
    }
}

#[test]
fn the_agents_word_is_told() {
    let mut started = status(Stage::Started, Some(domain(State::Running, StateReason::Unknown)));
    let addresses = ["10.0.2.2", "fe80::1"].map(str::to_owned).to_vec();
    started.agent = Some(Agent {
        interfaces: vec![
            AgentInterface { name: "lo".into(), mac: "00:00:00:00:00:00".into(), ip: "127.0.0.1".into(), ips: vec!["127.0.0.1".into()] },
            AgentInterface { name: "enp1s0".into(), mac: "52:54:00:00:00:01".into(), ip: "10.0.2.2".into(), ips: addresses },
            AgentInterface {
                name: "docker0".into(),
                mac: "02:42:00:00:00:01".into(),
                ip: "172.17.0.1".into(),
                ips: vec!["172.17.0.1".into()],
            },
        ],
        ..Agent::default()
    });
    let (_, told) = follow(&observed(instance("Running", json!({})), Launcher::Alive(started)));
    let told = told.unwrap();
    assert!(conditions::has(&told.status.conditions, &Kind::AgentConnected, "True"));
    let seen: Vec<_> = told
        .status
        .interfaces
        .iter()
        .map(|i| (i.name.as_str(), i.interface_name.as_str(), i.ip_addresses.join(" "), i.info_source.as_str()))
        .collect();
    assert_eq!(
        seen,
        [("default", "enp1s0", "10.244.1.7".to_owned(), "domain, guest-agent"), ("", "docker0", "172.17.0.1".to_owned(), "guest-agent"),]
    );
}

#[test]
fn a_pause_is_told_as_long_as_it_lasts() {
    let paused = Launcher::Alive(status(Stage::Started, Some(domain(State::Paused, StateReason::User))));
    let (_, told) = follow(&observed(instance("Running", json!({})), paused));
    let told = told.unwrap();
    assert!(conditions::has_reason(&told.status.conditions, &Kind::Paused, "True", "PausedByUser"));
    let (_, told) = follow(&observed(told, running()));
    assert!(conditions::find(&told.unwrap().status.conditions, &Kind::Paused).is_none());
}

#[test]
fn what_cannot_migrate_says_why() {
    let device = json!([{ "name": "d", "deviceName": "x" }]);
    for (more, reason, method) in [
        (json!({}), "", "BlockMigration"),
        (json!({ "spec": { "volumes": [] } }), "", "LiveMigration"),
        (json!({ "spec": { "volumes": [{ "name": "d", "memoryDump": { "claimName": "d" } }] } }), "", "LiveMigration"),
        (
            json!({ "spec": { "domain": { "devices": { "interfaces": [{ "name": "default", "bridge": {} }] } } } }),
            "InterfaceNotLiveMigratable",
            "BlockMigration",
        ),
        (json!({ "spec": { "domain": { "devices": { "hostDevices": device } } } }), "HostDeviceNotLiveMigratable", "BlockMigration"),
        (json!({ "spec": { "domain": { "launchSecurity": { "sev": {} } } } }), "SEVNotLiveMigratable", "BlockMigration"),
        (
            json!({ "spec": { "volumes": [{ "name": "root", "persistentVolumeClaim": { "claimName": "c" } }] } }),
            "DisksNotLiveMigratable",
            "BlockMigration",
        ),
        (json!({ "spec": { "domain": { "devices": { "disks": [{ "name": "root", "cdrom": {} }] } } } }), "", "LiveMigration"),
        (
            json!({ "spec": { "domain": { "features": { "hyperv": { "reenlightenment": { "enabled": true } } } } } }),
            "NoTSCFrequencyNotLiveMigratable",
            "BlockMigration",
        ),
    ] {
        let (_, told) = follow(&observed(instance("Running", more.clone()), running()));
        let told = told.unwrap();
        let condition = conditions::find(&told.status.conditions, &Kind::LiveMigratable).unwrap();
        assert_eq!((condition.reason.as_str(), condition.status == "True"), (reason, reason.is_empty()), "{more}");
        assert_eq!(told.status.migration_method.to_string(), method, "{more}");
    }
}

#[test]
fn the_launcher_is_told_of_taps_and_leases() {
    let instance = instance(
        "Scheduled",
        json!({ "spec": { "domain": { "devices": { "interfaces": [{ "name": "default", "masquerade": {}, "macAddress": "52:54:00:00:00:01" }] } } } }),
    );
    let order = order("node-7", &instance, &KubeVirtConfiguration::default(), &networks());
    assert_eq!(order.node, "node-7");
    let plug = &order.interfaces["default"];
    assert_eq!((plug.tap.as_str(), plug.mtu), ("tap0", Some(1450)));
    let lease = plug.dhcp.as_ref().unwrap();
    assert_eq!(
        (lease.link.as_str(), lease.address.to_string(), lease.gateway.unwrap().to_string(), lease.mtu),
        ("k6t-eth0", "10.0.2.2".into(), "10.0.2.1".into(), Some(1450))
    );
    assert_eq!(lease.mac.as_deref(), Some("52:54:00:00:00:01"));
}

#[test]
fn a_memory_dump_goes_step_by_step() {
    let dumping = |volumes: Value, phase: &str, file: &str, pod: &str| {
        let status = json!([{
            "name": "dump", "target": "", "phase": phase, "hotplugVolume": { "attachPodUID": pod },
            "memoryDumpVolume": { "claimName": "dump", "targetFileName": file },
        }]);
        instance("Running", json!({ "spec": { "volumes": volumes }, "status": { "volumeStatus": status } }))
    };
    let taken = || json!([{ "name": "dump", "memoryDump": { "claimName": "dump", "hotpluggable": true } }]);
    let seen = |mut instance: VirtualMachineInstance, shown: bool, dump: Option<MemoryDump>| {
        let mut started = status(Stage::Started, Some(domain(State::Running, StateReason::Unknown)));
        started.memory_dump = dump;
        let shown = shown.then(|| "dump".to_owned()).into_iter().collect();
        // what else is told of a guest that runs was told before
        let phase = std::mem::take(&mut instance.status.volume_status[0].phase);
        let mut told = follow(&observed(instance, running())).1.unwrap();
        told.status.volume_status[0].phase = phase;
        Observed { shown, ..observed(told, Launcher::Alive(started)) }
    };
    let time = |text: &str| Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(text.parse().unwrap()));
    let (begun, ended) = (time("2026-12-01T00:00:01Z"), time("2026-12-01T00:00:09Z"));
    let of = |file: &str, ended, failure: Option<&str>| MemoryDump {
        volume: "dump".to_owned(),
        file: file.to_owned(),
        begun: begun.clone(),
        ended,
        failure: failure.map(str::to_owned),
    };
    const FILE: &str = "a-dump-20261201-000000.memory.dump";
    let show = "show { volume: \"dump\", pod: \"p\" }";
    let order = format!("dumpmemory {{ volume: \"dump\", file: \"{FILE}\" }}");
    let hide = "hide { volume: \"dump\" }";
    let goes_on = || Some(of(FILE, None, None));
    let full = || Some(of(FILE, ended.clone(), Some("no room")));
    let done = || Some(of(FILE, ended.clone(), None));
    for (volumes, phase, file, pod, shown, dump, words, then) in [
        (taken(), "AttachedToNode", "", "", false, None, "", "AttachedToNode"),
        (taken(), "AttachedToNode", "", "p", false, None, show, "AttachedToNode"),
        (taken(), "AttachedToNode", "", "p", true, None, "patch, Normal VolumeMountedToPod", "MemoryDumpInProgress"),
        (taken(), "MemoryDumpInProgress", FILE, "p", true, None, &order, "MemoryDumpInProgress"),
        // that of an earlier dump is another file
        (taken(), "MemoryDumpInProgress", FILE, "p", true, Some(of("old", ended.clone(), None)), &order, "MemoryDumpInProgress"),
        (taken(), "MemoryDumpInProgress", FILE, "p", false, None, show, "MemoryDumpInProgress"),
        (taken(), "MemoryDumpInProgress", FILE, "p", true, goes_on(), "patch", "MemoryDumpInProgress"),
        (taken(), "MemoryDumpInProgress", FILE, "p", true, done(), "patch, Normal VolumeReady", "MemoryDumpCompleted"),
        (taken(), "MemoryDumpInProgress", FILE, "p", true, full(), "patch, Warning MemoryDumpFailed", "MemoryDumpFailed"),
        (taken(), "MemoryDumpCompleted", FILE, "p", false, done(), "", "MemoryDumpCompleted"),
        (taken(), "MemoryDumpFailed", FILE, "p", true, full(), "", "MemoryDumpFailed"),
        (json!([]), "Detaching", FILE, "p", true, done(), hide, "Detaching"),
        (json!([]), "Detaching", FILE, "p", true, goes_on(), "", "Detaching"),
        (json!([]), "Detaching", FILE, "p", false, done(), "", "Detaching"),
        (json!([]), "MountedToPod", FILE, "p", false, None, "patch, Normal VolumeUnMountedFromPod", "UnMountedFromPod"),
    ] {
        let what = format!("{phase} {volumes} shown: {shown} {dump:?}");
        let (said, told) = follow(&seen(dumping(volumes, phase, file, pod), shown, dump.clone()));
        assert_eq!(said, words, "{what}");
        let status = &told.unwrap().status.volume_status[0];
        assert_eq!(status.phase.as_str(), then, "{what}");
        let info = status.memory_dump_volume.clone().unwrap();
        assert_eq!(info.claim_name, "dump");
        if then == "MemoryDumpInProgress" {
            assert_eq!(info.target_file_name, FILE, "{what}");
        }
        if phase == "MemoryDumpInProgress" && dump.as_ref().is_some_and(|dump| dump.file == FILE) {
            assert_eq!((info.start_timestamp, info.end_timestamp), (begun.clone(), dump.and_then(|dump| dump.ended)), "{what}");
        }
        assert_eq!(status.message.contains("no room"), then == "MemoryDumpFailed" && phase != then, "{what}");
    }

    // a launcher that knows of no dumps
    let mut refused = seen(dumping(taken(), "MemoryDumpInProgress", FILE, "p"), true, None);
    refused.refused = Some(RefusedDump { file: FILE.to_owned(), why: "unheard of".to_owned() });
    let (said, told) = follow(&refused);
    let status = &told.unwrap().status.volume_status[0];
    assert_eq!((said.as_str(), status.phase.as_str()), ("patch, Warning MemoryDumpFailed", "MemoryDumpFailed"));
    assert!(status.message.contains("unheard of"), "{}", status.message);
}
