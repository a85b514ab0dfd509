//! The messages of DHCP (RFC 2131 and 2132), as bytes.

use std::net::Ipv4Addr;

use crate::network::mac;

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    Discover = 1,
    Offer = 2,
    Request = 3,
    Decline = 4,
    Ack = 5,
    Nak = 6,
    Release = 7,
    Inform = 8,
}

impl Kind {
    fn read(byte: u8) -> Option<Self> {
        [Self::Discover, Self::Offer, Self::Request, Self::Decline, Self::Ack, Self::Nak, Self::Release, Self::Inform]
            .into_iter()
            .find(|kind| *kind as u8 == byte)
    }
}

/// The options that the protocol itself needs.
mod code {
    pub(super) const PAD: u8 = 0;
    pub(super) const WANTED_ADDRESS: u8 = 50;
    pub(super) const KIND: u8 = 53;
    pub(super) const SERVER: u8 = 54;
    pub(super) const LARGEST_MESSAGE: u8 = 57;
    pub(super) const CLIENT_ID: u8 = 61;
    pub(super) const END: u8 = 255;
}

const REQUEST: u8 = 1;
const REPLY: u8 = 2;
const ETHERNET: u8 = 1;
const COOKIE: [u8; 4] = [99, 130, 83, 99];
/// Where the options begin, after the cookie.
const OPTIONS: usize = 240;
/// The headers of IP and UDP, which count as part of a message's size.
const OUTER: usize = 28;
/// What every client takes, headers included.
const SMALLEST_LIMIT: usize = 576;
/// What fits into a frame of Ethernet.
const LARGEST_LIMIT: usize = 1500;
/// BOOTP's own size, which some relays and clients insist on.
const SMALLEST_REPLY: usize = 300;

/// A message of a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Message {
    pub(super) kind: Kind,
    /// The address that the client has already.
    pub(super) current: Ipv4Addr,
    /// The relay that it came by.
    pub(super) relay: Ipv4Addr,
    /// Whom the client asks.
    pub(super) server: Option<Ipv4Addr>,
    wanted: Option<Ipv4Addr>,
    client_id: Option<Vec<u8>>,
    /// The largest answer, headers included.
    limit: usize,
    /// The first bytes, most of which come back in the answer.
    head: [u8; OPTIONS - COOKIE.len()],
}

fn address(bytes: &[u8]) -> Option<Ipv4Addr> {
    <[u8; 4]>::try_from(bytes).ok().map(Ipv4Addr::from)
}

impl Message {
    /// Reads a datagram; `None` when it is no message of a client.
    pub(super) fn read(datagram: &[u8]) -> Option<Self> {
        let (head, rest) = datagram.split_first_chunk::<{ OPTIONS - COOKIE.len() }>()?;
        let mut options = rest.strip_prefix(&COOKIE)?;
        if head[0] != REQUEST || head[1] != ETHERNET || head[2] != 6 {
            return None;
        }
        let (mut kind, mut server, mut wanted, mut client_id, mut limit) = (None, None, None, None, SMALLEST_LIMIT);
        while let [code, tail @ ..] = options {
            if *code == code::PAD {
                options = tail;
                continue;
            }
            let [length, tail @ ..] = tail else { break };
            if *code == code::END {
                break;
            }
            let (value, tail) = tail.split_at_checked(usize::from(*length))?;
            options = tail;
            match (*code, value) {
                (code::KIND, [byte]) => kind = Kind::read(*byte),
                (code::SERVER, value) => server = address(value),
                (code::WANTED_ADDRESS, value) => wanted = address(value),
                (code::CLIENT_ID, value) => client_id = Some(value.to_vec()),
                (code::LARGEST_MESSAGE, [high, low]) => limit = usize::from(u16::from_be_bytes([*high, *low])),
                _ => {}
            }
        }
        Some(Self {
            kind: kind?,
            current: address(&head[12..16])?,
            relay: address(&head[24..28])?,
            server,
            wanted,
            client_id,
            limit: limit.clamp(SMALLEST_LIMIT, LARGEST_LIMIT),
            head: *head,
        })
    }

    /// The MAC address of the client.
    pub(super) fn client(&self) -> Option<mac::Address> {
        <[u8; 6]>::try_from(&self.head[28..34]).ok().map(mac::Address)
    }

