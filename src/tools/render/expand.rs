//! `kubevirt-rs render expand`: the VM that stands on its own.

use std::error::Error;
use std::process::ExitCode;

use kubevirt_rs::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachine};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::instancetype::{Objects, expand, find, find_preference};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::batch;

/// The arguments of `render expand`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long, required = true)]
    batch: bool,
}

/// Runs `render expand`.
pub(crate) fn run(_: &Args) -> ExitCode {
    batch::run(|question: Question| match answer(question) {
        Ok(vm) => json!({"vm": vm}),
        Err(error) => json!({"error": chain(error.as_ref())}),
    })
}

/// A VM and what it refers to: given here, or of the common bundle.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    vm: VirtualMachine,
    instancetype_spec: Option<VirtualMachineInstancetypeSpec>,
    preference_spec: Option<VirtualMachinePreferenceSpec>,
    #[serde(default)]
    config: KubeVirtConfiguration,
    #[serde(default)]
    cluster: Vec<Value>,
}

fn answer(question: Question) -> Result<VirtualMachine, Box<dyn Error>> {
    let Question { vm, instancetype_spec, preference_spec, config, cluster } = question;
    let catalog = Objects(&cluster);
    let instancetype = match instancetype_spec {
        Some(given) => Some(given),
        None => find(&vm, &catalog)?.map(std::borrow::Cow::into_owned),
    };
    let preference = match preference_spec {
        Some(given) => Some(given),
        None => find_preference(&vm, &catalog)?.map(std::borrow::Cow::into_owned),
    };
    Ok(expand(&vm, instancetype.as_ref(), preference.as_ref(), &ClusterConfig::new(&config))?)
}

/// An error and what it comes from, in one line.
fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text = format!("{text}: {error}");
        source = error.source();
    }
    text
}
