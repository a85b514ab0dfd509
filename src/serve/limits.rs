//! What one client may cost: bytes, time and connections.

use std::time::Duration;

/// The limits of a server. Who goes beyond one is answered, or cut off; nobody else notices.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Connections at the same time; more of them wait in the kernel's queue.
    pub(crate) connections: usize,
    /// Requests at the same time on one HTTP/2 connection.
    pub(crate) streams: u32,
    /// Bytes of a request's line and headers.
    pub(crate) head: usize,
    /// Bytes of a body, unless the service asks for less.
    pub(crate) body: usize,
    /// From the connection to the end of the TLS handshake.
    pub(crate) handshake_time: Duration,
    /// From the handshake to the end of the first request's headers.
    pub(crate) first_time: Duration,
    /// From one request to the end of the headers of the next. API servers keep idle connections for 90 s and find
    /// it out too late when they are closed earlier.
    pub(crate) idle_time: Duration,
    /// For a whole body. API servers wait for a webhook 10 s at most.
    pub(crate) body_time: Duration,
    /// How long new requests are still taken after the signal to stop, while load balancers learn of it.
    pub(crate) linger_time: Duration,
    /// How long requests that have begun may take after that.
    pub(crate) drain_time: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 1024,
            streams: 250,
            head: 64 * 1024,
            body: 8 * 1024 * 1024,
            handshake_time: Duration::from_secs(10),
            first_time: Duration::from_secs(10),
            idle_time: Duration::from_secs(120),
            body_time: Duration::from_secs(10),
            linger_time: Duration::ZERO,
            drain_time: Duration::from_secs(2),
        }
    }
}
