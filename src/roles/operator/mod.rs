//! Installs and upgrades the other roles in a cluster.

mod args;

use std::process::ExitCode;

pub(crate) use args::Args;

/// Runs the role until it is asked to stop.
pub(crate) fn run(_args: &Args) -> ExitCode {
    super::absent("operator")
}
