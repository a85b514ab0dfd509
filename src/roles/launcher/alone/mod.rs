//! The launcher on a machine of its own:
//!
//! ```text
//!  files ─ machine::read ─▶ VMI ─ host::look ─▶ facts ─ sandbox::enter ─▶ inside::run
//!                                                                            │ images unpacked, disks made
//!                                                                            │ libvirt started, domain converted
//!                                                                            ▼
//!                                                              console ⇄ guest ⇄ forwarded ports
//! ```

mod console;
mod disks;
mod host;
mod inside;
mod lacks;
mod machine;
mod ports;
mod report;
mod screen;
mod shares;
mod state;

use std::process::ExitCode;

use super::Refusal;
use super::args::Args;
use crate::linux::sandbox::{self, Side};
use crate::linux::scratch::Scratch;
use crate::linux::terminal::Modes;

/// Runs the launcher without a cluster.
pub(super) fn run(args: Args) -> Result<ExitCode, Refusal> {
    args.check()?;
    let mut machine = machine::read(&args)?;
    let sources = disks::Sources::find(&mut machine, &args)?;
    if args.dry_run {
        print!("{}", inside::dry_run(&machine, &sources, &args)?);
        return Ok(ExitCode::SUCCESS);
    }
    let host = host::look(&machine, &args)?;
    let ports = ports::reserve(&args)?;
    let screen = args.vnc.map(screen::bind).transpose()?;
    let state = state::open(&machine, &args)?;

    let base = std::env::temp_dir();
    let scratch = Scratch::new(&base).map_err(|e| {
        Refusal::host(vec![format!(
            "{}: no private folder can be made there: {e}; set TMPDIR to one that can be written to",
            base.display()
        )])
    })?;
    if scratch.path().as_os_str().len() > host::MAX_FOLDER {
        let _ = scratch.remove();
        let line = format!(
            "{}: the path is too long for the sockets that go below it; set TMPDIR to one of at most {} characters",
            base.display(),
            host::MAX_FOLDER - 24
        );
        return Err(Refusal::host(vec![line]));
    }
    let modes = Modes::save();
    match sandbox::enter() {
        Ok(Side::Outside(outside)) => {
            drop((ports, screen));
            let code = outside.wait();
            if let Some(modes) = modes {
                modes.restore();
            }
            if let Err(e) = scratch.remove() {
                eprintln!("kubevirt-rs: {} could not be removed: {e}", scratch.path().display());
            }
            Ok(ExitCode::from(code))
        }
        Ok(Side::Inside(inside)) => inside::run(inside, &inside::Launch { machine, sources, host, ports, screen, state, scratch, args }),
        Err(e) => {
            let _ = scratch.remove();
            Err(Refusal::host(vec![e.to_string()]))
        }
    }
}
