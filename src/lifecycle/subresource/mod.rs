//! The aggregated API, `subresources.kubevirt.io`: what is done to a machine rather than written into it.
//!
//! A request is decided by a function of what was read; the server reads, asks here, and carries out what comes back:
//! the writes in order, then the question to the node's handler or the stream, then the answer.

mod body;
mod evacuation;
mod expansion;
mod graph;
mod guest;
mod memory_dump;
mod migration;
mod power;
mod refusal;
mod sev;
mod stream;
mod volumes;
mod write;

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

pub use expansion::expand_document;
pub use memory_dump::Overhead;
pub use refusal::{Reason, Refusal};
pub use stream::Endpoint;
pub use write::{Race, Target, Write};

use crate::api::v1::{VirtualMachine, VirtualMachineInstance, VirtualMachineInstancePhase as Phase};
use crate::config::ClusterConfig;
pub use crate::lifecycle::patch::{Patch, Step};

const MACHINE: &str = "virtualmachine";
const INSTANCE: &str = "virtualmachineinstance";
const CLAIM: &str = "persistentvolumeclaim";

/// Whose subresource is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// `virtualmachines/NAME/…`
    Machine,
    /// `virtualmachineinstances/NAME/…`
    Instance,
}

/// A request.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Whose subresource.
    pub kind: Kind,
    /// The path behind the name: `start`, `evacuate/cancel`, `portforward/22/tcp`.
    pub operation: &'a str,
    /// The namespace of the object.
    pub namespace: &'a str,
    /// The name of the object.
    pub name: &'a str,
    /// The body, if there was one.
    pub body: Option<&'a [u8]>,
}

/// What was read for a request: all of it comes from the API server at the time of the request.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The VirtualMachine of that name.
    pub machine: Option<VirtualMachine>,
    /// The VirtualMachineInstance of that name.
    pub instance: Option<VirtualMachineInstance>,
    /// The node that the guest is on, or is to leave.
    pub nodes: Vec<Node>,
    /// The claims of the namespace.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The launcher pods of the namespace.
    pub pods: Vec<Pod>,
    /// The instance types, preferences and revisions of them, as documents.
    pub instancetypes: Vec<Value>,
    /// The share of a file system that CDI keeps for itself, where CDI is there: globally and by storage class.
    pub overhead: Option<Overhead>,
}

/// How a granted request goes on once the writes are done.
#[derive(Clone, Debug, PartialEq)]
pub enum Success {
    /// 200 without a body.
    Done,
    /// 202 without a body.
    Accepted,
    /// 200 with this object.
    Object(Value),
    /// The node's handler is asked, and its answer is the answer.
    Ask(Ask),
    /// The connection becomes a stream to the guest.
    Stream(Endpoint),
}

/// A question to the handler of the guest's node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ask {
    /// `PUT` or `GET`.
    pub method: &'static str,
    /// The path behind the name of the instance.
    pub path: &'static str,
}

impl Success {
    /// The HTTP code.
    pub fn code(&self) -> u16 {
        match self {
            Self::Done | Self::Object(_) | Self::Ask(_) => 200,
            Self::Accepted => 202,
            Self::Stream(_) => 101,
        }
    }
}

/// What is decided about a request. A refused one may have writes, too: KubeVirt shortens the grace period of a guest
/// before it finds that there is nothing to stop.
#[derive(Clone, Debug, PartialEq)]
pub struct Decision {
    /// What is written, in order.
    pub writes: Vec<Write>,
    /// The answer, provided that every write went through.
    pub answer: Result<Success, Refusal>,
}

/// Decides a request.
pub fn decide(request: &Request<'_>, observed: &Observed, config: &ClusterConfig) -> Decision {
    let mut case = Case { request, observed, config, writes: Vec::new() };
    let answer = case.route();
    Decision { writes: case.writes, answer }
}

/// A request with all that it is decided by, and the writes so far.
struct Case<'a> {
    request: &'a Request<'a>,
    observed: &'a Observed,
    config: &'a ClusterConfig,
    writes: Vec<Write>,
}

type Answer = Result<Success, Refusal>;

