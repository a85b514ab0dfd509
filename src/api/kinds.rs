//! The kinds: group, version, plural and scope of every type that is an object of its own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};
use serde_json::Value;

use crate::schema::{Node, Schema};

/// What is known of a kind.
#[derive(Clone, Copy, Debug)]
pub struct Kind {
    /// The API group.
    pub group: &'static str,
    /// The version that is stored, newest where several are served.
    pub version: &'static str,
    /// The name of the kind.
    pub kind: &'static str,
    /// The name of the resource in paths.
    pub plural: &'static str,
    /// Whether its objects live in a namespace.
    pub namespaced: bool,
    /// The structure of its objects.
    pub schema: fn() -> Node,
    /// Decodes a document into the type of the kind and encodes it again.
    pub recode: fn(&Value) -> Result<Value, serde_json::Error>,
}

impl Kind {
    /// The kind of that name. All served versions of a kind have the same structure.
    pub fn find(group: &str, kind: &str) -> Option<&'static Self> {
        ALL.iter().find(|k| k.kind == kind && k.group == group)
    }

    /// The kind of a document, by its `apiVersion` and `kind`.
    pub fn of(document: &Value) -> Option<&'static Self> {
        let (group, _) = document.get("apiVersion")?.as_str()?.split_once('/')?;
        Self::find(group, document.get("kind")?.as_str()?)
    }
}

fn recode<T: serde::Serialize + serde::de::DeserializeOwned>(document: &Value) -> Result<Value, serde_json::Error> {
    serde_json::to_value(T::deserialize(document)?)
}

macro_rules! scoped {
    (Namespaced) => {
        NamespaceResourceScope
    };
    (Cluster) => {
        ClusterResourceScope
    };
}

macro_rules! kinds {
    ($($type:path: $kind:literal, $group:literal, $version:literal, $plural:literal, $scope:ident;)*) => {
        /// Every kind.
        pub const ALL: &[Kind] = &[$(Kind {
            group: $group,
            version: $version,
            kind: $kind,
            plural: $plural,
            namespaced: matches!(stringify!($scope).as_bytes(), b"Namespaced"),
            schema: <$type as Schema>::schema,
            recode: recode::<$type>,
        }),*];

        $(
            impl Resource for $type {
                const API_VERSION: &'static str = concat!($group, "/", $version);
                const GROUP: &'static str = $group;
                const KIND: &'static str = $kind;
                const VERSION: &'static str = $version;
                const URL_PATH_SEGMENT: &'static str = $plural;
                type Scope = scoped!($scope);
            }

            impl Metadata for $type {
                type Ty = ObjectMeta;
                fn metadata(&self) -> &ObjectMeta {
                    &self.metadata
                }
                fn metadata_mut(&mut self) -> &mut ObjectMeta {
                    &mut self.metadata
                }
            }
        )*
    };
}

kinds! {
    crate::v1::VirtualMachine: "VirtualMachine", "kubevirt.io", "v1", "virtualmachines", Namespaced;
    crate::v1::VirtualMachineInstance: "VirtualMachineInstance", "kubevirt.io", "v1", "virtualmachineinstances", Namespaced;
    crate::v1::VirtualMachineInstancePreset: "VirtualMachineInstancePreset", "kubevirt.io", "v1", "virtualmachineinstancepresets", Namespaced;
    crate::v1::VirtualMachineInstanceReplicaSet: "VirtualMachineInstanceReplicaSet", "kubevirt.io", "v1", "virtualmachineinstancereplicasets", Namespaced;
    crate::v1::VirtualMachineInstanceMigration: "VirtualMachineInstanceMigration", "kubevirt.io", "v1", "virtualmachineinstancemigrations", Namespaced;
    crate::v1::KubeVirt: "KubeVirt", "kubevirt.io", "v1", "kubevirts", Namespaced;
    crate::pool::VirtualMachinePool: "VirtualMachinePool", "pool.kubevirt.io", "v1beta1", "virtualmachinepools", Namespaced;
    crate::snapshot::VirtualMachineSnapshot: "VirtualMachineSnapshot", "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", Namespaced;
    crate::snapshot::VirtualMachineSnapshotContent: "VirtualMachineSnapshotContent", "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshotcontents", Namespaced;
    crate::snapshot::VirtualMachineRestore: "VirtualMachineRestore", "snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", Namespaced;
    crate::export::VirtualMachineExport: "VirtualMachineExport", "export.kubevirt.io", "v1", "virtualmachineexports", Namespaced;
    crate::clone::VirtualMachineClone: "VirtualMachineClone", "clone.kubevirt.io", "v1beta1", "virtualmachineclones", Namespaced;
    crate::instancetype::VirtualMachineInstancetype: "VirtualMachineInstancetype", "instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes", Namespaced;
    crate::instancetype::VirtualMachineClusterInstancetype: "VirtualMachineClusterInstancetype", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes", Cluster;
    crate::instancetype::VirtualMachinePreference: "VirtualMachinePreference", "instancetype.kubevirt.io", "v1beta1", "virtualmachinepreferences", Namespaced;
    crate::instancetype::VirtualMachineClusterPreference: "VirtualMachineClusterPreference", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterpreferences", Cluster;
    crate::migrations::MigrationPolicy: "MigrationPolicy", "migrations.kubevirt.io", "v1alpha1", "migrationpolicies", Cluster;
    crate::backup::VirtualMachineBackup: "VirtualMachineBackup", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackups", Namespaced;
    crate::backup::VirtualMachineBackupTracker: "VirtualMachineBackupTracker", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackuptrackers", Namespaced;
    crate::plugin::Plugin: "Plugin", "plugin.kubevirt.io", "v1alpha1", "plugins", Cluster;
    crate::cdi::DataVolume: "DataVolume", "cdi.kubevirt.io", "v1beta1", "datavolumes", Namespaced;
}
