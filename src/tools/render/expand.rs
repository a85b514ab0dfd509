//! `kubevirt-rs render expand`: the VM that stands on its own.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use kubevirt_rs::api::instancetype::{VirtualMachineInstancetypeSpec, VirtualMachinePreferenceSpec};
use kubevirt_rs::api::v1::{KubeVirt, KubeVirtConfiguration, VirtualMachine};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::instancetype::{Conflicts, ExpandError, FindError, Objects, expand, find, find_preference};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::batch;
use crate::tools::input::{self, Input};

/// The arguments of `render expand`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// VirtualMachines, as YAML or JSON, and with them what counts of their cluster: instance types, preferences (those
    /// of the common bundle are there) and a KubeVirt; files, folders, or `-` for standard input
    #[arg(required_unless_present = "batch")]
    files: Vec<PathBuf>,
    /// Answer one JSON object a line
    #[arg(long, conflicts_with = "files")]
    batch: bool,
}

/// Runs `render expand`.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.batch {
        return batch::run(|question: Question| match answer(question) {
            Ok(vm) => json!({"vm": vm}),
            Err(error) => json!({"error": error.to_string()}),
        });
    }
    match show(&args.files) {
        Ok((machines, faults)) => {
            print!("{machines}");
            faults.iter().for_each(|fault| eprint!("{fault}"));
            if faults.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(error) => {
            eprintln!("kubevirt-rs: {error:#}");
            ExitCode::from(2)
        }
    }
}

/// Why a VM cannot be written out.
#[derive(Debug, thiserror::Error)]
enum Fault {
    #[error(transparent)]
    Find(#[from] FindError),
    #[error("{}", chain(.0))]
    Expand(#[from] ExpandError),
}

impl Fault {
    /// What is wrong, field by field.
    fn fields(&self) -> Vec<(&str, String)> {
        match self {
            Self::Find(error) => vec![(error.field(), chain(error))],
            Self::Expand(ExpandError::Conflicts(Conflicts(conflicts))) => {
                conflicts.iter().map(|conflict| (conflict.field(), conflict.to_string())).collect()
            }
            Self::Expand(error) => vec![("spec.template", chain(error))],
        }
    }
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

fn answer(question: Question) -> Result<VirtualMachine, Fault> {
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

/// The machines of the files as YAML, and what is wrong with those that cannot be written out.
fn show(files: &[PathBuf]) -> anyhow::Result<(String, Vec<String>)> {
    let mut inputs = Vec::new();
    for file in files {
        inputs.extend(input::read(Path::new(file))?);
    }
    machines(&inputs)
}

fn machines(inputs: &[Input]) -> anyhow::Result<(String, Vec<String>)> {
    let settings = inputs.iter().find(|input| input.document.kind() == "KubeVirt").map(Input::decode::<KubeVirt>).transpose()?;
    let config = ClusterConfig::checked(&settings.unwrap_or_default().spec.configuration).context("read the KubeVirt configuration")?;
    let (mut text, mut faults) = (String::new(), Vec::new());
    for input in inputs.iter().filter(|input| input.document.kind() == "VirtualMachine") {
        let vm: VirtualMachine = input.decode()?;
        match written_out(&vm, inputs, &config) {
            Ok(vm) => text.push_str(&format!("---\n{}", serde_yaml::to_string(&vm)?)),
            Err(fault) => {
                faults
                    .extend(fault.fields().iter().map(|(field, text)| format!("{}: {text}\n{}", input.place(field), input.excerpt(field))));
            }
        }
    }
    if text.is_empty() && faults.is_empty() {
        anyhow::bail!("there is no VirtualMachine to write out");
    }
    Ok((text, faults))
}

fn written_out(vm: &VirtualMachine, inputs: &[Input], config: &ClusterConfig) -> Result<VirtualMachine, Fault> {
    // what does not say where it is, is where the machine is
    let namespace = vm.metadata.namespace.clone().unwrap_or_default();
    let mut objects: Vec<Value> = inputs.iter().map(|input| input.document.value.clone()).collect();
    for metadata in objects.iter_mut().filter_map(|object| object.get_mut("metadata")?.as_object_mut()) {
        metadata.entry("namespace").or_insert_with(|| namespace.clone().into());
    }
    let catalog = Objects(&objects);
    let (instancetype, preference) = (find(vm, &catalog)?, find_preference(vm, &catalog)?);
    Ok(expand(vm, instancetype.as_deref(), preference.as_deref(), config)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(text: &str) -> (String, Vec<String>) {
        machines(&input::documents("vm.yaml", &mut text.as_bytes()).unwrap()).unwrap()
    }

    const VM: &str = "apiVersion: kubevirt.io/v1
kind: VirtualMachine
metadata: {name: a}
spec:
  runStrategy: Halted
  instancetype: {name: u1.medium}
  preference: {name: fedora}
  template:
    spec:
      domain:
        devices: {}
";

    #[test]
    fn machines_are_written_out_with_what_is_in_the_file_or_the_bundle() {
        let (text, faults) = shown(VM);
        assert_eq!(faults, [""; 0]);
        assert!(text.contains("guest: 4Gi") && !text.contains("u1.medium"), "{text}");
        let own = format!(
            "{}---\napiVersion: instancetype.kubevirt.io/v1beta1\nkind: VirtualMachineInstancetype\nmetadata: {{name: own}}\nspec: {{cpu: {{guest: 3}}, memory: {{guest: 3Gi}}}}\n",
            VM.replace("{name: u1.medium}", "{name: own, kind: VirtualMachineInstancetype}")
        );
        assert!(shown(&own).0.contains("guest: 3Gi"));
    }

    #[test]
    fn faults_say_where_they_are() {
        let (text, faults) = shown(&VM.replace("u1.medium", "gone"));
        assert_eq!(text, "");
        assert!(faults[0].starts_with("vm.yaml:6:") && faults[0].contains("\"gone\""), "{faults:?}");
        let (_, faults) =
            shown(&VM.replace("        devices: {}", "        devices: {}\n        cpu: {cores: 2}\n        memory: {guest: 1Gi}"));
        assert!(faults[0].starts_with("vm.yaml:12:") && faults[1].starts_with("vm.yaml:13:"), "{faults:?}");
    }
}
