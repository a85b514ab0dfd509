//! What a person shows to a tool: a machine, and in the same file whatever else of its cluster counts.
//!
//! `KubeVirt` gives the configuration; `Namespace`, `ResourceQuota`, `PersistentVolumeClaim` and
//! `NetworkAttachmentDefinition` give facts. What is not there is taken to be as it usually is.

use std::path::{Path, PathBuf};
use std::{fs, io};

use anyhow::{Context as _, anyhow, bail};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, ResourceQuota};
use kubevirt_rs::admission::{Seed, mutate};
use kubevirt_rs::api::names::SKIP_BACKUP_HOOKS_ANNOTATION;
use kubevirt_rs::api::v1::{KubeVirt, VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::manifest::{self, Document};
use kubevirt_rs::pod::{Claim, Context, networks};
use serde::de::DeserializeOwned;

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
    file: String,
    document: Document,
    /// Where the instance's fields stand in the document.
    prefix: &'static str,
}

/// Reads a file; `-` is standard input.
pub(crate) fn read(path: &Path) -> anyhow::Result<Scene> {
    let (name, text) = if path == Path::new("-") {
        ("<stdin>".to_owned(), io::read_to_string(io::stdin()).context("read standard input")?.into_bytes())
    } else {
        let name = path.display().to_string();
        let text = fs::read(path).with_context(|| format!("read {name}"))?;
        (name, text)
    };
    Scene::new(name, manifest_of(&text)?)
}

fn manifest_of(text: &[u8]) -> anyhow::Result<Vec<Document>> {
    manifest::read(text).map_err(|error| match error.at {
        Some(at) => anyhow!("{at}: {error}"),
        None => anyhow!("{error}"),
    })
}

fn decode<T: DeserializeOwned>(document: &Document) -> anyhow::Result<T> {
    serde_json::from_value(document.value.clone()).with_context(|| format!("{}: read the {}", document.start, document.kind()))
}

impl Scene {
    fn new(file: String, documents: Vec<Document>) -> anyhow::Result<Self> {
        let mut settings = KubeVirt::default();
        let mut context =
            Context { image: IMAGE.to_owned(), sidecar_shim_image: IMAGE.to_owned(), qemu_timeout: 240, ..Context::default() };
        let mut machine = None;
        let mut definitions = Vec::new();
        for document in documents {
            match document.kind() {
                "VirtualMachineInstance" | "VirtualMachine" if machine.is_some() => {
                    bail!("{}: this is the second machine in the file; show one", document.start);
                }
                "VirtualMachineInstance" => machine = Some((decode(&document)?, document, "")),
                "VirtualMachine" => machine = Some((instance(decode(&document)?), document, "spec.template.")),
                "KubeVirt" => settings = decode(&document)?,
                "Namespace" => context.namespace_labels = decode::<Namespace>(&document)?.metadata.labels.unwrap_or_default(),
                "ResourceQuota" => {
                    let hard = decode::<ResourceQuota>(&document)?.spec.and_then(|s| s.hard).unwrap_or_default();
                    context.quota.cpu |= hard.contains_key("limits.cpu");
                    context.quota.memory |= hard.contains_key("limits.memory");
                }
                "PersistentVolumeClaim" => {
                    let claim: PersistentVolumeClaim = decode(&document)?;
                    context.claims.insert(claim.metadata.name.clone().unwrap_or_default(), Claim::from(&claim));
                }
                "NetworkAttachmentDefinition" => definitions.push(document),
                kind => eprintln!("kubevirt-rs: {file}:{}: a {kind:?} has no part in this, left out", document.start),
            }
        }
        let (mut vmi, document, prefix): (VirtualMachineInstance, Document, &str) =
            machine.with_context(|| format!("{file}: show a VirtualMachine or a VirtualMachineInstance, there is none"))?;
        let config = ClusterConfig::checked(&settings.spec.configuration).context("read the KubeVirt configuration")?;
        context.skip_backup_hooks = settings.metadata.annotations.and_then(|mut a| a.remove(SKIP_BACKUP_HOOKS_ANNOTATION));
        vmi.metadata.namespace.get_or_insert_with(|| "default".to_owned());
        network_resources(&mut context, &vmi, &definitions);
        usual_claims(&mut context, &vmi);
        let scene = |vmi, config| Self { vmi, config, context, file, document, prefix };
        match mutate::vmi(&mut vmi, &config, Seed::default()) {
            Ok(()) => Ok(scene(vmi, config)),
            Err(cause) => Err(scene(vmi, config).fault(&cause.field, &cause)),
        }
    }

    /// An error about a field of the machine, with the place where it stands in the file.
    pub(crate) fn fault(&self, field: &str, error: &dyn std::fmt::Display) -> anyhow::Error {
        let field = if field.starts_with("spec.") { format!("{}{field}", self.prefix) } else { field.to_owned() };
        anyhow!("{}:{}: {error}", self.file, self.document.position(&field))
    }
}

/// The name of our image where nobody names it.
const IMAGE: &str = "kubevirt-rs";

/// The instance that a machine would have.
fn instance(vm: VirtualMachine) -> VirtualMachineInstance {
    let template = vm.spec.template.unwrap_or_default();
    let mut vmi = VirtualMachineInstance { spec: template.spec, ..VirtualMachineInstance::default() };
    vmi.metadata = template.metadata;
    vmi.metadata.name = vm.metadata.name;
    vmi.metadata.namespace = vm.metadata.namespace;
    vmi
}

/// The resources of those definitions that the machine's networks name.
fn network_resources(context: &mut Context, vmi: &VirtualMachineInstance, definitions: &[Document]) {
    let own = vmi.metadata.namespace.as_deref().unwrap_or_default();
    for network in &vmi.spec.networks {
        let Some(multus) = &network.multus else { continue };
        let (namespace, name) = networks::definition(own, &multus.network_name);
        let definition = definitions.iter().find(|d| {
            let found = d.value.pointer("/metadata/namespace").and_then(|v| v.as_str()).unwrap_or("default");
            d.name() == name && found == namespace
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
