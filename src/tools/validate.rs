//! `kubevirt-rs validate`.

mod report;

use std::cell::RefCell;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use kubevirt_rs::admission::{self, Operation, Request, Verdict};
use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::schema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::batch;
use super::input::{self, Input};
use super::judge::{INSTALLATION, Judge, USER, seed, settled};
use report::Output;

/// The arguments of `validate`.
///
/// The exit code is 0 when every object may enter, 1 when one may not, 2 when a file cannot be read.
#[derive(clap::Args)]
#[command(after_help = "Exit codes: 0 every object may enter; 1 one may not; 2 a file cannot be read.")]
pub(crate) struct Args {
    /// Files, folders, or `-` for standard input
    #[arg(value_name = "FILE", required_unless_present = "batch")]
    files: Vec<PathBuf>,
    /// A KubeVirt object whose configuration counts (feature gates, defaults)
    #[arg(long, value_name = "FILE")]
    kubevirt: Option<PathBuf>,
    /// How the answer is printed
    #[arg(short, long, value_enum, default_value_t = Output::Text)]
    output: Output,
    /// Show what defaulting adds to each object
    #[arg(long)]
    explain: bool,
    /// Answer one JSON object a line
    #[arg(long, conflicts_with_all = ["files", "kubevirt", "explain"])]
    batch: bool,
}

/// Runs `validate`.
pub(crate) fn run(args: &Args) -> ExitCode {
    if args.batch {
        let desk = Desk::default();
        return batch::run(|question: Question| desk.answer(&question));
    }
    match answers(args) {
        Ok(answers) => {
            let text = report::print(&answers, args.output, args.explain);
            // who reads the answer may have seen enough
            let _ = io::stdout().lock().write_all(text.as_bytes());
            ExitCode::from(u8::from(answers.iter().any(|a| !a.verdict.allowed)))
        }
        Err(lines) => {
            for line in lines {
                eprintln!("kubevirt-rs: {line}");
            }
            ExitCode::from(2)
        }
    }
}

/// An object of this API and the verdict on it.
struct Answer {
    input: Input,
    verdict: Verdict,
}

fn answers(args: &Args) -> Result<Vec<Answer>, Vec<String>> {
    let (mut inputs, mut faults) = (Vec::new(), Vec::new());
    for file in &args.files {
        match input::read(file) {
            Ok(more) => inputs.extend(more),
            Err(e) => faults.push(e.to_string()),
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let judge = Judge::new(args.kubevirt.as_deref(), &inputs, json!({})).map_err(|line| vec![line])?;
    let ours = |input: &Input| schema::node(&format!("{}/{}", input.document.api_version(), input.document.kind())).is_some();
    let (ours, others): (Vec<Input>, Vec<Input>) = inputs.into_iter().partition(ours);
    for other in others.iter().filter(|o| o.document.api_version().contains("kubevirt.io/")) {
        faults.push(format!(
            "{}: {} {:?} is no kind of this API; see `kubevirt-rs schema crds`",
            other.place("kind"),
            other.document.api_version(),
            other.document.kind()
        ));
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let answer = |input: Input| {
        let verdict = judge.review(input.document.kind(), &settled(&input.document.value));
        Answer { input, verdict }
    };
    Ok(ours.into_iter().map(answer).collect())
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
            namespace: INSTALLATION,
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
