//! The whole role in random histories: the API server errs ([`crate::cluster::simulation`]), the role is killed and begins
//! anew, users, kubelet and the node's handler do what they like in between. When the trouble ends, everything must come to
//! the rest that was asked for, stay there without a write, and not be stirred up by another start.
//!
//! A history follows from its seed, which a failure names: `SEED=17 cargo test --bin kubevirt-rs histories` goes through it
//! alone and shows what the role says. `HISTORIES` asks for another number of them. The kubelet is a stand-in; the handler's decisions are the real ones.

use std::collections::BTreeMap;
use std::time::Duration;

use kubevirt_rs::admission::Seed;
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::guest::status::{Domain, Stage, State as GuestState, StateReason, Status};
use kubevirt_rs::node::instance::{self, Action, Launcher, Observed, Start};
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Controller, Installed, Outside};
use crate::cluster::simulation::{ApiServer, State, now_since};
use crate::cluster::{Cluster, Shutdown};

/// How many histories a run goes through.
const HISTORIES: u64 = 1000;
/// So many things happen before the trouble ends.
const TROUBLE: usize = 80;
/// So much of it, at most, until everything is at rest: longer than any back-off.
const PATIENCE: Duration = Duration::from_secs(3600);
/// Nothing has happened for so long: longer than the longest back-off.
const REST: Duration = Duration::from_secs(400);

/// How often kubelet and handler look around while things happen, and otherwise.
const SWIFT: Duration = Duration::from_secs(5);
const SLOW: Duration = Duration::from_secs(50);

const MACHINES: &str = "apis/kubevirt.io/v1/virtualmachines";
const INSTANCES: &str = "apis/kubevirt.io/v1/virtualmachineinstances";
const SETS: &str = "apis/kubevirt.io/v1/virtualmachineinstancereplicasets";
const POOLS: &str = "apis/pool.kubevirt.io/v1beta1/virtualmachinepools";
const PODS: &str = "api/v1/pods";
const NODES: &str = "api/v1/nodes";
const NODE: &str = "node";

/// When the handler was last heard of: so late that it will not be missed, and so early that it is.
const ALIVE: &str = "2036-12-01T00:00:00Z";
const SILENT: &str = "2026-11-30T23:00:00Z";

/// The role as it runs until it is killed.
struct Role {
    shutdown: Shutdown,
    workers: JoinSet<()>,
}

impl Role {
    async fn start(api: &ApiServer, begin: Instant) -> Self {
        let shutdown = Shutdown::new();
        let cluster = Cluster { client: api.client(), component: "virt-controller" };
        let installed = Installed {
            image: "i".to_owned(),
            sidecar_shim_image: "i".to_owned(),
            image_pull_secret: String::new(),
            qemu_timeout: 240,
            namespace: "kubevirt".to_owned(),
            host: "h".to_owned(),
        };
        let chance = api.clone();
        let outside = Outside {
            now: Box::new(move || now_since(begin)),
            chance: Box::new(move || Seed(chance.with(|state| u128::from(state.chance.next())))),
        };
        let controller = Controller::follow(cluster, installed, outside, &shutdown);
        controller.stores.ready().await;
        Self { workers: controller.work(3, &shutdown), shutdown }
    }
}

impl Drop for Role {
    fn drop(&mut self) {
        self.workers.abort_all();
        self.shutdown.ask();
    }
}

/// A guest, as its launcher knows it.
#[derive(Clone, Default)]
struct Guest {
    started: bool,
    asked: bool,
    ended: Option<StateReason>,
}

impl Guest {
    fn status(&self) -> Box<Status> {
        let domain = |state, reason| Some(Domain { state, reason, machine: "q35".to_owned(), ..Domain::default() });
        let (stage, domain) = match (self.started, self.ended) {
            (_, Some(reason)) => (Stage::Ended, domain(GuestState::Shutoff, reason)),
            (true, None) => (Stage::Started, domain(GuestState::Running, StateReason::Unknown)),
            (false, None) => (Stage::Waiting, None),
        };
        Box::new(Status { stage, domain, ..Status::default() })
    }
}

/// What works of the node.
#[derive(Clone, Copy, PartialEq)]
enum Node {
    Works,
    /// Its guests and kubelet go on.
    WithoutHandler,
    Lost,
}

/// Everybody but the role.
struct World {
    api: ApiServer,
    config: ClusterConfig,
    guests: BTreeMap<String, Guest>,
    node: Node,
}

