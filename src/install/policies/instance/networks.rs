//! Networks, the interfaces on them, forwarded ports, what DHCP tells.

use crate::config::Gate;

use super::super::forms::{no_mac_address, no_pci_address};
use super::{Area, Rule};

macro_rules! on_pod_network {
    () => {
        "it.?name.orValue('') in $pod_networks"
    };
}

/// A binding that is gone: guests that have it may keep it, but no new one gets it.
macro_rules! gone {
    ($id:literal, $binding:literal, $instead:literal) => {
        Rule::each(
            $id,
            "interfaces",
            concat!("$creates && has(it.", $binding, ")"),
            concat!("spec.domain.devices.interfaces[#].", $binding),
            concat!("the binding ", $binding, " is gone since v1.3; take ", $instead),
        )
    };
}

pub(super) const AREAS: &[Area] = &[
    Area::when("$networks.exists(n, has(n.resourceClaim))", CLAIMED),
    Area::when("$interfaces.exists(i, has(i.ports) || has(i.portRanges))", PORTS),
    Area::when("$interfaces.exists(i, has(i.dhcpOptions))", DHCP),
    Area::when("$interfaces.exists(i, has(i.state))", STATES),
    Area::when("$networks != []", NETWORKS),
    Area::when("$interfaces != []", BINDINGS),
    Area::when("$interfaces != []", INTERFACES),
];

const CLAIMED: &[Rule] = &[
    Rule::gated("claimed-networks", Gate::NetworkDevicesWithDra, "$networks.exists(n, has(n.resourceClaim))", "spec.networks"),
    Rule::one(
        "claimed-networks-alone",
        "$networks.exists(n, has(n.resourceClaim)) && $networks.exists(n, has(n.multus))",
        "spec.networks",
        "networks of Multus and of resource claims do not go together; keep one kind",
    ),
    Rule::each(
        "claimed-network-request",
        "networks",
        "has(it.resourceClaim) && (it.resourceClaim.?claimName.orValue('') == '' || it.resourceClaim.?requestName.orValue('') == '')",
        "spec.networks[#].resourceClaim",
        "name the claim and the request in it that the network is taken from, in claimName and requestName",
    ),
    Rule::each(
        "claimed-network-claim",
        "networks",
        "it.?resourceClaim.?claimName.orValue('') != '' && it.resourceClaim.?requestName.orValue('') != '' && \
         !$spec.?resourceClaims.orValue([]).exists(c, c.?name.orValue('') == it.resourceClaim.claimName)",
        "spec.networks[#].resourceClaim.claimName",
        "there is no claim \"{it.resourceClaim.claimName}\" in resourceClaims; add it there",
    ),
    Rule::each(
        "claimed-network-once",
        "networks",
        "has(it.resourceClaim) && $networks.filter(n, has(n.resourceClaim) && n.resourceClaim == it.resourceClaim && \
         n.resourceClaim.?claimName.orValue('') != '' && n.resourceClaim.?requestName.orValue('') != '').size() > 1",
        "spec.networks[#]",
        "request \"{it.resourceClaim.requestName}\" of claim \"{it.resourceClaim.claimName}\" is taken twice; take another one",
    ),
    Rule::each(
        "claimed-network-binding",
        "networks",
        "has(it.resourceClaim) && $interfaces.exists(i, i.?name.orValue('') == it.name && !has(i.sriov) && !has(i.binding))",
        "spec.domain.devices.interfaces",
        "\"{it.name}\" is a network of a resource claim, which needs the binding sriov or a plugin",
    ),
];

