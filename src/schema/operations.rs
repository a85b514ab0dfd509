//! What the aggregated API `subresources.kubevirt.io` answers to, as a table. Discovery and OpenAPI are printed from it.

use kubevirt_api::backup::{BackupCheckpoint, BackupOptions};
use kubevirt_api::schema::{Node, Schema, Shape};
use kubevirt_api::v1;

/// The versions of the group; the first one is preferred. Both have the same operations.
pub const VERSIONS: [&str; 2] = ["v1", "v1alpha3"];

/// Whose subresource an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Of {
    /// Of a VirtualMachine.
    Machine,
    /// Of a VirtualMachineInstance.
    Instance,
    /// Of a namespace.
    Namespace,
    /// Of the group itself.
    Group,
}

/// An operation.
#[derive(Debug)]
pub struct Operation {
    /// Whose.
    pub of: Of,
    /// What, as it stands in the path. Braces hold the place of a parameter.
    pub path: &'static str,
    /// `get` or `put`.
    pub method: &'static str,
    /// The body that it takes, and whether it must be there.
    pub body: Option<(fn() -> Node, bool)>,
    /// What it answers.
    pub answer: Answer,
    /// Further parameters.
    pub parameters: &'static [Parameter],
    /// Whether discovery names it.
    pub listed: bool,
    /// What it does.
    pub description: &'static str,
}

/// What an operation answers when all is well.
#[derive(Clone, Copy, Debug)]
pub enum Answer {
    /// Nothing but that.
    Nothing,
    /// The same, once what was asked for has begun.
    Accepted,
    /// An object.
    Object(fn() -> Node),
    /// A picture.
    Picture,
    /// A WebSocket that carries a stream.
    Stream,
}

/// A parameter beyond namespace and name.
#[derive(Debug)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// Whether it stands in the path, and so must be there.
    pub in_path: bool,
    /// Its type, as OpenAPI names it.
    pub kind: &'static str,
    /// What it means.
    pub description: &'static str,
}

/// Anything at all: a machine, whose structure its definition tells.
fn any() -> Node {
    Node::new(Shape::Any)
}

/// A list of items, with the envelope of Kubernetes.
fn list<T: Schema>() -> Node {
    Node::object()
        .field("apiVersion", false, String::schema())
        .field("kind", false, String::schema())
        .field("metadata", false, Node::object())
        .field("items", true, Vec::<T>::schema())
}

const PORT: Parameter = Parameter { name: "port", in_path: true, kind: "string", description: "The port of the guest." };
const PROTOCOL: Parameter = Parameter { name: "protocol", in_path: true, kind: "string", description: "tcp (default) or udp." };

const fn get(of: Of, path: &'static str, answer: Answer, description: &'static str) -> Operation {
    Operation { of, path, method: "get", body: None, answer, parameters: &[], listed: true, description }
}

const fn put(of: Of, path: &'static str, body: Option<(fn() -> Node, bool)>, description: &'static str) -> Operation {
    Operation { of, path, method: "put", body, answer: Answer::Nothing, parameters: &[], listed: true, description }
}

impl Operation {
    const fn with(mut self, parameters: &'static [Parameter]) -> Self {
        self.parameters = parameters;
        self
    }

    const fn accepted(mut self) -> Self {
        self.answer = Answer::Accepted;
        self
    }

    const fn answers(mut self, answer: fn() -> Node) -> Self {
        self.answer = Answer::Object(answer);
        self
    }

    /// What discovery leaves out, and so no client lists.
    const fn unlisted(mut self) -> Self {
        self.listed = false;
        self
    }
}

use Of::{Group, Instance, Machine, Namespace};

