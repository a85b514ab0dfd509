//! `kubevirt-rs install`: the manifests that a person applies.

use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use kubevirt_rs::install::{DEFAULT_IMAGE, manifest};
use serde_json::{Value, json};

/// The arguments of `install`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The namespace of the installation
    #[arg(short, long, default_value = "kubevirt")]
    namespace: String,
    /// The image of every component
    #[arg(long, env = "KUBEVIRT_RS_IMAGE", default_value = DEFAULT_IMAGE)]
    image: String,
    /// Print the KubeVirt object, which tells the operator to install the rest
    #[arg(long)]
    cr: bool,
    /// The notation
    #[arg(short, long, value_enum, default_value_t = Notation::Yaml)]
    output: Notation,
}

#[derive(Clone, Copy, ValueEnum)]
enum Notation {
    Yaml,
    Json,
}

/// Runs `install`.
pub(crate) fn run(args: &Args) -> ExitCode {
    super::print(text(args))
}

fn text(args: &Args) -> anyhow::Result<String> {
    let objects = if args.cr { vec![manifest::kubevirt(&args.namespace)] } else { manifest::operator(&args.namespace, &args.image) };
    match args.output {
        Notation::Json => Ok(format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": objects}))),
        Notation::Yaml => objects.iter().map(document).collect(),
    }
}

fn document(object: &Value) -> anyhow::Result<String> {
    let text = serde_yaml::to_string(object).context("write the object as YAML")?;
    Ok(format!("---\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    /// `UPDATE_GOLDEN=1` remakes the files.
    #[test]
    fn the_files_in_the_tree_are_what_is_printed() {
        for (file, cr) in [("kubevirt-operator.yaml", false), ("kubevirt-cr.yaml", true)] {
            let args = Args { namespace: "kubevirt".to_owned(), image: DEFAULT_IMAGE.to_owned(), cr, output: Notation::Yaml };
            let printed = text(&args).unwrap();
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy").join(file);
            if std::env::var_os("UPDATE_GOLDEN").is_some() {
                fs::write(&path, &printed).unwrap();
            }
            let kept = fs::read_to_string(&path).unwrap();
            assert!(kept == printed, "{file} is not what is printed; UPDATE_GOLDEN=1 makes it so");
        }
    }

    #[test]
    fn both_notations_say_the_same() {
        let with = |output| text(&Args { namespace: "virt".to_owned(), image: "i".to_owned(), cr: false, output }).unwrap();
        let list: Value = serde_json::from_str(&with(Notation::Json)).unwrap();
        let yaml = with(Notation::Yaml);
        let documents: Vec<Value> = yaml.split("---\n").skip(1).map(|text| serde_yaml::from_str(text).unwrap()).collect();
        assert_eq!(list["items"], json!(documents));
    }
}
