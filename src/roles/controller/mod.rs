//! Turns VirtualMachines into instances, and instances into pods.

mod args;

use std::process::ExitCode;

pub(crate) use args::Args;

/// Runs the role until it is asked to stop.
pub(crate) fn run(_args: &Args) -> ExitCode {
    super::absent("controller")
}
