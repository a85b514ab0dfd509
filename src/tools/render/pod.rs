//! `kubevirt-rs render pod`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::{ClusterConfig, Gate};
use kubevirt_rs::pod::{self, Context};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::{self, batch, diff, scene};

/// The arguments of `render pod`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A VirtualMachine or VirtualMachineInstance, as YAML or JSON, and with it what counts of its cluster: a KubeVirt,
    /// Namespace, ResourceQuotas, PersistentVolumeClaims, NetworkAttachmentDefinitions; `-` is standard input
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// Answer one JSON object a line
    #[arg(long, conflicts_with = "file")]
    batch: bool,
    /// Show what counts of the pod instead of the pod
    #[arg(long)]
    facets: bool,
    /// Show only what is different from the pod of another file
    #[arg(long, value_name = "OLD", conflicts_with = "batch")]
    diff: Option<PathBuf>,
}

/// Runs `render pod`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let Some(file) = args.file.as_ref().filter(|_| !args.batch) else {
        return batch::run(|question: Question| answer(question, args.facets));
    };
    tools::print(match &args.diff {
        Some(old) => show(old, args.facets).and_then(|old| Ok(diff::diff(&old, &show(file, args.facets)?))),
        None => show(file, args.facets),
    })
}

fn show(file: &Path, facets: bool) -> anyhow::Result<String> {
    let scene = scene::read(file)?;
    let rendered = pod::render(&scene.vmi, &scene.config, &scene.context);
    let pod = rendered.map_err(|error| scene.fault(error.field(), &error))?;
    Ok(if facets { serde_yaml::to_string(&pod::facets(&pod))? } else { serde_yaml::to_string(&pod)? })
}

/// A line of the batch form: an instance that is already defaulted, but for its status.
#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    vmi: VirtualMachineInstance,
}

fn answer(question: Question, facets: bool) -> Value {
    let config = ClusterConfig::new(&question.config.unwrap_or_default());
    let mut vmi = question.vmi;
    if vmi.status.runtime_user == 0 && !config.enabled(Gate::Root) {
        vmi.status.runtime_user = pod::security::USER.unsigned_abs();
    }
    let mut context = Context { image: "kubevirt-rs".to_owned(), qemu_timeout: 240, ..Context::default() };
    scene::usual_claims(&mut context, &vmi);
    match pod::render(&vmi, &config, &context) {
        Ok(pod) if facets => json!({"pod": pod::facets(&pod)}),
        Ok(pod) => json!({"pod": pod}),
        Err(error) => json!({"error": error.to_string()}),
    }
}
