//! How far a guest may grow while it runs, and what it starts with.

use crate::admission::live_update;
use crate::api::Quantity;
use crate::api::v1::{Cpu, CpuTopology, MemoryStatus, VirtualMachineInstance, VirtualMachineInstanceSpec};
use crate::config::ClusterConfig;

/// No machine type has more virtual CPUs than this.
const MOST_VCPUS: u64 = 512;

/// Notes in the status what the guest starts with.
pub(super) fn record(vmi: &mut VirtualMachineInstance) {
    let domain = &vmi.spec.domain;
    if let Some(guest) = domain.memory.as_ref().and_then(|memory| memory.guest.as_ref()) {
        vmi.status.memory = Some(MemoryStatus {
            guest_at_boot: Some(guest.clone()),
            guest_current: Some(guest.clone()),
            guest_requested: Some(guest.clone()),
            ..MemoryStatus::default()
        });
    }
    if let Some(cpu) = &domain.cpu {
        let topology = CpuTopology { cores: cpu.cores, sockets: cpu.sockets, threads: cpu.threads };
        vmi.status.current_cpu_topology.get_or_insert(topology);
    }
}

/// Sets the most sockets and the most memory that the guest can get.
pub(super) fn limits(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    if let Some(cpu) = &mut spec.domain.cpu {
        sockets(cpu, config);
    }
    memory(spec, config);
}

fn sockets(cpu: &mut Cpu, config: &ClusterConfig) {
    if cpu.max_sockets == 0 {
        cpu.max_sockets = match config.max_cpu_sockets() {
            Some(most) if most != 0 => most.max(cpu.sockets),
            _ => 0,
        };
    }
    if cpu.max_sockets == 0 {
        let wanted = u64::from(cpu.sockets) * u64::from(config.max_hotplug_ratio());
        let per_socket = u64::from(cpu.cores) * u64::from(cpu.threads);
        let fitting = if wanted.saturating_mul(per_socket) > MOST_VCPUS {
            MOST_VCPUS.checked_div(per_socket).unwrap_or(wanted).max(cpu.sockets.into())
        } else {
            wanted
        };
        cpu.max_sockets = u32::try_from(fitting).unwrap_or(u32::MAX);
    }
}

fn memory(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) {
    let Some(memory) = &spec.domain.memory else { return };
    if memory.max_guest.is_some() {
        return;
    }
    let ratio = i128::from(config.max_hotplug_ratio());
    let most = config
        .max_guest()
        .cloned()
        .or_else(|| memory.guest.as_ref().map(|guest| Quantity::from_bytes(guest.value().saturating_mul(ratio))));
    // A guest whose memory cannot grow simply gets no limit.
    if live_update::memory(spec, most.as_ref()).is_ok()
        && let Some(memory) = &mut spec.domain.memory
    {
        memory.max_guest = most;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(live_update: serde_json::Value) -> ClusterConfig {
        ClusterConfig::new(&serde_json::from_value(json!({"liveUpdateConfiguration": live_update})).unwrap())
    }

    #[test]
    fn sockets_grow_within_the_limits() {
        for (cpu, live_update, most) in [
            (json!({"sockets": 2, "cores": 1, "threads": 1}), json!({}), 8),
            (json!({"sockets": 2, "cores": 1, "threads": 1}), json!({"maxHotplugRatio": 2}), 4),
            (json!({"sockets": 2, "cores": 1, "threads": 1}), json!({"maxCpuSockets": 5}), 5),
            (json!({"sockets": 9, "cores": 1, "threads": 1}), json!({"maxCpuSockets": 5}), 9),
            (json!({"sockets": 2, "cores": 100, "threads": 1}), json!({}), 5),
            (json!({"sockets": 2, "cores": 400, "threads": 2}), json!({}), 2),
            (json!({"sockets": 2, "maxSockets": 3}), json!({}), 3),
            (json!({"cores": 2}), json!({}), 0),
        ] {
            let mut cpu: Cpu = serde_json::from_value(cpu.clone()).unwrap();
            sockets(&mut cpu, &config(live_update.clone()));
            assert_eq!(cpu.max_sockets, most, "{cpu:?} {live_update}");
        }
    }

    #[test]
    fn memory_grows_where_it_can() {
        for (guest, live_update, most) in [
            ("1Gi", json!({}), Some("4Gi")),
            ("1Gi", json!({"maxGuest": "3Gi"}), Some("3Gi")),
            ("512Mi", json!({}), None),
            ("1025Mi", json!({}), None),
        ] {
            let mut spec: VirtualMachineInstanceSpec =
                serde_json::from_value(json!({"architecture": "amd64", "domain": {"memory": {"guest": guest}}})).unwrap();
            memory(&mut spec, &config(live_update));
            assert_eq!(spec.domain.memory.unwrap().max_guest.map(|q| q.to_string()).as_deref(), most, "{guest}");
        }
    }
}
