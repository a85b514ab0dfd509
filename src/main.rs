//! One program, every role. The subcommand decides which: a role in the cluster, the launcher of one guest, or a tool.

mod cli;
mod images;
mod libvirt;
mod linux;
mod roles;
mod tools;

use std::process::ExitCode;

fn main() -> ExitCode {
    linux::memory::few_arenas();
    cli::run()
}
