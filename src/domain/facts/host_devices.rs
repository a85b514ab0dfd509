//! The host devices that were handed out to the pod.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

/// Devices handed out by device plugins, the network and resource claims.
///
/// A device plugin hands out addresses by resource name; the order is that in which it listed them. One device may be
/// listed under several resources: it is taken once.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct HostDevices {
    /// PCI addresses by resource name.
    pub pci: BTreeMap<String, Vec<String>>,
    /// UUIDs of mediated devices by resource name.
    pub mdev: BTreeMap<String, Vec<String>>,
    /// USB devices as `BUS:DEVICE` by resource name.
    pub usb: BTreeMap<String, Vec<String>>,
    /// PCI addresses of SR-IOV functions by the name of the VMI's network.
    pub sriov: BTreeMap<String, String>,
    /// Devices of resource claims, by the name of the claim and then of the request.
    pub claims: BTreeMap<String, BTreeMap<String, ClaimedDevice>>,
    /// The NUMA cell of the host at which a PCI device sits, by its address.
    pub numa_cells: BTreeMap<String, u32>,
}

/// A device of a resource claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct ClaimedDevice {
    /// Its PCI address; that of its parent when it is a mediated device.
    pub pci: Option<String>,
    /// Its UUID when it is a mediated device.
    pub mdev: Option<String>,
}