const PORTS: &[Rule] = &[
    Rule::each(
        "port-number",
        "interfaces",
        concat!(on_pod_network!(), " && it.?ports.orValue([]).exists(p, p.?port.orValue(0) < 1 || p.?port.orValue(0) > 65535)"),
        "spec.domain.devices.interfaces[#].ports.port",
        "a port has no number, or one that is none; give 1 to 65535",
    ),
    Rule::each(
        "port-protocol",
        "interfaces",
        concat!(on_pod_network!(), " && it.?ports.orValue([]).exists(p, !(p.?protocol.orValue('') in ['', 'TCP', 'UDP']))"),
        "spec.domain.devices.interfaces[#].ports.protocol",
        "a port has a protocol that cannot be forwarded; give TCP or UDP",
    ),
    Rule::each(
        "port-name-form",
        "interfaces",
        concat!(
            on_pod_network!(),
            " && it.?ports.orValue([]).map(p, p.?name.orValue('')).exists(n, n != '' && (n.size() > 15 || n.contains('--') || \
             !n.matches('^[a-z0-9]([-a-z0-9]*[a-z0-9])?$') || !n.matches('[a-z]')))"
        ),
        "spec.domain.devices.interfaces[#].ports.name",
        "a port has a name that is none; use at most 15 lower-case letters, digits and single dashes between them, among them a letter",
    ),
    Rule::each(
        "port-name-unique",
        "interfaces",
        concat!(
            on_pod_network!(),
            " && it.?ports.orValue([]).exists(p, p.?name.orValue('') != '' && it.ports.filter(o, o.?name.orValue('') == p.name).size() > 1)"
        ),
        "spec.domain.devices.interfaces[#].ports.name",
        "two ports have one name; give each its own",
    ),
    Rule::gated_each(
        "port-ranges",
        Gate::PortRangesSpec,
        "interfaces",
        "it.?portRanges.orValue([]) != []",
        "spec.domain.devices.interfaces[#].name",
    ),
    Rule::each(
        "port-ranges-alone",
        "interfaces",
        concat!(on_pod_network!(), " && it.?portRanges.orValue([]) != [] && it.?ports.orValue([]) != []"),
        "spec.domain.devices.interfaces[#].name",
        "both ports and portRanges are given; leave one of them out",
    ),
    Rule::each(
        "port-ranges-masquerade",
        "interfaces",
        concat!("$complete && ", on_pod_network!(), " && it.?portRanges.orValue([]) != [] && !has(it.masquerade)"),
        "spec.domain.devices.interfaces[#].name",
        "portRanges work with the binding masquerade only",
    ),
    Rule::each(
        "port-ranges-count",
        "interfaces",
        concat!(on_pod_network!(), " && it.?portRanges.orValue([]).size() > 10"),
        "spec.domain.devices.interfaces[#].portRanges",
        "{it.portRanges.size()} ranges are too many; give at most 10",
    ),
    Rule::each(
        "port-range",
        "interfaces",
        concat!(
            on_pod_network!(),
            " && it.?portRanges.orValue([]).exists(r, !(r.?protocol.orValue('') in ['TCP', 'UDP']) || r.?start.orValue(0) < 1 || \
             r.?end.orValue(0) > 65535 || r.?start.orValue(0) > r.?end.orValue(0))"
        ),
        "spec.domain.devices.interfaces[#].portRanges",
        "a range is none; give protocol (TCP or UDP), start and end, from 1 to 65535",
    ),
    Rule::each(
        "port-ranges-apart",
        "interfaces",
        concat!(
            on_pod_network!(),
            " && it.?portRanges.orValue([]).exists(a, it.portRanges.filter(b, a.protocol == b.protocol && a.start <= b.end && b.start <= a.end).size() > 1)"
        ),
        "spec.domain.devices.interfaces[#].portRanges",
        "ranges overlap; keep them apart",
    ),
];

