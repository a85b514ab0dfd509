//! The roles: each connects decisions to effects and holds no rule of its own.

mod api;
mod controller;
mod handler;
mod launcher;
mod operator;

use std::process::ExitCode;

use clap::Subcommand;

/// A role of the one program.
#[derive(Subcommand)]
pub(crate) enum Role {
    /// Install and upgrade the other roles in a cluster
    Operator(Box<operator::Args>),
    /// Serve the webhooks and the aggregated API
    Api(Box<api::Args>),
    /// Turn VirtualMachines into instances, and instances into pods
    Controller(Box<controller::Args>),
    /// Serve one node: devices, networks, guests
    Handler(Box<handler::Args>),
    /// Run one guest: alone on a machine, or as process 1 of its pod
    Launcher(Box<launcher::Args>),
}

impl Role {
    /// Whether it is one of those that serve a whole cluster or node, and tell what they change.
    pub(crate) fn is_of_a_cluster(&self) -> bool {
        !matches!(self, Self::Launcher(args) if args.vmi.is_some())
    }
}

/// Runs a role until it ends.
pub(crate) fn run(role: Role) -> ExitCode {
    match role {
        Role::Operator(args) => operator::run(&args),
        Role::Api(args) => api::run(&args),
        Role::Controller(args) => controller::run(&args),
        Role::Handler(args) => handler::run(&args),
        Role::Launcher(args) => launcher::run(*args),
    }
}
