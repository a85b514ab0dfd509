//! The rules of address translation, as `nft -f` reads them.
//!
//! ```text
//!   in:    prerouting ─(from the pod's link)─▶ KUBEVIRT_PREINBOUND: to the guest
//!          postrouting ─(to the bridge)─▶ KUBEVIRT_POSTINBOUND: what comes from the pod's own loopback gets the bridge's address
//!   local: output: what a process of the pod sends to loopback goes to the guest, as it would to a container
//!   out:   postrouting: what the guest sends gets the pod's address
//! ```
//!
//! The table is the one that iptables and a service mesh use as well, so only chains of ours are emptied, and the text
//! can be applied again.

use std::fmt::Write as _;
use std::net::IpAddr;

use super::address::PrivateNetwork;
use crate::api::v1::Interface;

/// What the sidecar of a service mesh needs for itself; nothing of it is forwarded.
const MESH_PORTS: [u16; 10] = [15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090];
/// What the mesh does not carry, so that it is forwarded past it: ssh.
const PAST_MESH: [u16; 1] = [22];
/// Where the mesh's sidecar sends from when it delivers to the pod itself.
const MESH_LOOPBACK: &str = "127.0.0.6";
/// The ports of a launcher whose migrations come in by TCP: libvirt's own, and the one for disks.
const MIGRATION_PORTS: [u16; 2] = [49152, 49153];

/// Chains with a hook: name, type, hook, priority.
const HOOKED: [(&str, &str, i32); 4] =
    [("prerouting", "prerouting", -100), ("input", "input", 100), ("output", "output", -100), ("postrouting", "postrouting", 100)];
const PRE: &str = "KUBEVIRT_PREINBOUND";
const POST: &str = "KUBEVIRT_POSTINBOUND";

/// What the rules depend on.
pub(super) struct Translation<'a> {
    /// The pod's link.
    pub(super) link: &'a str,
    /// The bridge.
    pub(super) bridge: &'a str,
    /// The addresses between them and the guest.
    pub(super) network: PrivateNetwork,
    /// The pod's own address of that family.
    pub(super) pod: Option<IpAddr>,
    /// The guest's interface, with the ports that are declared.
    pub(super) interface: &'a Interface,
    /// Whether ranges of ports count.
    pub(super) port_ranges: bool,
    /// Whether a service mesh carries the pod's traffic.
    pub(super) mesh: bool,
    /// Whether migrations come in by TCP rather than by a socket.
    pub(super) migration_ports: bool,
}

/// Ports that are declared: how they are written, and whether one of those past the mesh is among them.
struct Ports {
    protocol: String,
    /// As a match: `80` or `80-90`.
    matched: String,
    /// As a set, which is how single ports are forwarded.
    forwarded: String,
    past_mesh: Vec<u16>,
}

