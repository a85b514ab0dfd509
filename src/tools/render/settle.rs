//! `kubevirt-rs render settle`: what the controllers make of a machine or an instance, once nothing is left to do.

use std::collections::BTreeMap;
use std::process::ExitCode;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::settle;
use kubevirt_rs::lifecycle::store::{Log, Store};
use kubevirt_rs::pod::Context;
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
/// The image that launchers run.
const IMAGE: &str = "launcher";

/// An object, and what the cluster holds.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    vm: Option<Value>,
    vmi: Option<Value>,
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
    let of_instance = question.vm.is_none();
    let mut store = Store {
        machine: question.vm,
        instance: question.vmi,
        data_volumes: by_name(question.data_volumes, |d| &d.metadata),
        claims: by_name(question.pvcs, |c| &c.metadata),
        pods: by_name(question.pods, |p| &p.metadata),
        ..Store::default()
    };
    let context = Context { image: IMAGE.to_owned(), sidecar_shim_image: IMAGE.to_owned(), ..Context::default() };
    let settled =
        if of_instance { settle::instance(&mut store, &config, now, &context) } else { settle::machine(&mut store, &config, now) };
    match settled {
        Ok(log) if of_instance => show_instance(&store, &log),
        Ok(log) => show_machine(&store, &log),
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn by_name<T>(objects: Option<Vec<T>>, meta: impl Fn(&T) -> &ObjectMeta) -> BTreeMap<String, T> {
    objects.unwrap_or_default().into_iter().map(|object| (meta(&object).name.clone().unwrap_or_default(), object)).collect()
}

fn show_machine(store: &Store, log: &Log) -> Value {
    let events: Vec<_> = log.events.iter().map(|e| format!("{} {}", e.kind(), e.reason)).collect();
    let mut out = json!({"events": events});
    if let Some(machine) = &store.machine {
        out["vm"] = machine.clone();
    }
    if let Some(instance) = store.instance.as_ref().and_then(|i| VirtualMachineInstance::deserialize(i).ok()) {
        out["vmi"] = json!(instance);
    }
    out
}

fn show_instance(store: &Store, log: &Log) -> Value {
    let mut events: Vec<_> = log.events.iter().map(|e| e.reason).collect();
    events.dedup();
    let mut out = json!({"events": events, "made": log.made, "deleted": log.deleted_pods});
    if let Some(instance) = &store.instance {
        out["vmi"] = instance.clone();
    }
    out
}
