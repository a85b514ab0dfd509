//! Interfaces and the networks that they are plugged into.

use crate::{api, v1::ClaimRequest};

/// A network interface. The binding (one of bridge, masquerade, sriov, …) says how it reaches its network.
#[api]
pub struct Interface {
    /// The network that it is plugged into.
    #[api(required)]
    pub name: String,
    /// virtio (default), e1000, e1000e, igb, rtl8139, ne2k_pci or pcnet.
    pub model: String,
    /// A bridge; on the pod network the guest takes over the pod's address.
    pub bridge: Option<InterfaceBridge>,
    /// Gone; no machine starts with it.
    pub slirp: Option<DeprecatedInterfaceSlirp>,
    /// Address translation: the guest has a private address, the pod's is shown outside. For the pod network only.
    pub masquerade: Option<InterfaceMasquerade>,
    /// A virtual function of a network card, handed to the guest.
    pub sriov: Option<InterfaceSriov>,
    /// Gone; a network binding plugin of that name takes its place.
    pub macvtap: Option<DeprecatedInterfaceMacvtap>,
    /// Gone; passtBinding takes its place.
    pub passt: Option<DeprecatedInterfacePasst>,
    /// Connections are carried by the process passt, without privileges; the guest sees the pod's address.
    pub passt_binding: Option<InterfacePasstBinding>,
    /// A binding that the cluster's configuration registers.
    pub binding: Option<PluginBinding>,
    /// Ports that are forwarded to the guest. Unset: all. For masquerade and passt.
    pub ports: Vec<Port>,
    /// Ranges of ports that are forwarded to the guest. For passt.
    #[api(list = "atomic")]
    pub port_ranges: Vec<PortRange>,
    /// The MAC address, de:ad:00:00:be:af or de-ad-00-00-be-af. Unset: any.
    pub mac_address: String,
    /// When the firmware tries to boot from it, counted from 1 over disks and interfaces.
    #[api(format = "")]
    pub boot_order: Option<u64>,
    /// The place on the PCI bus, 0000:81:01.10. Unset: any.
    pub pci_address: String,
    /// What the DHCP server of the launcher tells the guest beyond its address.
    pub dhcp_options: Option<DhcpOptions>,
    /// A label that the guest finds in the metadata of its config drive.
    pub tag: String,
    /// The index by which the guest names the interface (eno1); from 1 to 16383. Unset: none.
    #[api(format = "")]
    pub acpi_index: i64,
    /// up (default), down (no carrier) or absent (to be removed from a running machine).
    pub state: InterfaceState,
}

/// The link of an interface.
#[api]
pub enum InterfaceState {
    Absent = "absent",
    Up = "up",
    Down = "down",
}

/// What DHCP tells the guest.
#[api]
pub struct DhcpOptions {
    /// Option 67: the file to boot from.
    pub boot_file_name: String,
    /// Option 66: the server with that file.
    pub tftp_server_name: String,
    /// Option 42: IPv4 addresses of time servers.
    pub ntp_servers: Vec<String>,
    /// Options of the site's own.
    pub private_options: Vec<DhcpPrivateOptions>,
}

/// An option of the site's own.
#[api]
pub struct DhcpPrivateOptions {
    /// Its number, from 224 to 254.
    #[api(required, format = "")]
    pub option: i64,
    /// Its value.
    #[api(required)]
    pub value: String,
}

/// How an interface reaches its network; exactly one.
#[api]
pub struct InterfaceBindingMethod {
    /// A bridge.
    pub bridge: Option<InterfaceBridge>,
    /// Gone; no machine starts with it.
    pub slirp: Option<DeprecatedInterfaceSlirp>,
    /// Address translation.
    pub masquerade: Option<InterfaceMasquerade>,
    /// A virtual function of a network card.
    pub sriov: Option<InterfaceSriov>,
    /// Gone; a network binding plugin of that name takes its place.
    pub macvtap: Option<DeprecatedInterfaceMacvtap>,
    /// Gone; passtBinding takes its place.
    pub passt: Option<DeprecatedInterfacePasst>,
    /// The process passt.
    pub passt_binding: Option<InterfacePasstBinding>,
}

/// A bridge between the guest and its network.
#[api]
pub struct InterfaceBridge {}

/// Gone.
#[api]
pub struct DeprecatedInterfaceSlirp {}

/// Address translation between the guest and the pod network.
#[api]
pub struct InterfaceMasquerade {}

/// A virtual function of a network card.
#[api]
pub struct InterfaceSriov {}

/// Gone.
#[api]
pub struct DeprecatedInterfaceMacvtap {}

/// Gone.
#[api]
pub struct DeprecatedInterfacePasst {}

/// Connections carried by the process passt.
#[api]
pub struct InterfacePasstBinding {}

/// A binding that the cluster's configuration registers.
#[api]
pub struct PluginBinding {
    /// The name that it is registered by.
    #[api(required)]
    pub name: String,
}

/// A port that is forwarded to the guest.
#[api]
pub struct Port {
    /// A name for it; unique, at most 15 characters, lower case.
    pub name: String,
    /// TCP (default) or UDP.
    pub protocol: String,
    /// The number, from 1 to 65535.
    #[api(required)]
    pub port: i32,
}

/// A range of ports that is forwarded to the guest.
#[api]
pub struct PortRange {
    /// TCP or UDP.
    #[api(required)]
    pub protocol: String,
    /// The first port, from 1 to 65535.
    #[api(required)]
    pub start: i32,
    /// The last port; not before the first.
    #[api(required)]
    pub end: i32,
}

/// A network that interfaces are plugged into: exactly one of pod, multus and resourceClaim.
#[api]
pub struct Network {
    /// The name that the interface refers to.
    #[api(required)]
    pub name: String,
    /// The network that every pod has. Only one network may be that.
    pub pod: Option<PodNetwork>,
    /// A network that Multus attaches.
    pub multus: Option<MultusNetwork>,
    /// A network device that is allocated by a claim.
    pub resource_claim: Option<ClaimRequest>,
}

/// The network that every pod has.
#[api]
pub struct PodNetwork {
    /// The private IPv4 network of the guest behind masquerade. Default: 10.0.2.0/24.
    #[api(name = "vmNetworkCIDR")]
    pub vm_network_cidr: String,
    /// The private IPv6 network of the guest behind masquerade. Default: fd10:0:2::/120.
    #[api(name = "vmIPv6NetworkCIDR")]
    pub vm_ipv6_network_cidr: String,
}

/// A network that Multus attaches.
#[api]
pub struct MultusNetwork {
    /// The NetworkAttachmentDefinition: name, or namespace/name.
    #[api(required)]
    pub network_name: String,
    /// Whether it takes the place of the pod network. Default: false. At most one network.
    pub default: bool,
}
