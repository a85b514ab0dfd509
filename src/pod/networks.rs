//! What the pod says to Multus and to Istio about its networks.

use std::collections::BTreeMap;

use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::api::v1::{Interface, InterfaceState, Network, VirtualMachineInstance};
use crate::config::ClusterConfig;

use super::{Error, traits};

/// The networks beside the pod's own, for Multus.
pub(crate) const MULTUS_NETWORKS: &str = "k8s.v1.cni.cncf.io/networks";
/// The network that stands for the pod's own, for Multus.
pub(super) const MULTUS_DEFAULT: &str = "v1.multus-cni.io/default-network";
/// Traffic that comes in by these links comes from the guest; Istio treats it as the pod's own. Two names, as Istio
/// changed its mind in 1.25.
pub(super) const ISTIO_INTERFACES: [&str; 2] = ["traffic.sidecar.istio.io/kubevirtInterfaces", "istio.io/reroute-virtual-interfaces"];
/// The bridge before the guest's first interface.
const BRIDGE: &str = "k6t-eth0";
/// The pod's own link.
const PRIMARY: &str = "eth0";
/// A link's name has at most 15 bytes, and four are needed for the suffix of one that stands in for it.
const HASH_LENGTH: usize = 11;

/// One attachment that Multus makes.
#[derive(Serialize)]
struct Attachment<'a> {
    name: &'a str,
    namespace: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    mac: &'a str,
    #[serde(skip_serializing_if = "String::is_empty")]
    interface: String,
    #[serde(rename = "cni-args", skip_serializing_if = "Option::is_none")]
    cni_args: Option<CniArgs<'a>>,
}

/// How a binding plugin learns which of the VMI's networks it is to change.
#[derive(Serialize)]
struct CniArgs<'a> {
    #[serde(rename = "logicNetworkName")]
    network: &'a str,
}

/// How links in the pod are named.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Naming {
    /// By a digest of the network's name, which stays the same whatever else is attached.
    Hashed,
    /// `net1`, `net2`, …: how releases before 1.0 did it; a guest that migrates keeps its links.
    Ordinal,
}

/// The name of the pod's link for one of the networks.
pub fn link_name(naming: Naming, networks: &[Network], network: &Network) -> String {
    if !traits::is_secondary_multus(network) {
        return PRIMARY.to_owned();
    }
    match naming {
        Naming::Hashed => {
            let digest = Sha256::digest(network.name.as_bytes());
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("pod{}", digest.get(..HASH_LENGTH).unwrap_or(&digest))
        }
        Naming::Ordinal => {
            let before = networks.iter().filter(|n| traits::is_secondary_multus(n)).take_while(|n| n.name != network.name).count();
            format!("net{}", before + 1)
        }
    }
}

/// The annotations of a new pod.
pub(super) fn annotations(vmi: &VirtualMachineInstance, config: &ClusterConfig) -> Result<BTreeMap<String, String>, Error> {
    let mut annotations = BTreeMap::new();
    if let Some(attachments) = attachments(vmi, config, Naming::Hashed)? {
        annotations.insert(MULTUS_NETWORKS.to_owned(), attachments);
    }
    let default = vmi.spec.networks.iter().filter_map(|n| n.multus.as_ref()).find(|m| m.default);
    if let Some(network) = default {
        annotations.insert(MULTUS_DEFAULT.to_owned(), network.network_name.clone());
    }
    if vmi.spec.domain.devices.interfaces.iter().any(|i| i.masquerade.is_some()) {
        annotations.extend(ISTIO_INTERFACES.map(|key| (key.to_owned(), BRIDGE.to_owned())));
    }
    Ok(annotations)
}

/// What Multus is to attach, as its annotation says it, in the order of the VMI's interfaces; nothing if there is
/// nothing to attach.
pub(crate) fn attachments(vmi: &VirtualMachineInstance, config: &ClusterConfig, naming: Naming) -> Result<Option<String>, Error> {
    let namespace = vmi.metadata.namespace.as_deref().unwrap_or_default();
    let networks = &vmi.spec.networks;
    let mut attachments = Vec::new();
    for (index, interface) in vmi.spec.domain.devices.interfaces.iter().enumerate() {
        if interface.state == InterfaceState::Absent {
            continue;
        }
        let Some(network) = networks.iter().find(|n| n.name == interface.name) else { continue };
        attachments.extend(secondary(namespace, networks, network, interface, naming));
        attachments.extend(plugin(namespace, interface, index, config)?);
    }
    if attachments.is_empty() {
        return Ok(None);
    }
    Ok(serde_json::to_string(&attachments).ok())
}

