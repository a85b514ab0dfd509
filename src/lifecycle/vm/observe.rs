//! What a pass is decided by.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;

use crate::api::cdi::DataVolume;
use crate::api::v1::{VirtualMachine, VirtualMachineInstance};

/// The machine and what is there around it, as read from the stores. All of it is of the machine's namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The machine.
    pub machine: VirtualMachine,
    /// The instance of the machine's name, whoever it belongs to.
    pub instance: Option<VirtualMachineInstance>,
    /// The DataVolumes that the machine's templates and volumes name.
    pub data_volumes: Vec<DataVolume>,
    /// The claims that the machine's volumes name, and the source claims of its clones.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The revisions that belong to the machine.
    pub revisions: Vec<ControllerRevision>,
    /// For each DataVolume that copies from another namespace: whether the machine's service account may, or why not.
    pub clone_verdicts: BTreeMap<String, Result<(), String>>,
    /// The instance types and preferences that the machine names, as documents.
    pub instancetypes: Vec<serde_json::Value>,
    /// Labels that a running guest takes over from the template: keys, or beginnings of keys with `*`.
    pub followed_labels: Vec<String>,
    /// Annotations, likewise.
    pub followed_annotations: Vec<String>,
    /// The labels of the namespace.
    pub namespace_labels: BTreeMap<String, String>,
}

impl Observed {
    /// The DataVolume of that name.
    pub fn data_volume(&self, name: &str) -> Option<&DataVolume> {
        self.data_volumes.iter().find(|d| d.metadata.name.as_deref() == Some(name))
    }

    /// The claim of that name in the machine's namespace.
    pub fn claim(&self, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims.iter().find(|c| c.metadata.name.as_deref() == Some(name) && c.metadata.namespace == self.machine.metadata.namespace)
    }
}
