//! What a person shows to a tool: a machine, and in the same file whatever else of its cluster counts.
//!
//! `KubeVirt` gives the configuration; `Namespace`, `ResourceQuota`, `PersistentVolumeClaim` and
//! `NetworkAttachmentDefinition` give facts. What is not there is taken to be as it usually is.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, anyhow, bail};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, ResourceQuota};
use kubevirt_rs::admission::{Seed, mutate};
use kubevirt_rs::api::names::SKIP_BACKUP_HOOKS_ANNOTATION;
use kubevirt_rs::api::v1::{KubeVirt, VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::instancetype;
use kubevirt_rs::pod::{Claim, Context, networks};
use serde_json::Value;

use super::input::{self, Input};

/// The resource of a network attachment definition, which Multus' device plugins offer.
const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";

/// A machine and what is known of its cluster.
pub(crate) struct Scene {
    /// The machine, as admission would let it in.
    pub(crate) vmi: VirtualMachineInstance,
    /// The cluster's configuration.
    pub(crate) config: ClusterConfig,
    /// Facts for its pod.
    pub(crate) context: Context,
    input: Input,
    /// Where the instance's fields stand in the document.
    prefix: &'static str,
}

/// Reads a file; `-` is standard input.
pub(crate) fn read(path: &Path) -> anyhow::Result<Scene> {
    let mut inputs = input::read(path)?;
    let machines: Vec<usize> = inputs.iter().enumerate().filter(|(_, i)| is_machine(i.document.kind())).map(|(at, _)| at).collect();
    let machine = match machines.as_slice() {
        [one] => inputs.remove(*one),
        [] => bail!("{}: show a VirtualMachine or a VirtualMachineInstance, there is none", path.display()),
        [_, second, ..] => bail!("{}: this is the second machine in the file; show one", place(&inputs, *second)),
    };
    Scene::new(machine, &inputs)
}

fn is_machine(kind: &str) -> bool {
    matches!(kind, "VirtualMachine" | "VirtualMachineInstance")
}

fn place(inputs: &[Input], at: usize) -> String {
    inputs.get(at).map_or_else(String::new, |input| input.place(""))
}

impl Scene {
    fn new(machine: Input, others: &[Input]) -> anyhow::Result<Self> {
        let mut settings = KubeVirt::default();
        let mut context =
            Context { image: IMAGE.to_owned(), sidecar_shim_image: IMAGE.to_owned(), qemu_timeout: 240, ..Context::default() };
        for input in others {
            match input.document.kind() {
                "KubeVirt" => settings = input.decode()?,
                "Namespace" => context.namespace_labels = input.decode::<Namespace>()?.metadata.labels.unwrap_or_default(),
                "ResourceQuota" => {
                    let hard = input.decode::<ResourceQuota>()?.spec.and_then(|s| s.hard).unwrap_or_default();
                    context.quota.cpu |= hard.contains_key("limits.cpu");
                    context.quota.memory |= hard.contains_key("limits.memory");
                }
                "PersistentVolumeClaim" => {
                    let claim: PersistentVolumeClaim = input.decode()?;
                    context.claims.insert(claim.metadata.name.clone().unwrap_or_default(), Claim::from(&claim));
                }
                _ => {}
            }
        }
        let mut annotations = settings.metadata.annotations.unwrap_or_default();
        let config = ClusterConfig::checked(&settings.spec.configuration).and_then(|config| config.with_annotations(&annotations));
        let config = config.map_err(|e| anyhow!("{}: {e}", e.place())).context("read the KubeVirt configuration")?;
        context.skip_backup_hooks = annotations.remove(SKIP_BACKUP_HOOKS_ANNOTATION);
        let (vmi, prefix) = match machine.document.kind() {
            "VirtualMachine" => (instance(&machine, others)?, "spec.template."),
            _ => (machine.decode()?, ""),
        };
        let mut scene = Self { vmi, config, context, input: machine, prefix };
        scene.vmi.metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned());
        network_resources(&mut scene.context, &scene.vmi, others);
        usual_claims(&mut scene.context, &scene.vmi);
        match mutate::vmi(&mut scene.vmi, &scene.config, Seed::default()) {
            Ok(()) => Ok(scene),
            Err(cause) => Err(scene.fault(&cause.field, &cause)),
        }
    }

    /// An error about a field of the machine, with the place where it stands in the file.
    pub(crate) fn fault(&self, field: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
        // names are the machine's own, all else is its template's
        let prefix = if field.starts_with("metadata.name") { "" } else { self.prefix };
        anyhow!("{}: {error}", self.input.place(&format!("{prefix}{field}")))
    }
}

