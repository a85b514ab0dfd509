//! `kubevirt-rs schema`: the custom resource definitions, and what the types make of a document.

use std::fs;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::{Context, bail};
use clap::{Subcommand, ValueEnum};
use kubevirt_api::kinds::Kind;
use kubevirt_rs::schema;
use serde_json::Value;

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
    /// Decode a document into its type and encode it again
    Roundtrip {
        /// The document, JSON or YAML; - is standard input
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
        Schema::Crds { output: Notation::Yaml } => {
            for crd in schema::crds() {
                let document: Value = serde_json::from_str(crd.json).with_context(|| format!("read the definition of {}", crd.kind))?;
                print(&format!("---\n{}", serde_yaml::to_string(&document)?))?;
            }
            Ok(())
        }
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
        Schema::Roundtrip { file, output } => {
            let document = read(file)?;
            let Some(kind) = Kind::of(&document) else {
                bail!("{} is of no kind of this API: look at its apiVersion and kind", file.display());
            };
            let document = (kind.recode)(document).with_context(|| format!("decode a {} from {}", kind.kind, file.display()))?;
            show(&document, *output)
        }
    }
}

fn read(path: &Path) -> anyhow::Result<Value> {
    let text = if path == Path::new("-") {
        let mut text = String::new();
        io::stdin().read_to_string(&mut text).map(|_| text)
    } else {
        fs::read_to_string(path)
    };
    let text = text.with_context(|| format!("read {}", path.display()))?;
    serde_yaml::from_str(&text).with_context(|| format!("{} is neither JSON nor YAML", path.display()))
}

fn show(document: &Value, output: Notation) -> anyhow::Result<()> {
    match output {
        Notation::Json => print(&format!("{document:#}\n")),
        Notation::Yaml => print(&serde_yaml::to_string(document)?),
    }
}

/// Prints; a reader that has seen enough is no failure.
fn print(text: &str) -> anyhow::Result<()> {
    match io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => Err(error).context("write to standard output"),
        _ => Ok(()),
    }
}
