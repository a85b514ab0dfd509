//! The arguments of the role `handler`.

/// What the role `handler` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {}
