//! From files to the machine that shall run: read, expanded, defaulted and judged by the code of the cluster.

use std::path::Path;

use kubevirt_rs::admission::{self, Cause, Operation, Request, Seed};
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::instancetype;
use kubevirt_rs::storage;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Refusal;
use super::args::{Args, Network};
use crate::tools::input::{self, Input};

/// A machine that may run.
pub(super) struct Machine {
    /// The instance, with every default filled in.
    pub(super) vmi: VirtualMachineInstance,
    /// The Secrets and ConfigMaps beside it.
    pub(super) sources: storage::Sources,
    input: Input,
    /// What stands before a field of the instance in the file.
    prefix: &'static str,
}

const INSTANCE: &str = "VirtualMachineInstance";
const MACHINE: &str = "VirtualMachine";
/// Where objects are that do not say.
const NAMESPACE: &str = "default";

impl Machine {
    /// A sentence about a field of the instance, with the place where it stands.
    pub(super) fn at(&self, field: &str, message: &str) -> String {
        let field = format!("{}{field}", self.prefix);
        format!("{}: {field}: {message}", self.input.place(&field))
    }

    pub(super) fn name(&self) -> &str {
        self.vmi.metadata.name.as_deref().unwrap_or_default()
    }

    pub(super) fn uid(&self) -> &str {
        self.vmi.metadata.uid.as_deref().unwrap_or_default()
    }
}

/// Reads and judges the machine that the arguments name.
pub(super) fn read(args: &Args) -> Result<Machine, Refusal> {
    let mut objects = load(&args.vmi)?;
    let machines: Vec<usize> =
        objects.iter().enumerate().filter(|(_, o)| matches!(o.document.kind(), INSTANCE | MACHINE)).map(|(i, _)| i).collect();
    let input = match machines.as_slice() {
        [one] => objects.swap_remove(*one),
        [] => {
            let kinds: Vec<&str> = objects.iter().map(|o| o.document.kind()).collect();
            return Err(Refusal::object(vec![format!(
                "{}: there is no {INSTANCE} or {MACHINE} in it; its kinds are: {}",
                args.vmi.display(),
                kinds.join(", ")
            )]));
        }
        several => {
            let places: Vec<String> = several.iter().map(|i| objects[*i].place("")).collect();
            return Err(Refusal::object(vec![format!(
                "{}: there are {} machines in it ({}); one is started at a time",
                args.vmi.display(),
                several.len(),
                places.join(", ")
            )]));
        }
    };
    for file in &args.files {
        objects.extend(load(file)?);
    }
    let config = config(args.kubevirt.as_deref(), &objects)?;
    let (sources, cluster) = sort(&objects)?;
    let (mut vmi, prefix) = judge(&input, &config, &cluster)?;
    vmi.metadata.uid.get_or_insert_with(|| random().uuid(1));
    if args.network == Network::None {
        vmi.spec.domain.devices.interfaces.clear();
        vmi.spec.domain.devices.autoattach_pod_interface = Some(false);
        vmi.spec.networks.clear();
    }
    Ok(Machine { vmi, sources, input, prefix })
}

fn load(path: &Path) -> Result<Vec<Input>, Refusal> {
    input::read(path).map_err(|e| Refusal::object(vec![e.to_string()]))
}

/// The configuration of the KubeVirt object, or what suits a machine of one's own: emulation and the host's disks.
fn config(file: Option<&Path>, objects: &[Input]) -> Result<ClusterConfig, Refusal> {
    let loaded = file.map(load).transpose()?;
    let all = loaded.as_deref().unwrap_or(objects);
    let Some(input) = all.iter().find(|o| o.document.kind() == "KubeVirt") else {
        if let Some(file) = file {
            return Err(Refusal::object(vec![format!("{}: there is no KubeVirt object in it", file.display())]));
        }
        let own = json!({"developerConfiguration": {"useEmulation": true, "featureGates": ["HostDisk"]}});
        return Ok(ClusterConfig::new(&KubeVirtConfiguration::deserialize(own).unwrap_or_default()));
    };
    let settings = input.document.value.pointer("/spec/configuration").cloned().unwrap_or_else(|| json!({}));
    let fault = |message: String| Refusal::object(vec![format!("{}: spec.configuration: {message}", input.place("spec.configuration"))]);
    let settings = KubeVirtConfiguration::deserialize(settings).map_err(|e| fault(e.to_string()))?;
    ClusterConfig::checked(&settings).map_err(|e| fault(e.to_string()))
}

