//! The guest's interfaces and the pod's links → what is to be made in the pod's network namespace.

use std::net::IpAddr;

use serde::Serialize;

use super::address::{AddressFault, PrivateNetwork};
use super::link::{self, Link};
use super::nft::Translation;
use crate::api::v1::{self, Interface, InterfaceState, VirtualMachineInstance, VirtualMachineInstanceMigrationTransport as Transport};
use crate::config::{ClusterConfig, Gate};
use crate::pod::networks::{Naming, link_name};

/// The bridge's MAC address: the same in every pod, so that a guest that migrates finds its gateway at once.
const BRIDGE_MAC: &str = "02:00:00:00:00:00";
/// The user and group of the launcher.
const OWNER: u32 = 107;
/// The most queues that a tap device has.
const MOST_QUEUES: i32 = 256;
/// Says that a service mesh carries the pod's traffic.
const MESH_INJECTION: &str = "sidecar.istio.io/inject";

/// One thing to make. Each may be there already: a plan can be carried out again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub enum Step {
    /// A bridge, up.
    #[serde(rename_all = "camelCase")]
    Bridge {
        /// Its name.
        name: String,
        /// Its MAC address.
        mac: String,
        /// The largest packet.
        mtu: u32,
        /// Its addresses, each with the length of its prefix.
        addresses: Vec<(IpAddr, u8)>,
    },
    /// A tap device for the guest, up and plugged into a bridge.
    #[serde(rename_all = "camelCase")]
    Tap {
        /// Its name.
        name: String,
        /// The bridge.
        bridge: String,
        /// The largest packet.
        mtu: u32,
        /// The user and group that may open it.
        owner: u32,
        /// Whether it is opened once for each queue.
        multiple_queues: bool,
    },
    /// A setting of the kernel, by its path below `/proc/sys`.
    #[serde(rename_all = "camelCase")]
    Sysctl {
        /// The path.
        path: String,
        /// The value.
        value: String,
    },
    /// Rules for nft.
    #[serde(rename_all = "camelCase")]
    Nft {
        /// The text.
        rules: String,
    },
}

/// One interface of the guest, and what is known of its network.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Network {
    /// The name in the VMI.
    pub name: String,
    /// The pod's link.
    pub link: String,
    /// The pod's addresses on it: those that others reach the guest by.
    pub pod_addresses: Vec<IpAddr>,
    /// The bridge, if there is one.
    pub bridge: Option<String>,
    /// The private networks behind it, IPv4 first.
    pub private: Vec<PrivateNetwork>,
    /// The tap device, if there is one.
    pub tap: Option<String>,
    /// The largest packet.
    pub mtu: u32,
}

/// What is to be made, and what comes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Plan {
    /// What is to be made, in that order.
    pub steps: Vec<Step>,
    /// The guest's interfaces, in the order of the VMI.
    pub networks: Vec<Network>,
}

/// Why the pod cannot be given a network for its guest.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// The interface names no network of the VMI.
    #[error("spec.domain.devices.interfaces[{index}].name: there is no network `{name}` in spec.networks")]
    NoNetwork {
        /// Which interface.
        index: usize,
        /// The name.
        name: String,
    },
    /// The pod does not have the link (yet).
    #[error("spec.domain.devices.interfaces[{index}]: the pod has no link `{link}` for the network `{name}`")]
    NoLink {
        /// Which interface.
        index: usize,
        /// The network.
        name: String,
        /// The link.
        link: String,
    },
    /// A private network that is none.
    #[error("spec.networks[{index}].pod.{field}")]
    Address {
        /// Which network.
        index: usize,
        /// The field.
        field: &'static str,
        /// The fault.
        #[source]
        fault: AddressFault,
    },
    /// A binding that needs more than this handler makes.
    #[error("spec.domain.devices.interfaces[{index}].{binding}: this node's handler does not make such a network; use masquerade")]
    Binding {
        /// Which interface.
        index: usize,
        /// The binding.
        binding: &'static str,
    },
}

impl NetworkError {
    /// Whether it may go away by itself: a link may come late.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::NoLink { .. })
    }
}

/// What is to be made in the namespace of the VMI's pod, which has those links.
pub fn plan(vmi: &VirtualMachineInstance, config: &ClusterConfig, links: &[Link]) -> Result<Plan, NetworkError> {
    let mut plan = Plan::default();
    for (index, interface) in vmi.spec.domain.devices.interfaces.iter().enumerate() {
        if interface.state == InterfaceState::Absent || interface.sriov.is_some() {
            continue;
        }
        Planner { vmi, config, links, index, interface }.add_to(&mut plan)?;
    }
    Ok(plan)
}

struct Planner<'a> {
    vmi: &'a VirtualMachineInstance,
    config: &'a ClusterConfig,
    links: &'a [Link],
    index: usize,
    interface: &'a Interface,
}