const DHCP: &[Rule] = &[
    Rule::each(
        "dhcp-option",
        "interfaces",
        "it.?dhcpOptions.?privateOptions.orValue([]).exists(o, o.?option.orValue(0) < 224 || o.?option.orValue(0) > 254)",
        "spec.domain.devices.interfaces[#].dhcpOptions.privateOptions.option",
        "an option is not free to use; take one from 224 to 254",
    ),
    Rule::each(
        "dhcp-option-once",
        "interfaces",
        "it.?dhcpOptions.?privateOptions.orValue([]).exists(o, it.dhcpOptions.privateOptions.filter(p, p.?option.orValue(0) == o.?option.orValue(0)).size() > 1)",
        "spec.domain.devices.interfaces[#].dhcpOptions.privateOptions.option",
        "an option is given twice; keep one of them",
    ),
    Rule::each(
        "dhcp-time-server",
        "interfaces",
        "it.?dhcpOptions.?ntpServers.orValue([]).exists(s, !isIP(s) || ip(s).family() != 4)",
        "spec.domain.devices.interfaces[#].dhcpOptions.ntpServers",
        "a time server is told by its IPv4 address, and one of these is none",
    ),
];

const STATES: &[Rule] = &[
    Rule::each(
        "interface-state",
        "interfaces",
        "!(it.?state.orValue('') in ['', 'absent', 'up', 'down'])",
        "spec.domain.devices.interfaces[#].state",
        "\"{it.state}\" is no state; give absent, up or down, or leave it out",
    ),
    Rule::each(
        "sriov-state",
        "interfaces",
        "has(it.sriov) && it.?state.orValue('') in ['up', 'down']",
        "spec.domain.devices.interfaces[#].state",
        "the link of an SR-IOV interface cannot be set \"{it.state}\"; leave it out",
    ),
    Rule::each(
        "absent-bridge",
        "interfaces",
        "it.?state.orValue('') == 'absent' && !has(it.bridge)",
        "spec.domain.devices.interfaces[#].state",
        "only interfaces with a bridge can be taken away; leave the state out",
    ),
    Rule::each(
        "absent-default",
        "interfaces",
        "it.?state.orValue('') == 'absent' && $networks.exists(n, n.?name.orValue('') == it.name && (has(n.pod) || n.?multus.?default.orValue(false)))",
        "spec.domain.devices.interfaces[#].state",
        "the interface on the default network cannot be taken away; leave the state out",
    ),
];

const NETWORKS: &[Rule] = &[
    Rule::one(
        "one-pod-network",
        "$pod_networks.size() > 1",
        "spec.domain.devices.interfaces",
        "{$pod_networks.size()} networks are the pod network, of which there is one; keep one of them",
    ),
    Rule::one(
        "one-default-network",
        "$networks.filter(n, n.?multus.?default.orValue(false)).size() > (size($pod_networks) > 0 ? 0 : 1)",
        "spec.networks",
        "a default network of Multus takes the place of the pod network, and there is one; keep one of them",
    ),
    Rule::each(
        "network-one-source",
        "networks",
        "['pod', 'multus', 'resourceClaim'].filter(k, k in it).size() != 1",
        "spec.networks[#]",
        "\"{it.name}\" is one thing; give exactly one of pod, multus and resourceClaim",
    ),
    Rule::each(
        "multus-name",
        "networks",
        "has(it.multus) && it.multus.?networkName.orValue('') == ''",
        "spec.networks[#]",
        "name the network attachment definition in multus.networkName",
    ),
    Rule::each(
        "network-name-unique",
        "networks",
        "$network_names.indexOf(it.?name.orValue('')) != $network_names.lastIndexOf(it.?name.orValue(''))",
        "spec.networks[#].name",
        "\"{it.name}\" is the name of another network, too; give each its own",
    ),
    Rule::each(
        "network-interface",
        "networks",
        "!(it.?name.orValue('') in $interface_names)",
        "spec.networks[#].name",
        "no interface is on \"{it.name}\"; add one of that name, or leave the network out",
    ),
];

