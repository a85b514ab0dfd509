//! Links of a pod, as they were found, and how those that are made are named.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use crate::api::v1::Network;

/// A link of the pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Link {
    /// Its name.
    pub name: String,
    /// Its MAC address, if it has one.
    pub mac: Option<String>,
    /// The largest packet that it carries.
    pub mtu: u32,
    /// Its addresses.
    pub addresses: Vec<IpAddr>,
}

impl Link {
    /// The first address of each family by which others reach it, IPv4 before IPv6.
    pub fn global(&self) -> impl Iterator<Item = IpAddr> + '_ {
        let first = |version4: bool| self.addresses.iter().copied().find(move |a| a.is_ipv4() == version4 && is_global(a));
        first(true).into_iter().chain(first(false))
    }
}

/// Whether others can reach an address: it is no loopback, link-local, multicast or unspecified one.
pub fn is_global(address: &IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => !(v4.is_loopback() || v4.is_link_local() || v4.is_multicast() || v4.is_broadcast() || v4.is_unspecified()),
        IpAddr::V6(v6) => !(v6.is_loopback() || v6.is_unicast_link_local() || v6.is_multicast() || v6.is_unspecified()),
    }
}

/// Whether a link's name can stand in a rule or a path as it is. The kernel allows nearly everything in a name.
pub(super) fn is_plain(name: &str) -> bool {
    !name.is_empty() && !name.starts_with('.') && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.'))
}

/// What stays of a link's name in the names of those that are made for it: a link's name has at most 15 bytes.
fn stem(link: &str) -> &str {
    link.strip_prefix("pod").unwrap_or(link)
}

/// The bridge between a link of the pod and the guest.
pub(super) fn bridge(link: &str) -> String {
    format!("k6t-{}", stem(link))
}

/// The guest's end.
pub(super) fn tap(link: &str, network: &Network) -> String {
    match &network.multus {
        Some(multus) if !multus.default => format!("tap{}", link.get(3..).unwrap_or(link)),
        _ => "tap0".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_that_are_made_are_named_by_the_pods() {
        let own: Network = serde_yaml::from_str("{name: a, pod: {}}").unwrap();
        let other: Network = serde_yaml::from_str("{name: b, multus: {networkName: n}}").unwrap();
        let default: Network = serde_yaml::from_str("{name: c, multus: {networkName: n, default: true}}").unwrap();
        assert_eq!((bridge("eth0"), tap("eth0", &own)), ("k6t-eth0".into(), "tap0".into()));
        assert_eq!((bridge("pod3e23e816003"), tap("pod3e23e816003", &other)), ("k6t-3e23e816003".into(), "tap3e23e816003".into()));
        assert_eq!((bridge("net1"), tap("net1", &other)), ("k6t-net1".into(), "tap1".into()));
        assert_eq!(tap("eth0", &default), "tap0");
    }

    #[test]
    fn only_addresses_that_others_reach_count() {
        let addresses = ["fe80::1", "127.0.0.1", "10.244.1.7", "10.244.1.8", "::1", "fd00::7", "169.254.1.1"];
        let link = Link { addresses: addresses.map(|a| a.parse().unwrap()).into(), ..Link::default() };
        assert_eq!(link.global().map(|a| a.to_string()).collect::<Vec<_>>(), ["10.244.1.7", "fd00::7"]);
        assert!(!is_global(&"224.0.0.1".parse().unwrap()) && !is_global(&"::".parse().unwrap()));
    }
}
