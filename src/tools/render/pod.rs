//! `kubevirt-rs render pod`.

use std::process::ExitCode;

use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::{ClusterConfig, Gate};
use kubevirt_rs::pod::{self, Claim, Context};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::batch;

/// The arguments of `render pod`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long)]
    batch: bool,
    /// Show what counts of the pod instead of the pod
    #[arg(long)]
    facets: bool,
}

/// Runs `render pod`.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.batch {
        return batch::run(|question: Question| answer(question, args.facets));
    }
    ExitCode::from(2)
}

#[derive(Deserialize)]
struct Question {
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    vmi: VirtualMachineInstance,
}

fn answer(question: Question, facets: bool) -> Value {
    let config = ClusterConfig::new(&question.config.unwrap_or_default());
    let vmi = admitted(question.vmi, &config);
    match pod::render(&vmi, &config, &context(&vmi)) {
        Ok(pod) if facets => json!({"pod": pod::facets(&pod)}),
        Ok(pod) => json!({"pod": pod}),
        Err(error) => json!({"error": error.to_string()}),
    }
}

/// What admission does to the status of a new VMI: launchers are not root unless the cluster says so.
fn admitted(mut vmi: VirtualMachineInstance, config: &ClusterConfig) -> VirtualMachineInstance {
    if vmi.status.runtime_user == 0 && !config.enabled(Gate::Root) {
        vmi.status.runtime_user = pod::security::USER.unsigned_abs();
    }
    vmi
}

/// Facts of a cluster that has all that the VMI names, as file systems.
fn context(vmi: &VirtualMachineInstance) -> Context {
    let volumes = &vmi.spec.volumes;
    let own = volumes.iter().filter_map(|v| v.persistent_volume_claim.as_ref()).map(|c| &c.claim_name);
    let filled = volumes.iter().filter_map(|v| v.data_volume.as_ref()).map(|d| &d.name);
    let beneath = volumes.iter().filter_map(|v| v.ephemeral.as_ref()?.persistent_volume_claim.as_ref()).map(|c| &c.claim_name);
    Context {
        image: "kubevirt-rs".to_owned(),
        sidecar_shim_image: "kubevirt-rs".to_owned(),
        qemu_timeout: 240,
        claims: own.chain(filled).chain(beneath).map(|name| (name.clone(), Claim::default())).collect(),
        state_claim: vmi.metadata.name.as_ref().map(|name| format!("persistent-state-for-{name}")),
        ..Context::default()
    }
}