/// Every operation.
pub const OPERATIONS: &[Operation] = &[
    put(Namespace, "expand-vm-spec", Some((any, true)), "Writes instance type and preference out into the VirtualMachine of the body.")
        .answers(any),
    get(Instance, "vnc", Answer::Stream, "Connects to the screen, by the protocol of VNC.").with(&[Parameter {
        name: "preserveSession",
        in_path: false,
        kind: "boolean",
        description: "Whether to be refused rather than to take over from who is connected.",
    }]),
    get(Instance, "vnc/screenshot", Answer::Picture, "Takes a picture of the screen.").with(&[Parameter {
        name: "moveCursor",
        in_path: false,
        kind: "boolean",
        description: "Whether the pointer is moved first, to wake the screen.",
    }]),
    get(Instance, "console", Answer::Stream, "Connects to the serial console."),
    get(Instance, "portforward/{port}", Answer::Stream, "Connects to a TCP port of the guest.").with(&[PORT]),
    get(Instance, "portforward/{port}/{protocol}", Answer::Stream, "Connects to a port of the guest.").with(&[PORT, PROTOCOL]).unlisted(),
    put(Instance, "backup", Some((BackupOptions::schema, true)), "Begins, ends or aborts a backup."),
    put(Instance, "redefine-checkpoint", Some((BackupCheckpoint::schema, true)), "Tells a checkpoint to a guest that was restarted since."),
    put(Instance, "pause", Some((v1::PauseOptions::schema, false)), "Stops the processors of the guest."),
    put(Instance, "unpause", Some((v1::UnpauseOptions::schema, false)), "Lets the processors of the guest go on."),
    put(Instance, "freeze", Some((v1::FreezeUnfreezeTimeout::schema, false)), "Brings the file systems of the guest to a stand."),
    put(Instance, "unfreeze", None, "Lets the file systems of the guest go on."),
    put(Instance, "reset", None, "Resets the guest, as its reset button would."),
    put(Instance, "softreboot", None, "Asks the guest to restart, by its agent or by ACPI."),
    put(Machine, "start", Some((v1::StartOptions::schema, false)), "Starts the machine.").accepted(),
    put(Machine, "stop", Some((v1::StopOptions::schema, false)), "Stops the machine.").accepted(),
    put(Machine, "restart", Some((v1::RestartOptions::schema, false)), "Stops the machine and starts it anew.").accepted(),
    put(Machine, "migrate", Some((v1::MigrateOptions::schema, false)), "Moves the running machine to another node.").accepted(),
    get(Machine, "expand-spec", Answer::Object(any), "Shows the machine with instance type and preference written out."),
    get(Machine, "objectgraph", Answer::Object(v1::ObjectGraphNode::schema), "Shows the objects that the machine depends on."),
    put(Machine, "evacuate/cancel", Some((v1::EvacuateCancelOptions::schema, false)), "Calls off that the machine leaves its node."),
    get(Instance, "guestosinfo", Answer::Object(v1::VirtualMachineInstanceGuestAgentInfo::schema), "Asks the guest agent about the guest."),
    get(Instance, "userlist", Answer::Object(list::<v1::VirtualMachineInstanceGuestOsUser>), "Asks the guest agent who is logged in."),
    get(
        Instance,
        "filesystemlist",
        Answer::Object(list::<v1::VirtualMachineInstanceFileSystem>),
        "Asks the guest agent for its file systems.",
    ),
    put(Instance, "addvolume", Some((v1::AddVolumeOptions::schema, true)), "Attaches a volume until the guest ends.").accepted(),
    put(Instance, "removevolume", Some((v1::RemoveVolumeOptions::schema, true)), "Detaches a volume until the guest ends.").accepted(),
    get(Instance, "objectgraph", Answer::Object(v1::ObjectGraphNode::schema), "Shows the objects that the instance depends on."),
    get(Instance, "sev/fetchcertchain", Answer::Object(v1::SevPlatformInfo::schema), "Shows the certificates of the node's processor."),
    get(Instance, "sev/querylaunchmeasurement", Answer::Object(v1::SevMeasurementInfo::schema), "Shows what the processor measured."),
    put(Instance, "sev/setupsession", Some((v1::SevSessionOptions::schema, true)), "Gives the session of a guest that waits.").accepted(),
    put(Instance, "sev/injectlaunchsecret", Some((v1::SevSecretOptions::schema, true)), "Gives a secret to a guest that waits."),
    put(Instance, "evacuate/cancel", Some((v1::EvacuateCancelOptions::schema, false)), "Calls off that the instance leaves its node."),
    get(Instance, "usbredir", Answer::Stream, "Plugs a USB device of the client in.").unlisted(),
    get(Instance, "vsock", Answer::Stream, "Connects to a VSOCK port of the guest.")
        .with(&[
            Parameter { name: "port", in_path: false, kind: "integer", description: "The port of the guest." },
            Parameter { name: "tls", in_path: false, kind: "boolean", description: "Whether the connection to the guest is encrypted." },
        ])
        .unlisted(),
    get(Machine, "portforward/{port}", Answer::Stream, "Connects to a TCP port of the guest.").with(&[PORT]).unlisted(),
    get(Machine, "portforward/{port}/{protocol}", Answer::Stream, "Connects to a port of the guest.").with(&[PORT, PROTOCOL]).unlisted(),
    put(Machine, "addvolume", Some((v1::AddVolumeOptions::schema, true)), "Attaches a volume for good.").accepted().unlisted(),
    put(Machine, "removevolume", Some((v1::RemoveVolumeOptions::schema, true)), "Detaches a volume for good.").accepted().unlisted(),
    put(Machine, "memorydump", Some((v1::VirtualMachineMemoryDumpRequest::schema, false)), "Dumps the memory of the guest to a claim.")
        .accepted()
        .unlisted(),
    put(Machine, "removememorydump", None, "Forgets the claim of the last memory dump.").accepted().unlisted(),
    get(Group, "version", Answer::Object(any), "Shows the version of the server.").unlisted(),
    get(Group, "guestfs", Answer::Object(any), "Shows which image has the tools for guests' file systems.").unlisted(),
    get(Group, "healthz", Answer::Object(any), "Shows whether the server is well.").unlisted(),
    get(Group, "start-cluster-profiler", Answer::Nothing, "Starts the profilers of the components.").unlisted(),
    get(Group, "stop-cluster-profiler", Answer::Nothing, "Stops the profilers of the components.").unlisted(),
    get(
        Group,
        "dump-cluster-profiler",
        Answer::Object(v1::ClusterProfilerResults::schema),
        "Shows what the profilers of the components recorded.",
    )
    .unlisted(),
];

