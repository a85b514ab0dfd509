//! The tools: what a person or a pipeline asks of the same decisions that the roles take.

mod batch;
mod bundle;
mod console_log;
mod diff;
mod explain_overhead;
pub(crate) mod input;
mod install;
pub(crate) mod judge;
mod probe;
mod render;
mod scene;
mod schema;
mod validate;

use std::process::ExitCode;

use clap::Subcommand;

/// A tool.
#[derive(Subcommand)]
pub(crate) enum Tool {
    /// Judge objects as the cluster would, without a cluster
    Validate(validate::Args),
    /// Print the manifests that install the operator
    Install(install::Args),
    /// Print the instance types and preferences that come with an installation
    Bundle(bundle::Args),
    /// Show what an object becomes
    #[command(subcommand)]
    Render(render::Render),
    /// Show how the memory request of a machine's launcher pod comes about
    ExplainOverhead(scene::File),
    /// Print a file that grows, as the container guest-console-log does
    ConsoleLog(console_log::Args),
    /// Ask the guest of the launcher's pod that this runs in
    Probe(probe::ProbeArgs),
    /// Freeze or thaw the file systems of the guest of the launcher's pod that this runs in
    Freezer(probe::FreezerArgs),
    /// The schemas of the API
    #[command(subcommand)]
    Schema(schema::Schema),
}

/// Runs a tool.
pub(crate) fn run(tool: Tool) -> ExitCode {
    match tool {
        Tool::Validate(args) => validate::run(&args),
        Tool::Install(args) => install::run(&args),
        Tool::Bundle(args) => bundle::run(&args),
        Tool::Render(what) => render::run(&what),
        Tool::ExplainOverhead(args) => explain_overhead::run(&args),
        Tool::ConsoleLog(args) => console_log::run(&args),
        Tool::Probe(args) => probe::probe(args),
        Tool::Freezer(args) => probe::freezer(args),
        Tool::Schema(what) => schema::run(&what),
    }
}

/// Prints what a tool found out, or why it could not.
fn print(text: anyhow::Result<String>) -> ExitCode {
    match text {
        Ok(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("kubevirt-rs: {error:#}");
            ExitCode::FAILURE
        }
    }
}
