//! Network interfaces.

use kubevirt_api::v1::{self, InterfaceState, VirtualMachineInstanceNetworkInterface};

use super::error::{ConvertError, Fault, Result};
use super::facts::{Attachment, Tap};
use super::guest::Guest;
use super::model::{Interface, InterfaceDriver, InterfaceKind, PciAddress, PortForward, PortRange};

const VIRTIO: &str = "virtio";
/// The most queues that a tap device has.
const MOST_QUEUES: u32 = 256;
/// Whether a sidecar of Istio intercepts the pod's traffic.
const ISTIO_INJECTION: &str = "sidecar.istio.io/inject";
/// The ports that Istio's sidecar needs for itself.
const ISTIO_PORTS: [u32; 10] = [15000, 15001, 15004, 15006, 15008, 15009, 15020, 15021, 15053, 15090];

/// The interfaces of a guest, without those that are passed through and those that a plugin's sidecar adds.
pub(super) fn convert(guest: &Guest<'_>) -> Result<Vec<Interface>> {
    let mut interfaces = Vec::with_capacity(guest.devices().interfaces.len());
    for (index, source) in guest.devices().interfaces.iter().enumerate() {
        if source.state == InterfaceState::Absent {
            continue;
        }
        let field = Field { index };
        if !guest.vmi.spec.networks.iter().any(|network| network.name == source.name) {
            return Err(field.error("name", Fault::NoSuchNetwork(source.name.clone())));
        }
        if let Some(kind) = attachment(guest, source, field)? {
            interfaces.push(interface(guest, source, field, kind)?);
        }
    }
    Ok(interfaces)
}

/// A PCI address out of a VMI.
pub(super) fn pci_address(text: &str) -> Result<PciAddress, Fault> {
    text.parse().map_err(|_| Fault::NoPciAddress(text.to_owned()))
}

/// An interface's place in the VMI, for messages.
#[derive(Clone, Copy, Debug)]
pub(super) struct Field {
    pub(super) index: usize,
}

impl Field {
    pub(super) fn error(self, part: &str, fault: Fault) -> ConvertError {
        ConvertError::new(format!("spec.domain.devices.interfaces[{}].{part}", self.index), fault)
    }
}

/// How an interface is realised, by the host's facts or by its binding.
#[derive(Clone, Copy)]
enum Realised<'a> {
    As(&'a Attachment),
    Passt,
}

fn attachment<'a>(guest: &Guest<'a>, source: &v1::Interface, field: Field) -> Result<Option<Realised<'a>>> {
    let networks = &guest.facts.networks;
    if source.sriov.is_some() {
        return Ok(None);
    }
    if let Some(known) = networks.interfaces.get(&source.name) {
        return Ok(Some(Realised::As(known)));
    }
    if source.bridge.is_some() || source.masquerade.is_some() {
        return Ok(Some(Realised::As(&networks.fallback)));
    }
    if let Some(plugin) = &source.binding {
        return Ok(networks.tap_plugins.contains(&plugin.name).then_some(Realised::As(&networks.fallback)));
    }
    if source.passt_binding.is_some() {
        return Ok(Some(Realised::Passt));
    }
    Err(field.error(
        "masquerade",
        Fault::Missing { right: "say how the interface is bound: masquerade, bridge, sriov, passtBinding or binding" },
    ))
}

fn interface(guest: &Guest<'_>, source: &v1::Interface, field: Field, realised: Realised<'_>) -> Result<Interface> {
    let paravirtual = source.model.is_empty() || source.model == VIRTIO;
    let iommu = guest.uses_iommu();
    let given = |text: &String| (!text.is_empty()).then(|| text.clone());
    let address =
        given(&source.pci_address).map(|text| pci_address(&text).map_err(|fault| field.error("pciAddress", fault))).transpose()?;
    let mut interface = Interface {
        kind: InterfaceKind::User,
        alias: source.name.clone(),
        mac: given(&source.mac_address),
        model: if paravirtual { guest.virtio } else { source.model.as_str() }.to_owned(),
        driver: paravirtual.then(|| driver(guest, iommu)).flatten(),
        mtu: None,
        link_down: false,
        rom_disabled: false,
        acpi_index: u32::try_from(source.acpi_index).ok().filter(|index| *index > 0),
        boot: None,
        address,
    };
    let attachment = match realised {
        Realised::Passt => {
            interface.kind = passt(guest, source, field)?;
            return Ok(interface);
        }
        Realised::As(attachment) => attachment,
    };
    interface.boot = source.boot_order;
    // a guest boots by network only from a card with an option ROM, and a protected guest runs no such ROM
    interface.rom_disabled = guest.rules.option_rom && (source.boot_order.is_none() || iommu);
    interface.link_down = source.state == InterfaceState::Down;
    match attachment {
        Attachment::Tap(Tap { device, mtu, mac }) => {
            interface.kind = InterfaceKind::Tap { device: device.clone() };
            interface.mtu = *mtu;
            interface.mac = interface.mac.or_else(|| mac.clone());
        }
        Attachment::User => {
            // there is no kernel of the host under it that could drive the queues
            interface.driver = None;
        }
    }
    Ok(interface)
}

fn driver(guest: &Guest<'_>, iommu: bool) -> Option<InterfaceDriver> {
    let queues = (guest.devices().network_interface_multiqueue == Some(true)).then_some(guest.vcpus.min(MOST_QUEUES));
    (queues.is_some() || iommu).then_some(InterfaceDriver { queues, iommu })
}

