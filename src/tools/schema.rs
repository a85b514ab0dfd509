//! `kubevirt-rs schema`: the custom resource definitions, and what the types make of a document.

use std::fs;
use std::io::{self, Write};
use std::num::NonZero;
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use kubevirt_api::kinds::Kind;
use kubevirt_rs::schema;
use serde_json::Value;

use super::input;

/// What to do with the schemas.
#[derive(Subcommand)]
pub(crate) enum Schema {
    /// Print every CustomResourceDefinition
    Crds {
        /// The notation
        #[arg(short, long, value_enum, default_value_t = Notation::Yaml)]
        output: Notation,
    },
    /// Print the OpenAPI document of the aggregated API
    Openapi {
        /// The version of the API
        #[arg(long = "api", default_value = "v1", value_parser = schema::operations::VERSIONS)]
        api_version: String,
        /// The older specification, of all versions of the API at once
        #[arg(long, conflicts_with = "api_version")]
        v2: bool,
    },
    /// Explain a field: its type, limits and meaning
    Explain {
        /// The field, such as vm.spec.template.spec.domain.cpu
        path: String,
    },
    /// Write the CustomResourceDefinitions that the types make, one file each
    Generate {
        /// Where to
        #[arg(default_value = "src/schema/generated")]
        directory: PathBuf,
    },
    /// Decode documents into their types and encode them again
    Roundtrip {
        /// A file or a folder, JSON or YAML; - is standard input
        #[arg(short, long)]
        file: PathBuf,
        /// The notation
        #[arg(short, long, value_enum, default_value_t = Notation::Yaml)]
        output: Notation,
    },
}

/// How a document is written.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Notation {
    Json,
    Yaml,
}

/// Runs `schema`.
pub(crate) fn run(what: &Schema) -> ExitCode {
    match act(what) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubevirt-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn act(what: &Schema) -> anyhow::Result<()> {
    match what {
        Schema::Crds { output: Notation::Json } => print(&schema::list()),
        Schema::Crds { output: Notation::Yaml } => in_parallel(schema::crds(), in_yaml).into_iter().try_for_each(|text| print(&text?)),
        Schema::Openapi { v2: true, .. } => show(&schema::openapi::v2(), Notation::Json),
        Schema::Openapi { api_version, .. } => show(&schema::openapi::v3(api_version), Notation::Json),
        Schema::Explain { path } => print(&schema::explain(path)?),
        Schema::Generate { directory } => {
            for (name, text) in schema::files() {
                let path = directory.join(name);
                fs::write(&path, text).with_context(|| format!("write {}", path.display()))?;
            }
            Ok(())
        }
        Schema::Roundtrip { file, output } => input::read(file)?.into_iter().try_for_each(|input| {
            let document = input.document.value;
            let document = match Kind::of(&document) {
                Some(kind) => (kind.recode)(&document).with_context(|| format!("{}: decode a {}", input.source, kind.kind))?,
                None if is_ours(&document) => bail!("{}: the API has no such kind: look at apiVersion and kind", input.source),
                // What others define, such as a secret beside a machine, stays as it is.
                None => document,
            };
            show(&document, *output)
        }),
    }
}

/// Whether a document claims to be of one of our groups.
fn is_ours(document: &Value) -> bool {
    let version = document.get("apiVersion").and_then(Value::as_str).unwrap_or_default();
    version.split_once('/').is_none_or(|(group, _)| group.ends_with("kubevirt.io")) && version != "v1"
}

/// Does something to every item, on all processors; the results are in the order of the items.
fn in_parallel<T: Sync, R: Send>(items: &[T], act: impl Fn(&T) -> R + Sync) -> Vec<R> {
    let workers = thread::available_parallelism().map_or(1, NonZero::get);
    let share = |worker| {
        let items = items.iter().enumerate().skip(worker).step_by(workers);
        items.map(|(place, item)| (place, act(item))).collect::<Vec<_>>()
    };
    let share = &share;
    let mut results: Vec<(usize, R)> = thread::scope(|scope| {
        let threads: Vec<_> = (0..workers).map(|worker| scope.spawn(move || share(worker))).collect();
        threads.into_iter().flat_map(|thread| thread.join().unwrap_or_else(|panic| resume_unwind(panic))).collect()
    });
    results.sort_by_key(|(place, _)| *place);
    results.into_iter().map(|(_, result)| result).collect()
}

fn in_yaml(crd: &schema::Crd) -> anyhow::Result<String> {
    let document: Value = serde_json::from_str(crd.json).with_context(|| format!("read the definition of {}", crd.kind))?;
    Ok(format!("---\n{}", serde_yaml::to_string(&document)?))
}

fn show(document: &Value, output: Notation) -> anyhow::Result<()> {
    match output {
        Notation::Json => print(&format!("{document:#}\n")),
        Notation::Yaml => print(&format!("---\n{}", serde_yaml::to_string(document)?)),
    }
}

/// Prints; a reader that has seen enough is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("write to standard output"),
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_keep_the_order_of_their_items() {
        let items: Vec<usize> = (0..50).collect();
        assert_eq!(in_parallel(&items, |item| item * 2), items.iter().map(|item| item * 2).collect::<Vec<_>>());
        assert!(in_parallel(&[], |item: &u8| *item).is_empty());
    }
}
