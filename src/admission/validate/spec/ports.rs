//! Forwarded ports and what DHCP tells the guest.

use std::net::Ipv4Addr;

use super::networks::network_of;
use super::{Rule, Subject, closed};
use crate::admission::validate::naming;
use crate::admission::{Cause, Path};
use crate::api::v1::{DhcpOptions, Interface, Port, PortRange};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[judge];

const MOST_RANGES: usize = 10;
/// The DHCP options that everyone may use as they like.
const PRIVATE_OPTIONS: std::ops::RangeInclusive<i64> = 224..=254;

fn judge(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("domain.devices.interfaces");
    for (i, interface) in s.devices().interfaces.iter().enumerate() {
        let at = list.index(i);
        // Elsewhere than on the pod network nothing stands between the guest and its peers, so ports mean nothing.
        let on_pod_network = network_of(s, interface).is_some_and(|n| n.pod.is_some());
        if on_pod_network {
            ports(&at, &interface.ports, causes);
        }
        if !interface.port_ranges.is_empty() {
            if !s.enabled(Gate::PortRangesSpec) {
                causes.push(Cause::invalid(at.key("name"), closed(Gate::PortRangesSpec)));
            } else if on_pod_network {
                ranges_alone(&at, interface, causes);
                ranges(&at.key("portRanges"), &interface.port_ranges, causes);
            }
        }
        if let Some(options) = &interface.dhcp_options {
            dhcp(&at.key("dhcpOptions"), options, causes);
        }
    }
}

fn ports(at: &Path, ports: &[Port], causes: &mut Vec<Cause>) {
    let list = at.key("ports");
    for (i, port) in ports.iter().enumerate() {
        let at = list.index(i);
        if !port.name.is_empty() {
            if ports.iter().take(i).any(|earlier| earlier.name == port.name) {
                causes.push(Cause::duplicate(
                    at.key("name"),
                    format!("{:?} is the name of an earlier port, too; take another one", port.name),
                ));
            }
            if let Err(right) = naming::port_name(&port.name) {
                causes.push(Cause::invalid(at.key("name"), format!("{:?} is no name of a port; {right}", port.name)));
            }
        }
        if port.port == 0 {
            causes.push(Cause::required(at.key("port"), "give the number of the port"));
        }
        if !(0..=65535).contains(&port.port) {
            causes.push(Cause::invalid(at.key("port"), format!("{} is no port; give 1 to 65535", port.port)));
        }
        if !matches!(port.protocol.as_str(), "" | "TCP" | "UDP") {
            causes.push(Cause::invalid(at.key("protocol"), format!("{:?} cannot be forwarded; give TCP or UDP", port.protocol)));
        }
    }
}

fn ranges_alone(at: &Path, interface: &Interface, causes: &mut Vec<Cause>) {
    if !interface.ports.is_empty() {
        causes.push(Cause::invalid(at.key("name"), "both ports and portRanges are given; leave one of them out"));
    }
    if interface.masquerade.is_none() {
        causes.push(Cause::invalid(at.key("name"), "portRanges work with the binding masquerade only"));
    }
}

fn ranges(list: &Path, ranges: &[PortRange], causes: &mut Vec<Cause>) {
    if ranges.len() > MOST_RANGES {
        causes.push(Cause::invalid(list, format!("{} ranges are too many; give at most {MOST_RANGES}", ranges.len())));
        return;
    }
    let mut good = Vec::new();
    for (i, range) in ranges.iter().enumerate() {
        let at = list.index(i);
        let port = |number: i32| (1..=65535).contains(&number);
        if !matches!(range.protocol.as_str(), "TCP" | "UDP") {
            causes.push(Cause::invalid(at.key("protocol"), format!("{:?} cannot be forwarded; give TCP or UDP", range.protocol)));
        } else if !port(range.start) {
            causes.push(Cause::invalid(at.key("start"), format!("{} is no port; give 1 to 65535", range.start)));
        } else if !port(range.end) {
            causes.push(Cause::invalid(at.key("end"), format!("{} is no port; give 1 to 65535", range.end)));
        } else if range.start > range.end {
            causes.push(Cause::invalid(at.key("start"), format!("{} comes after the end, which is {}; swap them", range.start, range.end)));
        } else {
            good.push((range.protocol.as_str(), range.start, range.end));
        }
    }
    good.sort_unstable();
    for pair in good.windows(2) {
        if let [(protocol, start, end), (other, later, last)] = pair
            && protocol == other
            && later <= end
        {
            causes.push(Cause::invalid(list, format!("{protocol} {start}-{end} and {later}-{last} overlap; keep them apart")));
        }
    }
}

