//! Keeps keys and passwords in the guest as the Secrets in the pod have them.

use std::time::{Duration, Instant};

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::guest::credentials::{self, Wanted};
use kubevirt_rs::guest::status::Credentials;
use tokio::time::sleep;

use super::board::Board;
use super::task::Task;
use super::{agent, found};
use crate::libvirt::Domain;

/// How often it is looked whether the kubelet has brought others, or what failed is tried again.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// How often they are set anew, whatever was done to them in the guest.
const SET_EVERY: Duration = Duration::from_secs(300);
/// How long a program in the guest may take.
const PROGRAM: Duration = Duration::from_secs(10);

/// Keeps them there; nothing if there is nothing to keep. The agent is connected.
pub(super) fn keep(domain: Domain, vmi: &VirtualMachineInstance, board: &Board) -> Option<Task> {
    let is_wanted = !credentials::secrets(vmi).is_empty();
    is_wanted.then(|| Task::begin(set_always(domain, vmi.clone(), board.clone())))
}

async fn set_always(domain: Domain, vmi: VirtualMachineInstance, board: Board) {
    let mut done: Option<(Wanted, Instant)> = None;
    loop {
        let wanted = credentials::wanted(&vmi, &found::credentials(&vmi));
        let stands = done.as_ref().is_some_and(|(last, at)| *last == wanted && at.elapsed() < SET_EVERY);
        // an agent whose file systems stand still writes nothing
        let is_frozen = board.status().agent.as_ref().is_some_and(|agent| agent.fs_freeze_status == "frozen");
        if !stands && !is_frozen {
            let faults = set(&domain, &wanted).await;
            let succeeded = faults.is_empty();
            done = succeeded.then(|| (wanted, Instant::now()));
            if !succeeded {
                tracing::warn!("Keys and passwords are not all in the guest: {}", faults.join("; "));
            }
            board.update(|status| status.credentials = Some(Credentials { succeeded, message: faults.join("; ") }));
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Sets all; what could not be done, in words.
async fn set(domain: &Domain, wanted: &Wanted) -> Vec<String> {
    let mut faults = wanted.faults.clone();
    for (user, keys) in &wanted.keys {
        if let Err(error) = set_keys(domain, user, keys).await {
            faults.push(format!("the keys of the user {user} were not set: {error}"));
        }
    }
    for (user, password) in &wanted.passwords {
        if let Err(error) = domain.agent(credentials::set_password(user, password), None).await {
            faults.push(format!("the password of the user {user} was not set: {error}"));
        }
    }
    faults
}

/// By the agent's own command; one that does not know it runs a program.
async fn set_keys(domain: &Domain, user: &str, keys: &[String]) -> Result<(), String> {
    let Err(first) = domain.agent(credentials::set_keys(user, keys), None).await else { return Ok(()) };
    match agent::run(domain, "/bin/sh", credentials::write_keys(user, keys), PROGRAM).await {
        Ok(ended) if ended.exit_code == 0 => Ok(()),
        Ok(ended) => Err(format!("{first}; a shell has ended with {}", ended.exit_code)),
        Err(second) => Err(format!("{first}; {second}")),
    }
}
