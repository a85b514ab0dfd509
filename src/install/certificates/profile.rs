//! Which certificates there are, and whom they name.

/// What a certificate is shown for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Usage {
    /// By a server to its clients.
    Server,
    /// By a client to its servers.
    Client,
}

/// A certificate in a secret of its own.
#[derive(Debug)]
pub struct Profile {
    /// The secret.
    pub secret: &'static str,
    /// What it is shown for.
    pub usage: Usage,
    /// The service that it serves for, by whose names it is called.
    service: &'static str,
    /// The name of its subject, where that is not made of the service's.
    subject: &'static str,
}

/// The secret and the `ConfigMap` of the authority.
pub const AUTHORITY: &str = "kubevirt-ca";
/// The key of the bundle in the `ConfigMap`.
pub const BUNDLE: &str = "ca-bundle";
/// The name of the authority.
pub const AUTHORITY_SUBJECT: &str = "kubevirt.io";
/// The secret with the operator's own certificate.
pub const OPERATOR: &str = "kubevirt-operator-certs";

const fn server(secret: &'static str, service: &'static str, subject: &'static str) -> Profile {
    Profile { secret, usage: Usage::Server, service, subject }
}

const fn client(secret: &'static str, subject: &'static str) -> Profile {
    Profile { secret, usage: Usage::Client, service: "", subject }
}

/// Every certificate.
pub const PROFILES: &[Profile] = &[
    server(OPERATOR, "kubevirt-operator-webhook", ""),
    server("kubevirt-virt-api-certs", "virt-api", ""),
    server("kubevirt-controller-certs", "virt-controller", ""),
    server("kubevirt-virt-handler-server-certs", "virt-handler", "kubevirt.io:system:node:virt-handler"),
    client("kubevirt-virt-handler-certs", "kubevirt.io:system:client:virt-handler"),
    client("kubevirt-virt-handler-migration-client-certs", "kubevirt.io:system:client:migration"),
    client("kubevirt-virt-handler-vsock-client-certs", "kubevirt.io:system:client:vsock"),
    client("kubevirt-virt-handler-monitoring-client-certs", "kubevirt.io:system:client:monitoring"),
];

impl Profile {
    /// The name of the subject.
    pub fn subject(&self, namespace: &str) -> String {
        if self.subject.is_empty() { format!("{}.{namespace}.pod.cluster.local", self.service) } else { self.subject.to_owned() }
    }

    /// The names that a server is reached by.
    pub fn names(&self, namespace: &str) -> Vec<String> {
        if self.service.is_empty() {
            return Vec::new();
        }
        let name = format!("{}.{namespace}", self.service);
        vec![self.service.to_owned(), format!("{name}.svc"), format!("{name}.svc.cluster.local"), name]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn servers_have_the_names_of_their_service() {
        let api = PROFILES.iter().find(|profile| profile.service == "virt-api").unwrap();
        assert_eq!(api.subject("virt"), "virt-api.virt.pod.cluster.local");
        assert!(api.names("virt").contains(&"virt-api.virt.svc".to_owned()));
        for profile in PROFILES {
            assert_eq!(profile.names("virt").is_empty(), profile.usage == Usage::Client, "{}", profile.secret);
        }
    }
}
