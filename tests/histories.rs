//! The controllers of machines and instances in random histories: what they see is late, what they write fails or is
//! answered by nobody, other people and the node do what they like in between. When that ends, everything must be as if
//! nothing had ever gone wrong. A history follows from its seed; one that fails names it.

#![allow(clippy::expect_used, clippy::panic, clippy::unwrap_used)] // a test that cannot go on fails

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use serde::Deserialize;
use serde_json::{Value, json};

use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::action::Action;
use kubevirt_rs::lifecycle::patch::Patch;
use kubevirt_rs::lifecycle::{vm, vmi};
use kubevirt_rs::pod::Context;

/// How many histories a test run goes through; `HISTORIES` asks for more, `SEED` for one.
const HISTORIES: u64 = 1000;
/// So many things happen before the faults end.
const TROUBLE: usize = 60;
/// So many rounds everything must come to rest in.
const PATIENCE: usize = 400;

/// Numbers that follow from a seed.
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let z = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        z ^ (z >> 33)
    }

    fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// What there is. Both controllers see copies of it.
#[derive(Clone, Default)]
struct Things {
    machine: Option<Value>,
    instance: Option<Value>,
    pods: Vec<Value>,
    revisions: Vec<Value>,
}

/// Why a write had no success.
enum Refusal {
    /// Someone was faster: nothing was done.
    Conflict,
    /// It was done or not; nobody knows.
    Unanswered,
}

struct Cluster {
    things: Things,
    version: u64,
    made: u64,
    now: Timestamp,
    chance: Chance,
    faults: bool,
}

impl Cluster {
    fn new(seed: u64) -> Self {
        let machine = json!({
            "apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine",
            "metadata": {"name": "a", "namespace": "n", "uid": "machine", "generation": 1, "resourceVersion": "1"},
            "spec": {"runStrategy": "Always", "template": {"spec": {"architecture": "amd64", "domain": {"devices": {}, "resources": {"requests": {"memory": "1Gi"}}}}}},
        });
        let now = "2026-12-01T00:00:00Z".parse().unwrap();
        let things = Things { machine: Some(machine), ..Things::default() };
        Self { things, version: 1, made: 0, now, chance: Chance(seed), faults: true }
    }

    fn bump(&mut self, object: &mut Value) {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
    }

    fn uid(&mut self, of: &str) -> String {
        self.made += 1;
        format!("{of}-{}", self.made)
    }

    /// Changes an object that is there, if it is still of that version.
    fn change(&mut self, object: Option<Value>, version: Option<&str>, patch: &Patch) -> Result<Value, Refusal> {
        let Some(mut object) = object else { return Err(Refusal::Conflict) };
        let current = object["metadata"]["resourceVersion"].as_str().map(str::to_owned);
        if version.is_some() && current.as_deref() != version {
            return Err(Refusal::Conflict);
        }
        let spec = object["spec"].clone();
        let steps = Patch(patch.0.iter().filter(|s| s.op != "test").cloned().collect());
        steps.apply(&mut object).map_err(|_| Refusal::Conflict)?;
        if object["spec"] != spec {
            let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
            object["metadata"]["generation"] = json!(generation + 1);
        }
        self.bump(&mut object);
        Ok(object)
    }

    fn delete(&mut self, object: Option<Value>) -> Option<Value> {
        let mut object = object?;
        let now = self.now.to_string();
        object["metadata"].as_object_mut().unwrap().entry("deletionTimestamp").or_insert(json!(now));
        self.bump(&mut object);
        held(object)
    }

    /// Carries out an action that was decided by `seen`.
    fn write(&mut self, action: &Action, seen: &mut Things) -> Result<(), Refusal> {
        if self.faults && self.chance.one_in(12) {
            if self.chance.one_in(2) {
                return Err(Refusal::Unanswered);
            }
            // The answer is lost, but not what was asked.
            let _ = self.carry_out(action, seen);
            return Err(Refusal::Unanswered);
        }
        self.carry_out(action, seen)
    }

