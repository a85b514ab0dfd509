//! Interfaces that come, go, and change their link while the guest runs.

use super::super::pass::Pass;
use crate::api::v1::{
    Interface, InterfaceState as State, Network, VirtualMachineInstanceNetworkInterface as Status, VirtualMachineInstanceSpec as Spec,
};
use crate::lifecycle::vmi::is_ordinal_link;

/// Brings the template's interfaces to the guest, and forgets those that the guest has let go of.
pub(super) fn follow(pass: &mut Pass<'_>) {
    if pass.instance.as_ref().is_some_and(|i| i.metadata.deletion_timestamp.is_some()) {
        return;
    }
    let Some(template) = &mut pass.machine.spec.template else {
        return;
    };
    let (mut live, mut told) = (Vec::new(), Vec::new());
    if let Some(instance) = &mut pass.instance {
        told.clone_from(&instance.status.interfaces);
        bring(&template.spec, &mut instance.spec, &told);
        live.extend(instance.spec.domain.devices.interfaces.iter().map(|i| i.name.clone()));
    }
    let spec = &mut template.spec;
    let known = |name: &str| live.iter().any(|l| l == name) || told.iter().any(|s| s.name == name);
    retain(spec, |interface| interface.state != State::Absent || known(&interface.name));
}

/// Keeps these interfaces, and the networks that have one.
fn retain(spec: &mut Spec, keep: impl Fn(&Interface) -> bool) {
    let interfaces = &mut spec.domain.devices.interfaces;
    if interfaces.iter().all(&keep) {
        return;
    }
    interfaces.retain(keep);
    spec.networks.retain(|network| interfaces.iter().any(|i| i.name == network.name));
}

fn bring(template: &Spec, spec: &mut Spec, told: &[Status]) {
    let ordinal = has_ordinal_links(&spec.networks, told);
    for wanted in &template.domain.devices.interfaces {
        let absent = wanted.state == State::Absent;
        match spec.domain.devices.interfaces.iter_mut().find(|i| i.name == wanted.name) {
            None if !absent && (wanted.bridge.is_some() || wanted.sriov.is_some()) => {
                spec.domain.devices.interfaces.push(wanted.clone());
                spec.networks.extend(template.networks.iter().find(|n| n.name == wanted.name).cloned());
            }
            // Links that are numbered would all be renamed if one of them went.
            Some(has) if has.state != wanted.state && has.state != State::Absent && !(ordinal && absent) => {
                has.state = wanted.state.clone();
            }
            _ => {}
        }
    }
    retain(spec, |interface| interface.state != State::Absent || told.iter().any(|s| s.name == interface.name));
    for network in &mut spec.networks {
        let wanted = template.networks.iter().find(|n| n.name == network.name).and_then(|n| n.multus.as_ref());
        if let (Some(has), Some(wanted)) = (&mut network.multus, wanted) {
            has.network_name.clone_from(&wanted.network_name);
        }
    }
}

/// Whether the guest's pod numbers its links, as older releases did; assumed where nothing is known.
fn has_ordinal_links(networks: &[Network], told: &[Status]) -> bool {
    let mut secondary = networks.iter().filter(|n| n.multus.as_ref().is_some_and(|m| !m.default)).peekable();
    if secondary.peek().is_none() {
        return false;
    }
    let link = secondary.find_map(|n| told.iter().find(|s| s.name == n.name && !s.pod_interface_name.is_empty()));
    link.is_none_or(|status| is_ordinal_link(&status.pod_interface_name))
}

/// Whether the guest can have the interfaces of the template without a restart.
pub(super) fn can_follow(wanted: &Spec, has: &Spec) -> bool {
    let plain = |interface: &Interface| Interface { state: State::default(), ..interface.clone() };
    let interfaces_follow = has.domain.devices.interfaces.iter().all(|old| {
        let new = wanted.domain.devices.interfaces.iter().find(|i| i.name == old.name);
        new.is_some_and(|new| plain(new) == plain(old))
    });
    let anonymous = |network: &Network| {
        let mut network = network.clone();
        if let Some(multus) = &mut network.multus {
            multus.network_name.clear();
        }
        network
    };
    let networks_follow = has.networks.iter().all(|old| {
        let new = wanted.networks.iter().find(|n| n.name == old.name);
        new.is_some_and(|new| anonymous(new) == anonymous(old))
    });
    let on_pod = |spec: &Spec| spec.networks.iter().any(|n| n.pod.is_some());
    interfaces_follow && networks_follow && (on_pod(has) || !on_pod(wanted))
}
