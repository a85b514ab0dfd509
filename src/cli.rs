//! Arguments → a role or a tool.

use std::io::{self, Write as _};
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;

use crate::{roles, tools};

/// Virtual machines as Kubernetes objects, API-compatible with KubeVirt.
#[derive(Parser)]
#[command(name = "kubevirt-rs", version, propagate_version = true)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    #[command(flatten)]
    Role(roles::Role),
    #[command(flatten)]
    Tool(tools::Tool),
    /// Print what makes a shell complete the arguments of this program
    Completion {
        /// The shell
        #[arg(value_enum)]
        shell: Shell,
    },
}

/// Prints the completion of a shell; a reader that has seen enough is no failure.
fn completion(shell: Shell) -> ExitCode {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kubevirt-rs", &mut script);
    match io::stdout().lock().write_all(&script) {
        Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
            eprintln!("kubevirt-rs: print the completion: {error}");
            ExitCode::FAILURE
        }
        _ => ExitCode::SUCCESS,
    }
}

/// Warnings and errors go to standard error; `KUBEVIRT_RS_LOG` asks for more (such as `debug`, or `kubevirt_rs=trace`).
fn log_to_standard_error() {
    let wanted = EnvFilter::try_from_env("KUBEVIRT_RS_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_writer(io::stderr).with_env_filter(wanted).init();
}

/// Parses the arguments and runs what they name.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse();
    log_to_standard_error();
    match cli.command {
        Command::Role(role) => roles::run(role),
        Command::Tool(tool) => tools::run(tool),
        Command::Completion { shell } => completion(shell),
    }
}
