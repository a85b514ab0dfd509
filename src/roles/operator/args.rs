//! The arguments of the role `operator`.

/// What the role `operator` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {}
