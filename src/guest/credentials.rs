//! Keys and passwords that the agent sets inside a running guest: who gets which, and by what commands.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::json;

use crate::api::v1::{AccessCredential, VirtualMachineInstance};
use crate::storage::Files;

/// Who gets what.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The keys that may log in, by user; there shall be no others.
    pub keys: BTreeMap<String, Vec<String>>,
    /// Passwords, by user.
    pub passwords: BTreeMap<String, String>,
    /// What is missing, by its field.
    pub faults: Vec<String>,
}

/// The Secrets whose keys and passwords the agent sets, with the field that names each.
pub fn secrets(vmi: &VirtualMachineInstance) -> Vec<(String, &str)> {
    let named = |(i, credential)| {
        let (kind, name) = by_agent(credential)?;
        Some((format!("spec.accessCredentials[{i}].{kind}.source.secret.secretName"), name))
    };
    vmi.spec.access_credentials.iter().enumerate().filter_map(named).collect()
}

/// The kind and the Secret of a credential that the agent brings into the guest.
fn by_agent(credential: &AccessCredential) -> Option<(&'static str, &str)> {
    let key = credential.ssh_public_key.as_ref().filter(|k| k.propagation_method.qemu_guest_agent.is_some());
    let key = key.and_then(|k| Some(("sshPublicKey", k.source.secret.as_ref()?)));
    let password = credential.user_password.as_ref().filter(|p| p.propagation_method.qemu_guest_agent.is_some());
    let password = password.and_then(|p| Some(("userPassword", p.source.secret.as_ref()?)));
    key.or(password).map(|(kind, secret)| (kind, secret.secret_name.as_str())).filter(|(_, name)| !name.is_empty())
}

/// Who gets what of the Secrets that are there.
pub fn wanted(vmi: &VirtualMachineInstance, found: &BTreeMap<String, Files>) -> Wanted {
    let mut wanted = Wanted::default();
    for (field, name) in secrets(vmi) {
        if !found.contains_key(name) {
            wanted.faults.push(format!("{field}: the Secret {name} is not in the launcher's pod"));
        }
    }
    for credential in &vmi.spec.access_credentials {
        let Some(files) = by_agent(credential).and_then(|(_, name)| found.get(name)) else { continue };
        let texts = files.iter().map(|(file, content)| (file, String::from_utf8_lossy(content)));
        let agent = credential.ssh_public_key.as_ref().and_then(|k| k.propagation_method.qemu_guest_agent.as_ref());
        if let Some(agent) = agent {
            let lines: Vec<_> = texts.flat_map(|(_, text)| text.lines().map(|l| l.trim().to_owned()).collect::<Vec<_>>()).collect();
            for user in &agent.users {
                wanted.keys.entry(user.clone()).or_default().extend(lines.iter().filter(|line| !line.is_empty()).cloned());
            }
        } else {
            let passwords = texts.map(|(user, text)| (user.clone(), text.trim().to_owned()));
            wanted.passwords.extend(passwords.filter(|(_, password)| !password.is_empty()));
        }
    }
    wanted
}

/// The command that sets a password.
pub fn set_password(user: &str, password: &str) -> String {
    let arguments = json!({"username": user, "password": STANDARD.encode(password), "crypted": false});
    json!({"execute": "guest-set-user-password", "arguments": arguments}).to_string()
}

/// The command that sets the keys of a user, in the place of all that were there.
pub fn set_keys(user: &str, keys: &[String]) -> String {
    json!({"execute": "guest-ssh-add-authorized-keys", "arguments": {"username": user, "keys": keys, "reset": true}}).to_string()
}

/// What a shell in the guest does for an agent that does not know keys: `$1` is the user, the file comes on standard input.
const WRITE_KEYS: &str = "set -e; umask 077; \
    entry=$(getent passwd \"$1\" 2>/dev/null || grep \"^$1:\" /etc/passwd); \
    IFS=: read -r _ _ uid gid _ home _ <<end\n$entry\nend\n\
    mkdir -p \"$home/.ssh\"; chmod 700 \"$home/.ssh\"; cat >\"$home/.ssh/authorized_keys.new\"; \
    chmod 600 \"$home/.ssh/authorized_keys.new\"; chown \"$uid:$gid\" \"$home/.ssh\" \"$home/.ssh/authorized_keys.new\"; \
    mv \"$home/.ssh/authorized_keys.new\" \"$home/.ssh/authorized_keys\"";

/// The command that sets the keys of a user by a program in the guest.
pub fn write_keys(user: &str, keys: &[String]) -> String {
    let file: String = keys.iter().map(|key| format!("{key}\n")).collect();
    let arguments = json!({
        "path": "/bin/sh", "arg": ["-c", WRITE_KEYS, "sh", user], "input-data": STANDARD.encode(file), "capture-output": true,
    });
    json!({"execute": "guest-exec", "arguments": arguments}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vmi(credentials: serde_json::Value) -> VirtualMachineInstance {
        serde_json::from_value(json!({"spec": {"domain": {"devices": {}}, "accessCredentials": credentials}})).unwrap()
    }

    fn found(all: &[(&str, &[(&str, &str)])]) -> BTreeMap<String, Files> {
        let files = |files: &[(&str, &str)]| files.iter().map(|(k, v)| ((*k).to_owned(), v.as_bytes().to_vec())).collect();
        all.iter().map(|(name, list)| ((*name).to_owned(), files(list))).collect()
    }

    #[test]
    fn every_user_gets_the_keys_of_all_secrets_that_name_him() {
        let key = |secret: &str, users: &[&str]| json!({"sshPublicKey": {"source": {"secret": {"secretName": secret}}, "propagationMethod": {"qemuGuestAgent": {"users": users}}}});
        let password = json!({"userPassword": {"source": {"secret": {"secretName": "p"}}, "propagationMethod": {"qemuGuestAgent": {}}}});
        let cloud = json!({"sshPublicKey": {"source": {"secret": {"secretName": "c"}}, "propagationMethod": {"noCloud": {}}}});
        let vmi = vmi(json!([key("a", &["root", "me"]), cloud, key("b", &["me"]), password, key("none", &["me"])]));
        let found = found(&[
            ("a", &[("1", " k1 \n\nk2\n"), ("2", "k3")]),
            ("b", &[("x", "k4")]),
            ("c", &[("x", "k5")]),
            ("p", &[("root", "secret\n"), ("me", " ")]),
        ]);
        let wanted = wanted(&vmi, &found);
        assert_eq!(wanted.keys["root"], ["k1", "k2", "k3"]);
        assert_eq!(wanted.keys["me"], ["k1", "k2", "k3", "k4"]);
        assert_eq!(wanted.passwords, [("root".to_owned(), "secret".to_owned())].into());
        assert_eq!(
            wanted.faults,
            ["spec.accessCredentials[4].sshPublicKey.source.secret.secretName: the Secret none is not in the launcher's pod"]
        );
        assert_eq!(secrets(&vmi).len(), 4);
    }

    #[test]
    fn commands_hold_what_the_user_wrote_and_nothing_breaks_out() {
        let value: serde_json::Value = serde_json::from_str(&set_password("a\"b", "p\"'")).unwrap();
        assert_eq!((&value["arguments"]["username"], &value["arguments"]["password"]), (&json!("a\"b"), &json!("cCIn")));
        let value: serde_json::Value = serde_json::from_str(&write_keys("$(x)", &["k".to_owned()])).unwrap();
        assert_eq!((&value["arguments"]["arg"][3], &value["arguments"]["input-data"]), (&json!("$(x)"), &json!("awo=")));
    }
}
