//! Asks the guest, through the launcher of the pod that this runs in: the probes of an instance, and backup tools, do.

use std::path::PathBuf;
use std::process::ExitCode;

use kubevirt_rs::guest::status::{FaultReason, State};
use kubevirt_rs::pod::paths::SOCKETS;
use tokio::runtime;

use crate::wire::launcher::{Client, ClientError, Exec, Freeze, Ping, SOCKET};

fn client(socket: Option<&PathBuf>) -> Client {
    Client::new(socket.cloned().unwrap_or_else(|| PathBuf::from(SOCKETS).join(SOCKET)))
}

fn wait(work: impl Future<Output = Result<u8, ClientError>>) -> ExitCode {
    let runtime = runtime::Builder::new_current_thread().enable_all().build();
    match runtime.map_err(|e| e.to_string()).and_then(|runtime| runtime.block_on(work).map_err(|e| e.to_string())) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            eprintln!("kubevirt-rs: {error}");
            ExitCode::FAILURE
        }
    }
}

/// The arguments of `probe`, which is `virt-probe` too. Its exit code is that of the command.
#[derive(clap::Args)]
#[group(id = "question", required = true)]
pub(crate) struct ProbeArgs {
    /// The launcher's socket
    #[arg(long, value_name = "SOCKET")]
    socket: Option<PathBuf>,
    /// The name of the guest; a launcher has only one
    #[arg(long = "domainName", value_name = "NAME", hide = true)]
    domain_name: Option<String>,
    /// The command to run inside the guest; its arguments follow after `--`
    #[arg(long, value_name = "PATH", required_unless_present = "guest_agent_ping")]
    command: Option<String>,
    /// How long the guest may take
    #[arg(long = "timeoutSeconds", value_name = "SECONDS", default_value_t = 1)]
    timeout_seconds: u32,
    /// Only ask whether the guest's agent is there
    #[arg(long = "guestAgentPing")]
    guest_agent_ping: bool,
    /// The arguments of the command
    #[arg(last = true)]
    args: Vec<String>,
}

/// Asks the guest.
pub(super) fn probe(args: ProbeArgs) -> ExitCode {
    let client = client(args.socket.as_ref());
    let timeout_seconds = args.timeout_seconds;
    wait(async move {
        let Some(command) = args.command.filter(|_| !args.guest_agent_ping) else {
            return client.ping(&Ping { timeout_seconds }).await.map(|()| 0);
        };
        let executed = client.exec(&Exec { command, args: args.args, timeout_seconds }).await?;
        if !executed.stdout.is_empty() {
            println!("{}", executed.stdout);
        }
        Ok(u8::try_from(executed.exit_code).unwrap_or(1))
    })
}

/// The arguments of `freezer`, which is `virt-freezer` too.
#[derive(clap::Args)]
pub(crate) struct FreezerArgs {
    /// Let the guest's file systems stand still
    #[arg(long, conflicts_with = "unfreeze", required_unless_present = "unfreeze")]
    freeze: bool,
    /// Let them go on
    #[arg(long)]
    unfreeze: bool,
    /// The name of the instance; a launcher has only one
    #[arg(long, value_name = "NAME")]
    name: String,
    /// The namespace of the instance
    #[arg(long, value_name = "NAMESPACE")]
    namespace: String,
    /// After how long they go on by themselves
    #[arg(long = "unfreezeTimeoutSeconds", value_name = "SECONDS", default_value_t = 300)]
    unfreeze_timeout_seconds: u64,
    /// The launcher's socket
    #[arg(long, value_name = "SOCKET")]
    socket: Option<PathBuf>,
}

/// Freezes or thaws the guest. Where there is nobody who could (no agent, or a guest that does not run), nothing needs to.
pub(super) fn freezer(args: FreezerArgs) -> ExitCode {
    let client = client(args.socket.as_ref());
    wait(async move {
        let status = client.status().await?;
        let runs = status.domain.as_ref().is_some_and(|domain| domain.state == State::Running);
        if !runs || status.agent.is_none() {
            eprintln!("kubevirt-rs: {}/{} does not run or has no agent; there is nothing to do", args.namespace, args.name);
            return Ok(0);
        }
        if args.unfreeze {
            return client.unfreeze().await.map(|()| 0);
        }
        let frozen = client.freeze(&Freeze { unfreeze_timeout_seconds: args.unfreeze_timeout_seconds }).await;
        if matches!(&frozen, Err(ClientError::Refused(fault)) if fault.reason == FaultReason::AgentFailed) {
            // part of them may stand still
            let _ = client.unfreeze().await;
        }
        frozen.map(|()| 0)
    })
}