const BINDINGS: &[Rule] = &[
    Rule::each(
        "interface-one-binding",
        "interfaces",
        "['bridge', 'masquerade', 'sriov', 'passtBinding', 'binding'].filter(k, k in it).size() > 1 || \
         ($complete && !['bridge', 'masquerade', 'sriov', 'passtBinding', 'binding'].exists(k, k in it))",
        "spec.domain.devices.interfaces[#]",
        "\"{it.name}\" needs one binding; give exactly one of bridge, masquerade, sriov, passtBinding and binding",
    ),
    Rule::each(
        "masquerade-pod-network",
        "interfaces",
        concat!("has(it.masquerade) && !(", on_pod_network!(), ")"),
        "spec.domain.devices.interfaces[#].name",
        "\"{it.name}\" is not on the pod network, where alone masquerade works",
    ),
    Rule::each(
        "masquerade-address",
        "interfaces",
        "has(it.masquerade) && it.?macAddress.orValue('') == '02:00:00:00:00:00'",
        "spec.domain.devices.interfaces[#].macAddress",
        "\"{it.macAddress}\" is the address of the bridge in the pod; take another one",
    ),
    Rule::each(
        "bridge-pod-network",
        "interfaces",
        concat!("has(it.bridge) && ", on_pod_network!(), " && !$bridge_on_pod_network"),
        "spec.domain.devices.interfaces[#].name",
        "the cluster permits no bridge on the pod network; take another binding, such as masquerade",
    ),
    Rule::gated_each("passt-binding", Gate::PasstBinding, "interfaces", "has(it.passtBinding)", "spec.domain.devices.interfaces[#].name"),
    Rule::each(
        "passt-pod-network",
        "interfaces",
        concat!("has(it.passtBinding) && !(", on_pod_network!(), ")"),
        "spec.domain.devices.interfaces[#].name",
        "\"{it.name}\" is not on the pod network, where alone passtBinding works",
    ),
    gone!("gone-slirp", "slirp", "masquerade"),
    gone!("gone-passt", "passt", "passtBinding"),
    gone!("gone-macvtap", "macvtap", "a binding plugin"),
];

const INTERFACES: &[Rule] = &[
    Rule::each(
        "interface-name-unique",
        "interfaces",
        "$interface_names.indexOf(it.?name.orValue('')) != $interface_names.lastIndexOf(it.?name.orValue(''))",
        "spec.domain.devices.interfaces[#].name",
        "\"{it.name}\" is the name of another interface, too; a network takes one interface",
    ),
    Rule::each(
        "interface-network",
        "interfaces",
        "!(it.?name.orValue('') in $network_names)",
        "spec.domain.devices.interfaces[#].name",
        "there is no network \"{it.name}\"; add one to networks, or name another",
    ),
    Rule::each(
        "interface-name-form",
        "interfaces",
        "!it.?name.orValue('').matches('^[A-Za-z0-9_-]+$')",
        "spec.domain.devices.interfaces[#].name",
        "\"{it.name}\" is no name of an interface; use letters, digits, '-' and '_'",
    ),
    Rule::each(
        "interface-model",
        "interfaces",
        "!(it.?model.orValue('') in ['', 'e1000', 'e1000e', 'igb', 'ne2k_pci', 'pcnet', 'rtl8139', 'virtio'])",
        "spec.domain.devices.interfaces[#].model",
        "\"{it.model}\" is no model of a network card; take one of e1000, e1000e, igb, ne2k_pci, pcnet, rtl8139 and virtio",
    ),
    Rule::each(
        "interface-mac",
        "interfaces",
        concat!("it.?macAddress.orValue('') != '' && ", no_mac_address!("it.macAddress")),
        "spec.domain.devices.interfaces[#].macAddress",
        "\"{it.macAddress}\" is no MAC address; write six bytes as in 02:00:00:12:34:56",
    ),
    Rule::each(
        "interface-pci",
        "interfaces",
        concat!("it.?pciAddress.orValue('') != '' && ", no_pci_address!("it.pciAddress")),
        "spec.domain.devices.interfaces[#].pciAddress",
        "\"{it.pciAddress}\" is no PCI address; write domain, bus, slot and function as in 0000:01:00.0",
    ),
];
