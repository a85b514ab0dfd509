//! Networks and the interfaces on them.

use super::{Rule, Subject, closed, repeated};
use crate::admission::{Cause, Path};
use crate::api::v1::{Interface, InterfaceState, Network, VirtualMachineInstanceSpec};
use crate::config::Gate;

pub(super) const RULES: &[Rule] = &[
    one_pod_network,
    one_source,
    multus_name,
    states,
    bindings,
    network_names,
    claimed_networks,
    networks_have_interfaces,
    interface_names,
    interfaces_have_networks,
    models_and_addresses,
];

const MODELS: [&str; 7] = ["e1000", "e1000e", "igb", "ne2k_pci", "pcnet", "rtl8139", "virtio"];
/// The address of the bridge that masquerading makes in the pod.
const BRIDGE_MAC: &str = "02:00:00:00:00:00";

const INTERFACES: &str = "domain.devices.interfaces";

/// The interfaces with their places; `list` is the path of them all.
fn interfaces<'s>(s: &Subject<'s>) -> impl Iterator<Item = (usize, &'s Interface)> {
    s.devices().interfaces.iter().enumerate()
}

/// The network that an interface is on: of several of one name, the last.
pub(super) fn network_of<'s>(s: &Subject<'s>, interface: &Interface) -> Option<&'s Network> {
    s.spec.networks.iter().rfind(|network| network.name == interface.name)
}

fn one_pod_network(s: &Subject, causes: &mut Vec<Cause>) {
    let pods = s.spec.networks.iter().filter(|n| n.pod.is_some()).count();
    let defaults = s.spec.networks.iter().filter(|n| n.multus.as_ref().is_some_and(|m| m.default)).count();
    if pods > 1 {
        causes.push(Cause::duplicate(
            s.at.key(INTERFACES),
            format!("{pods} networks are the pod network, of which there is one; keep one of them"),
        ));
    }
    if defaults > 1 {
        causes.push(Cause::invalid(s.at.key("networks"), format!("{defaults} networks of Multus are the default; keep one of them so")));
    }
    if pods > 0 && defaults > 0 {
        let message = "a default network of Multus takes the place of the pod network; keep one of them";
        causes.push(Cause::invalid(s.at.key("networks"), message));
    }
}

fn one_source(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("networks");
    for (i, network) in s.spec.networks.iter().enumerate() {
        let sources = [network.pod.is_some(), network.multus.is_some(), network.resource_claim.is_some()];
        let message = match sources.into_iter().filter(|given| *given).count() {
            1 => continue,
            0 => format!("nothing says what {:?} is; give pod, multus or resourceClaim", network.name),
            _ => format!("{:?} is more than one thing; keep one of pod, multus and resourceClaim", network.name),
        };
        causes.push(Cause::required(list.index(i), message));
    }
}

fn multus_name(s: &Subject, causes: &mut Vec<Cause>) {
    let unnamed = |n: &Network| n.multus.as_ref().is_some_and(|m| m.network_name.is_empty());
    if let Some(i) = s.spec.networks.iter().position(unnamed) {
        causes.push(Cause::required(s.at.key("networks").index(i), "name the network attachment definition in multus.networkName"));
    }
}

fn states(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key(INTERFACES);
    let default = s.spec.networks.iter().find(|n| n.pod.is_some() || n.multus.as_ref().is_some_and(|m| m.default));
    for (i, interface) in interfaces(s) {
        let (element, state) = (list.index(i), &interface.state);
        let at = element.key("state");
        if !state.is_unset() && !state.is_known() {
            let message = format!("{:?} is no state; give {}, or leave it out", state.as_str(), InterfaceState::VALUES.join(", "));
            causes.push(Cause::invalid(at, message));
        }
        if interface.sriov.is_some() && matches!(state, InterfaceState::Up | InterfaceState::Down) {
            causes.push(Cause::invalid(at, format!("the link of an SR-IOV interface cannot be set {:?}; leave it out", state.as_str())));
        }
        if *state == InterfaceState::Absent {
            if interface.bridge.is_none() {
                causes.push(Cause::invalid(at, "only interfaces with a bridge can be taken away; leave the state out"));
            }
            if default.is_some_and(|network| network.name == interface.name) {
                causes.push(Cause::invalid(at, "the interface on the default network cannot be taken away; leave the state out"));
            }
        }
    }
}

fn bindings(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key(INTERFACES);
    for (i, interface) in interfaces(s) {
        let at = list.index(i);
        let network = network_of(s, interface);
        one_binding(&at, interface, causes);
        masquerade(&at, interface, network, causes);
        bridge(s, &at, interface, network, causes);
        passt(s, &at, interface, network, causes);
    }
}