impl Translation<'_> {
    /// The rules.
    pub(super) fn rules(&self) -> String {
        let (family, loopback) = if self.network.guest.is_ipv4() { ("ip", "127.0.0.1") } else { ("ip6", "::1") };
        let (guest, gateway) = (self.network.guest, self.network.gateway);
        let mesh_v4 = self.mesh && self.network.guest.is_ipv4();
        let to = set([Some(loopback.to_owned()), self.pod.filter(|_| mesh_v4).map(|pod| pod.to_string())]);
        let from = set([Some(loopback.to_owned()), mesh_v4.then(|| MESH_LOOPBACK.to_owned())]);
        let mut rules = Rules::new(family);

        rules.add("postrouting", &format!("{family} saddr {guest} counter masquerade"));
        rules.add("prerouting", &format!("iifname \"{}\" counter jump {PRE}", self.link));
        rules.add("postrouting", &format!("oifname \"{}\" counter jump {POST}", self.bridge));
        if self.migration_ports {
            rules.leave_alone(loopback, &MIGRATION_PORTS);
        }
        let declared = self.declared();
        for ports in &declared {
            let Ports { protocol, matched, forwarded, past_mesh } = ports;
            if !self.mesh {
                rules.add(PRE, &format!("{protocol} dport {forwarded} counter dnat to {guest}"));
            } else if !past_mesh.is_empty() {
                rules.add(PRE, &format!("tcp dport {} counter dnat to {guest}", numbers(past_mesh)));
            }
            rules.add(POST, &format!("{protocol} dport {matched} {family} saddr {from} counter snat to {gateway}"));
            rules.add("output", &format!("{family} daddr {to} {protocol} dport {matched} counter dnat to {guest}"));
        }
        if declared.is_empty() {
            if self.mesh {
                rules.leave_alone(loopback, &MESH_PORTS);
                rules.add(PRE, &format!("tcp dport {} counter dnat to {guest}", numbers(&PAST_MESH)));
            } else {
                rules.add(PRE, &format!("counter dnat to {guest}"));
            }
            rules.add(POST, &format!("{family} saddr {from} counter snat to {gateway}"));
            rules.add("output", &format!("{family} daddr {to} counter dnat to {guest}"));
        }
        rules.text
    }

    fn declared(&self) -> Vec<Ports> {
        let ports = self.interface.ports.iter().filter_map(|port| {
            let number = u16::try_from(port.port).ok()?;
            let protocol = if port.protocol.is_empty() { "tcp" } else { protocol(&port.protocol)? };
            let past_mesh = PAST_MESH.into_iter().filter(|p| *p == number).collect();
            Some(Ports { protocol: protocol.to_owned(), matched: number.to_string(), forwarded: numbers(&[number]), past_mesh })
        });
        let ranges = self.interface.port_ranges.iter().filter(|_| self.port_ranges).filter_map(|range| {
            let (start, end) = (u16::try_from(range.start).ok()?, u16::try_from(range.end).ok()?);
            let past_mesh = PAST_MESH.into_iter().filter(|p| (start..=end).contains(p)).collect();
            let matched = format!("{start}-{end}");
            Some(Ports { protocol: protocol(&range.protocol)?.to_owned(), forwarded: matched.clone(), matched, past_mesh })
        });
        ports.chain(ranges).collect()
    }
}

/// A protocol by its name; one that nft would not know must not reach its text.
fn protocol(name: &str) -> Option<&'static str> {
    ["tcp", "udp", "sctp"].into_iter().find(|known| known.eq_ignore_ascii_case(name))
}

fn set(members: [Option<String>; 2]) -> String {
    format!("{{ {} }}", members.into_iter().flatten().collect::<Vec<_>>().join(", "))
}

fn numbers(ports: &[u16]) -> String {
    format!("{{ {} }}", ports.iter().map(u16::to_string).collect::<Vec<_>>().join(", "))
}

/// The text of a table, line by line.
struct Rules {
    family: &'static str,
    text: String,
}

impl Rules {
    fn new(family: &'static str) -> Self {
        let mut rules = Self { family, text: format!("add table {family} nat\n") };
        for (chain, hook, priority) in HOOKED {
            let _ = writeln!(rules.text, "add chain {family} nat {chain} {{ type nat hook {hook} priority {priority}; }}");
        }
        for chain in [PRE, POST] {
            let _ = writeln!(rules.text, "add chain {family} nat {chain}");
        }
        for chain in HOOKED.map(|(chain, ..)| chain).into_iter().chain([PRE, POST]) {
            let _ = writeln!(rules.text, "flush chain {family} nat {chain}");
        }
        rules
    }

    fn add(&mut self, chain: &str, rule: &str) {
        let _ = writeln!(self.text, "add rule {} nat {chain} {rule}", self.family);
    }

    /// Ports of the pod itself: what the pod sends there is not turned to the guest.
    fn leave_alone(&mut self, loopback: &str, ports: &[u16]) {
        let rule = format!("tcp dport {} {} saddr {loopback} counter return", numbers(ports), self.family);
        self.add("output", &rule);
        self.add(POST, &rule);
    }
}
