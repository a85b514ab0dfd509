//! `kubevirt-rs render subresource`.

use std::process::ExitCode;

/// The arguments of `render subresource`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long)]
    batch: bool,
}

/// Runs `render subresource`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let _ = args.batch;
    ExitCode::from(2)
}
