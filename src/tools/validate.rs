//! `kubevirt-rs validate`.

use std::cell::RefCell;
use std::process::ExitCode;

use kubevirt_rs::admission::{self, Operation, Request, Seed, Verdict};
use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use serde::Deserialize;
use serde_json::Value;

use super::batch;

/// The arguments of `validate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long)]
    batch: bool,
}

/// Who asks when nobody is named.
const USER: &str = "kubernetes-admin";
/// Where KubeVirt is installed.
const NAMESPACE: &str = "kubevirt";

/// Runs `validate`.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.batch {
        let desk = Desk::default();
        return batch::run(|question: Question| desk.answer(&question));
    }
    ExitCode::from(2)
}

/// One line of the batch form.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    kind: String,
    #[serde(default)]
    operation: Operation,
    #[serde(default)]
    config: Value,
    object: Value,
    old_object: Option<Value>,
    user: Option<String>,
    #[serde(default)]
    cluster: Vec<Value>,
}

/// Answers questions, and remembers the configuration of the last one: lines in a row mostly share it.
#[derive(Default)]
struct Desk {
    last: RefCell<Option<(Value, ClusterConfig)>>,
}

impl Desk {
    fn answer(&self, question: &Question) -> Verdict {
        let mut last = self.last.borrow_mut();
        let (_, config) = match last.take() {
            Some(known) if known.0 == question.config => last.insert(known),
            _ => last.insert((question.config.clone(), configuration(&question.config))),
        };
        admission::review(&Request {
            kind: &question.kind,
            operation: question.operation,
            config,
            object: &question.object,
            old: question.old_object.as_ref(),
            user: question.user.as_deref().unwrap_or(USER),
            user_node: None,
            namespace: NAMESPACE,
            cluster: &question.cluster,
            seed: seed(),
            now: jiff::Timestamp::now(),
        })
    }
}

fn configuration(settings: &Value) -> ClusterConfig {
    let settings: Option<KubeVirtConfiguration> = Option::deserialize(settings).unwrap_or_default();
    ClusterConfig::new(&settings.unwrap_or_default())
}

/// Fresh random bits: the standard library keys every hasher anew from the system's own source.
fn seed() -> Seed {
    use std::hash::{BuildHasher, RandomState};
    let half = || u128::from(RandomState::new().hash_one(()));
    Seed((half() << 64) | half())
}
