//! One program, every role. The subcommand decides which: a role in the cluster, the launcher of one guest, or a tool.

mod cli;
mod roles;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::run()
}
