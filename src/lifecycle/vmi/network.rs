//! What the instance tells of its interfaces before the guest does: which link of the pod each has, as Multus reports it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::Pod;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::pass::Pass;
use super::pods;
use crate::api::v1::{InterfaceState, Network, NetworkBindingDownwardApiType, VirtualMachineInstanceNetworkInterface as Status};
use crate::pod::networks::{MULTUS_NETWORKS, Naming, link_name};

/// The annotation by which Multus reports.
const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";
/// The annotation by which the launcher learns of devices.
const NETWORK_INFO: &str = "kubevirt.io/network-info";
const MULTUS: &str = "multus-status";
const PRIMARY: &str = "eth0";

/// One link of the pod, as Multus reports it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct Link {
    #[serde(default)]
    pub(super) name: String,
    #[serde(default)]
    pub(super) interface: String,
    #[serde(default)]
    default: bool,
    #[serde(default, rename = "device-info")]
    device_info: Option<Value>,
    #[serde(default)]
    mac: String,
    #[serde(default)]
    mtu: i64,
}

/// What the launcher learns of a device that was given to an interface.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DeviceNote<'a> {
    network: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    device_info: Option<&'a Value>,
    #[serde(skip_serializing_if = "str::is_empty")]
    mac: &'a str,
    #[serde(skip_serializing_if = "is_zero")]
    mtu: i64,
}

#[allow(clippy::trivially_copy_pass_by_ref)]
fn is_zero(number: &i64) -> bool {
    *number == 0
}

