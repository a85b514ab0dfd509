//! What a guest is told along with its address.

use std::net::Ipv4Addr;

use super::{DhcpError, Lease, Route, Surroundings};
use crate::network::resolver::encode_domains;

/// A lease that does not end: 999 days.
const FOREVER: u32 = 999 * 24 * 3600;
/// The options that a site may give a meaning of its own.
const PRIVATE: std::ops::RangeInclusive<i64> = 224..=254;

mod code {
    pub(super) const SUBNET_MASK: u8 = 1;
    pub(super) const ROUTER: u8 = 3;
    pub(super) const NAME_SERVERS: u8 = 6;
    pub(super) const HOST_NAME: u8 = 12;
    pub(super) const DOMAIN_NAME: u8 = 15;
    pub(super) const MTU: u8 = 26;
    pub(super) const TIME_SERVERS: u8 = 42;
    pub(super) const LEASE_TIME: u8 = 51;
    pub(super) const TFTP_SERVER: u8 = 66;
    pub(super) const BOOT_FILE: u8 = 67;
    pub(super) const SEARCH: u8 = 119;
    pub(super) const ROUTES: u8 = 121;
}

/// Options, those that a guest can least do without first; the lease's time comes before all.
#[derive(Debug)]
pub(super) struct Options(Vec<(u8, Vec<u8>)>);

impl Options {
    /// Those for a client; one that keeps its own address is told of no lease.
    pub(super) fn for_client(&self, leased: bool) -> &[(u8, Vec<u8>)] {
        self.0.get(usize::from(!leased)..).unwrap_or_default()
    }
}

fn addresses(addresses: &[Ipv4Addr]) -> Vec<u8> {
    addresses.iter().flat_map(Ipv4Addr::octets).collect()
}

/// The mask of a prefix.
fn mask(prefix: u8) -> Option<u32> {
    (prefix <= 32).then(|| u32::MAX.checked_shl(32 - u32::from(prefix)).unwrap_or(0))
}

/// The options for a guest.
pub(super) fn all(lease: &Lease, around: Surroundings<'_>) -> Result<Options, DhcpError> {
    let prefix =
        |prefix: u8| mask(prefix).ok_or_else(|| DhcpError::new("prefix", format!("{prefix} is too long; a prefix has at most 32 bits")));
    let mut options =
        vec![(code::LEASE_TIME, FOREVER.to_be_bytes().to_vec()), (code::SUBNET_MASK, prefix(lease.prefix)?.to_be_bytes().to_vec())];
    options.extend(lease.gateway.map(|gateway| (code::ROUTER, gateway.octets().to_vec())));
    options.push((code::NAME_SERVERS, addresses(&around.resolver.servers)));
    options.extend(lease.mtu.map(|mtu| (code::MTU, mtu.to_be_bytes().to_vec())));
    for route in &lease.routes {
        prefix(route.prefix)?;
    }
    options.push((code::ROUTES, routes(&lease.routes)));
    options.push((code::HOST_NAME, around.hostname.as_bytes().to_vec()));
    let search = around.resolver.search_with(around.subdomain);
    // Windows asks for one name, and resolves by it
    let longest = search.iter().rev().max_by_key(|domain| domain.len()).cloned().unwrap_or_default();
    options.push((code::DOMAIN_NAME, longest.into_bytes()));
    if let Some(custom) = around.options {
        options.push((code::TFTP_SERVER, custom.tftp_server_name.clone().into_bytes()));
        options.push((code::BOOT_FILE, custom.boot_file_name.clone().into_bytes()));
        let mut servers = Vec::new();
        for (i, server) in custom.ntp_servers.iter().enumerate() {
            let fault = || DhcpError::new(format!("dhcpOptions.ntpServers[{i}]"), format!("{server:?} is no IPv4 address"));
            servers.push(server.parse().map_err(|_| fault())?);
        }
        options.push((code::TIME_SERVERS, addresses(&servers)));
        let private = custom.private_options.iter().filter(|option| PRIVATE.contains(&option.option));
        options.extend(private.filter_map(|o| Some((u8::try_from(o.option).ok()?, o.value.clone().into_bytes()))));
    }
    // the longest comes last: it is the first that is left out where there is no room
    options.push((code::SEARCH, encode_domains(&search, usize::from(u8::MAX))));
    options.retain(|(_, value)| !value.is_empty());
    Ok(Options(options))
}

/// Routes as RFC 3442 writes them. The way to everywhere comes last, since its gateway may need one of the others.
fn routes(routes: &[Route]) -> Vec<u8> {
    let (everywhere, others): (Vec<&Route>, Vec<&Route>) = routes.iter().partition(|route| route.prefix == 0);
    let mut bytes = Vec::new();
    for route in others.into_iter().chain(everywhere) {
        bytes.push(route.prefix);
        let significant = usize::from(route.prefix.div_ceil(8));
        bytes.extend(route.network.octets().into_iter().take(significant));
        bytes.extend(route.gateway.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn routes_are_as_short_as_their_prefix() {
        let route = |network: [u8; 4], prefix, gateway: Option<[u8; 4]>| Route {
            network: network.into(),
            prefix,
            gateway: gateway.map(Ipv4Addr::from),
        };
        let given =
            [route([0, 0, 0, 0], 0, Some([10, 1, 2, 1])), route([10, 0, 0, 0], 8, Some([10, 1, 2, 3])), route([192, 168, 1, 0], 23, None)];
        assert_eq!(routes(&given), [8, 10, 10, 1, 2, 3, 23, 192, 168, 1, 0, 0, 0, 0, 0, 10, 1, 2, 1]);
    }

    #[test]
    fn masks_of_prefixes() {
        for (prefix, expected) in [(0, Some(0)), (24, Some(0xffff_ff00)), (32, Some(u32::MAX)), (33, None)] {
            assert_eq!(mask(prefix), expected, "{prefix}");
        }
    }
}
