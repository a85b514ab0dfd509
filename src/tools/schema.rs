//! `kubevirt-rs schema`: the custom resource definitions, and what the types make of a document.

use std::process::ExitCode;

use clap::Subcommand;

/// What to do with the schemas.
#[derive(Subcommand)]
pub(crate) enum Schema {
    /// Print every CustomResourceDefinition
    Crds,
}

/// Runs `schema`.
pub(crate) fn run(what: &Schema) -> ExitCode {
    match what {
        Schema::Crds => ExitCode::from(2),
    }
}
