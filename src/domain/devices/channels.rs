//! Channels between host and guest.

use super::super::guest::Guest;
use super::super::model::{Channel, SocketSource};

/// The name by which QEMU's guest agent finds its channel.
const AGENT: &str = "org.qemu.guest_agent.0";
/// The name by which a reader of downward metrics finds its channel.
const METRICS: &str = "org.github.vhostmd.1";

pub(super) fn convert(guest: &Guest<'_>) -> Vec<Channel> {
    let paths = &guest.facts.paths;
    let agent = Channel { name: AGENT, socket: paths.agent.clone().map(|path| SocketSource { path }) };
    let metrics = || Channel { name: METRICS, socket: Some(SocketSource { path: paths.metrics_socket.clone() }) };
    std::iter::once(agent).chain(guest.devices().downward_metrics.as_ref().map(|_| metrics())).collect()
}
