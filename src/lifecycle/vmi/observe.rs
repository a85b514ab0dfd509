//! What a pass is decided by.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;

use crate::api::cdi::DataVolume;
use crate::api::v1::VirtualMachineInstance;
use crate::pod::Context;

/// The instance and what is there around it, as read from the stores. All of it is of the instance's namespace.
#[derive(Clone, Debug, Default)]
pub struct Observed {
    /// The instance.
    pub instance: VirtualMachineInstance,
    /// The pods of the instance, and the pods that belong to those.
    pub pods: Vec<Pod>,
    /// The claims that the instance's volumes name, and that of its own state.
    pub claims: Vec<PersistentVolumeClaim>,
    /// The DataVolumes behind the instance's volumes.
    pub data_volumes: Vec<DataVolume>,
    /// The storage classes of the cluster.
    pub storage_classes: Vec<StorageClass>,
    /// Whether the machine that the instance belongs to is there.
    pub owner_exists: bool,
    /// Whether a migration of the instance has not ended.
    pub migration_active: bool,
    /// The lowest frequency of the time stamp counter among the nodes that guests can go to.
    pub lowest_tsc_frequency: Option<i64>,
    /// An address on the virtual socket that no other guest has.
    pub free_vsock_address: Option<u32>,
    /// The share of a file system that is not for files, as CDI says it for a storage class.
    pub overhead: Option<crate::lifecycle::subresource::Overhead>,
    /// What the launcher pod depends on besides.
    pub context: Context,
}

impl Observed {
    /// The claim of that name.
    pub fn claim(&self, name: &str) -> Option<&PersistentVolumeClaim> {
        self.claims.iter().find(|c| c.metadata.name.as_deref() == Some(name))
    }

    /// The DataVolume of that name.
    pub fn data_volume(&self, name: &str) -> Option<&DataVolume> {
        self.data_volumes.iter().find(|d| d.metadata.name.as_deref() == Some(name))
    }
}
