//! The container that prints what the guest writes to its first serial port, so that `kubectl logs` shows it.

use k8s_openapi::api::core::v1::Container;

use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;

use super::compute::{VERBOSITY, variable, verbosity};
use super::support::{self, Support};
use super::{Context, Error, paths, programs, security, traits};

/// The container, unless nobody wants it. It is an init container that stays: it starts before the guest, and does
/// not hold the pod when the guest is gone.
pub(super) fn container(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Result<Option<Container>, Error> {
    if !wanted(vmi, config) {
        return Ok(None);
    }
    let file = paths::serial_log(vmi.metadata.uid.as_deref().unwrap_or_default());
    Ok(Some(Container {
        name: "guest-console-log".to_owned(),
        image: Some(context.image.clone()),
        image_pull_policy: super::non_empty(&config.spec().image_pull_policy),
        command: Some(vec![programs::TAIL.to_owned()]),
        args: Some(vec!["--logfile".to_owned(), file]),
        env: Some(vec![variable(VERBOSITY, verbosity(vmi, config)?.to_string())]),
        volume_mounts: Some(vec![super::volumes::read_only("private", paths::PRIVATE)]),
        resources: Some(support::resources(Support::ConsoleLog, traits::exclusive(vmi), config)),
        security_context: Some(security::helper()),
        restart_policy: Some("Always".to_owned()),
        ..Container::default()
    }))
}

fn wanted(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> bool {
    let devices = &vmi.spec.domain.devices;
    devices.autoattach_serial_console != Some(false) && devices.log_serial_console.unwrap_or(!config.serial_console_log_disabled())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    #[test]
    fn the_vmi_decides_before_the_cluster_and_without_a_console_there_is_no_log() {
        let off = "{virtualMachineOptions: {disableSerialConsoleLog: {}}}";
        for (devices, settings, expected) in [
            ("{}", "{}", true),
            ("{}", off, false),
            ("{logSerialConsole: true}", off, true),
            ("{logSerialConsole: false}", "{}", false),
            ("{logSerialConsole: true, autoattachSerialConsole: false}", "{}", false),
        ] {
            let vmi = vmi(&format!("{{domain: {{devices: {devices}}}}}"));
            assert_eq!(wanted(&vmi, &config(settings)), expected, "{devices} {settings}");
        }
    }
}
