//! `kubevirt-rs render`: what an object becomes on its way down.

mod domain;
mod expand;
mod pod;
mod settle;
mod subresource;

use std::process::ExitCode;

use clap::Subcommand;

/// What to show.
#[derive(Subcommand)]
pub(crate) enum Render {
    /// The libvirt domain of a VirtualMachineInstance
    Domain(domain::Args),
    /// A VirtualMachine with its instance type and preference written out
    Expand(expand::Args),
    /// The launcher pod of a VirtualMachineInstance
    Pod(pod::Args),
    /// What the controllers make of a VirtualMachine, once nothing is left to do
    Settle(settle::Args),
    /// What a request of the aggregated API does
    Subresource(subresource::Args),
}

/// Runs `render`.
pub(crate) fn run(what: &Render) -> ExitCode {
    match what {
        Render::Domain(args) => domain::run(args),
        Render::Expand(args) => expand::run(args),
        Render::Pod(args) => pod::run(args),
        Render::Settle(args) => settle::run(args),
        Render::Subresource(args) => subresource::run(args),
    }
}
