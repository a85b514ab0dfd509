//! What the tests of this room share.

use crate::api::v1::{KubeVirtConfiguration, VirtualMachineInstance};
use crate::config::ClusterConfig;

/// A VMI `lab/vm` with the given spec, in YAML.
pub(super) fn vmi(spec: &str) -> VirtualMachineInstance {
    let mut vmi = VirtualMachineInstance { spec: serde_yaml::from_str(spec).expect(spec), ..Default::default() };
    vmi.metadata.name = Some("vm".to_owned());
    vmi.metadata.namespace = Some("lab".to_owned());
    vmi.metadata.uid = Some("5d307ca9-b3ef-428c-8861-06e72d69f223".to_owned());
    vmi.status.runtime_user = 107;
    vmi
}

/// A configuration, in YAML.
pub(super) fn config(yaml: &str) -> ClusterConfig {
    ClusterConfig::new(&serde_yaml::from_str::<KubeVirtConfiguration>(yaml).expect(yaml))
}
