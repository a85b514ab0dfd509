//! Forwarded ports: whether they are free, and how QEMU is told.

use std::net::{Ipv4Addr, TcpListener, UdpSocket};

use crate::roles::launcher::Refusal;
use crate::roles::launcher::args::{Args, Forward, Protocol};

/// The ports of this machine that lead into the guest, all of which were free a moment ago.
pub(super) struct Ports(Vec<Forward>);

/// Tries every port, so that one that is taken is said before anything is started.
pub(super) fn reserve(args: &Args) -> Result<Ports, Refusal> {
    let mut faults = Vec::new();
    for (i, forward) in args.forwards.iter().enumerate() {
        let place = (forward.address, forward.host);
        let result = match forward.protocol {
            Protocol::Tcp => TcpListener::bind(place).map(drop),
            Protocol::Udp => UdpSocket::bind(place).map(drop),
        };
        if args.forwards[..i].iter().any(|f| (f.protocol, f.address, f.host) == (forward.protocol, forward.address, forward.host)) {
            faults.push(format!("--forward {}: the port is named twice", show(forward)));
        } else if let Err(e) = result {
            faults.push(format!(
                "--forward {}: port {} of {} cannot be used ({e}); choose another",
                show(forward),
                forward.host,
                forward.address
            ));
        }
    }
    if faults.is_empty() { Ok(Ports(args.forwards.clone())) } else { Err(Refusal::host(faults)) }
}

fn name(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Tcp => "tcp",
        Protocol::Udp => "udp",
    }
}

fn show(forward: &Forward) -> String {
    let address = if forward.address == Ipv4Addr::LOCALHOST { String::new() } else { format!("{}:", forward.address) };
    format!("{}:{address}{}:{}", name(forward.protocol), forward.host, forward.guest)
}

impl Ports {
    /// The monitor commands that forward them to the interface behind a network device of QEMU.
    pub(super) fn commands<'a>(&'a self, device: &'a str) -> impl Iterator<Item = (String, String)> + 'a {
        self.0.iter().map(move |f| (show(f), format!("hostfwd_add {device} {}:{}:{}-:{}", name(f.protocol), f.address, f.host, f.guest)))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}