fn uid(object: &Value) -> String {
    object["metadata"]["uid"].as_str().unwrap_or_default().to_owned()
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

fn owner(object: &Value) -> &str {
    object.pointer("/metadata/ownerReferences/0/uid").and_then(Value::as_str).unwrap_or_default()
}

fn goes(object: &Value) -> bool {
    !object["metadata"]["deletionTimestamp"].is_null()
}

fn phase(object: &Value) -> &str {
    object["status"]["phase"].as_str().unwrap_or_default()
}

impl World {
    fn chance(&self, many: u64) -> bool {
        self.api.with(|state| state.errs && state.chance.one_in(many))
    }

    /// The node, or only its handler, is lost, or comes back.
    fn node(&mut self, node: Node) {
        if self.node == Node::Lost {
            self.guests.values_mut().filter(|guest| guest.started).for_each(|guest| {
                guest.ended.get_or_insert(StateReason::Crashed);
            });
        }
        self.node = node;
        self.api.edit(NODES, NODE, |object| {
            let meta = &mut object["metadata"];
            meta["annotations"]["kubevirt.io/heartbeat"] = json!(if node == Node::Works { ALIVE } else { SILENT });
            if node == Node::Works {
                meta["labels"]["kubevirt.io/schedulable"] = json!("true");
            }
        });
    }

    /// Kubernetes gives up pods of a node that is lost, one after the other.
    fn give_up_a_pod(&self) {
        let pods = self.api.with(|state| state.all(PODS));
        if let Some(pod) = pods.iter().find(|pod| !pod["spec"]["nodeName"].is_null()) {
            self.api.with(|state| {
                state.delete(PODS, name(pod), &Value::Null);
            });
            self.api.edit(PODS, name(pod), |pod| pod["metadata"]["deletionGracePeriodSeconds"] = json!(0));
        }
    }

    /// The scheduler and the kubelet move pods on.
    fn kubelet(&mut self) {
        if self.node == Node::Lost {
            if self.chance(4) {
                self.give_up_a_pod();
            }
            return;
        }
        for pod in self.api.with(|state| state.all(PODS)) {
            let fails = self.chance(12);
            let guest = self.guests.entry(owner(&pod).to_owned()).or_default();
            if fails && guest.started && guest.ended.is_none() {
                guest.ended = Some(StateReason::Crashed);
            }
            if goes(&pod) && guest.ended.is_none() && !pod["spec"]["nodeName"].is_null() {
                // the launcher is told to end, and does
                guest.ended = Some(if guest.started { StateReason::Shutdown } else { StateReason::Destroyed });
            }
            let ended = guest.ended;
            self.api.edit(PODS, name(&pod), |pod| {
                let now = phase(pod).to_owned();
                let over = |code: u8| json!({"terminated": {"exitCode": code}});
                let (next, state) = match (now.as_str(), ended) {
                    _ if pod["spec"]["nodeName"].is_null() && goes(pod) => {
                        pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                        return;
                    }
                    ("Succeeded" | "Failed", _) => {
                        if goes(pod) {
                            pod["metadata"]["deletionGracePeriodSeconds"] = json!(0);
                        }
                        return;
                    }
                    _ if pod["spec"]["nodeName"].is_null() => {
                        pod["spec"]["nodeName"] = json!(NODE);
                        ("Pending", json!({"waiting": {"reason": "ContainerCreating"}}))
                    }
                    (_, Some(StateReason::Crashed)) => ("Failed", over(1)),
                    (_, Some(_)) => ("Succeeded", over(0)),
                    (_, None) if fails => ("Failed", over(1)),
                    (_, None) => ("Running", json!({"running": {}})),
                };
                let mut conditions = pod["status"]["conditions"].as_array().cloned().unwrap_or_default();
                let open = conditions.iter().any(|c| c["type"] == "kubevirt.io/virtual-machine-unpaused" && c["status"] == "True");
                conditions.retain(|c| c["type"] != "Ready" && c["type"] != "PodScheduled");
                conditions.push(json!({"type": "PodScheduled", "status": "True"}));
                conditions.push(json!({"type": "Ready", "status": if open && next == "Running" { "True" } else { "False" }}));
                let compute = json!({"name": "compute", "image": "i", "imageID": "i", "ready": true, "restartCount": 0, "state": state});
                pod["status"] = json!({"phase": next, "conditions": conditions, "containerStatuses": [compute]});
            });
        }
    }

    /// The node's handler: its own decisions, carried out here.
    fn handler(&mut self) {
        if self.node != Node::Works {
            return;
        }
        for object in self.api.with(|state| state.all(INSTANCES)) {
            let instance = VirtualMachineInstance::deserialize(&object).expect("an instance");
            let pod = self.api.with(|state| state.all(PODS).into_iter().find(|pod| owner(pod) == uid(&object)));
            let listed = pod.as_ref().is_some_and(|pod| instance.status.active_pods.contains_key(&uid(pod)));
            let guest = self.guests.entry(uid(&object)).or_default();
            let launcher = match pod.as_ref().map(phase) {
                _ if instance.status.node_name.is_empty() => continue,
                Some("Running") if listed => Launcher::Alive(guest.status()),
                Some("Succeeded" | "Failed") | None => Launcher::Gone(guest.started.then(|| guest.status())),
                _ => continue,
            };
            let machine = self.api.with(|state| state.get(MACHINES, name(&object)));
            let observed = Observed {
                launcher,
                start: if guest.started { Start::Done } else { Start::NotTried },
                may_retry: true,
                asked_to_end: guest.asked,
                unread: machine.is_none_or(|machine| goes(&machine)),
                instance: Some(instance),
                ..Observed::default()
            };
            let now = self.api.with(|state| state.now());
            for action in instance::plan(&observed, &self.config, now) {
                let guest = self.guests.entry(uid(&object)).or_default();
                match action {
                    Action::Start => guest.started = true,
                    Action::Shutdown | Action::Destroy => {
                        guest.asked = true;
                        guest.ended.get_or_insert(StateReason::Shutdown);
                    }
                    Action::Patch(patch) => self.api.edit(INSTANCES, name(&object), |object| {
                        // nobody comes in between here
                        let _ = patch.apply(object);
                    }),
                    Action::CleanUp | Action::Tell(_) | Action::Record(_) | Action::LookAgain { .. } => {}
                    // no machine of these has its memory dumped
                    Action::Show { .. } | Action::Hide { .. } | Action::DumpMemory { .. } => {}
                }
            }
        }
    }

    /// What users do, each to what there is.
    fn user(&mut self, kind: &str) {
        let lot = self.api.with(|state| state.chance.below(100));
        let choice = self.api.with(|state| state.chance.below(3));
        let index = usize::try_from(choice).unwrap_or_default();
        let delete_one = |collection: &str| {
            self.api.with(|state| {
                if let Some(object) = state.all(collection).first() {
                    state.delete(collection, name(object), &Value::Null);
                }
            });
        };
        match (kind, lot) {
            (MACHINES, 0..40) => {
                let strategy = ["Always", "Halted", "RerunOnFailure"][index];
                self.api.edit(MACHINES, "a", |machine| machine["spec"]["runStrategy"] = json!(strategy));
            }
            (SETS | POOLS, 0..30) => self.api.edit(kind, "a", |set| set["spec"]["replicas"] = json!(choice)),
            (SETS | POOLS, 30..40) => self.api.edit(kind, "a", |set| set["spec"]["paused"] = json!(choice == 0)),
            (POOLS, 40..50) => self.api.edit(POOLS, "a", |pool| {
                pool["spec"]["virtualMachineTemplate"]["spec"]["template"]["metadata"]["labels"]["round"] = json!(choice.to_string());
            }),
            (_, 50..65) => delete_one(INSTANCES),
            (_, 65..80) => delete_one(PODS),
            (POOLS, 80..88) => delete_one(MACHINES),
            (_, 88..96) if self.node != Node::Works => self.node(Node::Works),
            (_, 88..96) => self.node([Node::WithoutHandler, Node::Lost, Node::Lost][index]),
            (_, 96..100) => {
                let how = if choice == 0 { json!({"propagationPolicy": "Foreground"}) } else { Value::Null };
                self.api.with(|state| {
                    state.delete(kind, "a", &how);
                });
            }
            _ => {}
        }
    }

    /// What must be so at any moment.
    fn is_sound(&self) -> Result<(), String> {
        let pods = self.api.with(|state| state.all(PODS));
        let mut running: BTreeMap<&str, usize> = BTreeMap::new();
        for pod in pods.iter().filter(|pod| !matches!(phase(pod), "Succeeded" | "Failed")) {
            *running.entry(owner(pod)).or_default() += 1;
        }
        match running.iter().find(|(_, count)| **count > 1) {
            Some((guest, count)) => Err(format!("{count} pods run for the guest {guest}")),
            None => Ok(()),
        }
    }

    /// Whether what is left is what was asked for.
    fn is_at_rest(&self, kind: &str) -> Result<(), String> {
        let all = |collection: &str| self.api.with(|state| state.all(collection));
        let (machines, instances, pods) = (all(MACHINES), all(INSTANCES), all(PODS));
        let wrong = |what: &str| {
            let objects = json!({"of the kind": all(kind), "machines": machines, "instances": instances, "pods": pods});
            Err(format!("{what}: {objects}"))
        };
        let runs = |object: &Value| phase(object) == "Running" && !goes(object);
        let ready = |object: &Value| {
            object["status"]["conditions"].as_array().is_some_and(|all| all.iter().any(|c| c["type"] == "Ready" && c["status"] == "True"))
        };
        if instances.iter().any(|i| runs(i) && (!ready(i) || pods.iter().filter(|p| owner(p) == uid(i) && runs(p)).count() != 1)) {
            return wrong("a guest runs without being ready, or without its one pod");
        }
        let Some(object) = all(kind).into_iter().next() else {
            let left = !machines.is_empty() || !instances.is_empty() || !pods.is_empty();
            return if left { wrong("left behind") } else { Ok(()) };
        };
        if goes(&object) {
            return wrong("held for ever");
        }
        let running = instances.iter().filter(|i| runs(i)).count();
        match kind {
            MACHINES => {
                let told = object["status"]["printableStatus"].as_str().unwrap_or_default();
                let asked = !object["status"]["stateChangeRequests"].is_null();
                match (object["spec"]["runStrategy"].as_str().unwrap_or_default(), running, instances.len()) {
                    ("Always" | "RerunOnFailure", 1, 1) if told == "Running" => Ok(()),
                    ("Halted", 0, 0) if told == "Stopped" => Ok(()),
                    // one that has ended well stays down, and one whose instance somebody has deleted
                    ("RerunOnFailure", 0, 0) if !asked && ["Stopped", "CrashLoopBackOff"].contains(&told) => Ok(()),
                    _ => wrong("not what was asked for"),
                }
            }
            _ if object["spec"]["paused"] == true => Ok(()),
            _ => {
                let wanted = object["spec"]["replicas"].as_u64().unwrap_or(1);
                let told = |field: &str| object["status"][field].as_u64().unwrap_or(0);
                let made = if kind == POOLS { machines.len() } else { instances.len() };
                let enough = [u64::try_from(running), u64::try_from(made)].iter().all(|n| *n == Ok(wanted));
                if enough && told("replicas") == wanted && told("readyReplicas") == wanted { Ok(()) } else { wrong("not as many") }
            }
        }
    }
}

/// What a history is about.
fn subject(kind: &str) -> Value {
    let template = json!({"metadata": {"labels": {"app": "a"}}, "spec": {"architecture": "amd64", "terminationGracePeriodSeconds": 30,
        "domain": {"memory": {"guest": "64Mi"}, "devices": {}}}});
    let meta = json!({"name": "a", "namespace": "n"});
    let machine = json!({"runStrategy": "Always", "template": template});
    let selector = json!({"matchLabels": {"app": "a"}});
    match kind {
        MACHINES => json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachine", "metadata": meta, "spec": machine}),
        SETS => json!({"apiVersion": "kubevirt.io/v1", "kind": "VirtualMachineInstanceReplicaSet", "metadata": meta,
            "spec": {"replicas": 2, "selector": selector, "template": template}}),
        _ => json!({"apiVersion": "pool.kubevirt.io/v1beta1", "kind": "VirtualMachinePool", "metadata": meta,
            "spec": {"replicas": 2, "selector": selector,
                "virtualMachineTemplate": {"metadata": {"labels": {"app": "a"}}, "spec": machine}}}),
    }
}

/// Goes through the history of a server's seed; what is wrong with it, if anything.
async fn history(api: ApiServer, seed: u64) -> Result<(), String> {
    let kind = [MACHINES, SETS, POOLS][usize::try_from(seed % 3).unwrap_or_default()];
    let begin = Instant::now();
    let mut world = World {
        api: api.clone(),
        config: ClusterConfig::new(&KubeVirtConfiguration::default()),
        guests: BTreeMap::new(),
        node: Node::Works,
    };
    let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": NODE,
        "annotations": {"kubevirt.io/heartbeat": ALIVE}, "labels": {"kubevirt.io/schedulable": "true"}}});
    api.with(|state| state.create(NODES, node))?;
    api.with(|state| state.create(kind, subject(kind)))?;
    let mut role = Role::start(&api, begin).await;
    for _ in 0..TROUBLE {
        sleep(Duration::from_millis(700)).await;
        match api.with(|state| state.chance.below(20)) {
            0..2 => world.user(kind),
            2..9 => world.kubelet(),
            9..17 => world.handler(),
            17..19 => api.with(State::collect_garbage),
            _ => {
                drop(role);
                role = Role::start(&api, begin).await;
            }
        }
        world.is_sound()?;
    }
    api.with(|state| state.errs = false);
    world.node(Node::Works);
    settle(&mut world).await?;
    world.is_at_rest(kind)?;
    api.with(|state| state.written.clear());
    live(&mut world, REST).await;
    still(&api, "at rest")?;
    drop(role);
    let _role = Role::start(&api, begin).await;
    live(&mut world, REST).await;
    still(&api, "after another start")
}

