//! As whom the pod runs, and what it may.

use k8s_openapi::api::core::v1::{Capabilities, Pod, PodSecurityContext, SELinuxOptions, SeccompProfile, SecurityContext};

use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::{COMPUTE, Error, traits};

/// The user `qemu`, and its group.
pub const USER: i64 = 107;

/// As whom the compute container and hook sidecars run.
pub(super) fn user(vmi: &VirtualMachineInstance) -> i64 {
    if traits::non_root(vmi) { USER } else { 0 }
}

/// The security context of the pod. Even where it runs as root, files of volumes belong to the ordinary user's group,
/// since virtiofs daemons never run as root.
pub(super) fn pod(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> PodSecurityContext {
    let user = user(vmi);
    let ordinary = user != 0;
    PodSecurityContext {
        fs_group: Some(USER),
        run_as_user: Some(user),
        run_as_group: ordinary.then_some(user),
        run_as_non_root: ordinary.then_some(true),
        seccomp_profile: seccomp(config),
        se_linux_options: selinux(&config.spec().selinux_launcher_type, None),
        ..PodSecurityContext::default()
    }
}

fn seccomp(config: &ClusterConfig) -> Option<SeccompProfile> {
    let profiles = config.spec().seccomp_configuration.as_ref()?;
    let custom = profiles.virtual_machine_instance_profile.as_ref()?.custom_profile.as_ref()?;
    match &custom.localhost_profile {
        Some(file) => Some(SeccompProfile { type_: "Localhost".to_owned(), localhost_profile: Some(file.clone()) }),
        None => custom.runtime_default_profile.then(|| SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
    }
}

fn selinux(type_: &str, level: Option<&str>) -> Option<SELinuxOptions> {
    let type_ = Some(type_.to_owned()).filter(|t| !t.is_empty());
    let level = level.map(str::to_owned);
    (type_.is_some() || level.is_some()).then(|| SELinuxOptions { type_, level, ..SELinuxOptions::default() })
}

/// The security context of a container that runs as the VMI's user, with those capabilities.
pub(super) fn container(user: i64, capabilities: Option<Capabilities>) -> SecurityContext {
    let ordinary = user != 0;
    SecurityContext {
        run_as_user: Some(user),
        run_as_group: ordinary.then_some(user),
        run_as_non_root: Some(ordinary),
        allow_privilege_escalation: ordinary.then_some(false),
        capabilities,
        ..SecurityContext::default()
    }
}

/// The compute container serves DHCP, hence the port; as root it also pins its threads.
pub(super) fn compute(vmi: &VirtualMachineInstance) -> SecurityContext {
    let user = user(vmi);
    let bind = "NET_BIND_SERVICE".to_owned();
    let capabilities = match user {
        0 => Capabilities { add: Some(vec![bind, "SYS_NICE".to_owned()]), drop: None },
        _ => Capabilities { add: Some(vec![bind]), ..no_capabilities() },
    };
    container(user, Some(capabilities))
}

/// The security context of a container that never runs as root and may nothing.
pub(super) fn helper() -> SecurityContext {
    SecurityContext {
        run_as_user: Some(USER),
        run_as_non_root: Some(true),
        allow_privilege_escalation: Some(false),
        capabilities: Some(no_capabilities()),
        ..SecurityContext::default()
    }
}

/// Every capability taken away.
pub(super) fn no_capabilities() -> Capabilities {
    Capabilities { add: None, drop: Some(vec!["ALL".to_owned()]) }
}

/// The level of an SELinux context, as the handler reported it; nothing on a node without SELinux.
pub(super) fn selinux_level(context: &str) -> Result<Option<&str>, Error> {
    const NO_SELINUX: &str = "none";
    let parts: Vec<&str> = context.splitn(4, ':').collect();
    match parts.as_slice() {
        [NO_SELINUX] | [_, _, _] => Ok(None),
        [_, _, _, level] => Ok(Some(level).copied().filter(|level| !level.is_empty())),
        _ => Err(Error::SelinuxContext { value: context.to_owned() }),
    }
}

/// With Docker each container has SELinux categories of its own, and the compute container could not open what the
/// others serve: they all give theirs up.
pub(super) fn share_categories(pod: &mut Pod, config: &ClusterConfig) {
    if !config.enabled(Gate::DockerSelinuxMcsWorkaround) {
        return;
    }
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers).filter(|c| c.name != COMPUTE) {
        let context = container.security_context.get_or_insert_default();
        context.se_linux_options = selinux(&config.spec().selinux_launcher_type, Some("s0"));
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::fixture::{config, vmi};

    #[test]
    fn an_ordinary_user_may_less_than_root() {
        let mut vmi = vmi("{domain: {devices: {}}}");
        assert_eq!(
            json!(compute(&vmi)),
            json!({"runAsUser": 107, "runAsGroup": 107, "runAsNonRoot": true, "allowPrivilegeEscalation": false,
                   "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]}})
        );
        vmi.status.runtime_user = 0;
        assert_eq!(
            json!(compute(&vmi)),
            json!({"runAsUser": 0, "runAsNonRoot": false, "capabilities": {"add": ["NET_BIND_SERVICE", "SYS_NICE"]}})
        );
        assert_eq!(json!(pod(&vmi, &config("{}"))), json!({"fsGroup": 107, "runAsUser": 0}));
    }

    #[test]
    fn the_administrator_names_the_profiles() {
        let vmi = vmi("{domain: {devices: {}}}");
        let local = "{seccompConfiguration: {virtualMachineInstanceProfile: {customProfile: {localhostProfile: a.json}}}}";
        let runtime = "{selinuxLauncherType: t, seccompConfiguration: {virtualMachineInstanceProfile: {customProfile: {runtimeDefaultProfile: true}}}}";
        assert_eq!(json!(pod(&vmi, &config(local)).seccomp_profile), json!({"type": "Localhost", "localhostProfile": "a.json"}));
        let context = pod(&vmi, &config(runtime));
        assert_eq!(json!(context.seccomp_profile), json!({"type": "RuntimeDefault"}));
        assert_eq!(json!(context.se_linux_options), json!({"type": "t"}));
    }
}
