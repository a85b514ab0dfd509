//! What libvirt says of a domain that runs, as plain values.

use roxmltree::{Document, Node};

use super::status::{Disk, Domain, Interface, Topology};

/// A text that is no definition of a domain.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("what libvirt says of the domain cannot be read: {0}")]
pub struct LiveError(String);

/// What stands before a name of the instance where libvirt would choose one.
const USER_ALIAS: &str = "ua-";

/// Reads a definition; the state is not part of it.
///
/// # Errors
/// The text is no XML.
pub fn read(xml: &str) -> Result<Domain, LiveError> {
    let document = Document::parse(xml).map_err(|e| LiveError(e.to_string()))?;
    let root = document.root_element();
    let topology = find(root, &["cpu", "topology"]);
    let count = |name| topology.and_then(|t| t.attribute(name)).and_then(|text| text.parse().ok()).unwrap_or(1);
    let memory = bytes(find(root, &["memory"]));
    Ok(Domain {
        name: text(find(root, &["name"])),
        uuid: text(find(root, &["uuid"])),
        machine: attribute(find(root, &["os", "type"]), "machine"),
        topology: Topology { sockets: count("sockets"), cores: count("cores"), threads: count("threads") },
        memory_at_boot: memory,
        memory: find(root, &["currentMemory"]).map_or(memory, |node| bytes(Some(node))),
        interfaces: devices(root, "interface").map(interface).collect(),
        disks: devices(root, "disk").map(disk).collect(),
        ..Domain::default()
    })
}

fn find<'a, 'i>(from: Node<'a, 'i>, path: &[&str]) -> Option<Node<'a, 'i>> {
    path.iter().try_fold(from, |node, name| node.children().find(|child| child.has_tag_name(*name)))
}

fn devices<'a, 'i: 'a>(root: Node<'a, 'i>, name: &'a str) -> impl Iterator<Item = Node<'a, 'i>> {
    find(root, &["devices"]).into_iter().flat_map(|devices| devices.children()).filter(move |device| device.has_tag_name(name))
}

fn text(node: Option<Node>) -> String {
    node.and_then(|node| node.text()).unwrap_or_default().trim().to_owned()
}

fn attribute(node: Option<Node>, name: &str) -> String {
    node.and_then(|node| node.attribute(name)).unwrap_or_default().to_owned()
}

/// The name that the instance has for a device.
fn name(device: Node) -> String {
    let alias = attribute(find(device, &["alias"]), "name");
    alias.strip_prefix(USER_ALIAS).unwrap_or(&alias).to_owned()
}

fn interface(device: Node) -> Interface {
    Interface {
        name: name(device),
        mac: attribute(find(device, &["mac"]), "address"),
        device: attribute(find(device, &["target"]), "dev"),
        up: attribute(find(device, &["link"]), "state") != "down",
    }
}

fn disk(device: Node) -> Disk {
    Disk { volume: name(device), target: attribute(find(device, &["target"]), "dev") }
}

/// An amount of memory, which libvirt counts in KiB unless it says otherwise.
fn bytes(node: Option<Node>) -> u64 {
    let amount: u64 = text(node).parse().unwrap_or(0);
    let unit = match node.and_then(|node| node.attribute("unit")).unwrap_or("KiB") {
        "b" | "bytes" => 1,
        "KB" => 1000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        "M" | "MiB" => 1 << 20,
        "G" | "GiB" => 1 << 30,
        "T" | "TiB" => 1 << 40,
        _ => 1 << 10,
    };
    amount.saturating_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_instance_shows_is_read() {
        let domain = read(
            "<domain type='kvm' id='1'><name>lab_vm</name><uuid>6a1a24a1-4061-4607-8bf4-a3963d0c5895</uuid>\
             <memory unit='KiB'>1048576</memory><currentMemory unit='MiB'>512</currentMemory>\
             <os><type arch='x86_64' machine='pc-q35-10.0'>hvm</type></os>\
             <cpu mode='custom'><topology sockets='2' dies='1' cores='3' threads='1'/></cpu>\
             <devices><disk type='file'><target dev='vda' bus='virtio'/><alias name='ua-root'/></disk>\
             <interface type='ethernet'><mac address='02:00:00:00:00:01'/><target dev='tap0' managed='no'/>\
             <link state='down'/><alias name='ua-default'/></interface><serial><alias name='serial0'/></serial></devices></domain>",
        )
        .unwrap();
        assert_eq!((domain.name.as_str(), domain.machine.as_str()), ("lab_vm", "pc-q35-10.0"));
        assert_eq!((domain.memory_at_boot, domain.memory), (1 << 30, 512 << 20));
        assert_eq!(domain.topology, Topology { sockets: 2, cores: 3, threads: 1 });
        assert_eq!(domain.disks, [Disk { volume: "root".to_owned(), target: "vda".to_owned() }]);
        let interface = &domain.interfaces[0];
        assert_eq!((interface.name.as_str(), interface.device.as_str(), interface.up), ("default", "tap0", false));
    }

    #[test]
    fn a_domain_with_nothing_is_one_and_no_xml_is_none() {
        assert_eq!(read("<domain/>").map(|d| (d.memory, d.disks.len())), Ok((0, 0)));
        assert!(read("<domain").is_err());
    }
}
