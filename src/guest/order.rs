//! What a launcher is told to run: plain values that travel from the node's handler to the pod.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use crate::network::dhcp::Lease;
use crate::storage::growth::Claim;

/// What to run, and what the node knows that a pod cannot see for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Order {
    /// The instance.
    pub vmi: VirtualMachineInstance,
    /// The cluster's configuration.
    pub configuration: KubeVirtConfiguration,
    /// The interfaces that the handler has made in the pod, by their name in the instance.
    pub interfaces: BTreeMap<String, Plug>,
    /// What is known of the volumes beyond what lies in the pod.
    pub volumes: Volumes,
    /// What the node is called.
    pub node: String,
}

/// A tap device in the pod, and how the guest behind it is told its address.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Plug {
    /// The tap device.
    pub tap: String,
    /// The MAC address of the guest's side, when the instance names none.
    pub mac: Option<String>,
    /// The MTU of its network.
    pub mtu: Option<u32>,
    /// What DHCP tells the guest; `None` when nobody answers it, or somebody outside does.
    pub dhcp: Option<Lease>,
}

/// What is known of volumes, by name. It is told anew when it changes while the guest runs.
pub type Volumes = BTreeMap<String, Volume>;

/// What is known of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Whether its space is allocated already, so that discarding would waste it.
    pub preallocated: bool,
    /// What an image on it may fill; `None` when that is not known.
    pub claim: Option<Claim>,
}