fn passt(guest: &Guest<'_>, source: &v1::Interface, field: Field) -> Result<InterfaceKind> {
    let is_it = |status: &&VirtualMachineInstanceNetworkInterface| status.name == source.name && !status.pod_interface_name.is_empty();
    let status = guest.vmi.status.interfaces.iter().find(is_it).ok_or_else(|| {
        let lack = format!("the pod's interface for {} is not known yet", source.name);
        field.error("passtBinding", Fault::host(lack, "wait until the status names it"))
    })?;
    Ok(InterfaceKind::Passt {
        interface: status.pod_interface_name.clone(),
        log: guest.facts.paths.passt_log.clone(),
        forwards: forwards(guest, source, field)?,
    })
}

/// The ports that reach the guest: those that are named, or all.
fn forwards(guest: &Guest<'_>, source: &v1::Interface, field: Field) -> Result<Vec<PortForward>> {
    let (mut tcp, mut udp) = (Vec::new(), Vec::new());
    if guest.annotation(ISTIO_INJECTION).is_some_and(|value| value.eq_ignore_ascii_case("true")) {
        tcp.extend(ISTIO_PORTS.map(|start| PortRange { start, exclude: true }));
    }
    for (index, port) in source.ports.iter().enumerate() {
        let fail =
            |part, value: &dyn std::fmt::Display, right| Err(field.error(&format!("ports[{index}].{part}"), Fault::value(value, right)));
        let Ok(start) = u32::try_from(port.port) else { return fail("port", &port.port, "use 1 to 65535") };
        let range = PortRange { start, exclude: false };
        match port.protocol.as_str() {
            "" => tcp.push(range),
            protocol if protocol.eq_ignore_ascii_case("tcp") => tcp.push(range),
            protocol if protocol.eq_ignore_ascii_case("udp") => udp.push(range),
            other => return fail("protocol", &other, "use TCP or UDP"),
        }
    }
    let every = tcp.is_empty() && udp.is_empty();
    let forwards = [("tcp", tcp), ("udp", udp)].into_iter().filter(|(_, ranges)| every || !ranges.is_empty());
    Ok(forwards.map(|(protocol, ranges)| PortForward { protocol, ranges }).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::testing::{error, facts, with};
    use super::super::{Facts, convert};
    use super::*;

    fn object(interface: Value) -> Value {
        let mut interface = interface;
        interface["name"] = "default".into();
        json!({ "spec": { "networks": [{ "name": "default", "pod": {} }], "domain": { "devices": { "interfaces": [interface] } } } })
    }

    fn one(interface: Value, facts: &Facts) -> Option<Interface> {
        convert(&with(object(interface)), facts).unwrap().devices.interfaces.pop()
    }

    #[test]
    fn the_host_says_how_an_interface_is_realised() {
        let mut facts = facts(&[]);
        assert_eq!(one(json!({ "masquerade": {} }), &facts).unwrap().kind, InterfaceKind::Tap { device: None });
        assert_eq!(one(json!({ "binding": { "name": "p" } }), &facts), None);
        assert_eq!(one(json!({ "sriov": {} }), &facts), None);
        assert_eq!(one(json!({ "bridge": {}, "state": "absent" }), &facts), None);
        facts.networks.tap_plugins.insert("p".to_owned());
        assert!(one(json!({ "binding": { "name": "p" } }), &facts).is_some());
        facts.networks.fallback = Attachment::User;
        let user = one(json!({ "masquerade": {}, "bootOrder": 1, "macAddress": "02:00:00:00:00:01" }), &facts).unwrap();
        assert_eq!((user.kind, user.rom_disabled, user.boot), (InterfaceKind::User, false, Some(1)));
        let tap = Tap { device: Some("tap0".into()), mtu: Some(1400), mac: Some("02:00:00:00:00:02".into()) };
        facts.networks.interfaces.insert("default".into(), Attachment::Tap(tap));
        let tap = one(json!({ "bridge": {} }), &facts).unwrap();
        assert_eq!(
            (tap.kind, tap.mtu, tap.mac.as_deref()),
            (InterfaceKind::Tap { device: Some("tap0".into()) }, Some(1400), Some("02:00:00:00:00:02"))
        );
    }

    #[test]
    fn a_fault_is_named_by_its_field() {
        for (interface, field) in [
            (json!({ "bridge": {}, "pciAddress": "1:2" }), "interfaces[0].pciAddress"),
            (json!({ "slirp": {} }), "interfaces[0].masquerade"),
            (json!({}), "interfaces[0].masquerade"),
            (json!({ "passtBinding": {} }), "interfaces[0].passtBinding"),
        ] {
            assert_eq!(error(object(interface)).field, format!("spec.domain.devices.{field}"));
        }
        let mut lost = object(json!({ "bridge": {} }));
        lost["spec"]["networks"] = json!([]);
        assert_eq!(error(lost).field, "spec.domain.devices.interfaces[0].name");
        let mut ports = object(json!({ "passtBinding": {}, "ports": [{ "port": 1 }, { "port": 2, "protocol": "SCTP" }] }));
        ports["status"] = json!({ "interfaces": [{ "name": "default", "podInterfaceName": "eth0" }] });
        assert_eq!(error(ports.clone()).field, "spec.domain.devices.interfaces[0].ports[1].protocol");
        ports["spec"]["domain"]["devices"]["interfaces"][0]["ports"] = json!([{ "port": -1 }]);
        assert_eq!(error(ports).field, "spec.domain.devices.interfaces[0].ports[0].port");
    }
}
