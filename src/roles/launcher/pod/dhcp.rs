//! Answers what guests ask by DHCP, on the bridges of the pod.

use std::io;

use kubevirt_rs::guest::order::Order;
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::network::dhcp::{SERVER_PORT, Server, Surroundings};
use kubevirt_rs::network::resolver::Resolver;
use nix::sys::utsname::uname;
use tokio::net::UdpSocket;
use tokio::task::JoinSet;

use super::fault;
use crate::linux::{capabilities, sockets};

/// How the pod resolves names.
const RESOLVER: &str = "/etc/resolv.conf";
/// No message of a client is larger.
const LARGEST: usize = 1500;

/// The servers; dropping it ends them.
pub(super) type Servers = JoinSet<()>;

/// Begins to answer on every interface that the order has a lease for.
pub(super) fn serve(order: &Order) -> Result<Servers, Fault> {
    let mut servers = Servers::new();
    let resolver = Resolver::read(&std::fs::read_to_string(RESOLVER).unwrap_or_default());
    let hostname = uname().map(|names| names.nodename().to_string_lossy().into_owned()).unwrap_or_default();
    for (i, interface) in order.vmi.spec.domain.devices.interfaces.iter().enumerate() {
        let Some(lease) = order.interfaces.get(&interface.name).and_then(|plug| plug.dhcp.clone()) else { continue };
        let link = lease.link.clone();
        let surroundings = Surroundings {
            resolver: &resolver,
            hostname: &hostname,
            subdomain: &order.vmi.spec.subdomain,
            options: interface.dhcp_options.as_ref(),
        };
        let server = Server::new(lease, surroundings).map_err(|e| Fault {
            field: Some(format!("spec.domain.devices.interfaces[{i}].{}", e.field)),
            ..fault(FaultReason::InvalidInstance, &e.message)
        })?;
        let socket = capabilities::with_low_ports(|| sockets::udp_on_link(&link, SERVER_PORT))
            .flatten()
            .and_then(UdpSocket::from_std)
            .map_err(|e| fault(FaultReason::NetworkFailed, format!("Failed to answer DHCP on {link}: {e}")))?;
        servers.spawn(answer(server, socket));
    }
    Ok(servers)
}

async fn answer(server: Server, socket: UdpSocket) {
    let mut buffer = vec![0; LARGEST];
    loop {
        match socket.recv_from(&mut buffer).await {
            Ok((n, _)) => {
                let Some(answer) = server.answer(buffer.get(..n).unwrap_or_default()) else { continue };
                if let Err(error) = socket.send_to(&answer.bytes, answer.to).await {
                    tracing::warn!(%error, link = server.link(), "A guest could not be answered by DHCP");
                }
            }
            // the link may go down and come back
            Err(error) if error.kind() != io::ErrorKind::NotFound => tokio::time::sleep(std::time::Duration::from_secs(1)).await,
            Err(error) => return tracing::error!(%error, link = server.link(), "DHCP is not answered any more"),
        }
    }
}