impl<'a> Case<'a> {
    fn route(&mut self) -> Answer {
        let (operation, rest) = self.request.operation.split_once('/').map_or((self.request.operation, ""), |(a, b)| (a, b));
        match (self.request.kind, operation, rest) {
            (Kind::Machine, "start", "") => power::start(self),
            (Kind::Machine, "stop", "") => power::stop(self),
            (Kind::Machine, "restart", "") => power::restart(self),
            (Kind::Machine, "migrate", "") => migration::migrate(self),
            (Kind::Machine, "expand-spec", "") => expansion::expand(self),
            (Kind::Machine, "memorydump", "") => memory_dump::dump(self),
            (Kind::Machine, "removememorydump", "") => memory_dump::remove(self),
            (_, "addvolume", "") => volumes::add(self),
            (_, "removevolume", "") => volumes::remove(self),
            (_, "evacuate", "cancel") => evacuation::cancel(self),
            (_, "objectgraph", "") => graph::graph(self),
            (_, "portforward", port) => stream::port_forward(self, port),
            (Kind::Instance, _, _) => match stream::find(self.request.operation) {
                Some(stream) => stream(self),
                None => guest::ask(self),
            },
            (Kind::Machine, _, _) => Err(self.unknown()),
        }
    }

    fn unknown(&self) -> Refusal {
        Refusal::bad_request(format!("{:?} is no subresource; see the discovery document of the API group", self.request.operation))
            .as_reason(Reason::NotFound)
    }

    fn machine(&self) -> Result<&'a VirtualMachine, Refusal> {
        self.observed.machine.as_ref().ok_or_else(|| Refusal::not_found(MACHINE, self.request.name))
    }

    fn instance(&self) -> Result<&'a VirtualMachineInstance, Refusal> {
        self.observed.instance.as_ref().ok_or_else(|| Refusal::not_found(INSTANCE, self.request.name))
    }

    /// The instance that is asked for: directly, or as the one that a started machine owns.
    fn instance_of_kind(&self) -> Result<&'a VirtualMachineInstance, Refusal> {
        if self.request.kind == Kind::Instance {
            return self.instance();
        }
        let machine = self.machine()?;
        if !machine.status.created {
            return Err(self.machine_conflict("it has not been started; start it first"));
        }
        let instance = self.instance()?;
        let owners = instance.metadata.owner_references.iter().flatten();
        let uid = machine.metadata.uid.as_deref().unwrap_or_default();
        if owners.into_iter().any(|owner| owner.uid == uid) {
            Ok(instance)
        } else {
            Err(Refusal::internal(format_args!("the VirtualMachineInstance {:?} belongs to another owner", self.request.name)))
        }
    }

    fn options<T: DeserializeOwned + Default>(&self) -> Result<T, Refusal> {
        body::decode(self.request.body)
    }

    fn machine_conflict(&self, why: impl std::fmt::Display) -> Refusal {
        Refusal::conflict(MACHINE, self.request.name, why)
    }

    fn instance_conflict(&self, why: impl std::fmt::Display) -> Refusal {
        Refusal::conflict(INSTANCE, self.request.name, why)
    }

    fn patch(&mut self, target: Target, patch: Patch, dry_run: &[String], race: Race) {
        self.writes.push(Write::Patch { target, patch, dry_run: dry_run.to_vec(), race });
    }
}

fn is_final(instance: &VirtualMachineInstance) -> bool {
    matches!(instance.status.phase, Phase::Failed | Phase::Succeeded)
}

