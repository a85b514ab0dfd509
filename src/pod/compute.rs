//! The container that runs the guest.

use k8s_openapi::api::core::v1::{Container, ContainerPort, EnvVar, EnvVarSource, ObjectFieldSelector, ResourceRequirements};

use crate::api::names;
use crate::api::v1::VirtualMachineInstance;
use crate::config::{ClusterConfig, Gate};

use super::volumes::Plan;
use super::{COMPUTE, Context, Error, Purpose, paths, probes, programs, security, settings, traits};

/// From this verbosity on, libvirt and the virtiofs daemons are verbose too.
const EXTENSIVE: u64 = 5;
/// Labels of a VMI that make its launcher talk.
const VERBOSITY_LABEL: &str = "logVerbosity";
const DEBUG_LABELS: [(&str, &str); 2] = [("debugLogs", "LIBVIRT_DEBUG_LOGS"), ("virtiofsdDebugLogs", "VIRTIOFSD_DEBUG_LOGS")];
/// The variable that carries the verbosity.
pub(super) const VERBOSITY: &str = "VIRT_LAUNCHER_LOG_VERBOSITY";

/// The container. `hooks` is how many hook sidecars the launcher waits for.
pub(super) fn container(
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
    plan: &Plan,
    resources: ResourceRequirements,
    hooks: usize,
) -> Result<Container, Error> {
    let domain = domain_name(vmi);
    Ok(Container {
        name: COMPUTE.to_owned(),
        image: Some(context.image.clone()),
        image_pull_policy: super::non_empty(&config.spec().image_pull_policy),
        command: Some(command(vmi, config, context, hooks)),
        env: Some(environment(vmi, config, plan)?),
        ports: Some(ports(vmi)).filter(|p| !p.is_empty()),
        resources: Some(resources),
        security_context: Some(security::compute(vmi)),
        volume_mounts: Some(plan.mounts.clone()),
        volume_devices: Some(plan.devices.clone()).filter(|d| !d.is_empty()),
        liveness_probe: vmi.spec.liveness_probe.as_ref().map(|p| probes::probe(p, &domain)),
        readiness_probe: vmi.spec.readiness_probe.as_ref().map(|p| probes::probe(p, &domain)),
        termination_message_policy: Some("FallbackToLogsOnError".to_owned()),
        ..Container::default()
    })
}

/// The guest's name in libvirt.
fn domain_name(vmi: &VirtualMachineInstance) -> String {
    let metadata = &vmi.metadata;
    format!("{}_{}", metadata.namespace.as_deref().unwrap_or_default(), metadata.name.as_deref().unwrap_or_default())
}

fn command(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context, hooks: usize) -> Vec<String> {
    if context.purpose == Purpose::BindVolumes {
        return [programs::PROGRAM, "launcher", "--nothing"].map(str::to_owned).into();
    }
    let metadata = &vmi.metadata;
    let text = |value: &Option<String>| value.clone().unwrap_or_default();
    let mut command: Vec<String> = [programs::PROGRAM, "launcher"].map(str::to_owned).into();
    for (option, value) in [
        ("--qemu-timeout", format!("{}s", context.qemu_timeout)),
        ("--name", text(&metadata.name)),
        ("--uid", text(&metadata.uid)),
        ("--namespace", text(&metadata.namespace)),
        ("--kubevirt-share-dir", paths::SHARE.to_owned()),
        ("--ephemeral-disk-dir", paths::EPHEMERAL_DISKS.to_owned()),
        ("--container-disk-dir", paths::CONTAINER_DISKS.to_owned()),
        ("--grace-period-seconds", super::launcher_grace_period(vmi).to_string()),
        ("--hook-sidecars", hooks.to_string()),
        ("--ovmf-path", config.ovmf_path(&vmi.spec.architecture).to_owned()),
        ("--disk-memory-limit", settings::disk_check_memory(config).to_string()),
        ("--hypervisor", config.hypervisor().to_owned()),
    ] {
        command.extend([option.to_owned(), value]);
    }
    let flags = [
        (traits::non_root(vmi), "--run-as-nonroot"),
        (config.enabled(Gate::ImageVolume), "--image-volume"),
        (config.enabled(Gate::LibvirtHooksServerAndClient), "--libvirt-hook-server-and-client"),
        (config.enabled(Gate::PodSecondaryInterfaceNamingUpgrade), "--upgrade-ordinal-ifaces"),
        (config.enabled(Gate::VgpuLiveMigration), "--vgpu-dedicated-hook"),
        (config.enabled(Gate::StatsCollector), "--vm-stats-collector"),
        (config.enabled(Gate::FirmwareAutoSelection), "--firmware-auto-selection"),
        (config.allow_emulation(), "--allow-emulation"),
        (config.enabled(Gate::CrossArchitectureVirtualization), "--allow-cross-arch-emulation"),
        (keeps_after_failure(vmi), "--keep-after-failure"),
        (traits::annotation(vmi, names::FUNC_TEST_LAUNCHER_FAIL_FAST_ANNOTATION).is_some(), "--simulate-crash"),
    ];
    command.extend(flags.into_iter().filter(|(wanted, _)| *wanted).map(|(_, flag)| flag.to_owned()));
    if let Some(filters) = traits::annotation(vmi, names::CUSTOM_LIBVIRT_LOG_FILTERS_ANNOTATION) {
        command.extend(["--libvirt-log-filters".to_owned(), filters.to_owned()]);
    }
    command
}

