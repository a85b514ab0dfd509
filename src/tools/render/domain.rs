//! `kubevirt-rs render domain`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::domain::facts::{Efi, Firmware, HostCpu, NumaCell, Rom, Smbios, VolumeFacts, Volumes};
use kubevirt_rs::domain::{Facts, convert};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::scene::{self, Scene};
use crate::tools::{self, batch, diff};

/// The arguments of `render domain`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// A VirtualMachine or VirtualMachineInstance, as YAML or JSON, and with it what counts of its cluster: a KubeVirt,
    /// PersistentVolumeClaims; `-` is standard input
    #[arg(required_unless_present = "batch")]
    file: Option<PathBuf>,
    /// What is known of the host: `tcg` (emulation, claims are files), `kvm` (claims are block devices), or a file with it
    #[arg(long, default_value = "tcg", conflicts_with = "batch")]
    facts: String,
    /// Answer one JSON object a line
    #[arg(long, conflicts_with = "file")]
    batch: bool,
    /// Show only what is different from the domain of another file
    #[arg(long, value_name = "OLD", conflicts_with = "batch")]
    diff: Option<PathBuf>,
}

/// A line of the batch form.
#[derive(Deserialize)]
struct Question {
    facts: String,
    vmi: VirtualMachineInstance,
}

/// Runs `render domain`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let Some(file) = args.file.as_ref().filter(|_| !args.batch) else {
        // these answers are compared with KubeVirt's, attribute by attribute
        let spelled = |kvm| Facts { kubevirt_spelling: true, ..example(kvm) };
        let (tcg, kvm) = (spelled(false), spelled(true));
        return batch::run(|question: Question| match question.facts.as_str() {
            "tcg" => answer(&question.vmi, &tcg),
            "kvm" => answer(&question.vmi, &kvm),
            other => json!({ "error": format!("no facts are named {other:?}; use tcg or kvm") }),
        });
    };
    tools::print(match &args.diff {
        Some(old) => show(old, &args.facts).and_then(|old| Ok(diff::diff(&old, &show(file, &args.facts)?))),
        None => show(file, &args.facts),
    })
}

fn answer(vmi: &VirtualMachineInstance, facts: &Facts) -> Value {
    match convert(vmi, facts) {
        Ok(domain) => json!({ "xml": domain.to_xml() }),
        Err(error) => json!({ "error": error.to_string(), "field": error.field }),
    }
}

fn show(file: &Path, facts: &str) -> anyhow::Result<String> {
    let scene = scene::read(file)?;
    let (facts, example) = match facts {
        "tcg" => (example(false), true),
        "kvm" => (example(true), true),
        file => {
            let text = fs::read_to_string(file).with_context(|| format!("read {file}"))?;
            (serde_yaml::from_str(&text).with_context(|| format!("read the facts in {file}"))?, false)
        }
    };
    // facts out of a file are all that counts; an example is of the cluster that the file shows
    let facts = if example { of_scene(facts, &scene) } else { facts };
    let domain = convert(&scene.vmi, &facts).map_err(|error| scene.fault(&error.field, &error))?;
    Ok(domain.to_xml())
}

/// The facts with those of the cluster that the file shows: its configuration, and which claims are block devices.
fn of_scene(facts: Facts, scene: &Scene) -> Facts {
    let mut facts = facts.of_cluster(&scene.config, &scene.vmi);
    for volume in &scene.vmi.spec.volumes {
        let own = volume.persistent_volume_claim.as_ref().map(|claim| &claim.claim_name);
        let filled = || volume.data_volume.as_ref().map(|source| &source.name);
        let beneath = || volume.ephemeral.as_ref()?.persistent_volume_claim.as_ref().map(|claim| &claim.claim_name);
        let name = own.or_else(filled).or_else(beneath);
        if name.and_then(|name| scene.context.claims.get(name)).is_some_and(|claim| claim.block) {
            let known = VolumeFacts { block: true, ..facts.volumes.fallback.clone() };
            facts.volumes.by_name.insert(volume.name.clone(), known);
        }
    }
    facts
}

/// A pod on a host of 18 CPUs, 16 of them its own: with KVM and block devices, or emulated and with files.
fn example(kvm: bool) -> Facts {
    let firmware = |name: &str| format!("/usr/share/OVMF/OVMF_{name}.fd");
    let efi = |code: &str, vars: &str| Some(Efi { code: firmware(code), vars: firmware(vars) });
    let rom = |code: &str, secure| Some(Rom { code: firmware(code), secure });
    let maker = || "KubeVirt".to_owned();
    Facts {
        hypervisor_device: kvm,
        emulation_allowed: !kvm,
        cpu_set: (2..=17).collect(),
        numa_cells: vec![NumaCell { id: 0, memory: 64 << 30, cpus: (0..=17).map(|id| HostCpu { id, siblings: Vec::new() }).collect() }],
        firmware: Firmware {
            auto_selection: false,
            plain: efi("CODE", "VARS"),
            secure_boot: efi("CODE.secboot", "VARS.secboot"),
            sev: efi("CODE", "VARS"),
            snp: rom("CODE", false),
            tdx: rom("CODE", false),
            tdx_secure_boot: rom("CODE.secboot", true),
        },
        smbios: Some(Smbios { manufacturer: maker(), family: maker(), product: "None".to_owned(), ..Smbios::default() }),
        free_page_reporting: !kvm,
        volumes: Volumes {
            fallback: VolumeFacts { block: kvm, format: Some("qcow2".to_owned()), virtual_size: Some(1 << 30), ..VolumeFacts::default() },
            ..Volumes::default()
        },
        ..Facts::default()
    }
}
