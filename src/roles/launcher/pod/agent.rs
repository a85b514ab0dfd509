//! Asks the agent inside the guest, for as long as it is connected.

use std::time::{Duration, Instant, SystemTime};

use kubevirt_rs::guest::agent::{self, Intervals, Schedule};
use kubevirt_rs::guest::status::{Agent, Fault, FaultReason};
use tokio::sync::mpsc;
use tokio::time::sleep;

use super::fault;
use super::task::Task;
use crate::libvirt::Domain;
use crate::wire::launcher::{Exec, Executed};

/// How often a program inside the guest is looked at.
const LOOK_EVERY: Duration = Duration::from_millis(250);

/// What is told of a round of questions.
pub(super) enum Round {
    /// The agent has said something new.
    News(Box<Agent>),
    /// It has said what it said before.
    Same,
}

/// Asks again and again. What the agent has said so far is `known`; every round is told.
pub(super) fn poll(domain: Domain, known: Agent, told: mpsc::UnboundedSender<Round>) -> Task {
    Task::begin(ask(domain, known, told))
}

async fn ask(domain: Domain, mut known: Agent, told: mpsc::UnboundedSender<Round>) {
    let begin = Instant::now();
    let mut schedule = Schedule::new(&Intervals::default(), Duration::ZERO);
    while let Some(at) = schedule.wake() {
        sleep(at.saturating_sub(begin.elapsed())).await;
        // all that is due is one change
        let mut changed = false;
        while let Some(question) = schedule.next(begin.elapsed()) {
            match domain.agent(question.command(), None).await {
                Ok(answer) => changed |= question.take(&answer, &mut known),
                Err(error) => tracing::debug!(%error, ?question, "The guest agent gave no answer"),
            }
        }
        let round = if changed { Round::News(Box::new(known.clone())) } else { Round::Same };
        if told.send(round).is_err() {
            return;
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Fault {
    fault(FaultReason::AgentFailed, error)
}

/// Whether the agent answers.
pub(super) async fn ping(domain: &Domain, seconds: u32) -> Result<(), Fault> {
    let seconds = i32::try_from(seconds.max(1)).unwrap_or(i32::MAX);
    domain.agent(agent::command("guest-ping"), Some(seconds)).await.map(drop).map_err(failed)
}

/// Sets the guest's clock right, if its agent can.
pub(super) async fn set_time(domain: &Domain) {
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    if let Err(error) = domain.agent(agent::set_time(now), None).await {
        tracing::debug!(%error, "The clock of the guest was not set");
    }
}

/// Lets file systems stand still, or go on.
pub(super) async fn freeze(domain: &Domain, frozen: bool) -> Result<(), Fault> {
    let status = domain.agent(agent::command("guest-fsfreeze-status"), None).await.map_err(failed)?;
    if status.contains("frozen") == frozen {
        return Ok(());
    }
    let name = if frozen { "guest-fsfreeze-freeze" } else { "guest-fsfreeze-thaw" };
    domain.agent(agent::command(name), None).await.map(drop).map_err(failed)
}

/// Runs a program inside the guest to its end.
pub(super) async fn exec(domain: &Domain, what: &Exec) -> Result<Executed, Fault> {
    run(domain, &what.command, agent::exec(&what.command, &what.args), Duration::from_secs(what.timeout_seconds.max(1).into())).await
}

/// Gives the command that starts a program, and waits for its end.
pub(super) async fn run(domain: &Domain, name: &str, command: String, limit: Duration) -> Result<Executed, Fault> {
    let run = async {
        let answer = domain.agent(command, None).await.map_err(failed)?;
        let pid = agent::started(&answer).ok_or_else(|| failed(format!("The guest agent has not started {name}")))?;
        loop {
            let answer = domain.agent(agent::exec_status(pid), None).await.map_err(failed)?;
            if let Some((exit_code, stdout)) = agent::ended(&answer) {
                return Ok(Executed { exit_code, stdout });
            }
            sleep(LOOK_EVERY).await;
        }
    };
    let silent = || failed(format!("{name} has not ended within {} s", limit.as_secs()));
    tokio::time::timeout(limit, run).await.unwrap_or_else(|_| Err(silent()))
}
