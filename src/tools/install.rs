//! `kubevirt-rs install`: the manifests that a person applies.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::Context as _;
use clap::ValueEnum;
use kubevirt_rs::api::v1::KubeVirt;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::install::{self, Cluster, DEFAULT_IMAGE, Installation, Object, Operator, manifest, policies};
use serde_json::{Value, json};

use super::judge;

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
    /// Print the ValidatingAdmissionPolicies, which the operator installs, and their bindings
    #[arg(long, conflicts_with = "cr")]
    policies: bool,
    /// A KubeVirt object, by whose configuration the policies go; - for standard input
    #[arg(long, value_name = "FILE", requires = "policies")]
    kubevirt: Option<PathBuf>,
    /// Print what the operator installs by this KubeVirt object, the definitions left out
    #[arg(long, value_name = "FILE", conflicts_with_all = ["cr", "policies"])]
    of: Option<PathBuf>,
    /// Only objects of this kind; can be given several times
    #[arg(long, value_name = "KIND")]
    kind: Vec<String>,
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
    let mut objects = match &args.of {
        Some(file) => installed(file, args)?,
        None if args.cr => vec![manifest::kubevirt(&args.namespace)],
        None if args.policies => policies::policies(&args.namespace, &configuration(args.kubevirt.as_deref())?),
        None => manifest::operator(&args.namespace, &args.image),
    };
    if !args.kind.is_empty() {
        objects.retain(|object| args.kind.iter().any(|kind| object["kind"].as_str().is_some_and(|own| own.eq_ignore_ascii_case(kind))));
    }
    match args.output {
        Notation::Json => Ok(format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": objects}))),
        Notation::Yaml => objects.iter().map(document).collect(),
    }
}

/// The configuration of the KubeVirt object in a file, or that of a cluster which sets nothing.
fn configuration(file: Option<&Path>) -> anyhow::Result<ClusterConfig> {
    judge::config(file, &[], json!({})).map_err(anyhow::Error::msg)
}

/// What the operator would install by the object in that file, in a cluster of two nodes.
fn installed(file: &Path, args: &Args) -> anyhow::Result<Vec<Value>> {
    let documents = super::input::read(file)?;
    let object = documents.iter().find(|input| input.document.kind() == "KubeVirt");
    let kubevirt: KubeVirt = object.with_context(|| format!("{}: give a KubeVirt object", file.display()))?.decode()?;
    let namespace = kubevirt.metadata.namespace.clone().unwrap_or_default();
    let operator = Operator { image: &args.image, namespace: &namespace, version: env!("CARGO_PKG_VERSION") };
    let installation = Installation::new(&kubevirt, &operator, Cluster { nodes: 2, security_constraints: false })?;
    // The authorities' certificates come when it is installed.
    Ok(install::objects(&installation, "").into_iter().map(Object::into_value).collect())
}

fn document(object: &Value) -> anyhow::Result<String> {
    let text = serde_yaml::to_string(object).context("write the object as YAML")?;
    Ok(format!("---\n{text}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;

    fn args(output: Notation) -> Args {
        let (namespace, image) = ("kubevirt".to_owned(), DEFAULT_IMAGE.to_owned());
        Args { namespace, image, cr: false, policies: false, kubevirt: None, of: None, kind: Vec::new(), output }
    }

    /// `UPDATE_GOLDEN=1` remakes the files.
    #[test]
    fn the_files_in_the_tree_are_what_is_printed() {
        for (file, cr) in [("kubevirt-operator.yaml", false), ("kubevirt-cr.yaml", true)] {
            let args = Args { cr, ..args(Notation::Yaml) };
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
        let with = |output| text(&Args { namespace: "virt".to_owned(), image: "i".to_owned(), ..args(output) }).unwrap();
        let list: Value = serde_json::from_str(&with(Notation::Json)).unwrap();
        let yaml = with(Notation::Yaml);
        let documents: Vec<Value> = yaml.split("---\n").skip(1).map(|text| serde_yaml::from_str(text).unwrap()).collect();
        assert_eq!(list["items"], json!(documents));
    }
}
