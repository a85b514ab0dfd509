//! What the instance tells of its interfaces: what the domain has, with the pod's addresses, and what the guest says.

use std::net::IpAddr;

use crate::api::v1::{InterfaceState, VirtualMachineInstance, VirtualMachineInstanceNetworkInterface as Status};
use crate::guest::status::{Agent, AgentInterface, Interface};
use crate::network::{self, Network};

const DOMAIN: &str = "domain";
const AGENT: &str = "guest-agent";
const MULTUS: &str = "multus-status";
/// So many interfaces that only the guest knows are told of: a guest may have any number of bridges inside.
const MOST_OF_GUEST: usize = 10;

/// The statuses, that of the pod's own network first.
pub(super) fn statuses(
    instance: &VirtualMachineInstance,
    domain: &[Interface],
    networks: &[Network],
    agent: Option<&Agent>,
) -> Vec<Status> {
    let spec = &instance.spec.domain.devices.interfaces;
    let before = &instance.status.interfaces;
    let mut statuses: Vec<Status> = domain.iter().map(|interface| of_domain(instance, interface, networks)).collect();
    // a device that is handed to the guest is no interface of the domain
    let handed = spec.iter().filter(|i| i.sriov.is_some() && i.state != InterfaceState::Absent);
    for interface in handed.filter(|i| domain.iter().all(|d| d.name != i.name)) {
        let (name, mac) = (interface.name.clone(), interface.mac_address.clone());
        statuses.push(Status { name, mac, info_source: DOMAIN.to_owned(), ..Status::default() });
    }
    if let Some(agent) = agent {
        add_guests(&mut statuses, instance, &agent.interfaces);
    }
    if let Some(primary) = instance.spec.networks.iter().find(|n| n.pod.is_some()) {
        match statuses.iter().position(|s| s.name == primary.name) {
            Some(at) => statuses[..=at].rotate_right(1),
            None if before.iter().any(|s| s.name == primary.name) => {
                statuses.insert(0, Status { name: primary.name.clone(), ..Status::default() });
            }
            None => {}
        }
    }
    for told in before.iter().filter(|s| has_source(&s.info_source, MULTUS)) {
        match statuses.iter_mut().find(|s| s.name == told.name) {
            Some(status) if !has_source(&status.info_source, MULTUS) => {
                let sources = [status.info_source.as_str(), MULTUS];
                status.info_source = sources.into_iter().filter(|s| !s.is_empty()).collect::<Vec<_>>().join(", ");
            }
            Some(_) => {}
            None if spec.iter().any(|i| i.name == told.name) => {
                statuses.push(Status { name: told.name.clone(), info_source: MULTUS.to_owned(), ..Status::default() });
            }
            None => {}
        }
    }
    for status in statuses.iter_mut().filter(|s| !s.name.is_empty()) {
        let told = before.iter().find(|s| s.name == status.name);
        status.pod_interface_name = told.map(|s| s.pod_interface_name.clone()).unwrap_or_default();
    }
    statuses
}

fn has_source(sources: &str, source: &str) -> bool {
    sources.split(", ").any(|s| s == source)
}

fn of_domain(instance: &VirtualMachineInstance, interface: &Interface, networks: &[Network]) -> Status {
    let spec = instance.spec.domain.devices.interfaces.iter().find(|i| i.name == interface.name);
    let addresses: Vec<String> = networks
        .iter()
        .filter(|n| n.name == interface.name)
        .flat_map(|n| &n.pod_addresses)
        // a bridge carries no answers for IPv6, so the guest does not have the pod's address
        .filter(|address| address.is_ipv4() || spec.is_none_or(|s| s.bridge.is_none()))
        .map(IpAddr::to_string)
        .collect();
    Status {
        name: interface.name.clone(),
        mac: interface.mac.clone(),
        info_source: DOMAIN.to_owned(),
        queue_count: spec.map_or(1, |spec| network::queues(instance, spec)),
        link_state: if interface.up { "up" } else { "down" }.to_owned(),
        ip_address: addresses.first().cloned().unwrap_or_default(),
        ip_addresses: addresses,
        ..Status::default()
    }
}

fn add_guests(statuses: &mut Vec<Status>, instance: &VirtualMachineInstance, interfaces: &[AgentInterface]) {
    let mut of_guest = 0;
    for interface in interfaces.iter().filter(|i| i.name != "lo") {
        let known = statuses.iter_mut().find(|s| !s.name.is_empty() && s.mac.eq_ignore_ascii_case(&interface.mac));
        if let Some(status) = known {
            let spec = instance.spec.domain.devices.interfaces.iter().find(|i| i.name == status.name);
            // behind address translation a link-local address reaches nobody
            let hidden = spec.is_some_and(|s| s.masquerade.is_some());
            take_guests(status, interface, hidden);
        } else if of_guest < MOST_OF_GUEST {
            of_guest += 1;
            statuses.push(Status {
                mac: interface.mac.clone(),
                ip_address: interface.ip.clone(),
                ip_addresses: interface.ips.clone(),
                interface_name: interface.name.clone(),
                info_source: AGENT.to_owned(),
                ..Status::default()
            });
        }
    }
}

/// The guest's word counts where nothing else is known of a family; a family of which it has no address is not reached.
fn take_guests(status: &mut Status, interface: &AgentInterface, hidden: bool) {
    let parse = |text: &String| text.parse::<IpAddr>().ok();
    let theirs = interface.ips.iter().filter_map(parse).filter(|ip| !hidden || !is_link_local(ip)).collect::<Vec<_>>();
    let ours = status.ip_addresses.iter().filter_map(parse).collect::<Vec<_>>();
    let family = |version4: bool| {
        let of = |all: &[IpAddr]| all.iter().copied().filter(|ip| ip.is_ipv4() == version4).collect::<Vec<_>>();
        let (ours, theirs) = (of(&ours), of(&theirs));
        if ours.is_empty() || theirs.is_empty() { theirs } else { ours }
    };
    status.ip_addresses = family(true).into_iter().chain(family(false)).map(|ip| ip.to_string()).collect();
    status.ip_address = status.ip_addresses.first().cloned().unwrap_or_default();
    status.interface_name.clone_from(&interface.name);
    status.info_source = format!("{DOMAIN}, {AGENT}");
}

fn is_link_local(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => v4.is_link_local(),
        IpAddr::V6(v6) => v6.is_unicast_link_local(),
    }
}
