//! Keys and passwords that the guest is given.

use super::{Rule, Subject};
use crate::admission::{Cause, Path};
use crate::api::v1::{SshPublicKeyAccessCredential, UserPasswordAccessCredential};

pub(super) const RULES: &[Rule] = &[judge];

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("accessCredentials");
    for (i, credential) in s.spec.access_credentials.iter().enumerate() {
        let at = list.index(i);
        if let Some(key) = &credential.ssh_public_key {
            ssh_key(s, &at.key("sshPublicKey"), key, causes);
        }
        if let Some(password) = &credential.user_password {
            user_password(&at.key("userPassword"), password, causes);
        }
        if credential.ssh_public_key.is_some() == credential.user_password.is_some() {
            causes.push(Cause::invalid(at, "a credential is one thing; give either sshPublicKey or userPassword"));
        }
    }
}

fn ssh_key(s: &Subject, at: &Path, key: &SshPublicKeyAccessCredential, causes: &mut Vec<Cause>) {
    let way = &key.propagation_method;
    let method = at.key("propagationMethod");
    if way.no_cloud.is_some() && s.spec.volumes.iter().all(|v| v.cloud_init_no_cloud.is_none()) {
        causes.push(Cause::invalid(method, "noCloud puts the key on a cloudInitNoCloud volume, and there is none; add one"));
    }
    if way.config_drive.is_some() && s.spec.volumes.iter().all(|v| v.cloud_init_config_drive.is_none()) {
        causes.push(Cause::invalid(method, "configDrive puts the key on a cloudInitConfigDrive volume, and there is none; add one"));
    }
    if way.qemu_guest_agent.as_ref().is_some_and(|agent| agent.users.is_empty()) {
        causes.push(Cause::invalid(method.key("qemuGuestAgent.users"), "name the users of the guest that get the key"));
    }
    if key.source.secret.is_none() {
        causes.push(Cause::invalid(at.key("source"), "nothing says where the key is; give secret"));
    }
    let given = [way.no_cloud.is_some(), way.config_drive.is_some(), way.qemu_guest_agent.is_some()];
    if given.into_iter().filter(|given| *given).count() != 1 {
        causes.push(Cause::invalid(
            method,
            "the key goes one way into the guest; give exactly one of noCloud, configDrive and qemuGuestAgent",
        ));
    }
}

fn user_password(at: &Path, password: &UserPasswordAccessCredential, causes: &mut Vec<Cause>) {
    if password.source.secret.is_none() {
        causes.push(Cause::invalid(at.key("source"), "nothing says where the password is; give secret"));
    }
    if password.propagation_method.qemu_guest_agent.is_none() {
        causes.push(Cause::invalid(at.key("propagationMethod"), "nothing says how the password gets into the guest; give qemuGuestAgent"));
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    #[test]
    fn a_credential_has_one_source_and_one_way() {
        let credential = |value: Value| json!({"accessCredentials": [value]});
        let key =
            |method: Value| credential(json!({"sshPublicKey": {"source": {"secret": {"secretName": "s"}}, "propagationMethod": method}}));
        const METHOD: &str = "s.accessCredentials[0].sshPublicKey.propagationMethod";
        check(
            RULES,
            &[],
            &[
                (key(json!({"qemuGuestAgent": {"users": ["root"]}})), &[]),
                (credential(json!({})), &["s.accessCredentials[0]"]),
                (key(json!({})), &[METHOD]),
                (key(json!({"noCloud": {}})), &[METHOD]),
                (key(json!({"configDrive": {}})), &[METHOD]),
                (
                    key(json!({"qemuGuestAgent": {"users": []}})),
                    &["s.accessCredentials[0].sshPublicKey.propagationMethod.qemuGuestAgent.users"],
                ),
                (
                    credential(json!({"sshPublicKey": {"source": {}, "propagationMethod": {"qemuGuestAgent": {"users": ["a"]}}}})),
                    &["s.accessCredentials[0].sshPublicKey.source"],
                ),
                (
                    credential(json!({"userPassword": {"source": {}, "propagationMethod": {}}})),
                    &["s.accessCredentials[0].userPassword.source", "s.accessCredentials[0].userPassword.propagationMethod"],
                ),
            ],
        );
    }
}