/// Lets the world go on for a while: slowly, when nothing happens.
async fn live(world: &mut World, time: Duration) {
    let end = Instant::now() + time;
    let mut before = 0;
    while Instant::now() < end {
        let version = world.api.with(|state| state.version());
        let pause = if version == before { SLOW } else { SWIFT };
        before = version;
        sleep(pause.min(end - Instant::now())).await;
        world.kubelet();
        world.handler();
        world.api.with(State::collect_garbage);
    }
}

/// Lets the world go on until nothing has happened for long.
async fn settle(world: &mut World) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    let (mut version, mut since) = (0, Instant::now());
    while Instant::now() < end {
        live(world, SLOW).await;
        let now = world.api.with(|state| state.version());
        if now != version {
            (version, since) = (now, Instant::now());
        } else if since.elapsed() > REST {
            return Ok(());
        }
    }
    Err(format!("no rest; the last writes: {:?}", world.api.with(|state| state.written.iter().rev().take(10).cloned().collect::<Vec<_>>())))
}

fn still(api: &ApiServer, when: &str) -> Result<(), String> {
    let written = api.with(|state| std::mem::take(&mut state.written));
    if written.is_empty() { Ok(()) } else { Err(format!("written {when}: {written:?}")) }
}

/// What happened in the history of a seed, and what is wrong with it, if anything.
fn happened(seed: u64) -> (Vec<Value>, Option<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(async {
        let api = ApiServer::new(seed);
        let why = history(api.clone(), seed).await.err().map(|why| format!("SEED={seed}: {why}"));
        (api.with(|state| state.happened()), why)
    })
}

