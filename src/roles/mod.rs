//! The roles: each connects decisions to effects and holds no rule of its own.

mod launcher;

use std::process::ExitCode;

use clap::Subcommand;

/// A role of the one program.
#[derive(Subcommand)]
pub(crate) enum Role {
    /// Install and upgrade the other roles in a cluster
    Operator,
    /// Serve the webhooks and the aggregated API
    Api,
    /// Turn VirtualMachines into instances, and instances into pods
    Controller,
    /// Serve one node: devices, networks, guests
    Handler,
    /// Run one guest: alone on a machine, or as process 1 of its pod
    Launcher(Box<launcher::Args>),
}

/// Runs a role until it ends.
pub(crate) fn run(role: Role) -> ExitCode {
    let name = match role {
        Role::Operator => "operator",
        Role::Api => "api",
        Role::Controller => "controller",
        Role::Handler => "handler",
        Role::Launcher(args) => return launcher::run(*args),
    };
    eprintln!("kubevirt-rs: the role {name} is not part of this version; `kubevirt-rs launcher --vmi FILE` runs a guest without a cluster");
    ExitCode::from(2)
}