fn one_binding(at: &Path, interface: &Interface, causes: &mut Vec<Cause>) {
    let given = [
        interface.bridge.is_some(),
        interface.masquerade.is_some(),
        interface.sriov.is_some(),
        interface.passt_binding.is_some(),
        interface.binding.is_some(),
    ];
    if given.into_iter().filter(|given| *given).count() != 1 {
        let message =
            format!("{:?} needs one binding; give exactly one of bridge, masquerade, sriov, passtBinding and binding", interface.name);
        causes.push(Cause::invalid(at, message));
    }
}

fn on_pod_network(network: Option<&Network>) -> bool {
    network.is_some_and(|network| network.pod.is_some())
}

fn masquerade(at: &Path, interface: &Interface, network: Option<&Network>, causes: &mut Vec<Cause>) {
    if interface.masquerade.is_none() {
        return;
    }
    if !on_pod_network(network) {
        causes
            .push(Cause::invalid(at.key("name"), format!("{:?} is not on the pod network, where alone masquerade works", interface.name)));
    }
    if interface.mac_address == BRIDGE_MAC {
        causes
            .push(Cause::invalid(at.key("macAddress"), format!("{BRIDGE_MAC} is the address of the bridge in the pod; take another one")));
    }
}

fn bridge(s: &Subject, at: &Path, interface: &Interface, network: Option<&Network>, causes: &mut Vec<Cause>) {
    if interface.bridge.is_some() && on_pod_network(network) && !s.config.bridge_on_pod_network() {
        let message = "the cluster permits no bridge on the pod network; take another binding, such as masquerade";
        causes.push(Cause::invalid(at.key("name"), message));
    }
}

fn passt(s: &Subject, at: &Path, interface: &Interface, network: Option<&Network>, causes: &mut Vec<Cause>) {
    if interface.passt_binding.is_none() {
        return;
    }
    if !s.enabled(Gate::PasstBinding) {
        causes.push(Cause::invalid(at.key("name"), closed(Gate::PasstBinding)));
    }
    if !on_pod_network(network) {
        causes.push(Cause::invalid(
            at.key("name"),
            format!("{:?} is not on the pod network, where alone passtBinding works", interface.name),
        ));
    }
}

fn network_names(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("networks");
    repeated(s.spec.networks.iter().map(|n| n.name.as_str()), |i, first, name| {
        causes.push(Cause::duplicate(list.index(i).key("name"), format!("{name:?} is the name of network {first}, too; take another one")));
    });
}

fn claimed_networks(s: &Subject, causes: &mut Vec<Cause>) {
    if s.spec.networks.iter().all(|n| n.resource_claim.is_none()) {
        return;
    }
    let list = s.at.key("networks");
    if !s.enabled(Gate::NetworkDevicesWithDra) {
        causes.push(Cause::invalid(list, closed(Gate::NetworkDevicesWithDra)));
        return;
    }
    if s.spec.networks.iter().any(|n| n.multus.is_some()) {
        causes.push(Cause::invalid(list, "networks of Multus and of resource claims do not go together; keep one kind"));
        return;
    }
    for (i, network) in s.spec.networks.iter().enumerate() {
        let (Some(claim), at) = (&network.resource_claim, list.index(i)) else { continue };
        if let Some(interface) = s.devices().interfaces.iter().find(|interface| interface.name == network.name)
            && interface.sriov.is_none()
            && interface.binding.is_none()
        {
            let message = format!("{:?} is on a network of a resource claim, which needs the binding sriov or a plugin", network.name);
            causes.push(Cause::invalid(s.at.key(INTERFACES), message));
        }
        let at = at.key("resourceClaim");
        for (key, value) in [("claimName", &claim.claim_name), ("requestName", &claim.request_name)] {
            if value.is_empty() {
                causes.push(Cause::required(at.key(key), "name the claim and the request in it that the network is taken from"));
            }
        }
        if claim.claim_name.is_empty() || claim.request_name.is_empty() {
            continue;
        }
        if s.spec.resource_claims.iter().all(|known| known.name != claim.claim_name) {
            let message = format!("there is no claim {:?} in spec.resourceClaims; add it there", claim.claim_name);
            causes.push(Cause::not_found(at.key("claimName"), message));
        }
        if s.spec.networks.iter().take(i).any(|earlier| earlier.resource_claim.as_ref() == Some(claim)) {
            let message = format!("request {:?} of claim {:?} is taken twice; take another one", claim.request_name, claim.claim_name);
            causes.push(Cause::duplicate(list.index(i), message));
        }
    }
}

fn networks_have_interfaces(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key("networks");
    for (i, network) in s.spec.networks.iter().enumerate() {
        if s.devices().interfaces.iter().all(|interface| interface.name != network.name) {
            let message = format!("no interface is on {:?}; add one of that name, or leave the network out", network.name);
            causes.push(Cause::required(list.index(i).key("name"), message));
        }
    }
}

