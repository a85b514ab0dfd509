//! Serves the webhooks and the aggregated API.

mod args;

use std::process::ExitCode;

pub(crate) use args::Args;

/// Runs the role until it is asked to stop.
pub(crate) fn run(_args: &Args) -> ExitCode {
    super::absent("api")
}
