//! Changes to a running guest that take a migration, or a word from the handler: the conditions that ask for it.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::network::{self, Link};
use super::pass::Pass;
use super::status::set_label;
use crate::api::names;
use crate::api::v1::{
    Cpu, InterfaceState, VirtualMachineInstance, VirtualMachineInstanceCondition as Condition, VirtualMachineInstanceConditionType as Kind,
};
use crate::lifecycle::{conditions, migrations, volumes};

/// How long the network may take to plug a link in by itself before a migration does it.
const GRACE_SECONDS: i64 = 15;
const LOOK_AGAIN_SECONDS: u64 = 10;

/// Asks for what the spec of a running guest has changed.
pub(super) fn report(pass: &mut Pass<'_>, pod: &Pod) {
    if cpus_changed(&pass.instance) {
        ask(pass, Kind::HotVcpuChange);
    }
    if memory_changed(&pass.instance) {
        ask(pass, Kind::HotMemoryChange);
        if let Some(ratio) = pass.config.spec().additional_guest_memory_overhead_ratio.clone() {
            set_label(pass, names::MEMORY_HOTPLUG_OVERHEAD_RATIO_LABEL, Some(ratio));
        }
    }
    if volumes_changed(&pass.instance) {
        let told = Condition { message: "volumes are migrated".to_owned(), ..asked(Kind::VolumesChange, pass.now) };
        conditions::set(&mut pass.instance.status.conditions, told);
    }
    if !migrations::is_migrating(&pass.instance, pass.now) {
        report_migration(pass, pod);
    }
}

fn asked(kind: Kind, now: Timestamp) -> Condition {
    Condition { type_: kind, status: "True".to_owned(), last_transition_time: Some(Time(now)), ..Condition::default() }
}

fn ask(pass: &mut Pass<'_>, kind: Kind) {
    let conditions = &mut pass.instance.status.conditions;
    if conditions::find(conditions, &kind).is_none() {
        conditions.push(Condition { last_transition_time: None, ..asked(kind, pass.now) });
    }
}

/// How many CPUs a topology makes; what is not given does not count.
pub(crate) fn cpu_count(cores: u32, sockets: u32, threads: u32) -> i64 {
    let given: Vec<_> = [cores, sockets, threads].into_iter().map(i64::from).filter(|n| *n != 0).collect();
    if given.is_empty() { 0 } else { given.into_iter().fold(1, i64::saturating_mul) }
}

fn cpus_changed(instance: &VirtualMachineInstance) -> bool {
    let (Some(current), Some(cpu)) = (&instance.status.current_cpu_topology, &instance.spec.domain.cpu) else {
        return false;
    };
    let Cpu { cores, sockets, threads, max_sockets, .. } = cpu;
    *max_sockets != 0 && cpu_count(*cores, *sockets, *threads) != cpu_count(current.cores, current.sockets, current.threads)
}

fn memory_changed(instance: &VirtualMachineInstance) -> bool {
    let (Some(status), Some(memory)) = (&instance.status.memory, &instance.spec.domain.memory) else {
        return false;
    };
    let requested = status.guest_requested.as_ref().map_or(0, |q| q.value());
    memory.max_guest.is_some() && memory.guest.as_ref().is_some_and(|guest| guest.value() != requested)
}

fn volumes_changed(instance: &VirtualMachineInstance) -> bool {
    let moved = &instance.status.migrated_volumes;
    if moved.is_empty() || conditions::find(&instance.status.conditions, &Kind::VolumesChange).is_some() {
        return false;
    }
    let is_source = |claim: &str| moved.iter().any(|m| m.source_pvc_info.as_ref().is_some_and(|info| info.claim_name == claim));
    instance.spec.volumes.iter().filter_map(volumes::claim_name).any(|claim| !is_source(claim))
}

/// What a change of the interfaces takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Need {
    Migration,
    /// A migration, unless the network does it by itself meanwhile.
    Patience,
}

fn report_migration(pass: &mut Pass<'_>, pod: &Pod) {
    let before = conditions::find(&pass.instance.status.conditions, &Kind::MigrationRequired);
    let waited = before.filter(|c| c.status == "False").and_then(|c| c.last_transition_time.as_ref());
    let waited = waited.is_some_and(|since| pass.now.as_second() - since.0.as_second() > GRACE_SECONDS);
    let asked_already = before.is_some_and(|c| c.status == "True");
    let (status, reason) = match need(&pass.instance, &network::links(pod)) {
        None => return conditions::remove(&mut pass.instance.status.conditions, &Kind::MigrationRequired),
        Some(_) if asked_already => return,
        Some(Need::Patience) if !waited => ("False", names::VMI_REASON_AUTO_MIGRATION_PENDING),
        Some(_) => ("True", names::VMI_REASON_AUTO_MIGRATION_DUE_TO_LIVE_UPDATE),
    };
    let told = Condition { status: status.to_owned(), reason: reason.to_owned(), ..asked(Kind::MigrationRequired, pass.now) };
    conditions::set(&mut pass.instance.status.conditions, told);
    if status == "False" {
        pass.look_again = Some(LOOK_AGAIN_SECONDS);
    }
}

fn need(instance: &VirtualMachineInstance, links: &[Link]) -> Option<Need> {
    let namespace = instance.metadata.namespace.as_deref().unwrap_or_default();
    let networks = instance.spec.networks.iter().filter(|n| network::is_secondary(n));
    networks.into_iter().find_map(|net| {
        let interface = instance.spec.domain.devices.interfaces.iter().find(|i| i.name == net.name)?;
        let status = instance.status.interfaces.iter().find(|i| i.name == net.name);
        let absent = interface.state == InterfaceState::Absent;
        let Some(status) = status else {
            let need = if interface.sriov.is_some() { Need::Migration } else { Need::Patience };
            return (!absent).then_some(need);
        };
        if absent && network::only_multus_knows(status) {
            return Some(Need::Patience);
        }
        let link = links.iter().find(|l| !status.pod_interface_name.is_empty() && l.interface == status.pod_interface_name)?;
        let wanted = &net.multus.as_ref()?.network_name;
        let same = *wanted == link.name || (!wanted.contains('/') && format!("{namespace}/{wanted}") == link.name);
        (!same).then_some(Need::Migration)
    })
}
