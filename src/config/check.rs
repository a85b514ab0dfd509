//! What no cluster can work with. KubeVirt lets these settings in, and then refuses the machines.

use super::{ClusterConfig, ConfigError, pattern};
use crate::api::v1::{ArchSpecificConfiguration, EvictionStrategy, KubeVirtConfiguration};

/// Judges each value by itself.
pub(super) fn values(spec: &KubeVirtConfiguration) -> Result<(), ConfigError> {
    let value = |field, wanted, found: String| Err(ConfigError::Value { field, wanted, found });
    if !matches!(spec.image_pull_policy.as_str(), "" | "Always" | "Never" | "IfNotPresent") {
        return value("imagePullPolicy", "Always, Never or IfNotPresent", spec.image_pull_policy.clone());
    }
    if let Some(developer) = &spec.developer_configuration {
        if developer.memory_overcommit <= 0 {
            return value("developerConfiguration.memoryOvercommit", "a percentage above 0", developer.memory_overcommit.to_string());
        }
        if developer.cpu_allocation_ratio <= 0 {
            return value("developerConfiguration.cpuAllocationRatio", "a number above 0", developer.cpu_allocation_ratio.to_string());
        }
        let toleration = developer.pvc_tolerate_less_space_up_to_percent;
        if !(0..=100).contains(&toleration) {
            return value("developerConfiguration.pvcTolerateLessSpaceUpToPercent", "a percentage", toleration.to_string());
        }
    }
    if let Some(strategy) = spec.eviction_strategy.as_ref().filter(|strategy| !EvictionStrategy::VALUES.contains(&strategy.as_str())) {
        return value("evictionStrategy", "None, LiveMigrate, LiveMigrateIfPossible or External", strategy.as_str().to_owned());
    }
    let interface = spec.network.as_ref().map_or("", |n| &n.default_network_interface);
    if !matches!(interface, "" | "bridge" | "slirp" | "masquerade") {
        return value("network.defaultNetworkInterface", "bridge or masquerade", interface.to_owned());
    }
    Ok(())
}

/// Judges the machine types of guests that name none: such a guest must be let in. What stands by default is no matter of the settings.
pub(super) fn machine_types(settings: &KubeVirtConfiguration, config: &ClusterConfig) -> Result<(), ConfigError> {
    let value = |field, wanted, found: &str| Err(ConfigError::Value { field, wanted, found: found.to_owned() });
    let general = settings.machine_type.as_str();
    if !general.is_empty() && !["amd64", "arm64", "s390x"].iter().any(|architecture| config.permits_machine(architecture, general)) {
        return value("machineType", "a machine type that emulatedMachines permits", general);
    }
    let Some(set) = &settings.architecture_configuration else { return Ok(()) };
    for (field, architecture, of) in [
        ("architectureConfiguration.amd64.machineType", "amd64", &set.amd64),
        ("architectureConfiguration.arm64.machineType", "arm64", &set.arm64),
        ("architectureConfiguration.s390x.machineType", "s390x", &set.s390x),
    ] {
        let machine = of.as_ref().map_or("", |of| of.machine_type.as_str());
        // where the general setting does not name it, the architecture's own may still be meant for its guests
        let is_own = |own: &ArchSpecificConfiguration| own.emulated_machines.iter().any(|p| pattern::matches(p, machine));
        let permitted = config.permits_machine(architecture, machine) || config.of(architecture).is_some_and(is_own);
        if !machine.is_empty() && !permitted {
            return value(field, "a machine type that emulatedMachines of the architecture permits", machine);
        }
    }
    Ok(())
}
