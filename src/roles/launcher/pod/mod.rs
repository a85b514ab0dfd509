//! The launcher as process 1 of its pod.
//!
//! ```text
//!                    ┌──────────── driver: the one task that owns the guest ───────────┐
//!  handler ─ server ─▶ requests ─▶ waits for an order ─▶ start ─▶ watches ─▶ ending     │
//!     ▲          │                        libvirt, agent, signals, time ─▶              │
//!     └── board ◀┴──────────────── what is known, for everyone who asks ◀──────────────┘
//! ```
//!
//! It is not root and has no capability but one: a port below 1024 for DHCP ([`dhcp`]). Whatever needs more (images,
//! links, devices) the handler has brought before it says what to run.

mod agent;
mod board;
mod console;
mod credentials;
mod dhcp;
mod driver;
mod ending;
mod facts;
mod found;
mod growth;
mod hooks;
mod memory_dump;
mod operate;
mod server;
mod shares;
mod start;
mod task;

use std::process::ExitCode;
use std::time::Duration;

use kubevirt_rs::guest::status::{Fault, FaultReason};
use tokio::runtime;

use self::board::Board;
use self::driver::Driver;
use super::args::PodArgs;
use crate::linux::children::Children;

/// The exit code of a launcher whose guest never started.
const NEVER_STARTED: u8 = 2;

fn fault(reason: FaultReason, message: impl std::fmt::Display) -> Fault {
    Fault { reason, message: message.to_string(), field: None }
}

/// Runs the launcher of a pod, until the guest is gone.
pub(super) fn run(args: &PodArgs) -> ExitCode {
    if args.nothing {
        return ExitCode::SUCCESS;
    }
    if args.simulate_crash {
        eprintln!("kubevirt-rs: Failed as asked (--simulate-crash)");
        return ExitCode::from(NEVER_STARTED);
    }
    let mut builder = runtime::Builder::new_current_thread();
    let runtime =
        builder.enable_all().max_blocking_threads(8).thread_stack_size(512 << 10).thread_keep_alive(Duration::from_secs(1)).build();
    match runtime {
        Ok(runtime) => {
            let code = runtime.block_on(launch(args));
            // a call of libvirt may still wait for an answer that nobody needs any more
            runtime.shutdown_background();
            ExitCode::from(code)
        }
        Err(error) => {
            eprintln!("kubevirt-rs: Failed to start: {error}");
            ExitCode::from(NEVER_STARTED)
        }
    }
}

async fn launch(args: &PodArgs) -> u8 {
    let board = Board::new(args.uid.as_deref().unwrap_or_default());
    let outcome = async {
        let cannot = |what: &'static str| move |e: std::io::Error| fault(FaultReason::Failed, format!("Failed to {what}: {e}"));
        let children = Children::reap().map_err(cannot("watch for children"))?;
        let requests = server::serve(args, &board).map_err(cannot("serve the handler"))?;
        Driver::new(args, &board, children, requests).map_err(cannot("watch for signals"))?.run().await
    };
    let outcome = outcome.await;
    let failed = outcome.is_err();
    let code = ending::tell(args, &board, outcome).await;
    if failed && args.keep_after_failure {
        tracing::warn!("The pod stays, as the instance's annotation asks; delete it when you have seen enough");
        ending::until_told().await;
    }
    code
}