    fn carry_out(&mut self, action: &Action, seen: &mut Things) -> Result<(), Refusal> {
        let version = |object: &Option<Value>| object.as_ref().and_then(|o| o["metadata"]["resourceVersion"].as_str()).map(str::to_owned);
        match action {
            Action::PatchMachine(patch) | Action::PatchMachineStatus(patch) => {
                let object = self.things.machine.clone();
                self.things.machine = held(self.change(object, version(&seen.machine).as_deref(), patch)?);
                seen.machine = self.things.machine.clone();
            }
            Action::CreateInstance(made) => {
                if self.things.instance.is_some() {
                    return Err(Refusal::Conflict);
                }
                let mut object = json!(made);
                object["metadata"]["uid"] = json!(self.uid("instance"));
                object["metadata"]["creationTimestamp"] = json!(self.now.to_string());
                let finalizers = object["metadata"]["finalizers"].as_array_mut().unwrap();
                finalizers.push(json!("kubevirt.io/foregroundDeleteVirtualMachine"));
                object["status"]["phase"] = json!("Pending");
                self.bump(&mut object);
                self.things.instance = Some(object);
                seen.instance = self.things.instance.clone();
            }
            Action::PatchInstance(patch) => {
                let object = self.things.instance.clone();
                self.things.instance = held(self.change(object, version(&seen.instance).as_deref(), patch)?);
                seen.instance = self.things.instance.clone();
            }
            Action::UpdateInstance(whole) => {
                let whole = Patch::default().add("", &**whole);
                let object = self.things.instance.clone();
                self.things.instance = held(self.change(object, version(&seen.instance).as_deref(), &whole)?);
                seen.instance = self.things.instance.clone();
            }
            Action::DeleteInstance { uid } => {
                if self.things.instance.as_ref().is_some_and(|i| i["metadata"]["uid"] == json!(uid)) {
                    let object = self.things.instance.take();
                    self.things.instance = self.delete(object);
                }
                seen.instance = self.things.instance.clone();
            }
            Action::CreateRevision(made) => {
                let object = json!(made);
                if !self.things.revisions.iter().any(|r| r["metadata"]["name"] == object["metadata"]["name"]) {
                    self.things.revisions.push(object);
                }
                seen.revisions = self.things.revisions.clone();
            }
            Action::DeleteRevision { name } => {
                self.things.revisions.retain(|r| r["metadata"]["name"] != json!(name));
                seen.revisions = self.things.revisions.clone();
            }
            Action::CreatePod(made) => {
                let mut object = json!(made);
                if self.things.pods.iter().any(|p| p["metadata"]["name"] == object["metadata"]["name"]) {
                    return Err(Refusal::Conflict);
                }
                let uid = self.uid("pod");
                object["metadata"]["creationTimestamp"] = json!(self.now.to_string());
                object["metadata"]["uid"] = json!(uid);
                object["status"] = json!({"phase": "Pending"});
                self.bump(&mut object);
                self.things.pods.push(object);
                seen.pods = self.things.pods.clone();
            }
            Action::PatchPod { name, patch } | Action::PatchPodStatus { name, patch } => {
                let at = self.things.pods.iter().position(|p| p["metadata"]["name"] == json!(name)).ok_or(Refusal::Conflict)?;
                if !patch.holds_for(&self.things.pods[at]) {
                    return Err(Refusal::Conflict);
                }
                let object = Some(self.things.pods[at].clone());
                self.things.pods[at] = self.change(object, None, patch)?;
                seen.pods = self.things.pods.clone();
            }
            Action::DeletePod { name, .. } => {
                let now = json!(self.now.to_string());
                if let Some(pod) = self.things.pods.iter_mut().find(|p| p["metadata"]["name"] == json!(name)) {
                    pod["metadata"].as_object_mut().unwrap().entry("deletionTimestamp").or_insert(now);
                }
                seen.pods = self.things.pods.clone();
            }
            Action::Record(_) | Action::LookAgain { .. } => {}
            other => panic!("nobody asked for {other:?}"),
        }
        Ok(())
    }

