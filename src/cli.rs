//! Arguments → a role or a tool.

use std::ffi::OsString;
use std::io::{self, IsTerminal as _, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};
use clap_complete::Shell;
use tracing_subscriber::EnvFilter;

use crate::{linux, roles, tools};

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

/// What a program of this kind says by default, and in which form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Voice {
    /// A person looks on: warnings and errors.
    Tool,
    /// A role of a cluster: also every object that it changes; in a pod as JSON.
    Role,
}

/// Everything said goes to standard error; `KUBEVIRT_RS_LOG` asks for more or less (such as `debug`, or
/// `kubevirt_rs=trace`).
fn log_to_standard_error(voice: Voice) {
    let usual = if voice == Voice::Role { "info" } else { "warn" };
    let wanted = EnvFilter::try_from_env("KUBEVIRT_RS_LOG").unwrap_or_else(|_| EnvFilter::new(usual));
    let log = tracing_subscriber::fmt().with_writer(io::stderr).with_ansi(io::stderr().is_terminal()).with_env_filter(wanted);
    // Every pod is told where the API server is.
    if voice == Voice::Role && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some() {
        log.json().flatten_event(true).with_current_span(false).with_span_list(false).init();
    } else {
        log.init();
    }
}

/// The names by which probes, hooks and backup tools of KubeVirt call programs, and the subcommands that those are here.
const NAMES: [(&str, &str); 3] = [("virt-tail", "console-log"), ("virt-probe", "probe"), ("virt-freezer", "freezer")];

/// The arguments, with the subcommand that the program's own name stands for.
fn arguments(given: impl Iterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = given.collect();
    let called = arguments.first().map(Path::new).and_then(Path::file_name);
    if let Some((_, subcommand)) = NAMES.iter().find(|(name, _)| called == Some(name.as_ref())) {
        arguments.insert(1, subcommand.into());
    }
    arguments
}

/// Parses the arguments and runs what they name.
pub(crate) fn run() -> ExitCode {
    let cli = Cli::parse_from(arguments(std::env::args_os()));
    log_to_standard_error(match &cli.command {
        Command::Role(role) if role.is_of_a_cluster() => Voice::Role,
        _ => Voice::Tool,
    });
    match cli.command {
        Command::Role(role) => {
            linux::memory::arenas(1);
            tracing::info!(version = env!("CARGO_PKG_VERSION"), "starting");
            roles::run(role)
        }
        Command::Tool(tool) => tools::run(tool),
        Command::Completion { shell } => completion(shell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_programs_name_may_stand_for_a_subcommand() {
        for (given, expected) in [
            ("/usr/bin/virt-tail --logfile x", "/usr/bin/virt-tail console-log --logfile x"),
            ("virt-probe --guestAgentPing", "virt-probe probe --guestAgentPing"),
            ("/usr/bin/kubevirt-rs launcher", "/usr/bin/kubevirt-rs launcher"),
            ("", ""),
        ] {
            let found = arguments(given.split_ascii_whitespace().map(OsString::from));
            assert_eq!(found, expected.split_ascii_whitespace().map(OsString::from).collect::<Vec<_>>(), "{given}");
        }
    }

    #[test]
    fn probes_are_asked_as_pods_ask_them() {
        for line in [
            "virt-probe --domainName lab_vm --timeoutSeconds 3 --command cat -- /ready -n",
            "virt-probe --domainName lab_vm --timeoutSeconds 1 --guestAgentPing",
            "virt-freezer --freeze --name vm --namespace lab",
            "virt-tail --logfile /var/run/kubevirt-private/u/virt-serial0-log",
        ] {
            let parsed = Cli::try_parse_from(arguments(line.split_ascii_whitespace().map(OsString::from)));
            assert!(parsed.is_ok(), "{line}: {}", parsed.err().map(|e| e.to_string()).unwrap_or_default());
        }
        assert!(Cli::try_parse_from(["virt-probe", "probe", "--domainName", "x"]).is_err());
    }
}
