//! DHCP for one guest: what it is told, and the answers to what it asks.
//!
//! There is one client and one address, so there is no state: each message is answered by itself. A client that asks for
//! another address (its disk was booted elsewhere before) is refused, and begins anew.

mod message;
mod options;

use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Serialize};

use self::message::{Kind, Message};
use super::mac;
use super::resolver::Resolver;
use crate::api::v1::DhcpOptions;

/// The port that is asked.
pub const SERVER_PORT: u16 = 67;
const CLIENT_PORT: u16 = 68;

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

/// Why there can be no answers.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct DhcpError {
    /// The field, of the interface or of its lease.
    pub field: String,
    /// What is wrong with it, and what would be right.
    pub message: String,
}

impl DhcpError {
    fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }
}

/// Answers one guest.
#[derive(Debug)]
pub struct Server {
    lease: Lease,
    client: Option<mac::Address>,
    options: options::Options,
}

/// An answer, and where it goes.
#[derive(Debug, PartialEq, Eq)]
pub struct Answer {
    /// The address and port.
    pub to: SocketAddrV4,
    /// The datagram.
    pub bytes: Vec<u8>,
}

/// What a guest is told beside its lease.
#[derive(Clone, Copy, Debug)]
pub struct Surroundings<'a> {
    /// Where the pod resolves names.
    pub resolver: &'a Resolver,
    /// The pod's name for itself.
    pub hostname: &'a str,
    /// The instance's subdomain; empty for none.
    pub subdomain: &'a str,
    /// What the interface says.
    pub options: Option<&'a DhcpOptions>,
}

impl Server {
    /// Who answers a guest.
    ///
    /// # Errors
    /// A MAC address, a prefix or an option is none.
    pub fn new(lease: Lease, surroundings: Surroundings<'_>) -> Result<Self, DhcpError> {
        let parse = |text: &str| text.parse().map_err(|e: mac::MacError| DhcpError::new("macAddress", e.to_string()));
        let client = lease.mac.as_deref().map(parse).transpose()?;
        let options = options::all(&lease, surroundings)?;
        Ok(Self { lease, client, options })
    }

    /// The link on which it answers.
    pub fn link(&self) -> &str {
        &self.lease.link
    }

    /// The answer to a datagram, if it is to be answered.
    pub fn answer(&self, datagram: &[u8]) -> Option<Answer> {
        let asked = Message::read(datagram)?;
        if self.client.is_some_and(|client| asked.client() != Some(client)) {
            return None;
        }
        // a client that took somebody else's offer says whose
        if asked.server.is_some_and(|server| server != self.lease.server) {
            return None;
        }
        let (kind, address) = match asked.kind {
            Kind::Discover => (Kind::Offer, Some(self.lease.address)),
            Kind::Request if asked.wanted().is_none_or(|wanted| wanted == self.lease.address) => (Kind::Ack, Some(self.lease.address)),
            Kind::Request => (Kind::Nak, None),
            // it has an address of its own already, and asks for the rest
            Kind::Inform => (Kind::Ack, None),
            _ => return None,
        };
        let options = if kind == Kind::Nak { &[][..] } else { self.options.for_client(address.is_some()) };
        let bytes = asked.reply(kind, self.lease.server, address, options);
        let to = match (asked.relay, asked.current) {
            (relay, _) if !relay.is_unspecified() => SocketAddrV4::new(relay, SERVER_PORT),
            (_, current) if !current.is_unspecified() && kind != Kind::Nak => SocketAddrV4::new(current, CLIENT_PORT),
            // it has no address yet that could be asked for by ARP
            _ => SocketAddrV4::new(Ipv4Addr::BROADCAST, CLIENT_PORT),
        };
        Some(Answer { to, bytes })
    }
}

#[cfg(test)]
mod tests {
    use super::message::tests::request;
    use super::*;
    use crate::api::v1::DhcpPrivateOptions;

    const MAC: [u8; 6] = [2, 0, 0, 0, 0, 1];

    fn server(options: Option<&DhcpOptions>) -> Result<Server, DhcpError> {
        let lease = Lease {
            link: "k6t-eth0".to_owned(),
            mac: Some("02:00:00:00:00:01".to_owned()),
            address: [10, 0, 2, 2].into(),
            prefix: 24,
            server: [10, 0, 2, 1].into(),
            gateway: Some([10, 0, 2, 1].into()),
            routes: Vec::new(),
            mtu: Some(1450),
        };
        let resolver = Resolver::read("search lab.svc.cluster.local cluster.local\nnameserver 10.96.0.10");
        Server::new(lease, Surroundings { resolver: &resolver, hostname: "vm", subdomain: "", options })
    }