    /// The node: the kubelet moves pods on, the handler the guests in them.
    fn node(&mut self) {
        let fails = self.faults && self.chance.one_in(10);
        let mut pods = std::mem::take(&mut self.things.pods);
        pods.retain(|pod| pod["metadata"].get("deletionTimestamp").is_none() || pod["status"]["phase"] != "Succeeded");
        for pod in &mut pods {
            let goes = pod["metadata"].get("deletionTimestamp").is_some();
            let phase = pod["status"]["phase"].as_str().unwrap().to_owned();
            let next = match (phase.as_str(), goes, fails) {
                ("Succeeded" | "Failed", true, _) => "Succeeded",
                ("Pending", false, false) => "Running",
                ("Pending" | "Running", true, _) => "Succeeded",
                ("Pending" | "Running", false, true) => "Failed",
                (same, ..) => same,
            };
            let state = if next == "Running" { json!({"running": {}}) } else { json!({"terminated": {"exitCode": 0}}) };
            let conditions = pod["status"].get("conditions").cloned().unwrap_or(json!([]));
            pod["spec"]["nodeName"] = json!("node");
            pod["status"] = json!({"phase": next, "conditions": conditions,
                "containerStatuses": [{"name": "compute", "image": "i", "imageID": "i", "ready": true, "restartCount": 0, "state": state}]});
            self.bump(pod);
        }
        // An owner that is gone takes its pods along.
        let owner = self.things.instance.as_ref().map(|i| i["metadata"]["uid"].clone());
        pods.retain(|pod| Some(&pod["metadata"]["ownerReferences"][0]["uid"]) == owner.as_ref());
        self.things.pods = pods;
        if let Some(mut instance) = self.things.instance.take() {
            let uid = instance["metadata"]["uid"].clone();
            let runs =
                self.things.pods.iter().any(|p| p["metadata"]["ownerReferences"][0]["uid"] == uid && p["status"]["phase"] == "Running");
            let goes = instance["metadata"].get("deletionTimestamp").is_some();
            let next = match (instance["status"]["phase"].as_str().unwrap_or(""), runs, goes) {
                ("Scheduled" | "Running", _, true) => Some("Succeeded"),
                ("Scheduled" | "Running", false, false) => Some("Failed"),
                ("Scheduled", true, false) => Some("Running"),
                _ => None,
            };
            if let Some(next) = next {
                instance["status"]["phase"] = json!(next);
                let times = instance["status"].as_object_mut().unwrap().entry("phaseTransitionTimestamps").or_insert(json!([]));
                times.as_array_mut().unwrap().push(json!({"phase": next, "phaseTransitionTimestamp": self.now.to_string()}));
                self.bump(&mut instance);
            }
            self.things.instance = Some(instance);
        }
    }

    /// What other people do.
    fn user(&mut self) {
        match self.chance.below(8) {
            0..=2 => {
                let strategy = ["Always", "Halted", "RerunOnFailure"][self.chance.below(3) as usize];
                let patch = Patch::default().add("/spec/runStrategy", strategy);
                let machine = self.things.machine.clone();
                if let Ok(machine) = self.change(machine, None, &patch) {
                    self.things.machine = held(machine);
                }
            }
            3 => {
                let instance = self.things.instance.take();
                self.things.instance = self.delete(instance);
            }
            4 if !self.things.pods.is_empty() => {
                let now = json!(self.now.to_string());
                let pod = &mut self.things.pods[0]["metadata"];
                pod.as_object_mut().unwrap().entry("deletionTimestamp").or_insert(now);
            }
            5 if self.chance.one_in(4) => {
                let machine = self.things.machine.take();
                self.things.machine = self.delete(machine);
            }
            _ => {}
        }
    }
}

/// What of an object is left: nothing, when it is deleted and nothing holds it.
fn held(object: Value) -> Option<Value> {
    let held = object["metadata"].get("finalizers").and_then(Value::as_array).is_some_and(|f| !f.is_empty());
    (object["metadata"].get("deletionTimestamp").is_none() || held).then_some(object)
}

fn read<T: for<'de> Deserialize<'de>>(objects: &[Value]) -> Vec<T> {
    objects.iter().map(|object| T::deserialize(object).unwrap()).collect()
}

/// One pass of the machine's controller over what it sees.
fn pass_machine(cluster: &mut Cluster, seen: &mut Things, config: &ClusterConfig) -> bool {
    let Some(machine) = &seen.machine else { return false };
    let observed = vm::Observed {
        machine: Deserialize::deserialize(machine).unwrap(),
        instance: seen.instance.as_ref().map(|i| Deserialize::deserialize(i).unwrap()),
        revisions: read(&seen.revisions),
        ..vm::Observed::default()
    };
    let now = cluster.now;
    let plan = vm::plan(&observed, config, now);
    follow(cluster, seen, &plan, |action| vm::failed(&observed, config, now, action, "no"))
}

/// One pass of the instance's controller.
fn pass_instance(cluster: &mut Cluster, seen: &mut Things, config: &ClusterConfig) -> bool {
    let Some(instance) = &seen.instance else { return false };
    let going = |machine: &Value| machine["metadata"].get("deletionTimestamp").is_some();
    let observed = vmi::Observed {
        instance: Deserialize::deserialize(instance).unwrap(),
        pods: read(&seen.pods),
        owner_exists: seen.machine.as_ref().is_some_and(|m| !going(m)),
        context: Context { image: "i".to_owned(), ..Context::default() },
        ..vmi::Observed::default()
    };
    let now = cluster.now;
    let plan = vmi::plan(&observed, config, now);
    follow(cluster, seen, &plan, |action| vmi::failed(&observed, config, now, action, "no"))
}

