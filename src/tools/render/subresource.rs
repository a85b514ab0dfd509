//! `kubevirt-rs render subresource`: what a request of the aggregated API does.

use std::process::ExitCode;

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::subresource::{Decision, Kind, Observed, Race, Request, Success, Target, Write, decide};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::tools::batch;

/// The arguments of `render subresource`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long, required = true)]
    batch: bool,
}

/// Runs `render subresource`.
pub(crate) fn run(_: &Args) -> ExitCode {
    batch::run(|question: Question| answer(&question))
}

const NAMESPACE: &str = "default";
const NAME: &str = "vm-a";

/// A request, and what the cluster holds.
#[derive(Deserialize)]
struct Question {
    kind: String,
    op: String,
    body: Option<String>,
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    vm: Option<Value>,
    vmi: Option<Value>,
    #[serde(default)]
    objects: Vec<Value>,
}

fn answer(question: &Question) -> Value {
    let observed = match observe(question) {
        Ok(observed) => observed,
        Err(error) => return json!({"error": error.to_string()}),
    };
    let config = ClusterConfig::new(&question.config.clone().unwrap_or_default());
    let request = Request {
        kind: if question.kind == "VirtualMachine" { Kind::Machine } else { Kind::Instance },
        operation: &question.op,
        namespace: NAMESPACE,
        name: NAME,
        body: question.body.as_deref().map(str::as_bytes),
    };
    let Decision { writes, answer } = decide(&request, &observed, &config);
    // The first write that no longer fits its object ends the request.
    let raced = writes.iter().position(|write| !fits(write, question));
    let (done, answer) = match raced.and_then(|i| Some((i, writes.get(i)?))) {
        Some((i, write)) => (i + 1, Err(write.raced(NAME))),
        None => (writes.len(), answer),
    };
    let mut out = Map::new();
    out.insert("writes".to_owned(), writes.iter().take(done).map(show).collect());
    match answer {
        Ok(success) => {
            out.insert("code".to_owned(), json!(success.code()));
            match success {
                Success::Ask(ask) => out.insert("handler".to_owned(), json!([format!("{} {}", ask.method, ask.path)])),
                Success::Object(object) => out.insert("object".to_owned(), object),
                Success::Stream(endpoint) => out.insert("stream".to_owned(), json!(endpoint)),
                Success::Done | Success::Accepted => None,
            };
        }
        Err(refusal) => {
            out.insert("code".to_owned(), json!(refusal.reason.code()));
            out.insert("reason".to_owned(), json!(refusal.reason.as_str()));
            out.insert("message".to_owned(), json!(refusal.message));
        }
    }
    Value::Object(out)
}

fn observe(question: &Question) -> serde_json::Result<Observed> {
    fn all<T: DeserializeOwned>(objects: &[Value], kind: &str) -> serde_json::Result<Vec<T>> {
        objects.iter().filter(|o| o["kind"] == kind).map(|o| T::deserialize(o)).collect()
    }
    Ok(Observed {
        machine: question.vm.as_ref().map(Deserialize::deserialize).transpose()?,
        instance: question.vmi.as_ref().map(Deserialize::deserialize).transpose()?,
        nodes: all::<Node>(&question.objects, "Node")?,
        claims: all::<PersistentVolumeClaim>(&question.objects, "PersistentVolumeClaim")?,
        pods: all::<Pod>(&question.objects, "Pod")?,
        instancetypes: question.objects.clone(),
        overhead: None,
    })
}

fn fits(write: &Write, question: &Question) -> bool {
    let Write::Patch { target, patch, .. } = write else {
        return true;
    };
    let object = match target {
        Target::Machine | Target::MachineStatus => &question.vm,
        Target::Instance => &question.vmi,
    };
    object.as_ref().is_some_and(|object| patch.holds_for(object))
}

fn show(write: &Write) -> Value {
    match write {
        Write::Patch { target, patch, dry_run, race } => {
            let mut shown = json!({"verb": "patch", "resource": target.resource(), "type": "application/json-patch+json", "patch": patch});
            if *target == Target::MachineStatus {
                shown["subresource"] = json!("status");
            }
            if !dry_run.is_empty() {
                shown["dryRun"] = json!(dry_run);
            }
            shown["onConflict"] = json!(if *race == Race::Conflict { 409 } else { 500 });
            shown
        }
        Write::Migrate { migration, dry_run } => {
            let mut shown = json!({"verb": "create", "resource": "virtualmachineinstancemigrations"});
            shown["object"] = json!({"metadata": migration.metadata, "spec": migration.spec});
            if !dry_run.is_empty() {
                shown["dryRun"] = json!(dry_run);
            }
            shown
        }
    }
}