impl Of {
    /// The path up to the operation, below that of the version.
    pub fn base(self) -> &'static str {
        match self {
            Machine => "/namespaces/{namespace}/virtualmachines/{name}/",
            Instance => "/namespaces/{namespace}/virtualmachineinstances/{name}/",
            Namespace => "/namespaces/{namespace}/",
            Group => "/",
        }
    }

    /// The resource in discovery, up to the operation.
    pub fn resource(self) -> &'static str {
        match self {
            Machine => "virtualmachines/",
            Instance => "virtualmachineinstances/",
            Namespace | Group => "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ClusterConfig;
    use crate::lifecycle::subresource::{Kind, Observed, Request, decide};
    use kubevirt_api::v1::KubeVirtConfiguration;

    /// What is described is what is decided: none of the operations is unknown there.
    #[test]
    fn every_operation_is_known_where_it_is_decided() {
        let config = ClusterConfig::new(&KubeVirtConfiguration::default());
        let ask = |kind, operation: &str| {
            let request = Request { kind, operation, namespace: "default", name: "a", body: None };
            match decide(&request, &Observed::default(), &config).answer {
                Err(refusal) => refusal.to_string(),
                Ok(_) => String::new(),
            }
        };
        let unknown = |text: &str| text.contains("is no subresource");
        assert!(unknown(&ask(Kind::Instance, "nonsense")) && unknown(&ask(Kind::Machine, "nonsense")));
        for operation in OPERATIONS {
            let path = operation.path.replace("{port}", "22").replace("{protocol}", "tcp");
            let kind = match operation.of {
                Machine => Kind::Machine,
                Instance => Kind::Instance,
                Namespace | Group => continue,
            };
            let answer = ask(kind, &path);
            assert!(!unknown(&answer), "{path}: {answer}");
        }
    }
}