fn interface_names(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key(INTERFACES);
    repeated(s.devices().interfaces.iter().map(|interface| interface.name.as_str()), |i, first, name| {
        let message = format!("{name:?} is the name of interface {first}, too; a network takes one interface");
        causes.push(Cause::duplicate(list.index(i).key("name"), message));
    });
}

fn interfaces_have_networks(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key(INTERFACES);
    for (i, interface) in interfaces(s) {
        if network_of(s, interface).is_none() {
            let message = format!("there is no network {:?}; add one to spec.networks, or name another", interface.name);
            causes.push(Cause::invalid(list.index(i).key("name"), message));
        }
    }
}

fn models_and_addresses(s: &Subject, causes: &mut Vec<Cause>) {
    let list = s.at.key(INTERFACES);
    for (i, interface) in interfaces(s) {
        let at = list.index(i);
        let word = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_');
        if interface.name.is_empty() || !interface.name.bytes().all(word) {
            let message = format!("{:?} is no name of an interface; use letters, digits, '-' and '_'", interface.name);
            causes.push(Cause::invalid(at.key("name"), message));
        }
        if !interface.model.is_empty() && !MODELS.contains(&interface.model.as_str()) {
            let message = format!("{:?} is no model of a network card; take one of {}", interface.model, MODELS.join(", "));
            causes.push(Cause::not_supported(at.key("model"), message));
        }
        if !interface.mac_address.is_empty() && !is_mac(&interface.mac_address) {
            let message = format!("{:?} is no MAC address; write six bytes as in 02:00:00:12:34:56", interface.mac_address);
            causes.push(Cause::invalid(at.key("macAddress"), message));
        }
        if !interface.pci_address.is_empty() && !is_pci(&interface.pci_address) {
            causes.push(Cause::invalid(at.key("pciAddress"), not_pci(&interface.pci_address)));
        }
    }
}

/// Six bytes in hexadecimal: pairs with colons or dashes, or fours with dots.
fn is_mac(text: &str) -> bool {
    let groups = |separator: char, count: usize, length: usize| {
        let mut parts = text.split(separator);
        parts.by_ref().take(count).filter(|p| p.len() == length && p.bytes().all(|b| b.is_ascii_hexdigit())).count() == count
            && parts.next().is_none()
    };
    groups(':', 6, 2) || groups('-', 6, 2) || groups('.', 3, 4)
}

/// Domain, bus, slot and function: `0000:01:1f.7`.
pub(super) fn is_pci(text: &str) -> bool {
    let hex = |part: Option<&str>, length: usize| part.is_some_and(|p| p.len() == length && p.bytes().all(|b| b.is_ascii_hexdigit()));
    let Some((address, function)) = text.split_once('.') else { return false };
    let mut parts = address.split(':');
    hex(parts.next(), 4)
        && hex(parts.next(), 2)
        && hex(parts.next(), 2)
        && parts.next().is_none()
        && matches!(function.as_bytes(), [b'0'..=b'7'])
}

/// What to say about what is no PCI address.
pub(super) fn not_pci(text: &str) -> String {
    format!("{text:?} is no PCI address; write domain, bus, slot and function as in 0000:01:00.0")
}

