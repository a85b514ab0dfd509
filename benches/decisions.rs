//! How many decisions a second one core makes, in process: a line of JSON for each figure.
//!
//!     cargo bench --bench decisions [-- --cases FOLDER]
//!
//! The objects are those of examples/, one after the other, again and again. `--cases` takes the objects of recorded
//! cases (`admission.jsonl`, `domain.jsonl`, `pod.jsonl`) instead.

use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use std::{env, fs};

use anyhow::{Context as _, Result};
use kubevirt_rs::admission::{self, Operation, Request, Seed};
use kubevirt_rs::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::{domain, manifest, pod};
use serde::Deserialize;
use serde_json::{Value, json};

/// How long each figure is measured.
const SPAN: Duration = Duration::from_secs(3);

/// A recorded question to admission.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Question {
    kind: String,
    #[serde(default)]
    operation: Operation,
    #[serde(default)]
    config: Option<KubeVirtConfiguration>,
    object: Value,
    old_object: Option<Value>,
    #[serde(default)]
    cluster: Vec<Value>,
}

/// An instance and the configuration of its cluster.
struct Instance {
    vmi: VirtualMachineInstance,
    config: ClusterConfig,
}

fn main() -> Result<()> {
    // Cargo adds options of its own
    let cases = env::args().skip_while(|argument| argument != "--cases").nth(1).map(PathBuf::from);
    let examples = examples()?;
    let questions = match &cases {
        Some(folder) => lines(&folder.join("admission.jsonl"))?,
        None => examples.iter().filter(|e| is(e, "VirtualMachine") || is(e, "VirtualMachineInstance")).map(question).collect(),
    };
    let configured: Vec<_> =
        questions.into_iter().map(|mut q: Question| (ClusterConfig::new(&q.config.take().unwrap_or_default()), q)).collect();
    measure("default and judge an object", &configured, |(config, question)| Ok(usize::from(review(config, question).allowed)))?;

    let (domains, pods) = match &cases {
        Some(folder) => (instances(&folder.join("domain.jsonl"))?, instances(&folder.join("pod.jsonl"))?),
        None => (admitted(&configured)?, admitted(&configured)?),
    };
    let facts = domain::Facts::default();
    measure("instance to libvirt XML", &domains, |instance| Ok(domain::convert(&instance.vmi, &facts).map_or(0, |d| d.to_xml().len())))?;
    let context = pod::Context::default();
    measure("instance to pod", &pods, |instance| {
        Ok(pod::render(&instance.vmi, &instance.config, &context).map_or(0, |pod| pod.spec.map_or(0, |spec| spec.containers.len())))
    })
}

/// Runs `decide` on the items in turn for a while, and prints how many times a second.
fn measure<T>(name: &str, items: &[T], decide: impl Fn(&T) -> Result<usize>) -> Result<()> {
    anyhow::ensure!(!items.is_empty(), "{name}: there is nothing to measure it on");
    let (begin, mut count) = (Instant::now(), 0_u32);
    while begin.elapsed() < SPAN {
        for item in items {
            black_box(decide(black_box(item))?);
            count += 1;
        }
    }
    println!("{}", json!({"name": name, "perSecond": (f64::from(count) / begin.elapsed().as_secs_f64()).round()}));
    Ok(())
}

/// Every object in examples/.
fn examples() -> Result<Vec<Value>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples");
    let mut files: Vec<_> = fs::read_dir(&folder)?.map(|file| Ok(file?.path())).collect::<Result<_>>()?;
    files.sort();
    let mut objects = Vec::new();
    for file in files.iter().filter(|file| file.extension().is_some_and(|extension| extension == "yaml")) {
        let documents = manifest::read(&fs::read(file)?).with_context(|| format!("read {}", file.display()))?;
        objects.extend(documents.into_iter().map(|document| document.value));
    }
    Ok(objects)
}

fn is(object: &Value, kind: &str) -> bool {
    object.get("kind").and_then(Value::as_str) == Some(kind)
}

fn question(object: &Value) -> Question {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
    Question { kind, operation: Operation::Create, config: None, object: object.clone(), old_object: None, cluster: Vec::new() }
}

fn review(config: &ClusterConfig, question: &Question) -> admission::Verdict {
    admission::review(&Request {
        kind: &question.kind,
        operation: question.operation,
        config,
        object: &question.object,
        old: question.old_object.as_ref(),
        user: "somebody",
        user_node: None,
        namespace: "kubevirt",
        cluster: &question.cluster,
        seed: Seed(7),
        now: jiff::Timestamp::UNIX_EPOCH,
    })
}

fn lines<T: for<'a> Deserialize<'a>>(file: &Path) -> Result<Vec<T>> {
    let text = fs::read_to_string(file).with_context(|| format!("read {}", file.display()))?;
    text.lines().map(|line| serde_json::from_str(line).with_context(|| format!("read a line of {}", file.display()))).collect()
}

/// The instances of recorded translations.
fn instances(file: &Path) -> Result<Vec<Instance>> {
    #[derive(Deserialize)]
    struct Case {
        vmi: VirtualMachineInstance,
        #[serde(default)]
        config: Option<KubeVirtConfiguration>,
    }
    let cases: Vec<Case> = lines(file)?;
    Ok(cases.into_iter().map(|case| Instance { vmi: case.vmi, config: ClusterConfig::new(&case.config.unwrap_or_default()) }).collect())
}

/// The instances among the objects, as admission makes them.
fn admitted(questions: &[(ClusterConfig, Question)]) -> Result<Vec<Instance>> {
    let instances = questions.iter().filter(|(_, question)| question.kind == "VirtualMachineInstance");
    instances
        .map(|(config, question)| {
            let vmi = serde_json::from_value(review(config, question).object)?;
            Ok(Instance { vmi, config: config.clone() })
        })
        .collect()
}
