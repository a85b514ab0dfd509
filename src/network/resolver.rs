//! How a pod resolves names: its resolv.conf, and what a guest is told of it.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Who resolves when a pod says nothing.
const DEFAULT_SERVER: Ipv4Addr = Ipv4Addr::new(8, 8, 8, 8);
/// Where names are looked up when a pod says nothing.
const DEFAULT_DOMAIN: &str = "cluster.local";
/// What stands in the domains of Services.
const SERVICES: &str = ".svc.";
const LONGEST_DOMAIN: usize = 253;
const LONGEST_LABEL: usize = 63;

/// How names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolver {
    /// Who resolves.
    pub servers: Vec<Ipv4Addr>,
    /// Who resolves, by IPv6.
    pub servers_v6: Vec<Ipv6Addr>,
    /// Where short names are looked up, in lower case.
    pub search: Vec<String>,
}

impl Resolver {
    /// Reads a resolv.conf; what is not understood is passed over.
    pub fn read(text: &str) -> Self {
        let mut resolver = Self { servers: Vec::new(), servers_v6: Vec::new(), search: Vec::new() };
        for line in text.lines() {
            let mut words = line.split_ascii_whitespace();
            match (words.next(), words.clone().count()) {
                (Some("nameserver"), 1) => match words.next().unwrap_or_default().parse() {
                    Ok(IpAddr::V4(server)) => resolver.servers.push(server),
                    Ok(IpAddr::V6(server)) => resolver.servers_v6.push(server),
                    Err(_) => {}
                },
                (Some("search"), _) => resolver.search.extend(words.map(str::to_ascii_lowercase)),
                _ => {}
            }
        }
        if resolver.servers.is_empty() && resolver.servers_v6.is_empty() {
            resolver.servers.push(DEFAULT_SERVER);
        }
        if resolver.search.is_empty() {
            resolver.search.push(DEFAULT_DOMAIN.to_owned());
        }
        resolver
    }

    /// Where a guest of a subdomain looks short names up: among its own kind first.
    pub fn search_with(&self, subdomain: &str) -> Vec<String> {
        let services = self.search.iter().filter(|domain| domain.contains(SERVICES));
        let longest = services.rev().max_by_key(|domain| domain.len());
        let own = longest.filter(|_| !subdomain.is_empty()).filter(|domain| !domain.starts_with(&format!("{subdomain}.")));
        own.map(|domain| format!("{subdomain}.{domain}")).into_iter().chain(self.search.iter().cloned()).collect()
    }
}

/// Whether a domain can be written as DNS does.
fn is_domain(domain: &str) -> bool {
    let label = |label: &str| {
        let known = label.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || matches!(b, b'-' | b'_'));
        known && (1..=LONGEST_LABEL).contains(&label.len()) && !label.starts_with('-') && !label.ends_with('-')
    };
    domain.len() <= LONGEST_DOMAIN && domain.split('.').all(label)
}

/// Domains as DHCP lists them (RFC 3397, without compression), as many as there is room for. Those that are none are
/// left out.
pub fn encode_domains(domains: &[String], room: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    for domain in domains.iter().map(|domain| domain.trim_end_matches('.')).filter(|domain| is_domain(domain)) {
        let mut encoded = Vec::with_capacity(domain.len() + 2);
        for label in domain.split('.') {
            encoded.extend(u8::try_from(label.len()));
            encoded.extend(label.bytes());
        }
        encoded.push(0);
        if bytes.len() + encoded.len() > room {
            break;
        }
        bytes.extend(encoded);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    const POD: &str = "search Lab.svc.cluster.local svc.cluster.local cluster.local\nnameserver 10.96.0.10\nnameserver fd00::a\n\
                       nameserver one two\nnameserver nonsense\n# search not.this\noptions ndots:5\n";

    #[test]
    fn a_pods_resolver() {
        let resolver = Resolver::read(POD);
        assert_eq!(resolver.servers, [Ipv4Addr::new(10, 96, 0, 10)]);
        assert_eq!(resolver.servers_v6.len(), 1);
        assert_eq!(resolver.search, ["lab.svc.cluster.local", "svc.cluster.local", "cluster.local"]);
        let nothing = Resolver::read("");
        assert_eq!((nothing.servers, nothing.search), (vec![DEFAULT_SERVER], vec![DEFAULT_DOMAIN.to_owned()]));
    }

    #[test]
    fn a_subdomain_comes_first_once() {
        let resolver = Resolver::read(POD);
        assert_eq!(resolver.search_with(""), resolver.search);
        assert_eq!(resolver.search_with("db")[0], "db.lab.svc.cluster.local");
        assert_eq!(resolver.search_with("lab"), resolver.search);
        assert_eq!(Resolver::read("search example.com").search_with("db"), ["example.com"]);
    }

    #[test]
    fn domains_are_written_label_by_label() {
        let list = |domains: &[&str]| domains.iter().map(|d| (*d).to_owned()).collect::<Vec<_>>();
        assert_eq!(encode_domains(&list(&["a.bc", "-bad", "", "x"]), 255), b"\x01a\x02bc\0\x01x\0");
        assert_eq!(encode_domains(&list(&["a.bc", "long.example"]), 10), b"\x01a\x02bc\0");
    }
}
