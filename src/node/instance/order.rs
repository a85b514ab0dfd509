//! What the launcher is told to run.

use std::net::IpAddr;

use crate::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use crate::guest::order::{Order, Plug, Volume, Volumes};
use crate::network::Network;
use crate::network::dhcp::Lease;
use crate::storage::growth::Claim;

/// The order for an instance whose networks have been made, on the node of that name.
pub fn order(node: &str, instance: &VirtualMachineInstance, configuration: &KubeVirtConfiguration, networks: &[Network]) -> Order {
    let plugs = networks.iter().filter_map(|network| Some((network.name.clone(), plug(instance, network)?))).collect();
    Order {
        vmi: instance.clone(),
        configuration: configuration.clone(),
        interfaces: plugs,
        volumes: volumes(instance),
        node: node.to_owned(),
    }
}

/// What is known of the volumes of an instance.
pub(super) fn volumes(instance: &VirtualMachineInstance) -> Volumes {
    let known = instance.status.volume_status.iter().filter_map(|status| {
        let claim = status.persistent_volume_claim_info.as_ref()?;
        Some((status.name.clone(), Volume { preallocated: claim.preallocated, claim: Claim::of(claim) }))
    });
    known.collect()
}

fn plug(instance: &VirtualMachineInstance, network: &Network) -> Option<Plug> {
    let tap = network.tap.clone()?;
    let interface = instance.spec.domain.devices.interfaces.iter().find(|i| i.name == network.name)?;
    let lease = network.private.iter().find_map(|private| {
        let (IpAddr::V4(server), IpAddr::V4(address)) = (private.gateway, private.guest) else { return None };
        Some(Lease {
            link: network.bridge.clone()?,
            mac: Some(interface.mac_address.clone()).filter(|mac| !mac.is_empty()),
            address,
            prefix: private.prefix,
            server,
            gateway: Some(server),
            routes: Vec::new(),
            mtu: u16::try_from(network.mtu).ok(),
        })
    });
    Some(Plug { tap, mac: None, mtu: Some(network.mtu), dhcp: lease })
}