/// Bindings that are gone may stay where they are, but no new guest gets them.
pub(in super::super) fn discontinued_bindings(at: &Path, spec: &VirtualMachineInstanceSpec, causes: &mut Vec<Cause>) {
    let list = at.key(INTERFACES);
    for (i, interface) in spec.domain.devices.interfaces.iter().enumerate() {
        let gone = [
            ("slirp", interface.slirp.is_some(), "masquerade"),
            ("passt", interface.passt.is_some(), "passtBinding"),
            ("macvtap", interface.macvtap.is_some(), "a binding plugin"),
        ];
        for (key, given, instead) in gone {
            if given {
                let message = format!("the binding {key} is gone since v1.3; take {instead}");
                causes.push(Cause::invalid(list.index(i).key(key), message));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::testing::check;
    use super::*;
    use serde_json::{Value, json};

    fn connected(interfaces: Value, networks: Value) -> Value {
        json!({"domain": {"devices": {"interfaces": interfaces}}, "networks": networks})
    }

    /// One interface on a Multus network.
    fn one(interface: Value) -> Value {
        let mut interface = interface;
        interface["name"] = json!("a");
        connected(json!([interface]), json!([{"name": "a", "multus": {"networkName": "m"}}]))
    }

    #[test]
    fn networks_are_one_thing_each_and_used() {
        check(
            RULES,
            &[],
            &[
                (connected(json!([{"name": "a", "masquerade": {}}]), json!([{"name": "a", "pod": {}}])), &[]),
                (connected(json!([{"name": "a", "bridge": {}}]), json!([{"name": "a"}])), &["s.networks[0]"]),
                (
                    connected(json!([{"name": "a", "bridge": {}}]), json!([{"name": "a", "pod": {}, "multus": {"networkName": "m"}}])),
                    &["s.networks[0]"],
                ),
                (
                    connected(json!([{"name": "a", "bridge": {}}]), json!([{"name": "a", "multus": {"networkName": ""}}])),
                    &["s.networks[0]"],
                ),
                (connected(json!([]), json!([{"name": "a", "pod": {}}])), &["s.networks[0].name"]),
                (connected(json!([{"name": "a", "bridge": {}}]), json!([])), &["s.domain.devices.interfaces[0].name"]),
                (
                    connected(
                        json!([{"name": "a", "bridge": {}}, {"name": "b", "bridge": {}}]),
                        json!([{"name": "a", "pod": {}}, {"name": "b", "pod": {}}]),
                    ),
                    &["s.domain.devices.interfaces"],
                ),
                (
                    connected(json!([{"name": "a", "bridge": {}}, {"name": "a", "bridge": {}}]), json!([{"name": "a", "pod": {}}])),
                    &["s.domain.devices.interfaces[1].name"],
                ),
                (
                    connected(
                        json!([{"name": "a", "bridge": {}}, {"name": "b", "bridge": {}}]),
                        json!([{"name": "a", "pod": {}}, {"name": "b", "multus": {"networkName": "m", "default": true}}]),
                    ),
                    &["s.networks"],
                ),
                (
                    connected(json!([{"name": "a", "sriov": {}}]), json!([{"name": "a", "resourceClaim": {"claimName": "c"}}])),
                    &["s.networks"],
                ),
            ],
        );
    }

    #[test]
    fn interfaces_are_bound_in_one_way_that_works_there() {
        const AT: &str = "s.domain.devices.interfaces[0]";
        let under = |key: &'static str| format!("{AT}.{key}");
        for (spec, wanted) in [
            (one(json!({"bridge": {}, "macAddress": "02-00-00-00-00-01", "model": "igb", "pciAddress": "0000:81:01.7"})), vec![]),
            (one(json!({})), vec![AT.to_owned()]),
            (one(json!({"bridge": {}, "sriov": {}})), vec![AT.to_owned()]),
            (one(json!({"masquerade": {}})), vec![under("name")]),
            (one(json!({"passtBinding": {}})), vec![under("name")]),
            (one(json!({"bridge": {}, "state": "limp"})), vec![under("state")]),
            (one(json!({"sriov": {}, "state": "down"})), vec![under("state")]),
            (one(json!({"sriov": {}, "state": "absent"})), vec![under("state")]),
            (one(json!({"bridge": {}, "state": "absent"})), vec![]),
            (one(json!({"bridge": {}, "model": "ne9000"})), vec![under("model")]),
            (one(json!({"bridge": {}, "macAddress": "02:00"})), vec![under("macAddress")]),
            (one(json!({"bridge": {}, "macAddress": "00:00:00:00:00:00:00:01"})), vec![under("macAddress")]),
            (one(json!({"bridge": {}, "pciAddress": "0000:81:01.8"})), vec![under("pciAddress")]),
        ] {
            let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
            check(RULES, &[], &[(spec, &wanted)]);
        }
    }

    #[test]
    fn claimed_networks_name_their_claims() {
        let spec = |networks: Value, binding: &str| json!({"domain": {"devices": {"interfaces": [{"name": "a", binding: {}}]}}, "networks": networks, "resourceClaims": [{"name": "c"}]});
        check(
            RULES,
            &[Gate::NetworkDevicesWithDra],
            &[
                (spec(json!([{"name": "a", "resourceClaim": {"claimName": "c", "requestName": "r"}}]), "sriov"), &[]),
                (
                    spec(json!([{"name": "a", "resourceClaim": {"claimName": "c", "requestName": "r"}}]), "bridge"),
                    &["s.domain.devices.interfaces"],
                ),
                (spec(json!([{"name": "a", "resourceClaim": {"claimName": "c"}}]), "sriov"), &["s.networks[0].resourceClaim.requestName"]),
                (
                    spec(json!([{"name": "a", "resourceClaim": {"claimName": "x", "requestName": "r"}}]), "sriov"),
                    &["s.networks[0].resourceClaim.claimName"],
                ),
            ],
        );
    }

    #[test]
    fn bindings_that_are_gone_are_refused() {
        let spec = serde_json::from_value(one(json!({"slirp": {}, "macvtap": {}}))).unwrap();
        let mut causes = Vec::new();
        discontinued_bindings(&Path::new("s"), &spec, &mut causes);
        let fields: Vec<_> = causes.iter().map(|c| c.field.as_str()).collect();
        assert_eq!(fields, ["s.domain.devices.interfaces[0].slirp", "s.domain.devices.interfaces[0].macvtap"]);
    }
}
