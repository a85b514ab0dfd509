//! One program, every role. The subcommand decides which: a role in the cluster, the launcher of one guest, or a tool.

mod cli;
mod cluster;
mod images;
mod libvirt;
mod linux;
mod roles;
mod serve;
mod tools;
mod wire;

use std::process::ExitCode;

fn main() -> ExitCode {
    serve::guard::end_on_other_panics();
    cli::run()
}
