//! The interface of a guest that asks for none: one on the pod network.

use crate::admission::Cause;
use crate::api::v1::{Interface, InterfaceBridge, InterfaceMasquerade, Network, PodNetwork, VirtualMachineInstanceSpec};
use crate::config::ClusterConfig;

const NAME: &str = "default";

/// Connects the guest to the pod network unless it says how it is connected, or that it is not.
pub(super) fn default_interface(spec: &mut VirtualMachineInstanceSpec, config: &ClusterConfig) -> Result<(), Cause> {
    let devices = &mut spec.domain.devices;
    if devices.autoattach_pod_interface == Some(false) || !spec.networks.is_empty() || !devices.interfaces.is_empty() {
        return Ok(());
    }
    let mut interface = Interface { name: NAME.to_owned(), ..Interface::default() };
    match config.default_network_interface() {
        "bridge" if !config.bridge_on_pod_network() => {
            return Err(Cause::invalid(
                "spec.domain.devices.interfaces",
                "no interface is given, and the cluster's default is a bridge on the pod network, which it does not permit; \
                 give one with another binding, such as masquerade",
            ));
        }
        "slirp" => {
            return Err(Cause::invalid(
                "spec.domain.devices.interfaces",
                "no interface is given, and the cluster's default is slirp, which is gone; give one with another binding, \
                 such as masquerade",
            ));
        }
        "bridge" => interface.bridge = Some(InterfaceBridge {}),
        "masquerade" => interface.masquerade = Some(InterfaceMasquerade {}),
        // A cluster that sets no default gets the network without an interface, which validation then points out.
        _ => {
            spec.networks = vec![pod_network()];
            return Ok(());
        }
    }
    devices.interfaces = vec![interface];
    spec.networks = vec![pod_network()];
    Ok(())
}

fn pod_network() -> Network {
    Network { name: NAME.to_owned(), pod: Some(PodNetwork::default()), ..Network::default() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_a_guest_that_says_nothing_is_connected() {
        for (set, spec, interfaces) in [
            (json!({}), json!({}), json!([{"name": "default", "bridge": {}}])),
            (json!({"network": {"defaultNetworkInterface": "masquerade"}}), json!({}), json!([{"name": "default", "masquerade": {}}])),
            (json!({}), json!({"domain": {"devices": {"autoattachPodInterface": false}}}), json!([])),
            (json!({}), json!({"networks": [{"name": "own"}]}), json!([])),
        ] {
            let mut spec: VirtualMachineInstanceSpec = serde_json::from_value(spec).unwrap();
            default_interface(&mut spec, &ClusterConfig::new(&serde_json::from_value(set).unwrap())).unwrap();
            assert_eq!(serde_json::to_value(&spec.domain.devices.interfaces).unwrap(), interfaces);
        }
    }

    #[test]
    fn a_default_that_is_not_to_be_had_is_a_fault() {
        for set in [
            json!({"network": {"defaultNetworkInterface": "slirp"}}),
            json!({"network": {"defaultNetworkInterface": "bridge", "permitBridgeInterfaceOnPodNetwork": false}}),
        ] {
            let config = ClusterConfig::new(&serde_json::from_value(set).unwrap());
            let cause = default_interface(&mut VirtualMachineInstanceSpec::default(), &config).unwrap_err();
            assert_eq!(cause.field, "spec.domain.devices.interfaces");
        }
    }
}