fn secondary<'a>(
    namespace: &'a str,
    networks: &[Network],
    network: &'a Network,
    interface: &'a Interface,
    naming: Naming,
) -> Option<Attachment<'a>> {
    let multus = network.multus.as_ref().filter(|m| !m.default)?;
    let (namespace, name) = definition(namespace, &multus.network_name);
    let link = link_name(naming, networks, network);
    Some(Attachment { name, namespace, mac: &interface.mac_address, interface: link, cni_args: None })
}

fn plugin<'a>(
    namespace: &'a str,
    interface: &'a Interface,
    index: usize,
    config: &'a ClusterConfig,
) -> Result<Option<Attachment<'a>>, Error> {
    let Some(binding) = &interface.binding else { return Ok(None) };
    let plugin = config.network_bindings().and_then(|plugins| plugins.get(&binding.name));
    let plugin = plugin.ok_or_else(|| unknown_binding(index, &binding.name))?;
    if plugin.network_attachment_definition.is_empty() {
        return Ok(None);
    }
    let (namespace, name) = definition(namespace, &plugin.network_attachment_definition);
    let cni_args = Some(CniArgs { network: &interface.name });
    Ok(Some(Attachment { name, namespace, mac: "", interface: String::new(), cni_args }))
}

/// The error about an interface whose binding nobody registered.
pub(super) fn unknown_binding(index: usize, binding: &str) -> Error {
    Error::UnknownBinding { field: format!("spec.domain.devices.interfaces[{index}].binding.name"), binding: binding.to_owned() }
}

/// The namespace and name of a network attachment definition.
pub fn definition<'a>(namespace: &'a str, full_name: &'a str) -> (&'a str, &'a str) {
    full_name.split_once('/').unwrap_or((namespace, full_name))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pod::fixture::{config, vmi};

    const SPEC: &str = "{domain: {devices: {interfaces: [{name: pod, masquerade: {}}, {name: blue, bridge: {}, macAddress: 'de:ad:00:00:be:af'}, \
        {name: gone, bridge: {}, state: absent}, {name: red, binding: {name: fast}}]}}, networks: [{name: pod, pod: {}}, \
        {name: red, multus: {networkName: other/red}}, {name: gone, multus: {networkName: gone}}, {name: blue, multus: {networkName: blue}}]}";
    const FAST: &str = "{network: {binding: {fast: {networkAttachmentDefinition: fast-nad}}}}";

    #[test]
    fn multus_attaches_each_network_but_the_pods_own_and_the_absent() {
        let found = annotations(&vmi(SPEC), &config(FAST)).expect("all is known");
        let blue =
            r#"{"name":"blue","namespace":"lab","mac":"de:ad:00:00:be:af","interface":"pod16477688c0e"}"#.replace("16477688c0e", "hash");
        let networks = found[MULTUS_NETWORKS].replace(&link_name(Naming::Hashed, &[], &network("blue")), "podhash");
        let red = format!(r#"{{"name":"red","namespace":"other","interface":"{}"}}"#, link_name(Naming::Hashed, &[], &network("red")));
        let fast = r#"{"name":"fast-nad","namespace":"lab","cni-args":{"logicNetworkName":"red"}}"#;
        assert_eq!(networks, format!("[{blue},{red},{fast}]"));
        assert_eq!(found[ISTIO_INTERFACES[0]], "k6t-eth0");
        assert!(!found.contains_key(MULTUS_DEFAULT));
    }

    fn network(name: &str) -> Network {
        serde_yaml::from_str(&format!("{{name: {name}, multus: {{networkName: n}}}}")).expect("a network")
    }

    #[test]
    fn links_are_named_by_digest_or_by_number() {
        let networks = [network("a"), network("b")];
        assert_eq!(link_name(Naming::Ordinal, &networks, &networks[1]), "net2");
        let hashed = link_name(Naming::Hashed, &networks, &networks[1]);
        assert_eq!(hashed, "pod3e23e816003", "the digest of `b`");
        let own: Network = serde_yaml::from_str("{name: p, pod: {}}").expect("a network");
        assert_eq!(link_name(Naming::Hashed, &networks, &own), "eth0");
    }

    #[test]
    fn a_default_network_of_multus_is_told_and_an_unknown_binding_refused() {
        let spec =
            "{domain: {devices: {interfaces: [{name: a, bridge: {}}]}}, networks: [{name: a, multus: {networkName: x, default: true}}]}";
        let found = annotations(&vmi(spec), &config("{}")).expect("all is known");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [(MULTUS_DEFAULT.to_owned(), "x".to_owned())]);
        let error = annotations(&vmi(SPEC), &config("{}")).expect_err("nobody registered `fast`");
        assert!(error.to_string().starts_with("spec.domain.devices.interfaces[3].binding.name"), "{error}");
    }
}
