//! The arguments of the role `controller`.

/// What the role `controller` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {}
