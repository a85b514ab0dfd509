//! The controllers of machines.

use super::{Installation, Object, Role};

pub(super) fn deployment(installation: &Installation) -> Object {
    let role = Role {
        name: "virt-controller",
        role: "controller",
        account: "kubevirt-controller",
        image: installation.image.clone(),
        pull_policy: installation.pull_policy.clone(),
        arguments: vec!["--launcher-image".to_owned(), installation.image.clone()],
        certificates: &[("kubevirt-controller-certs", "/etc/virt-controller/certificates")],
        cpu: "10m",
        memory: "48Mi",
    };
    let replicas = installation.replicas.map_or(2, i64::from);
    role.deployment(&installation.namespace, replicas, &installation.pull_secrets)
}
