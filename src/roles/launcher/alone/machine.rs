//! From files to the machine that shall run: read, expanded, defaulted and judged by the code of the cluster.

use std::path::Path;

use kubevirt_rs::api::v1::{VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::instancetype;
use kubevirt_rs::storage;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::roles::launcher::Refusal;
use crate::roles::launcher::args::{Args, Network};
use crate::tools::input::{self, Input};
use crate::tools::judge::{Judge, seed, settled};

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
    let path = args.vmi.as_deref().unwrap_or(Path::new("-"));
    let mut objects = load(path)?;
    let machines: Vec<usize> =
        objects.iter().enumerate().filter(|(_, o)| matches!(o.document.kind(), INSTANCE | MACHINE)).map(|(i, _)| i).collect();
    let input = match machines.as_slice() {
        [one] => objects.swap_remove(*one),
        [] => {
            let kinds: Vec<&str> = objects.iter().map(|o| o.document.kind()).collect();
            return Err(Refusal::object(vec![format!(
                "{}: there is no {INSTANCE} or {MACHINE} in it; its kinds are: {}",
                path.display(),
                kinds.join(", ")
            )]));
        }
        several => {
            let places: Vec<String> = several.iter().map(|i| objects[*i].place("")).collect();
            return Err(Refusal::object(vec![format!(
                "{}: there are {} machines in it ({}); one is started at a time",
                path.display(),
                several.len(),
                places.join(", ")
            )]));
        }
    };
    for file in &args.files {
        objects.extend(load(file)?);
    }
    let judge = Judge::new(args.kubevirt.as_deref(), &objects, own_settings()).map_err(|line| Refusal::object(vec![line]))?;
    let sources = sources(&objects)?;
    let (mut vmi, prefix) = admit(&input, &judge)?;
    vmi.metadata.uid.get_or_insert_with(|| seed().uuid(1));
    if vmi.spec.domain.devices.autoattach_vsock == Some(true) {
        // 0 to 2 are taken; no two launchers have the same number at the same time
        vmi.status.vsock_cid.get_or_insert_with(|| std::process::id().max(3));
    }
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

/// The Secrets and ConfigMaps among the objects, as files.
fn sources(objects: &[Input]) -> Result<storage::Sources, Refusal> {
    let (mut sources, mut faults) = (storage::Sources::default(), Vec::new());
    for object in objects {
        if let Err(e) = sources.add(&object.document.value) {
            faults.push(format!("{}: {e}", object.place(&e.field)));
        }
    }
    if faults.is_empty() { Ok(sources) } else { Err(Refusal::object(faults)) }
}

/// What suits a machine of one's own: emulation, the host's disks and folders, and its figures.
fn own_settings() -> Value {
    let gates = ["HostDisk", "DownwardMetrics", "EnableVirtioFsStorageVolumes"];
    json!({"developerConfiguration": {"useEmulation": true, "featureGates": gates}})
}

/// The judge, and the file that the object is in.
struct Court<'a> {
    input: &'a Input,
    judge: &'a Judge,
}

impl Court<'_> {
    /// The object after defaulting, or its faults. `prefix` is what stands before the fields of what is judged.
    fn review(&self, kind: &str, object: &Value, prefix: &str) -> Result<Value, Refusal> {
        let verdict = self.judge.review(kind, object);
        for warning in &verdict.warnings {
            eprintln!("{}: warning: {warning}", self.input.place(""));
        }
        if verdict.allowed {
            return Ok(verdict.object);
        }
        let mut lines: Vec<String> = Vec::new();
        for cause in &verdict.causes {
            let field = if cause.field.is_empty() { String::new() } else { format!("{prefix}{}", cause.field) };
            let shown = if field.is_empty() { String::new() } else { format!("{field}: ") };
            lines.push(format!("{}: {shown}{}", self.input.place(&field), cause.message));
        }
        lines.dedup();
        Err(Refusal::object(lines))
    }

    fn fault(&self, field: &str, message: &str) -> Refusal {
        Refusal::object(vec![format!("{}: {field}: {message}", self.input.place(field))])
    }

    /// A fault whose sentence begins with its field, or else is about `field`.
    fn sentence(&self, field: &str, error: &dyn std::fmt::Display) -> Refusal {
        let text = error.to_string();
        match text.split_once(' ') {
            Some((first, rest)) if first.starts_with("spec.") => self.fault(first, rest),
            _ => self.fault(field, &text),
        }
    }

    fn typed<T: for<'de> Deserialize<'de>>(&self, value: &Value) -> Result<T, Refusal> {
        T::deserialize(value).map_err(|e| self.fault("spec", &e.to_string()))
    }
}

fn admit(input: &Input, judge: &Judge) -> Result<(VirtualMachineInstance, &'static str), Refusal> {
    let court = Court { input, judge };
    if !matches!(input.document.api_version(), "kubevirt.io/v1" | "kubevirt.io/v1alpha3") {
        return Err(court.fault("apiVersion", &format!("{:?} is not known here; write kubevirt.io/v1", input.document.api_version())));
    }
    if input.document.name().is_empty() {
        return Err(court.fault("metadata.name", "the machine needs a name"));
    }
    let object = settled(&input.document.value);
    if input.document.kind() == INSTANCE {
        return Ok((court.typed(&court.review(INSTANCE, &object, "")?)?, ""));
    }
    let mut vm: VirtualMachine = court.typed(&court.review(MACHINE, &object, "")?)?;
    let catalog = instancetype::Objects(&judge.cluster);
    // a cluster would wait for what is named but not there; here nothing else will come
    instancetype::find(&vm, &catalog).map_err(|e| court.sentence("spec.instancetype", &e))?;
    instancetype::find_preference(&vm, &catalog).map_err(|e| court.sentence("spec.preference", &e))?;
    instancetype::prepare(&mut vm, &catalog);
    instancetype::apply_to_vm(&mut vm, &catalog).map_err(|conflicts| {
        let lines = conflicts.0.iter().flat_map(|c| court.sentence(c.field(), c).lines).collect();
        Refusal::object(lines)
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
    let value = serde_json::to_value(&instance).map_err(|e| court.fault("spec.template", &e.to_string()))?;
    Ok((court.typed(&court.review(INSTANCE, &value, "spec.template.")?)?, "spec.template."))
}
