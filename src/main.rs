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
    tracing_subscriber::fmt()
        .with_writer(std::io::stderr)
        .with_env_filter(tracing_subscriber::EnvFilter::try_from_env("KUBEVIRT_RS_LOG").unwrap_or_else(|_| "warn".into()))
        .init();
    cli::run()
}
