//! `kubevirt-rs render settle`: what the controllers make of a machine or an instance, once nothing is left to do.

use std::collections::BTreeMap;
use std::process::ExitCode;

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::action::Action;
use kubevirt_rs::lifecycle::store::{Log, Store};
use kubevirt_rs::lifecycle::{vm, vmi};
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
/// More passes than any state needs; a plan that never settles must not hang the tool.
const MOST_PASSES: usize = 50;

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
    let settled = if of_instance { settle_instance(&mut store, &config, now) } else { settle_machine(&mut store, &config, now) };
    match settled {
        Ok(log) if of_instance => show_instance(&store, &log),
        Ok(log) => show_machine(&store, &log),
        Err(error) => json!({"error": error.to_string()}),
    }
}

fn by_name<T>(objects: Option<Vec<T>>, meta: impl Fn(&T) -> &ObjectMeta) -> BTreeMap<String, T> {
    objects.unwrap_or_default().into_iter().map(|object| (meta(&object).name.clone().unwrap_or_default(), object)).collect()
}

fn settle_machine(store: &mut Store, config: &ClusterConfig, now: Timestamp) -> serde_json::Result<Log> {
    let mut log = Log::default();
    // Nobody tells this controller of the DataVolumes that it makes: what fills them is not part of the picture.
    let known: Vec<_> = store.data_volumes.keys().cloned().collect();
    for _ in 0..MOST_PASSES {
        let observed = vm::Observed {
            machine: store.machine.as_ref().map(Deserialize::deserialize).transpose()?.unwrap_or_default(),
            instance: store.instance.as_ref().map(Deserialize::deserialize).transpose()?,
            data_volumes: known.iter().filter_map(|name| store.data_volumes.get(name)).cloned().collect(),
            claims: store.claims.values().cloned().collect(),
            revisions: store.revisions.values().cloned().collect(),
            ..vm::Observed::default()
        };
        let before = store.clone();
        let plan = vm::plan(&observed, config, now);
        carry_out(store, &mut log, &plan, |action, error| vm::failed(&observed, config, now, action, error));
        if *store == before {
            break;
        }
    }
    Ok(log)
}

fn settle_instance(store: &mut Store, config: &ClusterConfig, now: Timestamp) -> serde_json::Result<Log> {
    let mut log = Log::default();
    for _ in 0..MOST_PASSES {
        let Some(instance) = &store.instance else {
            break;
        };
        let observed = vmi::Observed {
            instance: Deserialize::deserialize(instance)?,
            pods: store.pods.values().cloned().collect(),
            claims: store.claims.values().cloned().collect(),
            data_volumes: store.data_volumes.values().cloned().collect(),
            context: Context { image: IMAGE.to_owned(), sidecar_shim_image: IMAGE.to_owned(), ..Context::default() },
            ..vmi::Observed::default()
        };
        let before = store.clone();
        let plan = vmi::plan(&observed, config, now);
        carry_out(store, &mut log, &plan, |action, error| vmi::failed(&observed, config, now, action, error));
        let released = store.instance.as_ref().is_some_and(|instance| {
            let finalizers = instance.pointer("/metadata/finalizers").and_then(Value::as_array);
            instance.pointer("/metadata/deletionTimestamp").is_some() && finalizers.is_none_or(Vec::is_empty)
        });
        if released {
            store.instance = None;
        }
        // The pod that was made is not part of the picture any more.
        if *store == before || log.made.contains(&"pod") {
            break;
        }
    }
    Ok(log)
}

fn carry_out(store: &mut Store, log: &mut Log, plan: &[Action], told: impl Fn(&Action, &str) -> Vec<Action>) {
    for action in plan {
        if let Err(error) = store.apply(action, log) {
            // What cannot even be told is told by the next pass.
            told(action, &error.to_string()).iter().try_for_each(|action| store.apply(action, log)).ok();
            break;
        }
    }
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
