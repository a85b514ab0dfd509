//! Arguments → a role or a tool.

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use crate::{roles, tools};

/// Virtual machines as Kubernetes objects, API-compatible with KubeVirt.
#[derive(Parser)]
#[command(name = "kubevirt-rs", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Role(roles::Role),
    #[command(flatten)]
    Tool(tools::Tool),
}

/// Parses the arguments and runs what they name.
pub(crate) fn run() -> ExitCode {
    match Cli::parse().command {
        Command::Role(role) => roles::run(role),
        Command::Tool(tool) => tools::run(tool),
    }
}
