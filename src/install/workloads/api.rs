//! The server of webhooks and of the aggregated API.

use super::{Installation, Object, Role};

/// How many nodes one replica serves.
const NODES: usize = 10;

pub(super) fn deployment(installation: &Installation) -> Object {
    let role = Role {
        name: "virt-api",
        role: "api",
        account: "kubevirt-apiserver",
        image: installation.image.clone(),
        pull_policy: installation.pull_policy.clone(),
        arguments: Vec::new(),
        certificates: &[
            ("kubevirt-virt-api-certs", "/etc/virt-api/certificates"),
            ("kubevirt-virt-handler-certs", "/etc/virt-handler/clientcertificates"),
        ],
        cpu: "5m",
        memory: "32Mi",
    };
    let replicas = installation.replicas.map_or_else(|| by_nodes(installation.cluster.nodes), i64::from);
    role.deployment(&installation.namespace, replicas, &installation.pull_secrets)
}

/// A second replica is of use where it runs on another node.
fn by_nodes(nodes: usize) -> i64 {
    match nodes {
        1 => 1,
        many => i64::try_from(many / NODES).unwrap_or(i64::MAX).clamp(2, 100),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replicas_follow_the_nodes() {
        for (nodes, wanted) in [(0, 2), (1, 1), (2, 2), (29, 2), (30, 3), (100, 10)] {
            assert_eq!(by_nodes(nodes), wanted, "{nodes}");
        }
    }
}