    /// The address that the client wants or has.
    pub(super) fn wanted(&self) -> Option<Ipv4Addr> {
        self.wanted.or(Some(self.current).filter(|current| !current.is_unspecified()))
    }

    /// The answer. Options that would make it larger than the client takes are left out, from the first such on.
    pub(super) fn reply(&self, kind: Kind, server: Ipv4Addr, address: Option<Ipv4Addr>, options: &[(u8, Vec<u8>)]) -> Vec<u8> {
        let mut bytes = self.head.to_vec();
        bytes[0] = REPLY;
        bytes[3] = 0; // hops
        bytes[8..10].fill(0); // seconds
        if kind == Kind::Nak {
            bytes[12..16].fill(0);
        }
        bytes[16..20].copy_from_slice(&address.unwrap_or(Ipv4Addr::UNSPECIFIED).octets());
        bytes[20..24].fill(0); // the next server of a boot
        bytes[44..].fill(0); // names of a server and a file
        bytes.extend(COOKIE);
        let mut put = |code: u8, value: &[u8]| {
            let Ok(length) = u8::try_from(value.len()) else { return false };
            if bytes.len() + 2 + value.len() + 1 + OUTER > self.limit {
                return false;
            }
            bytes.extend([code, length]);
            bytes.extend(value);
            true
        };
        put(code::KIND, &[kind as u8]);
        put(code::SERVER, &server.octets());
        if let Some(id) = &self.client_id {
            put(code::CLIENT_ID, id);
        }
        let _ = options.iter().all(|(code, value)| put(*code, value));
        bytes.push(code::END);
        bytes.resize(bytes.len().max(SMALLEST_REPLY), code::PAD);
        bytes
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    /// What a client sends.
    pub(in crate::network::dhcp) fn request(kind: u8, mac: [u8; 6], options: &[(u8, &[u8])]) -> Vec<u8> {
        let mut bytes = vec![0; OPTIONS - COOKIE.len()];
        bytes[..3].copy_from_slice(&[REQUEST, ETHERNET, 6]);
        bytes[4..8].copy_from_slice(&[1, 2, 3, 4]);
        bytes[28..34].copy_from_slice(&mac);
        bytes.extend(COOKIE);
        bytes.extend([code::KIND, 1, kind]);
        for (code, value) in options {
            bytes.extend([*code, u8::try_from(value.len()).unwrap()]);
            bytes.extend(*value);
        }
        bytes.push(code::END);
        bytes
    }

    #[test]
    fn what_is_no_message_is_passed_over() {
        let good = request(1, [2; 6], &[]);
        assert!(Message::read(&good).is_some());
        let mut reply = good.clone();
        reply[0] = REPLY;
        let mut cookie = good.clone();
        cookie[236] = 0;
        let no_kind = [&good[..OPTIONS], &[code::END][..]].concat();
        let cut = request(1, [2; 6], &[(12, b"name")]);
        for bad in [&[][..], &good[..100], &reply, &cookie, &no_kind, &cut[..cut.len() - 3]] {
            assert_eq!(Message::read(bad), None);
        }
    }

    #[test]
    fn an_answer_is_no_larger_than_the_client_takes() {
        let options: Vec<_> = (0..4).map(|i| (100 + i, vec![7; 200])).collect();
        let answer = |limit: u16| {
            let asked = Message::read(&request(1, [2; 6], &[(code::LARGEST_MESSAGE, &limit.to_be_bytes())])).unwrap();
            asked.reply(Kind::Offer, Ipv4Addr::LOCALHOST, None, &options).len() + OUTER
        };
        assert!(answer(0) <= 576 && answer(0) > 400, "{}", answer(0));
        assert!(answer(1000) <= 1000 && answer(1000) > 800, "{}", answer(1000));
        assert!(answer(u16::MAX) <= 1500 && answer(u16::MAX) > 1000, "{}", answer(u16::MAX));
    }

    proptest::proptest! {
        #[test]
        fn no_datagram_does_harm(head in proptest::collection::vec(0u8..4, 236), tail: Vec<u8>) {
            let datagram = [&head[..], &COOKIE, &tail].concat();
            if let Some(message) = Message::read(&datagram) {
                message.reply(Kind::Ack, Ipv4Addr::LOCALHOST, None, &[]);
            }
            Message::read(&tail);
        }
    }
}