/// Carries a plan out until something fails. Whether anything was written.
fn follow(cluster: &mut Cluster, seen: &mut Things, plan: &[Action], told: impl Fn(&Action) -> Vec<Action>) -> bool {
    let mut wrote = false;
    for action in plan {
        wrote |= action.writes();
        match cluster.write(action, seen) {
            Ok(()) => {}
            Err(Refusal::Conflict) => return true,
            Err(Refusal::Unanswered) => {
                for action in told(action) {
                    if cluster.write(&action, seen).is_err() {
                        break;
                    }
                }
                return true;
            }
        }
        // The controller may be killed between any two writes.
        if cluster.faults && cluster.chance.one_in(25) {
            return true;
        }
    }
    wrote
}

/// Goes through the history of a seed. What is wrong at its end, if anything is.
fn history(seed: u64) -> Result<(), String> {
    let config = ClusterConfig::new(&KubeVirtConfiguration::default());
    let mut cluster = Cluster::new(seed);
    let (mut of_machine, mut of_instance) = (cluster.things.clone(), cluster.things.clone());
    for _ in 0..TROUBLE {
        cluster.now = cluster.now.checked_add(SignedDuration::from_millis(700)).unwrap();
        match cluster.chance.below(10) {
            0 => cluster.user(),
            1..=2 => cluster.node(),
            // What is seen comes late, and kind by kind.
            3 => of_machine.machine = cluster.things.machine.clone(),
            4 => of_machine.instance = cluster.things.instance.clone(),
            5 => of_instance = Things { machine: of_instance.machine.clone(), ..cluster.things.clone() },
            6 => of_instance.pods = cluster.things.pods.clone(),
            7 => {
                pass_machine(&mut cluster, &mut of_machine, &config);
            }
            _ => {
                pass_instance(&mut cluster, &mut of_instance, &config);
            }
        }
        let live = |uid: &Value| cluster.things.pods.iter().filter(|p| p["metadata"]["ownerReferences"][0]["uid"] == *uid).count();
        if let Some(instance) = &cluster.things.instance
            && live(&instance["metadata"]["uid"]) > 1
        {
            return Err(format!("{} pods for one guest", live(&instance["metadata"]["uid"])));
        }
    }
    cluster.faults = false;
    let mut quiet = 0;
    for _ in 0..PATIENCE {
        cluster.now = cluster.now.checked_add(SignedDuration::from_secs(20)).unwrap();
        cluster.node();
        let mut seen = cluster.things.clone();
        let wrote = pass_machine(&mut cluster, &mut seen, &config);
        let mut seen = cluster.things.clone();
        let wrote = pass_instance(&mut cluster, &mut seen, &config) || wrote;
        quiet = if wrote { 0 } else { quiet + 1 };
        if quiet > 30 {
            return at_rest(&cluster.things);
        }
    }
    Err(format!("no rest: {}", json!([cluster.things.machine, cluster.things.instance])))
}

/// Whether what is left when nothing is left to do is what the machine asks for.
fn at_rest(things: &Things) -> Result<(), String> {
    let wrong = |what: &str| Err(format!("{what}: {}", json!([things.machine, things.instance, things.pods])));
    let Some(machine) = &things.machine else {
        return if things.instance.is_none() && things.pods.is_empty() { Ok(()) } else { wrong("left behind") };
    };
    if machine["metadata"].get("deletionTimestamp").is_some() {
        return wrong("held for ever");
    }
    let told = machine["status"]["printableStatus"].as_str().unwrap_or_default();
    match (machine["spec"]["runStrategy"].as_str().unwrap_or_default(), &things.instance) {
        ("Halted", None) if told == "Stopped" => Ok(()),
        ("Always", Some(instance)) if told == "Running" && instance["status"]["phase"] == "Running" && things.pods.len() == 1 => Ok(()),
        // One that has ended well stays down; so does one whose instance somebody deleted, and it tells of the failures before.
        ("RerunOnFailure", None)
            if machine["status"]["stateChangeRequests"].is_null() && ["Stopped", "CrashLoopBackOff"].contains(&told) =>
        {
            Ok(())
        }
        ("RerunOnFailure", Some(instance)) if instance["status"]["phase"] == "Running" && things.pods.len() == 1 => Ok(()),
        _ => wrong("not what was asked for"),
    }
}

#[test]
fn whatever_happens_in_between_all_comes_to_the_rest_that_was_asked_for() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds = match asked("SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..asked("HISTORIES").unwrap_or(HISTORIES),
    };
    let failed: Vec<_> = seeds.filter_map(|seed| history(seed).err().map(|why| format!("SEED={seed}: {why}"))).collect();
    assert!(failed.is_empty(), "{} histories failed; {}", failed.len(), failed.iter().take(3).cloned().collect::<Vec<_>>().join("\n"));
}
