//! The custom resource definitions: names, versions, printer columns and subresources of every kind that the operator
//! installs. The structure comes from the types.

use kubevirt_api::kinds::Kind;

/// A custom resource definition, without its schema.
#[derive(Debug)]
pub struct Definition {
    /// The API group.
    pub group: &'static str,
    /// The kind.
    pub kind: &'static str,
    pub(super) short_names: &'static [&'static str],
    /// Whether `kubectl get all` shows its objects.
    pub(super) in_all: bool,
    /// Every served version.
    pub versions: &'static [Version],
    pub(super) columns: &'static [Column],
    pub(super) subresources: Subresources,
}

/// A served version.
#[derive(Debug)]
pub struct Version {
    /// Its name.
    pub name: &'static str,
    /// Whether objects are stored in it.
    pub storage: bool,
    /// What a user of a deprecated version is told to do instead.
    pub instead: Option<&'static str>,
}

#[derive(Debug)]
pub(super) struct Column {
    pub(super) name: &'static str,
    pub(super) kind: &'static str,
    pub(super) path: &'static str,
    pub(super) description: &'static str,
    pub(super) wide: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Subresources {
    None,
    Status,
    StatusAndScale,
}

impl Definition {
    /// The definition of a kind.
    pub fn find(group: &str, kind: &str) -> Option<&'static Self> {
        DEFINITIONS.iter().find(|d| d.kind == kind && d.group == group)
    }

    /// What the types know of the kind.
    pub fn kind(&self) -> Option<&'static Kind> {
        Kind::find(self.group, self.kind)
    }
}

const fn stored(name: &'static str) -> Version {
    Version { name, storage: true, instead: None }
}

const fn served(name: &'static str) -> Version {
    Version { name, storage: false, instead: None }
}

const fn deprecated(name: &'static str, instead: &'static str) -> Version {
    Version { name, storage: false, instead: Some(instead) }
}

const fn column(name: &'static str, kind: &'static str, path: &'static str, description: &'static str) -> Column {
    Column { name, kind, path, description, wide: false }
}

/// A column that `kubectl get -o wide` shows only.
const fn wide(name: &'static str, kind: &'static str, path: &'static str, description: &'static str) -> Column {
    Column { name, kind, path, description, wide: true }
}

const CORE: &[Version] = &[stored("v1"), deprecated("v1alpha3", "use kubevirt.io/v1")];
const BETA: &[Version] = &[served("v1alpha1"), stored("v1beta1")];
const PRESET: &str = "use instance types and preferences";

const AGE: Column = column("Age", "date", ".metadata.creationTimestamp", "Time since the object was made");
const PHASE: Column = column("Phase", "string", ".status.phase", "How far it has come");
const READY: Column = column("Ready", "string", ".status.conditions[?(@.type=='Ready')].status", "Whether the guest may be reached");
const SOURCE_KIND: Column = column("SourceKind", "string", ".spec.source.kind", "Kind of the source");
const SOURCE_NAME: Column = column("SourceName", "string", ".spec.source.name", "Name of the source");
const USABLE: Column = column("ReadyToUse", "boolean", ".status.readyToUse", "Whether it can be restored from");
const TAKEN: Column = column("CreationTime", "date", ".status.creationTime", "When the state was taken");
const ERROR: Column = column("Error", "string", ".status.error.message", "What went wrong last");
const SCALED: &[Column] = &[
    column("Desired", "integer", ".spec.replicas", "How many are wanted"),
    column("Current", "integer", ".status.replicas", "How many there are"),
    column("Ready", "integer", ".status.readyReplicas", "How many of them are ready"),
    AGE,
];

