//! DHCP for one guest: what it is told, and the answers to what it asks.

use std::net::Ipv4Addr;

use serde::{Deserialize, Serialize};

/// The address of a guest, and what belongs to it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Lease {
    /// The link of the pod on which the guest asks: its bridge, such as `k6t-eth0`.
    pub link: String,
    /// The only MAC address that is answered; `None` answers every one.
    #[serde(default)]
    pub mac: Option<String>,
    /// The guest's address.
    pub address: Ipv4Addr,
    /// The length of its network's prefix.
    pub prefix: u8,
    /// The address of who answers: the bridge's.
    pub server: Ipv4Addr,
    /// The guest's way out.
    #[serde(default)]
    pub gateway: Option<Ipv4Addr>,
    /// Routes beside it, for guests that take over the pod's address.
    #[serde(default)]
    pub routes: Vec<Route>,
    /// The MTU of the network.
    #[serde(default)]
    pub mtu: Option<u16>,
}

/// A route of the guest.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Route {
    /// The network that it leads to; 0.0.0.0 with a prefix of 0 for everywhere.
    pub network: Ipv4Addr,
    /// The length of the network's prefix.
    pub prefix: u8,
    /// The next station; `None` when the network is on the link.
    #[serde(default)]
    pub gateway: Option<Ipv4Addr>,
}
