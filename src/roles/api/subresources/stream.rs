//! Streams to a guest: consoles by way of its handler, ports straight to its address.

use std::net::IpAddr;
use std::time::Duration;

use kubevirt_rs::lifecycle::subresource::{Endpoint, Observed, Refusal, Request as Asked};
use tokio::net::{TcpStream, UdpSocket};

use super::Subresources;
use super::handler::{path, refused, unreachable};
use crate::serve::client::Opened;
use crate::serve::websocket::{self, PLAIN};
use crate::serve::{Request, Response, relay};

/// How long a guest may take to accept a connection.
const DIAL: Duration = Duration::from_secs(10);

impl Subresources {
    /// Makes a stream of the connection. The far side is reached first: while it is not, an answer can still say so.
    pub(super) async fn stream(
        &self,
        request: &mut Request,
        asked: &Asked<'_>,
        observed: &Observed,
        endpoint: Endpoint,
    ) -> Result<Response, Refusal> {
        let agreed = match websocket::agree(request, &[PLAIN]) {
            Ok(agreed) => agreed,
            Err(response) => return Ok(*response),
        };
        let operation = asked.operation.split('/').next().unwrap_or_default();
        let open = self.metrics.open(operation, asked.namespace, asked.name);
        match endpoint {
            Endpoint::Handler(operation) => {
                let host = self.handler_of(observed).await?;
                let path = path(asked, operation) + &query(request, operation);
                match self.handlers.open(&host, self.handler_port, &path).await {
                    Ok(Opened::Stream(far)) => Ok(agreed.raw(|near| async move {
                        relay::raw(near, far).await;
                        drop(open);
                    })),
                    Ok(Opened::Refused(answer)) => Err(refused(&answer)),
                    Err(error) => Err(unreachable(observed, &error)),
                }
            }
            Endpoint::Address { host, port, protocol } => {
                let (host, port) = address(&host, &port)?;
                match protocol.as_str() {
                    "tcp" => {
                        let guest = dial(host, port).await?;
                        Ok(agreed.socket(move |socket| async move {
                            relay::messages(socket, relay::stream(guest)).await;
                            drop(open);
                        }))
                    }
                    "udp" => {
                        let guest = packets(host, port).await.map_err(|error| unanswered(host, port, &error))?;
                        Ok(agreed.socket(move |socket| async move {
                            relay::messages(socket, relay::packets(guest)).await;
                            drop(open);
                        }))
                    }
                    other => Err(Refusal::bad_request(format!("the protocol must be tcp or udp, not {other:?}"))),
                }
            }
        }
    }
}

/// What the handler is told beyond the path.
fn query(request: &Request, operation: &str) -> String {
    match operation {
        "vnc" => {
            let keep = matches!(request.parameter("preserveSession"), Some("true" | "1" | "t" | "T" | "TRUE" | "True"));
            format!("?preserveSession={keep}")
        }
        "vsock" => {
            let port = request.parameter("port").unwrap_or_default();
            let tls = request.parameter("tls").filter(|tls| !tls.is_empty()).unwrap_or("true");
            format!("?port={port}&tls={tls}")
        }
        _ => String::new(),
    }
}

fn address(host: &str, port: &str) -> Result<(IpAddr, u16), Refusal> {
    let port = port.parse().ok().filter(|port| *port != 0);
    let port = port.ok_or_else(|| Refusal::bad_request("the port must be a number from 1 to 65535"))?;
    let host = host.parse();
    Ok((host.map_err(|_| Refusal::bad_request("the guest has no address yet (status.interfaces[0].ipAddress)"))?, port))
}

async fn dial(host: IpAddr, port: u16) -> Result<TcpStream, Refusal> {
    match tokio::time::timeout(DIAL, TcpStream::connect((host, port))).await {
        Ok(Ok(stream)) => {
            let _ = stream.set_nodelay(true);
            Ok(stream)
        }
        Ok(Err(error)) => Err(unanswered(host, port, &error)),
        Err(_) => Err(unanswered(host, port, &format_args!("no answer in {} s", DIAL.as_secs()))),
    }
}

async fn packets(host: IpAddr, port: u16) -> std::io::Result<UdpSocket> {
    let any = if host.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" };
    let socket = UdpSocket::bind(any).await?;
    socket.connect((host, port)).await?;
    Ok(socket)
}

fn unanswered(host: IpAddr, port: u16, why: &dyn std::fmt::Display) -> Refusal {
    Refusal::internal(format_args!("the guest does not answer at {host} port {port}: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_and_addresses_are_checked() {
        assert_eq!(address("10.0.0.1", "22").unwrap(), ("10.0.0.1".parse().unwrap(), 22));
        assert_eq!(address("fd10::1", "65535").unwrap().1, 65535);
        for (host, port) in [("10.0.0.1", "0"), ("10.0.0.1", "ssh"), ("10.0.0.1", "65536"), ("", "22")] {
            assert_eq!(address(host, port).unwrap_err().reason.code(), 400, "{host} {port}");
        }
    }
}