fn dhcp(at: &Path, options: &DhcpOptions, causes: &mut Vec<Cause>) {
    let list = at.key("privateOptions");
    for (i, option) in options.private_options.iter().enumerate() {
        let at = list.index(i).key("option").to_string();
        if options.private_options.iter().take(i).any(|earlier| earlier.option == option.option) {
            causes.push(Cause::invalid(at.as_str(), format!("option {} is given twice; keep one of them", option.option)));
        }
        if !PRIVATE_OPTIONS.contains(&option.option) {
            causes.push(Cause::invalid(at, format!("option {} is not free to use; take one from 224 to 254", option.option)));
        }
    }
    let list = at.key("ntpServers");
    for (i, server) in options.ntp_servers.iter().enumerate() {
        if server.parse::<Ipv4Addr>().is_err() {
            causes.push(Cause::invalid(list.index(i), format!("{server:?} is no IPv4 address, which DHCP tells time servers by")));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn on_pod(interface: Value) -> Value {
        let mut interface = interface;
        interface["name"] = json!("a");
        interface["masquerade"] = json!({});
        json!({"domain": {"devices": {"interfaces": [interface]}}, "networks": [{"name": "a", "pod": {}}]})
    }

    #[test]
    fn ports_are_numbered_and_named() {
        const AT: &str = "s.domain.devices.interfaces[0].";
        let range = |start: i32, end: i32| json!({"protocol": "TCP", "start": start, "end": end});
        for (interface, wanted) in [
            (json!({"ports": [{"port": 80, "name": "http", "protocol": "TCP"}]}), vec![]),
            (json!({"ports": [{"port": 0}]}), vec!["ports[0].port"]),
            (json!({"ports": [{"port": 65536}]}), vec!["ports[0].port"]),
            (json!({"ports": [{"port": 80, "protocol": "SCTP"}]}), vec!["ports[0].protocol"]),
            (json!({"ports": [{"port": 80, "name": "80"}]}), vec!["ports[0].name"]),
            (json!({"ports": [{"port": 80, "name": "a"}, {"port": 81, "name": "a"}]}), vec!["ports[1].name"]),
            (json!({"portRanges": [range(1, 5), range(6, 9)]}), vec![]),
            (json!({"portRanges": [range(1, 5), range(5, 9)]}), vec!["portRanges"]),
            (json!({"portRanges": [range(9, 5)]}), vec!["portRanges[0].start"]),
            (json!({"portRanges": [range(0, 5)]}), vec!["portRanges[0].start"]),
            (json!({"portRanges": [range(1, 70000)]}), vec!["portRanges[0].end"]),
            (json!({"portRanges": [range(1, 5)], "ports": [{"port": 80}]}), vec!["name"]),
            (json!({"portRanges": vec![range(1, 1); 11]}), vec!["portRanges"]),
            (json!({"dhcpOptions": {"privateOptions": [{"option": 224, "value": "a"}], "ntpServers": ["10.0.0.1"]}}), vec![]),
            (json!({"dhcpOptions": {"privateOptions": [{"option": 3, "value": "a"}]}}), vec!["dhcpOptions.privateOptions[0].option"]),
            (
                json!({"dhcpOptions": {"privateOptions": [{"option": 224, "value": "a"}, {"option": 224, "value": "b"}]}}),
                vec!["dhcpOptions.privateOptions[1].option"],
            ),
            (json!({"dhcpOptions": {"ntpServers": ["::1"]}}), vec!["dhcpOptions.ntpServers[0]"]),
        ] {
            let wanted: Vec<String> = wanted.iter().map(|field| format!("{AT}{field}")).collect();
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            check(RULES, &[Gate::PortRangesSpec], &[(on_pod(interface), &wanted)]);
        }
    }

    #[test]
    fn ranges_need_their_gate() {
        let spec = on_pod(json!({"portRanges": [{"protocol": "TCP", "start": 1, "end": 2}]}));
        check(RULES, &[], &[(spec, &["s.domain.devices.interfaces[0].name"])]);
    }
}
