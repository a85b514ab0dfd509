use crate::{
    api,
    v1::{SshPublicKeyAccessCredentialSource, UserPasswordAccessCredentialSource},
};

#[api]
pub struct ConfigDriveSshPublicKeyAccessCredentialPropagation {}

#[api]
pub struct NoCloudSshPublicKeyAccessCredentialPropagation {}

#[api]
pub struct AuthorizedKeysFile {
    #[api(required)]
    pub file_path: String,
}

#[api]
pub struct QemuGuestAgentUserPasswordAccessCredentialPropagation {}

#[api]
pub struct QemuGuestAgentSshPublicKeyAccessCredentialPropagation {
    #[api(required, list = "set")]
    pub users: Vec<String>,
}

#[api]
pub struct SshPublicKeyAccessCredentialPropagationMethod {
    pub config_drive: Option<ConfigDriveSshPublicKeyAccessCredentialPropagation>,
    pub no_cloud: Option<NoCloudSshPublicKeyAccessCredentialPropagation>,
    pub qemu_guest_agent: Option<QemuGuestAgentSshPublicKeyAccessCredentialPropagation>,
}

#[api]
pub struct SshPublicKeyAccessCredential {
    #[api(required)]
    pub source: SshPublicKeyAccessCredentialSource,
    #[api(required)]
    pub propagation_method: SshPublicKeyAccessCredentialPropagationMethod,
}

#[api]
pub struct UserPasswordAccessCredentialPropagationMethod {
    pub qemu_guest_agent: Option<QemuGuestAgentUserPasswordAccessCredentialPropagation>,
}

#[api]
pub struct UserPasswordAccessCredential {
    #[api(required)]
    pub source: UserPasswordAccessCredentialSource,
    #[api(required)]
    pub propagation_method: UserPasswordAccessCredentialPropagationMethod,
}

#[api]
pub struct AccessCredential {
    pub ssh_public_key: Option<SshPublicKeyAccessCredential>,
    pub user_password: Option<UserPasswordAccessCredential>,
}