fn is_running(instance: &VirtualMachineInstance) -> bool {
    instance.status.phase == Phase::Running
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::KubeVirtConfiguration;

    fn config(gates: &str) -> ClusterConfig {
        let text = format!("developerConfiguration: {{featureGates: [{gates}]}}");
        ClusterConfig::new(&serde_yaml::from_str::<KubeVirtConfiguration>(&text).unwrap())
    }

    fn machine(spec: &str, status: &str) -> Option<VirtualMachine> {
        let template = "template: {spec: {domain: {}, volumes: [{name: root, containerDisk: {image: i}}]}}";
        serde_yaml::from_str(&format!("{{metadata: {{name: a, uid: m}}, spec: {{{template}, {spec}}}, status: {{{status}}}}}")).unwrap()
    }

    fn instance(status: &str) -> Option<VirtualMachineInstance> {
        let spec = "domain: {}, terminationGracePeriodSeconds: 30, volumes: [{name: root, containerDisk: {image: i}}]";
        serde_yaml::from_str(&format!("{{metadata: {{name: a, uid: i}}, spec: {{{spec}}}, status: {{{status}}}}}")).unwrap()
    }

    /// The code, and what is written or asked, in short.
    fn ask(kind: Kind, operation: &str, body: &str, observed: &Observed, gates: &str) -> (u16, String) {
        let body = (!body.is_empty()).then_some(body.as_bytes());
        let request = Request { kind, operation, namespace: "default", name: "a", body };
        let Decision { writes, answer } = decide(&request, observed, &config(gates));
        let mut short: Vec<String> = writes
            .iter()
            .map(|write| match write {
                Write::Patch { patch, .. } => {
                    patch.0.iter().filter(|s| s.op != "test").map(|s| format!("{} {}", s.op, s.path)).collect::<Vec<_>>().join(", ")
                }
                Write::Migrate { .. } => "migrate".to_owned(),
            })
            .collect();
        if let Ok(Success::Ask(ask)) = &answer {
            short.push(format!("{} {}", ask.method, ask.path));
        }
        (answer.map_or_else(|refusal| refusal.reason.code(), |success| success.code()), short.join("; "))
    }

    #[test]
    fn power_follows_the_run_strategy() {
        const STRATEGY: &str = "replace /spec/runStrategy";
        const REQUEST: &str = "add /status";
        for (strategy, phase, operation, body, code, done) in [
            ("Always", "Running", "start", "", 409, ""),
            ("Always", "", "start", "", 409, ""),
            ("Halted", "", "start", "", 202, STRATEGY),
            ("Halted", "", "start", r#"{"paused": true}"#, 202, REQUEST),
            ("Manual", "Failed", "start", "", 202, REQUEST),
            ("RerunOnFailure", "Failed", "start", "", 409, ""),
            ("RerunOnFailure", "Succeeded", "start", "", 202, REQUEST),
            ("Always", "Running", "stop", "", 202, STRATEGY),
            ("Manual", "Running", "stop", "", 202, REQUEST),
            ("Manual", "Succeeded", "stop", "", 409, ""),
            ("Halted", "Running", "stop", "", 409, ""),
            ("Halted", "Running", "stop", r#"{"gracePeriod": 5}"#, 202, "replace /spec/terminationGracePeriodSeconds; add /status"),
            ("Halted", "Running", "stop", r#"{"gracePeriod": 50}"#, 409, "replace /spec/terminationGracePeriodSeconds"),
            (
                "Always",
                "Running",
                "restart",
                r#"{"gracePeriodSeconds": 0}"#,
                202,
                "replace /spec/terminationGracePeriodSeconds; add /status",
            ),
            ("Always", "Running", "restart", r#"{"gracePeriodSeconds": 3}"#, 400, ""),
            ("Once", "Running", "restart", "", 409, ""),
            ("Always", "Running", "restart", "[]", 400, ""),
            ("Always", "Running", "migrate", "", 202, "migrate"),
            ("Always", "Scheduled", "migrate", "", 409, ""),
        ] {
            let observed = Observed {
                machine: machine(&format!("runStrategy: {strategy}"), ""),
                instance: if phase.is_empty() { None } else { instance(&format!("phase: {phase}")) },
                ..Observed::default()
            };
            let got = ask(Kind::Machine, operation, body, &observed, "");
            assert_eq!(got, (code, done.to_owned()), "{strategy} {phase} {operation} {body}");
        }
    }

    #[test]
    fn the_guest_must_be_in_the_right_state() {
        for (status, operation, code, done) in [
            ("phase: Running", "pause", 200, "PUT pause"),
            ("phase: Scheduled", "pause", 409, ""),
            ("phase: Running, conditions: [{type: Paused, status: 'True'}]", "pause", 409, ""),
            ("phase: Running, conditions: [{type: Paused, status: 'True'}]", "unpause", 200, "PUT unpause"),
            ("phase: Running", "unpause", 409, ""),
            ("phase: Pending", "reset", 400, ""),
            ("phase: Scheduled", "reset", 200, "PUT reset"),
            ("phase: Running", "guestosinfo", 500, ""),
            ("phase: Running, conditions: [{type: AgentConnected, status: 'True'}]", "guestosinfo", 200, "GET guestosinfo"),
            ("phase: Running", "sev/fetchcertchain", 500, ""),
            ("phase: Running", "console", 101, ""),
            ("phase: Failed", "console", 409, ""),
            ("phase: Running", "usbredir", 409, ""),
            ("phase: Running, interfaces: [{ipAddress: 10.0.0.1}]", "portforward/22", 101, ""),
            ("phase: Running", "portforward/22", 400, ""),
            ("phase: Running", "objectgraph", 400, ""),
            ("phase: Running", "dance", 404, ""),
        ] {
            let observed = Observed { instance: instance(status), ..Observed::default() };
            assert_eq!(ask(Kind::Instance, operation, "", &observed, ""), (code, done.to_owned()), "{status} {operation}");
        }
        assert_eq!(ask(Kind::Instance, "pause", "", &Observed::default(), "").0, 404);
        let observed = Observed { instance: instance("phase: Running"), ..Observed::default() };
        assert_eq!(ask(Kind::Instance, "pause", r#"{"dryRun": ["All"]}"#, &observed, ""), (200, String::new()));
    }

    #[test]
    fn volumes_go_the_way_that_the_cluster_has() {
        const ADD: &str = r#"{"name": "x", "disk": {}, "volumeSource": {"dataVolume": {"name": "x"}}}"#;
        let observed = Observed { machine: machine("running: true", ""), instance: instance("phase: Running"), ..Observed::default() };
        for (kind, operation, body, gates, code, done) in [
            (Kind::Machine, "addvolume", ADD, "", 202, "replace /spec/template/spec/volumes, add /spec/template/spec/domain/devices/disks"),
            (Kind::Machine, "addvolume", ADD, "HotplugVolumes", 202, "add /status/volumeRequests"),
            (Kind::Instance, "addvolume", ADD, "", 202, "replace /spec/volumes, add /spec/domain/devices/disks"),
            (Kind::Machine, "addvolume", "", "", 400, ""),
            (Kind::Machine, "addvolume", r#"{"name": "x", "disk": {}}"#, "", 400, ""),
            (Kind::Machine, "removevolume", r#"{"name": "root"}"#, "", 409, ""),
            (Kind::Machine, "removevolume", r#"{"name": "none"}"#, "", 409, ""),
            (Kind::Machine, "memorydump", r#"{"claimName": "none"}"#, "", 404, ""),
            (Kind::Machine, "removememorydump", "", "", 409, ""),
        ] {
            assert_eq!(ask(kind, operation, body, &observed, gates), (code, done.to_owned()), "{operation} {body} {gates}");
        }
    }

    #[test]
    fn the_graph_names_what_the_machine_stands_on() {
        let spec = "preference: {name: p}, running: true";
        let observed = Observed { machine: machine(spec, "created: true"), ..Observed::default() };
        let request = Request { kind: Kind::Machine, operation: "objectgraph", namespace: "default", name: "a", body: None };
        let Ok(Success::Object(graph)) = decide(&request, &observed, &config("ObjectGraph")).answer else { panic!("no graph") };
        let kinds: Vec<_> = graph["children"].as_array().unwrap().iter().map(|n| n["objectReference"]["kind"].clone()).collect();
        assert_eq!(kinds, ["VirtualMachineInstance", "VirtualMachineClusterPreference"]);
        let request = Request { body: Some(br#"{"includeOptionalNodes": false}"#), ..request };
        let Ok(Success::Object(graph)) = decide(&request, &observed, &config("ObjectGraph")).answer else { panic!("no graph") };
        assert_eq!(graph["children"].as_array().unwrap().len(), 1);
    }
}