/// Whether the pod stays for a look at it when the guest could not start.
fn keeps_after_failure(vmi: &VirtualMachineInstance) -> bool {
    let value = traits::annotation(vmi, names::KEEP_LAUNCHER_AFTER_FAILURE_ANNOTATION);
    value.is_some_and(|value| value.is_empty() || value.starts_with("true"))
}

/// How verbose the launcher is: as the VMI's label says, else as the configuration does.
pub(super) fn verbosity(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Result<u64, Error> {
    match traits::label(vmi, VERBOSITY_LABEL) {
        Some(value) => value.parse().map_err(|_| Error::LogVerbosity { value: value.to_owned() }),
        None => Ok(settings::launcher_verbosity(config)),
    }
}

fn environment(vmi: &VirtualMachineInstance, config: &ClusterConfig, plan: &Plan) -> Result<Vec<EnvVar>, Error> {
    let mut variables = home(security::user(vmi));
    if !plan.shared_paths.is_empty() {
        variables.push(variable("SHARED_FILESYSTEM_PATHS", plan.shared_paths.join(":")));
    }
    let verbosity = verbosity(vmi, config)?;
    if traits::label(vmi, VERBOSITY_LABEL).is_some() || verbosity != settings::DEFAULT_VERBOSITY {
        variables.push(variable(VERBOSITY, verbosity.to_string()));
    }
    for (label, name) in DEBUG_LABELS {
        if verbosity > EXTENSIVE || traits::label(vmi, label).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
            variables.push(variable(name, "1"));
        }
    }
    let field_ref = Some(ObjectFieldSelector { field_path: "metadata.name".to_owned(), api_version: None });
    let value_from = Some(EnvVarSource { field_ref, ..EnvVarSource::default() });
    variables.push(EnvVar { name: "POD_NAME".to_owned(), value_from, ..EnvVar::default() });
    Ok(variables)
}

/// Where a session libvirt keeps its things; as root it needs no telling.
pub(super) fn home(user: i64) -> Vec<EnvVar> {
    match user {
        0 => Vec::new(),
        _ => [("XDG_CACHE_HOME", paths::PRIVATE), ("XDG_CONFIG_HOME", paths::PRIVATE), ("XDG_RUNTIME_DIR", "/var/run")]
            .map(|(name, value)| variable(name, value))
            .into(),
    }
}

/// An environment variable.
pub(super) fn variable(name: &str, value: impl Into<String>) -> EnvVar {
    EnvVar { name: name.to_owned(), value: Some(value.into()), ..EnvVar::default() }
}

fn ports(vmi: &VirtualMachineInstance) -> Vec<ContainerPort> {
    let ports = vmi.spec.domain.devices.interfaces.iter().flat_map(|i| &i.ports);
    let port = |port: &crate::api::v1::Port| ContainerPort {
        name: super::non_empty(&port.name),
        protocol: super::non_empty(&port.protocol).or_else(|| Some("TCP".to_owned())),
        container_port: port.port,
        ..ContainerPort::default()
    };
    ports.map(port).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    #[test]
    fn the_vmi_may_make_its_launcher_talk() {
        for (label, value, configured, expected) in [
            ("x", "y", "{}", Ok(vec![])),
            ("logVerbosity", "2", "{}", Ok(vec!["VIRT_LAUNCHER_LOG_VERBOSITY=2"])),
            ("logVerbosity", "6", "{}", Ok(vec!["VIRT_LAUNCHER_LOG_VERBOSITY=6", "LIBVIRT_DEBUG_LOGS=1", "VIRTIOFSD_DEBUG_LOGS=1"])),
            ("debugLogs", "True", "{}", Ok(vec!["LIBVIRT_DEBUG_LOGS=1"])),
            ("x", "y", "{developerConfiguration: {logVerbosity: {virtLauncher: 3}}}", Ok(vec!["VIRT_LAUNCHER_LOG_VERBOSITY=3"])),
            ("logVerbosity", "loud", "{}", Err(Error::LogVerbosity { value: "loud".to_owned() })),
        ] {
            let mut vmi = vmi("{domain: {devices: {}}}");
            vmi.metadata.labels = Some([(label.to_owned(), value.to_owned())].into());
            let found = environment(&vmi, &config(configured), &Plan::default());
            let found = found
                .map(|v| v.into_iter().filter(|v| v.name.contains("LOG")).map(|v| format!("{}={}", v.name, v.value.unwrap_or_default())));
            assert_eq!(found.map(Iterator::collect), expected.map(|v| v.into_iter().map(str::to_owned).collect::<Vec<_>>()), "{label}");
        }
    }

    #[test]
    fn a_pod_that_only_binds_volumes_starts_nothing() {
        let context = Context { purpose: Purpose::BindVolumes, ..Context::default() };
        assert_eq!(command(&vmi("{domain: {devices: {}}}"), &config("{}"), &context, 0), [programs::PROGRAM, "launcher", "--nothing"]);
    }
}
