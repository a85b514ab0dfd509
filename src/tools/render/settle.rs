//! `kubevirt-rs render settle`: what the controllers make of a machine or an instance, once nothing is left to do.

use std::collections::BTreeMap;
use std::process::ExitCode;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachine, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::store::{Log, Store};
use kubevirt_rs::lifecycle::vm;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::tools::batch;

/// The arguments of `render settle`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long, required = true)]
    batch: bool,
}

/// Runs `render settle`.
pub(crate) fn run(_: &Args) -> ExitCode {
    batch::run(answer)
}

/// The day on which everything is settled: 2026-12-01.
const TODAY: i64 = 1_796_083_200;
/// More passes than any state needs; a plan that never settles must not hang the tool.
const MOST_PASSES: usize = 50;

/// An object, and what the cluster holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    vm: Option<VirtualMachine>,
    vmi: Option<VirtualMachineInstance>,
    #[serde(default)]
    pods: Option<Vec<Pod>>,
    #[serde(default)]
    pvcs: Option<Vec<PersistentVolumeClaim>>,
    #[serde(default)]
    data_volumes: Option<Vec<DataVolume>>,
}

fn answer(question: Question) -> Value {
    let config = ClusterConfig::new(&question.config.clone().unwrap_or_default());
    let now = Timestamp::from_second(TODAY).unwrap_or_default();
    let store = Store {
        machine: question.vm,
        instance: question.vmi,
        data_volumes: by_name(question.data_volumes, |d| &d.metadata),
        claims: by_name(question.pvcs, |c| &c.metadata),
        pods: by_name(question.pods, |p| &p.metadata),
        ..Store::default()
    };
    match store.machine.clone() {
        Some(machine) => settle_machine(store, machine, &config, now),
        None => json!({"error": "give a vm, or a vmi with its pods"}),
    }
}

fn by_name<T>(objects: Option<Vec<T>>, meta: impl Fn(&T) -> &ObjectMeta) -> BTreeMap<String, T> {
    objects.unwrap_or_default().into_iter().map(|object| (meta(&object).name.clone().unwrap_or_default(), object)).collect()
}

fn settle_machine(mut store: Store, machine: VirtualMachine, config: &ClusterConfig, now: Timestamp) -> Value {
    let mut log = Log::default();
    // Nobody tells this controller of the DataVolumes that it makes: what fills them is not part of the picture.
    let data_volumes: Vec<_> = store.data_volumes.values().cloned().collect();
    for _ in 0..MOST_PASSES {
        let observed = vm::Observed {
            machine: store.machine.clone().unwrap_or_else(|| machine.clone()),
            instance: store.instance.clone(),
            data_volumes: data_volumes.iter().filter_map(|d| store.data_volumes.get(d.metadata.name.as_deref()?)).cloned().collect(),
            claims: store.claims.values().cloned().collect(),
            revisions: store.revisions.values().cloned().collect(),
            ..vm::Observed::default()
        };
        let before = store.clone();
        for action in vm::plan(&observed, config, now) {
            if let Err(error) = store.apply(&action, &mut log) {
                let told = vm::failed(&observed, config, now, &action, &error.to_string());
                // What cannot even be told is told by the next pass.
                told.iter().try_for_each(|action| store.apply(action, &mut log)).ok();
                break;
            }
        }
        if store == before {
            break;
        }
    }
    let events: Vec<_> = log.events.iter().map(|e| format!("{} {}", e.kind(), e.reason)).collect();
    let mut out = json!({"events": events});
    if let Some(machine) = store.machine {
        out["vm"] = json!(machine);
    }
    if let Some(instance) = store.instance {
        out["vmi"] = json!(instance);
    }
    out
}
