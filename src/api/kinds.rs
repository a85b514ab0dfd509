//! The kinds: group, version, plural and scope of every type that is an object of its own.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::{ClusterResourceScope, Metadata, NamespaceResourceScope, Resource};

macro_rules! kinds {
    ($($type:path: $kind:literal, $group:literal, $version:literal, $plural:literal, $scope:ty;)*) => {$(
        impl Resource for $type {
            const API_VERSION: &'static str = concat!($group, "/", $version);
            const GROUP: &'static str = $group;
            const KIND: &'static str = $kind;
            const VERSION: &'static str = $version;
            const URL_PATH_SEGMENT: &'static str = $plural;
            type Scope = $scope;
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
    )*};
}

kinds! {
    crate::v1::VirtualMachine: "VirtualMachine", "kubevirt.io", "v1", "virtualmachines", NamespaceResourceScope;
    crate::v1::VirtualMachineInstance: "VirtualMachineInstance", "kubevirt.io", "v1", "virtualmachineinstances", NamespaceResourceScope;
    crate::v1::VirtualMachineInstancePreset: "VirtualMachineInstancePreset", "kubevirt.io", "v1", "virtualmachineinstancepresets", NamespaceResourceScope;
    crate::v1::VirtualMachineInstanceReplicaSet: "VirtualMachineInstanceReplicaSet", "kubevirt.io", "v1", "virtualmachineinstancereplicasets", NamespaceResourceScope;
    crate::v1::VirtualMachineInstanceMigration: "VirtualMachineInstanceMigration", "kubevirt.io", "v1", "virtualmachineinstancemigrations", NamespaceResourceScope;
    crate::v1::KubeVirt: "KubeVirt", "kubevirt.io", "v1", "kubevirts", NamespaceResourceScope;
    crate::pool::VirtualMachinePool: "VirtualMachinePool", "pool.kubevirt.io", "v1beta1", "virtualmachinepools", NamespaceResourceScope;
    crate::snapshot::VirtualMachineSnapshot: "VirtualMachineSnapshot", "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshots", NamespaceResourceScope;
    crate::snapshot::VirtualMachineSnapshotContent: "VirtualMachineSnapshotContent", "snapshot.kubevirt.io", "v1beta1", "virtualmachinesnapshotcontents", NamespaceResourceScope;
    crate::snapshot::VirtualMachineRestore: "VirtualMachineRestore", "snapshot.kubevirt.io", "v1beta1", "virtualmachinerestores", NamespaceResourceScope;
    crate::export::VirtualMachineExport: "VirtualMachineExport", "export.kubevirt.io", "v1", "virtualmachineexports", NamespaceResourceScope;
    crate::clone::VirtualMachineClone: "VirtualMachineClone", "clone.kubevirt.io", "v1beta1", "virtualmachineclones", NamespaceResourceScope;
    crate::instancetype::VirtualMachineInstancetype: "VirtualMachineInstancetype", "instancetype.kubevirt.io", "v1beta1", "virtualmachineinstancetypes", NamespaceResourceScope;
    crate::instancetype::VirtualMachineClusterInstancetype: "VirtualMachineClusterInstancetype", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterinstancetypes", ClusterResourceScope;
    crate::instancetype::VirtualMachinePreference: "VirtualMachinePreference", "instancetype.kubevirt.io", "v1beta1", "virtualmachinepreferences", NamespaceResourceScope;
    crate::instancetype::VirtualMachineClusterPreference: "VirtualMachineClusterPreference", "instancetype.kubevirt.io", "v1beta1", "virtualmachineclusterpreferences", ClusterResourceScope;
    crate::migrations::MigrationPolicy: "MigrationPolicy", "migrations.kubevirt.io", "v1alpha1", "migrationpolicies", ClusterResourceScope;
    crate::backup::VirtualMachineBackup: "VirtualMachineBackup", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackups", NamespaceResourceScope;
    crate::backup::VirtualMachineBackupTracker: "VirtualMachineBackupTracker", "backup.kubevirt.io", "v1alpha1", "virtualmachinebackuptrackers", NamespaceResourceScope;
    crate::plugin::Plugin: "Plugin", "plugin.kubevirt.io", "v1alpha1", "plugins", ClusterResourceScope;
    crate::cdi::DataVolume: "DataVolume", "cdi.kubevirt.io", "v1beta1", "datavolumes", NamespaceResourceScope;
}
