//! `kubevirt-rs validate`.

use std::process::ExitCode;

/// The arguments of `validate`.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Answer one JSON object a line
    #[arg(long)]
    batch: bool,
}

/// Runs `validate`.
pub(crate) fn run(args: &Args) -> ExitCode {
    let _ = args.batch;
    ExitCode::from(2)
}
