//! Who may log in to a guest.

use crate::{
    api,
    v1::{SshPublicKeyAccessCredentialSource, UserPasswordAccessCredentialSource},
};

/// Keys reach the guest in the metadata of its cloud-init config drive, at boot.
#[api]
pub struct ConfigDriveSshPublicKeyAccessCredentialPropagation {}

/// Keys reach the guest in the metadata of its cloud-init NoCloud volume, at boot.
#[api]
pub struct NoCloudSshPublicKeyAccessCredentialPropagation {}

/// A file of authorised keys in the guest.
#[api]
pub struct AuthorizedKeysFile {
    /// The path of the file in the guest.
    #[api(required)]
    pub file_path: String,
}

/// The guest agent sets passwords while the machine runs.
#[api]
pub struct QemuGuestAgentUserPasswordAccessCredentialPropagation {}

/// The guest agent writes keys while the machine runs.
#[api]
pub struct QemuGuestAgentSshPublicKeyAccessCredentialPropagation {
    /// The users of the guest whose authorised keys are written. What else stands in their files goes.
    #[api(required, list = "set")]
    pub users: Vec<String>,
}

/// How keys reach the guest; exactly one way.
#[api]
pub struct SshPublicKeyAccessCredentialPropagationMethod {
    /// Through a cloud-init config drive; the machine must have one.
    pub config_drive: Option<ConfigDriveSshPublicKeyAccessCredentialPropagation>,
    /// Through a cloud-init NoCloud volume; the machine must have one.
    pub no_cloud: Option<NoCloudSshPublicKeyAccessCredentialPropagation>,
    /// Through the guest agent, also when the secret changes while the machine runs.
    pub qemu_guest_agent: Option<QemuGuestAgentSshPublicKeyAccessCredentialPropagation>,
}

/// SSH keys that may log in.
#[api]
pub struct SshPublicKeyAccessCredential {
    /// Where the keys are.
    #[api(required)]
    pub source: SshPublicKeyAccessCredentialSource,
    /// How they reach the guest.
    #[api(required)]
    pub propagation_method: SshPublicKeyAccessCredentialPropagationMethod,
}

/// How passwords reach the guest.
#[api]
pub struct UserPasswordAccessCredentialPropagationMethod {
    /// Through the guest agent, also when the secret changes while the machine runs.
    pub qemu_guest_agent: Option<QemuGuestAgentUserPasswordAccessCredentialPropagation>,
}

/// Passwords of users of the guest.
#[api]
pub struct UserPasswordAccessCredential {
    /// Where the passwords are.
    #[api(required)]
    pub source: UserPasswordAccessCredentialSource,
    /// How they reach the guest.
    #[api(required)]
    pub propagation_method: UserPasswordAccessCredentialPropagationMethod,
}

/// Who may log in to the guest: keys or passwords, one of both.
#[api]
pub struct AccessCredential {
    /// SSH keys that may log in.
    pub ssh_public_key: Option<SshPublicKeyAccessCredential>,
    /// Passwords of users of the guest.
    pub user_password: Option<UserPasswordAccessCredential>,
}
