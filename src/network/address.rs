//! The private network between the pod and its guest.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use serde::Serialize;

/// The private IPv4 network when the VMI names none.
const DEFAULT_IPV4: &str = "10.0.2.0/24";
/// The private IPv6 network when the VMI names none.
const DEFAULT_IPV6: &str = "fd10:0:2::/120";

/// The addresses on both ends of the private network: the first that it has is the bridge's, the second the guest's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct PrivateNetwork {
    /// The bridge's address, which is the guest's way out.
    pub gateway: IpAddr,
    /// The guest's address.
    pub guest: IpAddr,
    /// The length of the network's prefix.
    pub prefix: u8,
}

/// A text that is no network.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no IPv{version} network with room for two addresses; write it like {example}")]
pub struct AddressFault {
    text: String,
    version: u8,
    example: &'static str,
}

impl PrivateNetwork {
    /// The IPv4 network that the VMI names; nothing means the usual one.
    pub fn ipv4(cidr: &str) -> Result<Self, AddressFault> {
        let cidr = if cidr.is_empty() { DEFAULT_IPV4 } else { cidr };
        parse_ipv4(cidr).ok_or_else(|| AddressFault { text: cidr.to_owned(), version: 4, example: DEFAULT_IPV4 })
    }

    /// The IPv6 network that the VMI names; nothing means the usual one.
    pub fn ipv6(cidr: &str) -> Result<Self, AddressFault> {
        let cidr = if cidr.is_empty() { DEFAULT_IPV6 } else { cidr };
        parse_ipv6(cidr).ok_or_else(|| AddressFault { text: cidr.to_owned(), version: 6, example: DEFAULT_IPV6 })
    }
}

/// The prefix must leave two bits: the network itself, both ends, and one to spare.
fn prefix(text: &str, bits: u8) -> Option<u8> {
    text.parse().ok().filter(|prefix| *prefix <= bits - 2)
}

fn parse_ipv4(cidr: &str) -> Option<PrivateNetwork> {
    let (address, length) = cidr.split_once('/')?;
    let prefix = prefix(length, 32)?;
    let network = u32::from(address.parse::<Ipv4Addr>().ok()?) & u32::MAX.checked_shl(u32::from(32 - prefix)).unwrap_or(0);
    let at = |offset| Some(IpAddr::V4(Ipv4Addr::from(network.checked_add(offset)?)));
    Some(PrivateNetwork { gateway: at(1)?, guest: at(2)?, prefix })
}

fn parse_ipv6(cidr: &str) -> Option<PrivateNetwork> {
    let (address, length) = cidr.split_once('/')?;
    let prefix = prefix(length, 128)?;
    let network = u128::from(address.parse::<Ipv6Addr>().ok()?) & u128::MAX.checked_shl(u32::from(128 - prefix)).unwrap_or(0);
    let at = |offset| Some(IpAddr::V6(Ipv6Addr::from(network.checked_add(offset)?)));
    Some(PrivateNetwork { gateway: at(1)?, guest: at(2)?, prefix })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_two_addresses_are_taken() {
        for (cidr, gateway, guest, prefix) in [
            ("", "10.0.2.1", "10.0.2.2", 24),
            ("192.168.7.99/28", "192.168.7.97", "192.168.7.98", 28),
            ("10.1.0.0/30", "10.1.0.1", "10.1.0.2", 30),
            ("0.0.0.0/0", "0.0.0.1", "0.0.0.2", 0),
        ] {
            let found = PrivateNetwork::ipv4(cidr).unwrap();
            assert_eq!((found.gateway.to_string().as_str(), found.guest.to_string().as_str(), found.prefix), (gateway, guest, prefix));
        }
        let found = PrivateNetwork::ipv6("").unwrap();
        assert_eq!(
            (found.gateway.to_string().as_str(), found.guest.to_string().as_str(), found.prefix),
            ("fd10:0:2::1", "fd10:0:2::2", 120)
        );
        assert_eq!(PrivateNetwork::ipv6("fd00::ffff/64").unwrap().guest.to_string(), "fd00::2");
    }

    #[test]
    fn a_fault_says_what_would_be_right() {
        for cidr in ["10.0.2.0", "10.0.2.0/31", "10.0.2.0/-1", "10.0.2/24", "fd10::/64", "/", "a/24", "10.0.2.0/24/1"] {
            let error = PrivateNetwork::ipv4(cidr).unwrap_err().to_string();
            assert!(error.contains(cidr) && error.ends_with("10.0.2.0/24"), "{error}");
        }
        for cidr in ["fd10::/127", "10.0.2.0/24", "fd10::"] {
            assert!(PrivateNetwork::ipv6(cidr).is_err(), "{cidr}");
        }
    }
}