impl Planner<'_> {
    fn add_to(&self, plan: &mut Plan) -> Result<(), NetworkError> {
        let networks = &self.vmi.spec.networks;
        let (at, network) = networks
            .iter()
            .enumerate()
            .find(|(_, n)| n.name == self.interface.name)
            .ok_or_else(|| NetworkError::NoNetwork { index: self.index, name: self.interface.name.clone() })?;
        let name = self.link_of(network);
        let link = self.links.iter().find(|l| l.name == name && link::is_plain(&l.name));
        if self.interface.masquerade.is_some() {
            let link = link.ok_or_else(|| self.no_link(&name))?;
            return self.masquerade(plan, link, at, network);
        }
        if self.interface.bridge.is_some() {
            return Err(NetworkError::Binding { index: self.index, binding: "bridge" });
        }
        // what carries these runs in the launcher's container or beside it
        let link = match (link, &self.interface.passt_binding) {
            (Some(link), _) => link,
            (None, Some(_)) => return Err(self.no_link(&name)),
            (None, None) => return Ok(()),
        };
        if self.interface.passt_binding.is_some() {
            for (path, value) in
                [("net/ipv4/ping_group_range", format!("{OWNER} {OWNER}")), ("net/ipv4/ip_unprivileged_port_start", "0".into())]
            {
                plan.steps.push(Step::Sysctl { path: path.to_owned(), value });
            }
        }
        plan.networks.push(self.network(link, None, None, Vec::new()));
        Ok(())
    }

    /// The pod's link of a network: the one that the controller found, or the one that its name leads to.
    fn link_of(&self, network: &v1::Network) -> String {
        let told = self.vmi.status.interfaces.iter().find(|s| s.name == network.name).map(|s| s.pod_interface_name.clone());
        let ordinal = self.links.iter().any(|l| crate::lifecycle::vmi::is_ordinal_link(&l.name));
        let naming = if ordinal { Naming::Ordinal } else { Naming::Hashed };
        told.filter(|name| !name.is_empty()).unwrap_or_else(|| link_name(naming, &self.vmi.spec.networks, network))
    }

    fn no_link(&self, link: &str) -> NetworkError {
        NetworkError::NoLink { index: self.index, name: self.interface.name.clone(), link: link.to_owned() }
    }

    fn masquerade(&self, plan: &mut Plan, link: &Link, at: usize, network: &v1::Network) -> Result<(), NetworkError> {
        let bridge = link::bridge(&link.name);
        let pod = network.pod.clone().unwrap_or_default();
        let address = |field: &'static str, found: Result<PrivateNetwork, AddressFault>| {
            found.map_err(|fault| NetworkError::Address { index: at, field, fault })
        };
        let mut families = Vec::new();
        for address_of_pod in link.global() {
            let private = match address_of_pod {
                IpAddr::V4(_) => address("vmNetworkCIDR", PrivateNetwork::ipv4(&pod.vm_network_cidr))?,
                IpAddr::V6(_) => address("vmIPv6NetworkCIDR", PrivateNetwork::ipv6(&pod.vm_ipv6_network_cidr))?,
            };
            families.push((address_of_pod, private));
        }
        let private: Vec<_> = families.iter().map(|(_, private)| *private).collect();
        plan.steps.push(Step::Bridge {
            name: bridge.clone(),
            mac: BRIDGE_MAC.to_owned(),
            mtu: link.mtu,
            addresses: private.iter().map(|p| (p.gateway, p.prefix)).collect(),
        });
        let tap = link::tap(&link.name, network);
        plan.steps.push(Step::Tap {
            name: tap.clone(),
            bridge: bridge.clone(),
            mtu: link.mtu,
            owner: OWNER,
            multiple_queues: queues(self.vmi, self.interface) > 1,
        });
        for (_, private) in &families {
            match private.guest {
                IpAddr::V4(_) => {
                    plan.sysctl("net/ipv4/ip_forward");
                    // what a process of the pod sends to loopback may leave by the bridge
                    plan.sysctl(&format!("net/ipv4/conf/{bridge}/route_localnet"));
                }
                IpAddr::V6(_) => plan.sysctl("net/ipv6/conf/all/forwarding"),
            }
        }
        for (address_of_pod, private) in families {
            plan.steps.push(Step::Nft { rules: self.translation(link, &bridge, private, address_of_pod).rules() });
        }
        plan.networks.push(self.network(link, Some(bridge), Some(tap), private));
        Ok(())
    }

    fn translation<'a>(&'a self, link: &'a Link, bridge: &'a str, network: PrivateNetwork, pod: IpAddr) -> Translation<'a> {
        let annotations = self.vmi.metadata.annotations.as_ref();
        Translation {
            link: &link.name,
            bridge,
            network,
            pod: Some(pod),
            interface: self.interface,
            port_ranges: self.config.enabled(Gate::PortRangesSpec),
            mesh: annotations.and_then(|a| a.get(MESH_INJECTION)).is_some_and(|v| v.eq_ignore_ascii_case("true")),
            migration_ports: self.vmi.status.migration_transport != Transport::Unix,
        }
    }

    fn network(&self, link: &Link, bridge: Option<String>, tap: Option<String>, private: Vec<PrivateNetwork>) -> Network {
        let pod_addresses = link.global().collect();
        Network { name: self.interface.name.clone(), link: link.name.clone(), pod_addresses, bridge, private, tap, mtu: link.mtu }
    }
}

impl Plan {
    fn sysctl(&mut self, path: &str) {
        self.steps.push(Step::Sysctl { path: path.to_owned(), value: "1".to_owned() });
    }
}

/// How many queues an interface has: one a virtual CPU if the VMI wants so, and the card can have them.
pub fn queues(vmi: &VirtualMachineInstance, interface: &Interface) -> i32 {
    let wanted = vmi.spec.domain.devices.network_interface_multiqueue == Some(true);
    if !wanted || !(interface.model.is_empty() || interface.model == "virtio") {
        return 1;
    }
    let cpu = vmi.spec.domain.cpu.clone().unwrap_or_default();
    let cpus = crate::lifecycle::vmi::cpu_count(cpu.cores, cpu.sockets, cpu.threads);
    i32::try_from(cpus).unwrap_or(MOST_QUEUES).clamp(1, MOST_QUEUES)
}