    fn option(answer: &Answer, code: u8) -> Option<Vec<u8>> {
        let mut options = &answer.bytes[240..];
        while let [found, length, rest @ ..] = options {
            if *found == code {
                return Some(rest[..usize::from(*length)].to_vec());
            }
            options = &rest[usize::from(*length)..];
        }
        None
    }

    #[test]
    fn a_guest_is_told_its_address_and_all_that_belongs_to_it() {
        let answer = server(None).unwrap().answer(&request(1, MAC, &[])).unwrap();
        assert_eq!(answer.to, "255.255.255.255:68".parse().unwrap());
        assert_eq!(answer.bytes[16..20], [10, 0, 2, 2]);
        for (code, value) in [
            (53, &[2][..]),
            (54, &[10, 0, 2, 1]),
            (51, &86_313_600_u32.to_be_bytes()),
            (1, &[255, 255, 255, 0]),
            (3, &[10, 0, 2, 1]),
            (6, &[10, 96, 0, 10]),
            (26, &1450_u16.to_be_bytes()),
            (12, b"vm"),
            (15, b"lab.svc.cluster.local"),
            (119, b"\x03lab\x03svc\x07cluster\x05local\0\x07cluster\x05local\0"),
        ] {
            assert_eq!(option(&answer, code).as_deref(), Some(value), "option {code}");
        }
        assert_eq!(option(&answer, 121), None);
    }

    #[test]
    fn what_a_client_asks_for_decides_the_answer() {
        let server = server(None).unwrap();
        let own: &[u8] = &[10, 0, 2, 2];
        type Options<'a> = &'a [(u8, &'a [u8])];
        let cases: [(u8, Options<'_>, Option<u8>); 9] = [
            (1, &[(50, &[192, 168, 0, 9])], Some(2)),
            (3, &[(50, own)], Some(5)),
            (3, &[(50, own), (54, &[10, 0, 2, 1])], Some(5)),
            (3, &[], Some(5)),
            (3, &[(50, &[192, 168, 0, 9])], Some(6)),
            (3, &[(50, own), (54, &[10, 0, 2, 9])], None),
            (8, &[], Some(5)),
            (4, &[], None),
            (7, &[], None),
        ];
        for (kind, options, expected) in cases {
            let answer = server.answer(&request(kind, MAC, options));
            let found = answer.as_ref().and_then(|a| option(a, 53)).map(|v| v[0]);
            assert_eq!(found, expected, "{kind} {options:?}");
        }
        assert_eq!(server.answer(&request(1, [2; 6], &[])), None, "somebody else's guest");
        let inform = server.answer(&request(8, MAC, &[])).unwrap();
        assert_eq!((option(&inform, 51), &inform.bytes[16..20]), (None, &[0; 4][..]));
    }

    #[test]
    fn a_client_with_an_address_is_answered_there() {
        let mut renewal = request(3, MAC, &[]);
        renewal[12..16].copy_from_slice(&[10, 0, 2, 2]);
        let server = server(None).unwrap();
        assert_eq!(server.answer(&renewal).unwrap().to, "10.0.2.2:68".parse().unwrap());
        renewal[12..16].copy_from_slice(&[10, 9, 9, 9]);
        let refusal = server.answer(&renewal).unwrap();
        assert_eq!((refusal.to, &refusal.bytes[12..16]), ("255.255.255.255:68".parse().unwrap(), &[0; 4][..]));
    }

    #[test]
    fn the_interface_may_say_more() {
        let custom = DhcpOptions {
            tftp_server_name: "boot.lab".to_owned(),
            boot_file_name: "pxe.0".to_owned(),
            ntp_servers: vec!["10.1.1.1".to_owned(), "10.1.1.2".to_owned()],
            private_options: [(240, "own"), (223, "not")].map(|(option, v)| DhcpPrivateOptions { option, value: v.to_owned() }).into(),
        };
        let answer = server(Some(&custom)).unwrap().answer(&request(1, MAC, &[])).unwrap();
        let own: [(u8, Option<&[u8]>); 5] =
            [(66, Some(b"boot.lab")), (67, Some(b"pxe.0")), (42, Some(&[10, 1, 1, 1, 10, 1, 1, 2])), (240, Some(b"own")), (223, None)];
        for (code, value) in own {
            assert_eq!(option(&answer, code).as_deref(), value, "option {code}");
        }
        let wrong = DhcpOptions { ntp_servers: vec!["10.1.1.1".to_owned(), "time.lab".to_owned()], ..DhcpOptions::default() };
        assert_eq!(server(Some(&wrong)).unwrap_err().field, "dhcpOptions.ntpServers[1]");
    }
}
