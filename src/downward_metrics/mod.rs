//! Downward metrics: what the guest may know of its host and of itself, as vhostmd tells it.
//!
//! ```text
//!  host: /proc, /sys ─▶ [`Host`]  ┐                               ┌▶ [`disk`]: a small disk, written anew now and then
//!  libvirt           ─▶ [`Guest`] ┴▶ [`Figures`] ─▶ [`document`] ─┴▶ [`channel`]: a virtio-serial port that is asked
//! ```
//!
//! Upstream: `pkg/downwardmetrics`.

pub mod channel;
pub mod disk;
mod document;
mod host;

use std::time::Duration;

pub use document::document;
pub use host::{Host, Memory, Paging};

use crate::api::v1::VirtualMachineInstance;

/// How often the disk is written.
pub const INTERVAL: Duration = Duration::from_secs(5);

/// All figures of one moment.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// What the host is called: in a cluster, the node.
    pub host_name: String,
    /// What runs the guest, and its version, such as `QEMU 7.2.0`.
    pub product: String,
    /// The guest's own.
    pub guest: Guest,
    /// The host's.
    pub host: Host,
    /// Seconds since 1970.
    pub time: u64,
}

/// Figures of the guest.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Guest {
    /// For how long its processors have run, all together.
    pub cpu_time: Duration,
    /// How many processors it has.
    pub processors: u32,
    /// The memory that it has, in KiB.
    pub memory: u64,
}

/// The position of the volume that is the disk, if an instance has one.
pub fn disk_of(vmi: &VirtualMachineInstance) -> Option<usize> {
    let is_shown = |name: &str| vmi.spec.domain.devices.disks.iter().any(|disk| disk.name == name);
    vmi.spec.volumes.iter().position(|volume| volume.downward_metrics.is_some() && is_shown(&volume.name))
}

/// Whether an instance has the channel.
pub fn has_channel(vmi: &VirtualMachineInstance) -> bool {
    vmi.spec.domain.devices.downward_metrics.is_some()
}