fn told(seed: u64) -> Option<String> {
    happened(seed).1
}

#[test]
fn a_history_happens_again_as_it_was() {
    for seed in 0..6 {
        let (first, second) = (happened(seed).0, happened(seed).0);
        assert!(first.len() > 20, "little happened: {first:?}");
        let differs = first.iter().zip(&second).find(|(one, other)| one != other);
        assert!(differs.is_none() && first.len() == second.len(), "SEED={seed}: {differs:?}");
    }
}

#[test]
fn whatever_happens_all_comes_to_the_rest_that_was_asked_for() {
    let asked = |name: &str| std::env::var(name).ok().and_then(|text| text.parse::<u64>().ok());
    let seeds: Vec<u64> = match asked("SEED") {
        Some(seed) => {
            // what the role says, for whoever looks into a failure
            let _ = tracing_subscriber::fmt().with_max_level(tracing::Level::DEBUG).with_writer(std::io::stderr).try_init();
            vec![seed]
        }
        None => (0..asked("HISTORIES").unwrap_or(HISTORIES)).collect(),
    };
    let threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    let failed: Vec<String> = std::thread::scope(|scope| {
        let parts: Vec<_> = (0..threads)
            .map(|part| {
                let seeds = &seeds;
                scope.spawn(move || seeds.iter().skip(part).step_by(threads).filter_map(|seed| told(*seed)).collect::<Vec<_>>())
            })
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("it ends")).collect()
    });
    let some = failed.iter().take(3).cloned().collect::<Vec<_>>().join("\n");
    assert!(failed.is_empty(), "{} of {} histories failed; {some}", failed.len(), seeds.len());
}
