//! The arguments of the role `api`.

/// What the role `api` is told when it starts.
#[derive(clap::Args)]
pub(crate) struct Args {}
