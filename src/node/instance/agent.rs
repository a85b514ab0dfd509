//! What the instance tells of the agent inside the guest, and by the agent of the guest.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstanceCondition as Condition, VirtualMachineInstanceConditionType as Kind};
use crate::guest::status::{Agent, Credentials};
use crate::lifecycle::action::Event;
use crate::lifecycle::conditions;

/// What an agent must know.
const BASIC: [&str; 10] = [
    "guest-ping",
    "guest-get-time",
    "guest-info",
    "guest-shutdown",
    "guest-network-get-interfaces",
    "guest-get-fsinfo",
    "guest-get-host-name",
    "guest-get-users",
    "guest-get-timezone",
    "guest-get-osinfo",
];
/// What it takes to bring keys into the guest …
const KEYS: [&str; 3] = ["guest-ssh-get-authorized-keys", "guest-ssh-add-authorized-keys", "guest-ssh-remove-authorized-keys"];
/// … or, by older agents, to write the file.
const FILES: [&str; 6] = ["guest-exec-status", "guest-exec", "guest-file-open", "guest-file-close", "guest-file-read", "guest-file-write"];
/// What it takes to set passwords.
const PASSWORDS: [&str; 1] = ["guest-set-user-password"];

/// Tells of the agent, or that there is none.
pub(super) fn tell(told: &mut VirtualMachineInstance, agent: Option<&Agent>, now: Timestamp) {
    // it says who it is a moment after it has connected: both are told at once
    let agent = agent.filter(|agent| **agent != Agent::default());
    let lack = agent.and_then(|agent| lack(told, agent));
    let conditions = &mut told.status.conditions;
    let mut set = |kind: Kind, holds: bool, reason: &str| match (holds, conditions::find(conditions, &kind)) {
        (true, None) => conditions.push(Condition {
            type_: kind,
            status: "True".to_owned(),
            last_probe_time: Some(Time(now)),
            reason: reason.to_owned(),
            ..Condition::default()
        }),
        (true, Some(_)) => {}
        (false, _) => conditions::remove(conditions, &kind),
    };
    set(Kind::AgentConnected, agent.is_some(), "");
    set(Kind::AgentVersionNotSupported, lack.is_some(), lack.unwrap_or_default());
    let Some(agent) = agent else { return };
    if !agent.os.name.is_empty() {
        told.status.guest_os_info = agent.os.clone();
    }
    if !agent.fs_freeze_status.is_empty() {
        let thawed = agent.fs_freeze_status == "thawed";
        told.status.fs_freeze_status = if thawed { String::new() } else { agent.fs_freeze_status.clone() };
    }
}

/// Tells how the agent has done with keys and passwords; the event when that is new.
pub(super) fn tell_credentials(told: &mut VirtualMachineInstance, found: Option<&Credentials>, now: Timestamp) -> Option<Event> {
    let Credentials { succeeded, message } = found?;
    let status = if *succeeded { "True" } else { "False" };
    let conditions = &mut told.status.conditions;
    let known = conditions::find(conditions, &Kind::AccessCredentialsSynchronized);
    if known.is_some_and(|known| known.status == status && known.message == *message) {
        return None;
    }
    conditions::remove(conditions, &Kind::AccessCredentialsSynchronized);
    conditions.push(Condition {
        type_: Kind::AccessCredentialsSynchronized,
        status: status.to_owned(),
        last_transition_time: Some(Time(now)),
        message: message.clone(),
        ..Condition::default()
    });
    Some(match succeeded {
        true => Event { warning: false, reason: "AccessCredentialsSyncSuccess", message: "keys and passwords are in the guest".to_owned() },
        false => {
            let message = format!("keys and passwords are not all in the guest: {message}");
            Event { warning: true, reason: "AccessCredentialsSyncFailed", message }
        }
    })
}

/// What an agent lacks, if anything.
fn lack(instance: &VirtualMachineInstance, agent: &Agent) -> Option<&'static str> {
    // what it can do may not have been asked yet
    if agent.commands.is_empty() {
        return None;
    }
    let knows = |commands: &[&str]| commands.iter().all(|name| agent.commands.iter().any(|c| c.name == *name && c.enabled));
    let credentials = &instance.spec.access_credentials;
    let keys = credentials.iter().filter_map(|c| c.ssh_public_key.as_ref()).any(|k| k.propagation_method.qemu_guest_agent.is_some());
    let passwords = credentials.iter().filter_map(|c| c.user_password.as_ref()).any(|p| p.propagation_method.qemu_guest_agent.is_some());
    if !knows(&BASIC) {
        return Some("the guest agent lacks basic commands");
    }
    if keys && !knows(&KEYS) && !knows(&FILES) {
        return Some("the guest agent lacks the commands for public keys");
    }
    if passwords && !knows(&PASSWORDS) {
        return Some("the guest agent lacks the command for passwords");
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_passwords_are_told_once_each_time_they_change() {
        let mut told = VirtualMachineInstance::default();
        let mut tell = |found: Option<(bool, &str)>| {
            let found = found.map(|(succeeded, message)| Credentials { succeeded, message: message.to_owned() });
            let event = tell_credentials(&mut told, found.as_ref(), Timestamp::UNIX_EPOCH).map(|event| (event.warning, event.reason));
            let shown = told.status.conditions.iter().map(|c| (c.status.clone(), c.message.clone())).collect::<Vec<_>>();
            (event, shown)
        };
        let shown = |status: &str, message: &str| vec![(status.to_owned(), message.to_owned())];
        assert_eq!(tell(None), (None, vec![]));
        assert_eq!(tell(Some((false, "a"))), (Some((true, "AccessCredentialsSyncFailed")), shown("False", "a")));
        assert_eq!(tell(Some((false, "a"))), (None, shown("False", "a")));
        assert_eq!(tell(Some((false, "b"))), (Some((true, "AccessCredentialsSyncFailed")), shown("False", "b")));
        assert_eq!(tell(Some((true, ""))), (Some((false, "AccessCredentialsSyncSuccess")), shown("True", "")));
        assert_eq!(tell(None), (None, shown("True", "")));
    }
}
