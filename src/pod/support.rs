//! What the containers beside the compute container get. The administrator may change any amount.

use k8s_openapi::api::core::v1::ResourceRequirements;

use crate::api::Quantity;
use crate::api::v1::SupportContainerType;
use crate::config::ClusterConfig;

use super::resources::printed;

/// The kinds of containers in a launcher pod that only help.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    /// Holds the image of a container disk.
    ContainerDisk,
    /// Brings the program that the former run.
    ContainerDiskProgram,
    /// Serves a shared directory.
    Virtiofs,
    /// Prints what the guest's serial console says.
    ConsoleLog,
    /// A hook of the user's.
    Sidecar,
    /// Keeps volumes mounted that are attached to a running guest.
    Attachment,
}

/// CPU in thousandths, then memory in bytes.
type Pair = (i128, i128);

struct Row {
    support: Support,
    requests: Option<Pair>,
    limits: Option<Pair>,
    /// The limits in a pod whose CPUs and memory are its own; the requests are the same then.
    exclusive: Pair,
    ephemeral_storage: i128,
}

const M: i128 = 1_000_000;

#[rustfmt::skip]
const ROWS: [Row; 6] = [
    Row { support: Support::ContainerDisk,        requests: Some((1, M)),       limits: Some((10, 40 * M)),  exclusive: (10, 40 * M),  ephemeral_storage: 50 * M },
    Row { support: Support::ContainerDiskProgram, requests: Some((10, M)),      limits: Some((100, 40 * M)), exclusive: (10, 40 * M),  ephemeral_storage: 0 },
    Row { support: Support::Virtiofs,             requests: Some((10, M)),      limits: Some((100, 80 * M)), exclusive: (100, 80 * M), ephemeral_storage: 0 },
    Row { support: Support::ConsoleLog,           requests: Some((5, 35 * M)),  limits: Some((15, 60 * M)),  exclusive: (15, 60 * M),  ephemeral_storage: 0 },
    Row { support: Support::Sidecar,              requests: None,               limits: None,                exclusive: (200, 64 * M), ephemeral_storage: 0 },
    Row { support: Support::Attachment,           requests: Some((10, 2 * M)),  limits: Some((100, 80 * M)), exclusive: (100, 80 * M), ephemeral_storage: 0 },
];

impl Support {
    /// The name by which the administrator sets its amounts.
    fn setting(self) -> SupportContainerType {
        match self {
            Self::ContainerDisk | Self::ContainerDiskProgram => SupportContainerType::ContainerDisk,
            Self::Virtiofs => SupportContainerType::Virtiofs,
            Self::ConsoleLog => SupportContainerType::GuestConsoleLog,
            Self::Sidecar => SupportContainerType::Sidecar,
            Self::Attachment => SupportContainerType::HotplugDisk,
        }
    }
}

/// What a support container gets, in a pod whose CPUs and memory are its own or not.
pub(super) fn resources(support: Support, exclusive: bool, config: &ClusterConfig) -> ResourceRequirements {
    let Some(row) = ROWS.iter().find(|row| row.support == support) else { return ResourceRequirements::default() };
    let setting = support.setting();
    let pick = |wanted: Option<&Quantity>, default: Option<Quantity>| wanted.cloned().or(default);
    let both = |defaults: Option<Pair>, limit: bool| {
        let wanted = |resource| match limit {
            true => config.support_container_limit(&setting, resource),
            false => config.support_container_request(&setting, resource),
        };
        let cpu = pick(wanted("cpu"), defaults.map(|(cpu, _)| Quantity::from_millis(cpu)));
        let memory = pick(wanted("memory"), defaults.map(|(_, memory)| Quantity::from_units(memory)));
        [cpu.map(|q| ("cpu", q)), memory.map(|q| ("memory", q))].into_iter().flatten().collect::<Vec<_>>()
    };
    let limits = both(if exclusive { Some(row.exclusive) } else { row.limits }, true);
    let mut requests = if exclusive { limits.clone() } else { both(row.requests, false) };
    if row.ephemeral_storage > 0 {
        requests.push(("ephemeral-storage", Quantity::from_units(row.ephemeral_storage)));
    }
    ResourceRequirements {
        requests: Some(printed(requests)).filter(|r| !r.is_empty()),
        limits: Some(printed(limits)).filter(|l| !l.is_empty()),
        claims: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::config;

    #[test]
    fn the_administrator_may_change_any_amount() {
        let plain = config("{}");
        let own = config("{supportContainerResources: [{type: sidecar, resources: {requests: {cpu: 3m}, limits: {memory: 9M}}}]}");
        for (support, exclusive, config, expected) in [
            (Support::ConsoleLog, false, &plain, r#"{"limits":{"cpu":"15m","memory":"60M"},"requests":{"cpu":"5m","memory":"35M"}}"#),
            (Support::ConsoleLog, true, &plain, r#"{"limits":{"cpu":"15m","memory":"60M"},"requests":{"cpu":"15m","memory":"60M"}}"#),
            (
                Support::ContainerDisk,
                false,
                &plain,
                r#"{"limits":{"cpu":"10m","memory":"40M"},"requests":{"cpu":"1m","ephemeral-storage":"50M","memory":"1M"}}"#,
            ),
            (Support::Sidecar, false, &plain, "{}"),
            (Support::Sidecar, true, &plain, r#"{"limits":{"cpu":"200m","memory":"64M"},"requests":{"cpu":"200m","memory":"64M"}}"#),
            (Support::Sidecar, false, &own, r#"{"limits":{"memory":"9M"},"requests":{"cpu":"3m"}}"#),
            (Support::Sidecar, true, &own, r#"{"limits":{"cpu":"200m","memory":"9M"},"requests":{"cpu":"200m","memory":"9M"}}"#),
        ] {
            let found = serde_json::to_string(&resources(support, exclusive, config)).expect("plain data");
            assert_eq!(found, expected, "{support:?} {exclusive}");
        }
    }
}