/// Every definition, in the order in which they are installed.
pub const DEFINITIONS: &[Definition] = &[
    Definition {
        group: "kubevirt.io",
        kind: "KubeVirt",
        short_names: &["kv", "kvs"],
        in_all: true,
        versions: CORE,
        columns: &[AGE, PHASE],
        subresources: Subresources::Status,
    },
    Definition {
        group: "kubevirt.io",
        kind: "VirtualMachine",
        short_names: &["vm", "vms"],
        in_all: true,
        versions: CORE,
        columns: &[AGE, column("Status", "string", ".status.printableStatus", "What the machine is doing"), READY],
        subresources: Subresources::Status,
    },
    Definition {
        group: "kubevirt.io",
        kind: "VirtualMachineInstance",
        short_names: &["vmi", "vmis"],
        in_all: true,
        versions: CORE,
        columns: &[
            AGE,
            PHASE,
            column("IP", "string", ".status.interfaces[0].ipAddress", "Address of the first interface"),
            column("NodeName", "string", ".status.nodeName", "Node that it runs on"),
            READY,
            wide(
                "Live-Migratable",
                "string",
                ".status.conditions[?(@.type=='LiveMigratable')].status",
                "Whether it can move to another node while it runs",
            ),
            wide("Paused", "string", ".status.conditions[?(@.type=='Paused')].status", "Whether the guest stands still"),
        ],
        subresources: Subresources::None,
    },
    Definition {
        group: "kubevirt.io",
        kind: "VirtualMachineInstancePreset",
        short_names: &["vmipreset", "vmipresets"],
        in_all: true,
        versions: &[deprecated("v1", PRESET), Version { name: "v1alpha3", storage: true, instead: Some(PRESET) }],
        columns: &[],
        subresources: Subresources::None,
    },
    Definition {
        group: "kubevirt.io",
        kind: "VirtualMachineInstanceReplicaSet",
        short_names: &["vmirs", "vmirss"],
        in_all: true,
        versions: CORE,
        columns: SCALED,
        subresources: Subresources::StatusAndScale,
    },
    Definition {
        group: "kubevirt.io",
        kind: "VirtualMachineInstanceMigration",
        short_names: &["vmim", "vmims"],
        in_all: true,
        versions: CORE,
        columns: &[PHASE, column("VMI", "string", ".spec.vmiName", "The VirtualMachineInstance that moves")],
        subresources: Subresources::Status,
    },
    Definition {
        group: "pool.kubevirt.io",
        kind: "VirtualMachinePool",
        short_names: &["vmpool", "vmpools"],
        in_all: true,
        versions: BETA,
        columns: SCALED,
        subresources: Subresources::StatusAndScale,
    },
    Definition {
        group: "snapshot.kubevirt.io",
        kind: "VirtualMachineSnapshot",
        short_names: &["vmsnapshot", "vmsnapshots"],
        in_all: true,
        versions: BETA,
        columns: &[SOURCE_KIND, SOURCE_NAME, PHASE, USABLE, TAKEN, ERROR],
        subresources: Subresources::Status,
    },
    Definition {
        group: "snapshot.kubevirt.io",
        kind: "VirtualMachineSnapshotContent",
        short_names: &["vmsnapshotcontent", "vmsnapshotcontents"],
        in_all: true,
        versions: BETA,
        columns: &[USABLE, TAKEN, ERROR],
        subresources: Subresources::Status,
    },
    Definition {
        group: "snapshot.kubevirt.io",
        kind: "VirtualMachineRestore",
        short_names: &["vmrestore", "vmrestores"],
        in_all: true,
        versions: BETA,
        columns: &[
            column("TargetKind", "string", ".spec.target.kind", "Kind of what is restored"),
            column("TargetName", "string", ".spec.target.name", "Name of what is restored"),
            column("Complete", "boolean", ".status.complete", "Whether all is restored"),
            column("RestoreTime", "date", ".status.restoreTime", "When all was restored"),
        ],
        subresources: Subresources::Status,
    },
    Definition {
        group: "export.kubevirt.io",
        kind: "VirtualMachineExport",
        short_names: &["vmexport", "vmexports"],
        in_all: true,
        versions: &[deprecated("v1beta1", "use export.kubevirt.io/v1"), stored("v1")],
        columns: &[SOURCE_KIND, SOURCE_NAME, PHASE],
        subresources: Subresources::Status,
    },
    Definition {
        group: "clone.kubevirt.io",
        kind: "VirtualMachineClone",
        short_names: &["vmclone", "vmclones"],
        in_all: true,
        versions: BETA,
        columns: &[
            PHASE,
            column("SourceVirtualMachine", "string", ".spec.source.name", "What is cloned"),
            column("TargetVirtualMachine", "string", ".spec.target.name", "What the clone is called"),
        ],
        subresources: Subresources::Status,
    },
    Definition {
        group: "instancetype.kubevirt.io",
        kind: "VirtualMachineInstancetype",
        short_names: &["vminstancetype", "vminstancetypes", "vmf", "vmfs"],
        in_all: true,
        versions: &[stored("v1beta1")],
        columns: &[],
        subresources: Subresources::None,
    },
    Definition {
        group: "instancetype.kubevirt.io",
        kind: "VirtualMachineClusterInstancetype",
        short_names: &["vmclusterinstancetype", "vmclusterinstancetypes", "vmcf", "vmcfs"],
        in_all: false,
        versions: &[stored("v1beta1")],
        columns: &[],
        subresources: Subresources::None,
    },
    Definition {
        group: "instancetype.kubevirt.io",
        kind: "VirtualMachinePreference",
        short_names: &["vmpref", "vmprefs", "vmp", "vmps"],
        in_all: true,
        versions: &[stored("v1beta1")],
        columns: &[],
        subresources: Subresources::None,
    },
    Definition {
        group: "instancetype.kubevirt.io",
        kind: "VirtualMachineClusterPreference",
        short_names: &["vmcp", "vmcps"],
        in_all: false,
        versions: &[stored("v1beta1")],
        columns: &[],
        subresources: Subresources::None,
    },
    Definition {
        group: "migrations.kubevirt.io",
        kind: "MigrationPolicy",
        short_names: &[],
        in_all: false,
        versions: &[stored("v1alpha1")],
        columns: &[],
        subresources: Subresources::Status,
    },
    Definition {
        group: "backup.kubevirt.io",
        kind: "VirtualMachineBackup",
        short_names: &["vmbackup", "vmbackups"],
        in_all: true,
        versions: &[stored("v1alpha1")],
        columns: &[
            SOURCE_KIND,
            SOURCE_NAME,
            column("Type", "string", ".status.type", "Full or Incremental"),
            column("CheckpointName", "string", ".status.checkpointName", "Checkpoint that the backup made"),
        ],
        subresources: Subresources::Status,
    },
    Definition {
        group: "backup.kubevirt.io",
        kind: "VirtualMachineBackupTracker",
        short_names: &["vmbackuptracker", "vmbackuptrackers"],
        in_all: true,
        versions: &[stored("v1alpha1")],
        columns: &[
            SOURCE_KIND,
            SOURCE_NAME,
            column("LatestCheckpoint", "string", ".status.latestCheckpoint.name", "Checkpoint that the next backup starts from"),
            column("CheckpointTime", "date", ".status.latestCheckpoint.creationTime", "When that checkpoint was made"),
        ],
        subresources: Subresources::Status,
    },
    Definition {
        group: "plugin.kubevirt.io",
        kind: "Plugin",
        short_names: &[],
        in_all: false,
        versions: &[stored("v1alpha1")],
        columns: &[],
        subresources: Subresources::None,
    },
];

#[cfg(test)]
mod tests {
    use super::*;
    use kubevirt_api::kinds;

    #[test]
    fn every_definition_has_a_type_and_stores_one_version() {
        for definition in DEFINITIONS {
            let kind = definition.kind();
            assert!(kind.is_some(), "{}", definition.kind);
            assert_eq!(definition.versions.iter().filter(|v| v.storage).count(), 1, "{}", definition.kind);
        }
        let ours = kinds::ALL.iter().filter(|k| k.group.ends_with("kubevirt.io") && k.group != "cdi.kubevirt.io");
        assert_eq!(ours.count(), DEFINITIONS.len());
    }
}