/// Secrets and ConfigMaps as files, all else as the objects of the cluster.
fn sort(objects: &[Input]) -> Result<(storage::Sources, Vec<Value>), Refusal> {
    let (mut sources, mut cluster, mut faults) = (storage::Sources::default(), Vec::new(), Vec::new());
    for object in objects {
        match sources.add(&object.document.value) {
            Ok(_) => {
                let mut value = object.document.value.clone();
                settle(&mut value);
                cluster.push(value);
            }
            Err(e) => faults.push(format!("{}: {e}", object.place(&e.field))),
        }
    }
    if faults.is_empty() { Ok((sources, cluster)) } else { Err(Refusal::object(faults)) }
}

/// Puts an object that names no namespace where `kubectl` would.
fn settle(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("namespace").or_insert_with(|| json!(NAMESPACE));
    }
}

fn random() -> Seed {
    crate::tools::random_seed()
}

struct Judge<'a> {
    input: &'a Input,
    config: &'a ClusterConfig,
    cluster: &'a [Value],
}

impl Judge<'_> {
    /// The object after defaulting, or its faults. `prefix` is what stands before the fields of what is judged.
    fn review(&self, kind: &str, object: &Value, prefix: &str) -> Result<Value, Refusal> {
        let verdict = admission::review(&Request {
            kind,
            operation: Operation::Create,
            config: self.config,
            object,
            old: None,
            user: "kubernetes-admin",
            user_node: None,
            namespace: "kubevirt",
            cluster: self.cluster,
            seed: random(),
            now: jiff::Timestamp::now(),
        });
        for warning in &verdict.warnings {
            eprintln!("{}: warning: {warning}", self.input.place(""));
        }
        if verdict.allowed {
            return Ok(verdict.object);
        }
        Err(self.refuse(&verdict.causes, prefix))
    }

    fn refuse(&self, causes: &[Cause], prefix: &str) -> Refusal {
        let mut lines: Vec<String> = Vec::new();
        for cause in causes {
            let field = if cause.field.is_empty() { String::new() } else { format!("{prefix}{}", cause.field) };
            let shown = if field.is_empty() { String::new() } else { format!("{field}: ") };
            lines.push(format!("{}: {shown}{}", self.input.place(&field), cause.message));
        }
        lines.dedup();
        Refusal::object(lines)
    }

    fn fault(&self, field: &str, message: &str) -> Refusal {
        Refusal::object(vec![format!("{}: {field}: {message}", self.input.place(field))])
    }

    fn typed<T: for<'de> Deserialize<'de>>(&self, value: &Value) -> Result<T, Refusal> {
        T::deserialize(value).map_err(|e| self.fault("spec", &e.to_string()))
    }
}

fn judge(input: &Input, config: &ClusterConfig, cluster: &[Value]) -> Result<(VirtualMachineInstance, &'static str), Refusal> {
    let judge = Judge { input, config, cluster };
    let mut object = input.document.value.clone();
    if !matches!(input.document.api_version(), "kubevirt.io/v1" | "kubevirt.io/v1alpha3") {
        return Err(judge.fault("apiVersion", &format!("{:?} is not known here; write kubevirt.io/v1", input.document.api_version())));
    }
    if input.document.name().is_empty() {
        return Err(judge.fault("metadata.name", "the machine needs a name"));
    }
    settle(&mut object);
    if input.document.kind() == INSTANCE {
        return Ok((judge.typed(&judge.review(INSTANCE, &object, "")?)?, ""));
    }
    let mut vm: VirtualMachine = judge.typed(&judge.review(MACHINE, &object, "")?)?;
    let catalog = instancetype::Objects(cluster);
    // a cluster would wait for what is named but not there; here nothing else will come
    instancetype::find(&vm, &catalog).map_err(|e| judge.fault("spec.instancetype", &e.to_string()))?;
    instancetype::find_preference(&vm, &catalog).map_err(|e| judge.fault("spec.preference", &e.to_string()))?;
    instancetype::prepare(&mut vm, &catalog);
    instancetype::apply_to_vm(&mut vm, &catalog).map_err(|conflicts| {
        let lines = conflicts.0.iter().map(|c| format!("{}: {c}", input.place(c.field())));
        Refusal::object(lines.collect())
    })?;
    let template = vm.spec.template.unwrap_or_default();
    let mut instance = VirtualMachineInstance {
        api_version: "kubevirt.io/v1".into(),
        kind: INSTANCE.into(),
        metadata: template.metadata,
        spec: template.spec,
        ..Default::default()
    };
    instance.metadata.name.clone_from(&vm.metadata.name);
    instance.metadata.namespace.clone_from(&vm.metadata.namespace);
    let value = serde_json::to_value(&instance).map_err(|e| judge.fault("spec.template", &e.to_string()))?;
    Ok((judge.typed(&judge.review(INSTANCE, &value, "spec.template.")?)?, "spec.template."))
}
