//! The launcher: one guest, from its object to its end.
//!
//! In a pod it is process 1 ([`pod`]): it is told by the node's handler what to run. Without a cluster ([`alone`]) it
//! makes itself a sandbox, and reads from files what to run. Both go the same way, by the same parts:
//!
//! ```text
//!  what to run ─▶ facts ─▶ files made ([`make`]) ─┐
//!                          libvirt started ───────┴▶ domain converted, defined, started ─▶ watched ([`steps`]) ─▶ end
//! ```

mod alone;
mod args;
mod host;
mod make;
mod metrics;
mod pod;
mod steps;

use std::process::ExitCode;

pub(crate) use args::Args;

/// Why nothing was started: what to say, and the exit code that tells the kind.
pub(crate) struct Refusal {
    code: u8,
    lines: Vec<String>,
}

impl Refusal {
    /// The object, or the file that it is in, is at fault.
    fn object(lines: Vec<String>) -> Self {
        Self { code: 1, lines }
    }

    /// The arguments are at fault.
    fn usage(line: impl Into<String>) -> Self {
        Self { code: 2, lines: vec![line.into()] }
    }

    /// The machine lacks something.
    fn host(lines: Vec<String>) -> Self {
        Self { code: 3, lines }
    }

    /// Something failed on the way.
    fn failure(line: impl std::fmt::Display) -> Self {
        Self { code: 4, lines: vec![line.to_string()] }
    }

    fn say(&self) -> ExitCode {
        for line in &self.lines {
            eprintln!("kubevirt-rs: {line}");
        }
        ExitCode::from(self.code)
    }
}

/// Runs the launcher.
pub(crate) fn run(args: Args) -> ExitCode {
    if args.vmi.is_none() {
        return pod::run(&args.pod);
    }
    match alone::run(args) {
        Ok(code) => code,
        Err(refusal) => refusal.say(),
    }
}