/// Where objects are that do not say.
const NAMESPACE: &str = "default";
/// The name of our image where nobody names it.
const IMAGE: &str = "kubevirt-rs";

/// The instance that a machine would have, with the instance type and the preference that it names written out.
fn instance(machine: &Input, others: &[Input]) -> anyhow::Result<VirtualMachineInstance> {
    let mut vm: VirtualMachine = machine.decode()?;
    let namespace = vm.metadata.namespace.get_or_insert_with(|| NAMESPACE.to_owned()).clone();
    let mut objects: Vec<Value> = others.iter().map(|input| input.document.value.clone()).collect();
    for metadata in objects.iter_mut().filter_map(|o| o.get_mut("metadata")?.as_object_mut()) {
        metadata.entry("namespace").or_insert_with(|| namespace.clone().into());
    }
    let catalog = instancetype::Objects(&objects);
    let fault = |field: &str, error: &dyn std::fmt::Display| anyhow!("{}: {error}", machine.place(field));
    instancetype::find(&vm, &catalog).map_err(|error| fault("spec.instancetype", &error))?;
    instancetype::find_preference(&vm, &catalog).map_err(|error| fault("spec.preference", &error))?;
    instancetype::prepare(&mut vm, &catalog);
    instancetype::apply_to_vm(&mut vm, &catalog).map_err(|conflicts| match conflicts.0.first() {
        Some(first) => fault(first.field(), first),
        None => fault("spec.instancetype", &"it does not fit the machine"),
    })?;
    let template = vm.spec.template.unwrap_or_default();
    let mut vmi = VirtualMachineInstance { metadata: template.metadata, spec: template.spec, ..VirtualMachineInstance::default() };
    vmi.metadata.name = vm.metadata.name;
    vmi.metadata.namespace = vm.metadata.namespace;
    Ok(vmi)
}

/// The resources of those definitions that the machine's networks name.
fn network_resources(context: &mut Context, vmi: &VirtualMachineInstance, others: &[Input]) {
    let own = vmi.metadata.namespace.as_deref().unwrap_or_default();
    for network in &vmi.spec.networks {
        let Some(multus) = &network.multus else { continue };
        let (namespace, name) = networks::definition(own, &multus.network_name);
        let definition = others.iter().map(|input| &input.document).find(|d| {
            let found = d.value.pointer("/metadata/namespace").and_then(Value::as_str).unwrap_or(NAMESPACE);
            d.kind() == "NetworkAttachmentDefinition" && d.name() == name && found == namespace
        });
        let annotations = definition.and_then(|d| d.value.pointer("/metadata/annotations"));
        if let Some(resource) = annotations.and_then(|a| a.get(RESOURCE_NAME)?.as_str()) {
            context.network_resources.insert(network.name.clone(), resource.to_owned());
        }
    }
}

/// Claims that the file does not show are file systems.
pub(crate) fn usual_claims(context: &mut Context, vmi: &VirtualMachineInstance) {
    let volumes = &vmi.spec.volumes;
    let own = volumes.iter().filter_map(|v| v.persistent_volume_claim.as_ref()).map(|c| &c.claim_name);
    let filled = volumes.iter().filter_map(|v| v.data_volume.as_ref()).map(|d| &d.name);
    let beneath = volumes.iter().filter_map(|v| v.ephemeral.as_ref()?.persistent_volume_claim.as_ref()).map(|c| &c.claim_name);
    for name in own.chain(filled).chain(beneath) {
        context.claims.entry(name.clone()).or_default();
    }
    context.state_claim = vmi.metadata.name.as_ref().map(|name| format!("persistent-state-for-{name}"));
}

/// The argument of a tool that works on a scene.
#[derive(clap::Args)]
pub(crate) struct File {
    /// A VirtualMachine or VirtualMachineInstance, as YAML or JSON, and with it what counts of its cluster: a KubeVirt,
    /// Namespace, ResourceQuotas, PersistentVolumeClaims, NetworkAttachmentDefinitions; `-` is standard input
    pub(crate) file: PathBuf,
}