/// The links of a pod; none while Multus has not reported.
pub(super) fn links(pod: &Pod) -> Vec<Link> {
    pods::annotation(pod, NETWORK_STATUS).and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

fn is_primary(network: &Network) -> bool {
    network.pod.is_some() || network.multus.as_ref().is_some_and(|m| m.default)
}

pub(super) fn is_secondary(network: &Network) -> bool {
    network.multus.as_ref().is_some_and(|m| !m.default)
}

/// Whether a name is one of those that older releases gave: `net1`, `net2`, …
pub(crate) fn is_ordinal(link: &str) -> bool {
    link.strip_prefix("net").is_some_and(|n| !n.is_empty() && n.bytes().all(|b| b.is_ascii_digit()))
}

/// Brings the interfaces up to date with the links of the pod.
pub(super) fn update(pass: &mut Pass<'_>, pod: &Pod) {
    let links = links(pod);
    let naming = naming(&links);
    let networks = &pass.instance.spec.networks;
    let old = &pass.instance.status.interfaces;
    let find = |name: &str| old.iter().find(|i| i.name == name).cloned();
    let mut new = Vec::new();
    if let Some(network) = networks.iter().find(|n| is_primary(n)) {
        let link = links.iter().find(|l| l.default).map(|l| l.interface.clone()).filter(|l| !l.is_empty());
        let status = find(&network.name).unwrap_or_else(|| Status { name: network.name.clone(), ..Status::default() });
        new.push(Status { pod_interface_name: link.unwrap_or_else(|| PRIMARY.to_owned()), ..status });
    }
    for network in networks.iter().filter(|n| is_secondary(n)) {
        let link = link_name(naming, networks, network);
        let attached = links.iter().any(|l| l.interface == link);
        match (attached, find(&network.name)) {
            (true, status) => {
                let status = status.unwrap_or_else(|| Status { name: network.name.clone(), ..Status::default() });
                let info_source = with_source(&status.info_source);
                new.push(Status { info_source, pod_interface_name: link, ..status });
            }
            (false, Some(status)) => {
                let info_source = without_source(&status.info_source);
                new.push(Status { info_source, pod_interface_name: link, ..status });
            }
            (false, None) => {}
        }
    }
    // What others tell of: devices that were claimed, and interfaces that only the guest knows.
    let others = old.iter().filter(|i| networks.iter().find(|n| n.name == i.name).is_none_or(|n| n.resource_claim.is_some()));
    new.extend(others.cloned());
    let same = new.len() == old.len() && new.iter().all(|i| old.contains(i));
    if !same {
        pass.instance.status.interfaces = new;
    }
}

/// The annotations of a launcher pod whose guest's interfaces come and go: what Multus is to attach, and which devices
/// the guest's interfaces were given.
pub(super) fn pod_annotations(pass: &Pass<'_>, pod: &Pod) -> BTreeMap<String, String> {
    let links = links(pod);
    let naming = naming(&links);
    let devices = device_notes(pass, &links, naming).map(|notes| (NETWORK_INFO.to_owned(), notes));
    let attached = attachments(pass, naming).map(|attached| (MULTUS_NETWORKS.to_owned(), attached));
    devices.into_iter().chain(attached).collect()
}

/// What Multus is to attach, if that changes while the guest runs. A device of its own takes a migration.
fn attachments(pass: &Pass<'_>, naming: Naming) -> Option<String> {
    let told = |name: &str| pass.instance.status.interfaces.iter().any(|i| i.name == name);
    let mut wanted = pass.instance.clone();
    let interfaces = &mut wanted.spec.domain.devices.interfaces;
    let leaves = interfaces.iter().any(|i| i.state == InterfaceState::Absent);
    interfaces.retain(|i| i.state != InterfaceState::Absent && (i.sriov.is_none() || told(&i.name)));
    let comes = interfaces.iter().any(|i| !told(&i.name));
    wanted.spec.networks.retain(|network| interfaces.iter().any(|i| i.name == network.name));
    if !leaves && !comes {
        return None;
    }
    crate::pod::networks::attachments(&wanted, pass.config, naming).ok().map(Option::unwrap_or_default)
}

fn device_notes(pass: &Pass<'_>, links: &[Link], naming: Naming) -> Option<String> {
    let plugins = pass.config.network_bindings();
    let spec = &pass.instance.spec;
    let with_device = spec.domain.devices.interfaces.iter().filter(|interface| {
        let plugin = interface.binding.as_ref().and_then(|b| plugins?.get(&b.name));
        interface.sriov.is_some() || plugin.is_some_and(|p| p.downward_api == NetworkBindingDownwardApiType::DeviceInfo)
    });
    let mut notes: Vec<_> = with_device
        .filter_map(|interface| {
            let network = spec.networks.iter().find(|n| n.name == interface.name)?;
            let name = link_name(naming, &spec.networks, network);
            let link = links.iter().find(|l| l.interface == name)?;
            Some(DeviceNote { network: &interface.name, device_info: link.device_info.as_ref(), mac: &link.mac, mtu: link.mtu })
        })
        .collect();
    notes.sort_by_key(|note| note.network);
    (!notes.is_empty()).then(|| json!({ "interfaces": notes }).to_string())
}

fn naming(links: &[Link]) -> Naming {
    if links.iter().any(|l| is_ordinal(&l.interface)) { Naming::Ordinal } else { Naming::Hashed }
}

pub(super) fn has_source(sources: &str, source: &str) -> bool {
    sources.split(", ").any(|s| s == source)
}

fn with_source(sources: &str) -> String {
    match sources {
        "" => MULTUS.to_owned(),
        sources if has_source(sources, MULTUS) => sources.to_owned(),
        sources => format!("{sources}, {MULTUS}"),
    }
}

fn without_source(sources: &str) -> String {
    sources.split(", ").filter(|s| *s != MULTUS).collect::<Vec<_>>().join(", ")
}

/// Whether Multus, but not the guest's own domain, knows an interface.
pub(super) fn only_multus_knows(status: &Status) -> bool {
    has_source(&status.info_source, MULTUS) && !has_source(&status.info_source, "domain")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sources_are_added_once_and_taken_away() {
        assert_eq!(with_source("domain"), "domain, multus-status");
        assert_eq!(with_source("multus-status, domain"), "multus-status, domain");
        assert_eq!(without_source("domain, multus-status, guest-agent"), "domain, guest-agent");
        assert!(is_ordinal("net12") && !is_ordinal("net") && !is_ordinal("pod1") && !is_ordinal("net1a"));
    }
}
