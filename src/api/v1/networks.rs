use crate::{api, v1::ClaimRequest};

#[api]
pub struct Interface {
    #[api(required)]
    pub name: String,
    pub model: String,
    pub bridge: Option<InterfaceBridge>,
    pub slirp: Option<DeprecatedInterfaceSlirp>,
    pub masquerade: Option<InterfaceMasquerade>,
    pub sriov: Option<InterfaceSriov>,
    pub macvtap: Option<DeprecatedInterfaceMacvtap>,
    pub passt: Option<DeprecatedInterfacePasst>,
    pub passt_binding: Option<InterfacePasstBinding>,
    pub binding: Option<PluginBinding>,
    pub ports: Vec<Port>,
    #[api(list = "atomic")]
    pub port_ranges: Vec<PortRange>,
    pub mac_address: String,
    #[api(format = "")]
    pub boot_order: Option<u64>,
    pub pci_address: String,
    pub dhcp_options: Option<DhcpOptions>,
    pub tag: String,
    #[api(format = "")]
    pub acpi_index: i64,
    pub state: InterfaceState,
}

#[api]
pub enum InterfaceState {
    Absent = "absent",
    Up = "up",
    Down = "down",
}

#[api]
pub struct DhcpOptions {
    pub boot_file_name: String,
    pub tftp_server_name: String,
    pub ntp_servers: Vec<String>,
    pub private_options: Vec<DhcpPrivateOptions>,
}

#[api]
pub struct DhcpPrivateOptions {
    #[api(required, format = "")]
    pub option: i64,
    #[api(required)]
    pub value: String,
}

#[api]
pub struct InterfaceBindingMethod {
    pub bridge: Option<InterfaceBridge>,
    pub slirp: Option<DeprecatedInterfaceSlirp>,
    pub masquerade: Option<InterfaceMasquerade>,
    pub sriov: Option<InterfaceSriov>,
    pub macvtap: Option<DeprecatedInterfaceMacvtap>,
    pub passt: Option<DeprecatedInterfacePasst>,
    pub passt_binding: Option<InterfacePasstBinding>,
}

#[api]
pub struct InterfaceBridge {}

#[api]
pub struct DeprecatedInterfaceSlirp {}

#[api]
pub struct InterfaceMasquerade {}

#[api]
pub struct InterfaceSriov {}

#[api]
pub struct DeprecatedInterfaceMacvtap {}

#[api]
pub struct DeprecatedInterfacePasst {}

#[api]
pub struct InterfacePasstBinding {}

#[api]
pub struct PluginBinding {
    #[api(required)]
    pub name: String,
}

#[api]
pub struct Port {
    pub name: String,
    pub protocol: String,
    #[api(required)]
    pub port: i32,
}

#[api]
pub struct PortRange {
    #[api(required)]
    pub protocol: String,
    #[api(required)]
    pub start: i32,
    #[api(required)]
    pub end: i32,
}

#[api]
pub struct Network {
    #[api(required)]
    pub name: String,
    pub pod: Option<PodNetwork>,
    pub multus: Option<MultusNetwork>,
    pub resource_claim: Option<ClaimRequest>,
}

#[api]
pub struct PodNetwork {
    #[api(name = "vmNetworkCIDR")]
    pub vm_network_cidr: String,
    #[api(name = "vmIPv6NetworkCIDR")]
    pub vm_i_pv6_network_cidr: String,
}

#[api]
pub struct MultusNetwork {
    #[api(required)]
    pub network_name: String,
    pub default: bool,
}
