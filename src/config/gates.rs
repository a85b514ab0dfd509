//! Feature gates: one table with their names, their states and what to tell who still sets one that has no effect.

/// How far a feature has come, which decides whether its gate counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GateState {
    /// Off until it is enabled.
    Alpha,
    /// On until it is disabled.
    Beta,
    /// Always on.
    GeneralAvailability,
    /// Off until it is enabled, and about to go.
    Deprecated,
    /// The feature is gone; only its name is still known.
    Discontinued,
}

impl GateState {
    /// The state as KubeVirt prints it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Alpha => "Alpha",
            Self::Beta => "Beta",
            Self::GeneralAvailability => "General Availability",
            Self::Deprecated => "Deprecated",
            Self::Discontinued => "Discontinued",
        }
    }
}

use GateState::{Alpha, Beta, Deprecated, Discontinued, GeneralAvailability as Stable};

macro_rules! gates {
    ($($gate:ident $name:literal $state:ident $($note:literal)?;)*) => {
        /// A feature that a cluster may switch.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Gate {
            $(#[doc = concat!("`", $name, "`")] $gate,)*
        }

        impl Gate {
            /// Every gate, in the order of the table.
            pub const ALL: &'static [Gate] = &[$(Gate::$gate),*];

            /// The name that the configuration uses.
            pub fn name(self) -> &'static str {
                match self { $(Gate::$gate => $name,)* }
            }

            /// How far the feature has come.
            pub fn state(self) -> GateState {
                match self { $(Gate::$gate => $state,)* }
            }

            /// The gate of that name.
            pub fn named(name: &str) -> Option<Gate> {
                match name { $($name => Some(Gate::$gate),)* _ => None }
            }

            /// What the table has to say about a gate that should no longer be set.
            fn note(self) -> Option<&'static str> {
                match self { $($(Gate::$gate => Some($note),)?)* _ => None }
            }
        }
    };
}

gates! {
    LibvirtHooksServerAndClient "LibvirtHooksServerAndClient" Beta;
    ImageVolume "ImageVolume" Beta;
    CpuManager "CPUManager" Alpha;
    Ignition "ExperimentalIgnitionSupport" Alpha;
    HypervStrictCheck "HypervStrictCheck" Alpha;
    Sidecar "Sidecar" Alpha;
    HostDevices "HostDevices" Alpha;
    Snapshot "Snapshot" Beta;
    HostDisk "HostDisk" Alpha;
    DownwardMetrics "DownwardMetrics" Alpha;
    Root "Root" Alpha;
    WorkloadEncryptionSev "WorkloadEncryptionSEV" Beta;
    WorkloadEncryptionTdx "WorkloadEncryptionTDX" Alpha;
    Vsock "VSOCK" Alpha;
    SeccompProfile "KubevirtSeccompProfile" Beta;
    AlignCpus "AlignCPUs" Alpha;
    NodeRestriction "NodeRestriction" Beta;
    VirtiofsStorageVolumes "EnableVirtioFsStorageVolumes" Alpha;
    GpusWithDra "GPUsWithDRA" Beta;
    HostDevicesWithDra "HostDevicesWithDRA" Beta;
    PciNumaAwareTopology "PCINUMAAwareTopology" Alpha;
    NetworkDevicesWithDra "NetworkDevicesWithDRA" Alpha;
    DecentralizedLiveMigration "DecentralizedLiveMigration" Alpha;
    DeclarativeHotplugVolumes "DeclarativeHotplugVolumes" Beta;
    ObjectGraph "ObjectGraph" Alpha;
    UtilityVolumes "UtilityVolumes" Alpha;
    ConfigurableHypervisor "ConfigurableHypervisor" Alpha;
    PasstBinding "PasstBinding" Beta;
    IncrementalBackup "IncrementalBackup" Alpha;
    PodSecondaryInterfaceNamingUpgrade "PodSecondaryInterfaceNamingUpgrade" Beta;
    ExternalNetResourceInjection "ExternalNetResourceInjection" Beta;
    RebootPolicy "RebootPolicy" Beta;
    Template "Template" Beta;
    MemoryOverheadReport "VmiMemoryOverheadReport" Beta;
    ContainerPathVolumes "ContainerPathVolumes" Alpha;
    ReservedOverheadMemlock "ReservedOverheadMemlock" Alpha;
    OptOutRoleAggregation "OptOutRoleAggregation" Beta;
    VgpuLiveMigration "VGPULiveMigration" Alpha;
    StatsCollector "VMStatsCollector" Alpha;
    OciExport "OCIExport" Alpha;
    Plugins "Plugins" Alpha;
    GraceIoVirtualization "GraceIOVirtualization" Alpha;
    Iommufd "IOMMUFD" Alpha;
    FirmwareAutoSelection "FirmwareAutoSelection" Alpha;
    MigrationStallDetection "MigrationStallDetection" Alpha;
    CrossArchitectureVirtualization "CrossArchitectureVirtualization" Alpha;
    PortRangesSpec "PortRangesSpec" Alpha;
    LiveMigration "LiveMigration" Stable;
    SriovLiveMigration "SRIOVLiveMigration" Stable;
    NonRoot "NonRoot" Stable;
    Psa "PSA" Stable;
    CpuNodeDiscovery "CPUNodeDiscovery" Stable;
    Numa "NUMA" Stable;
    CommonInstancetypesDeployment "CommonInstancetypesDeploymentGate" Stable;
    Gpu "GPU" Stable;
    HotplugNics "HotplugNICs" Stable;
    BochsDisplayForEfiGuests "BochsDisplayForEFIGuests" Stable;
    LiveUpdateFeatures "VMLiveUpdateFeatures" Stable;
    NetworkBindingPlugins "NetworkBindingPlugins" Stable;
    DynamicPodInterfaceNaming "DynamicPodInterfaceNaming" Stable;
    VolumesUpdateStrategy "VolumesUpdateStrategy" Stable;
    VolumeMigration "VolumeMigration" Stable;
    DisableCustomSelinuxPolicy "DisableCustomSELinuxPolicy" Stable;
    AutoResourceLimits "AutoResourceLimitsGate" Stable;
    ClusterProfiler "ClusterProfiler" Stable;
    PersistentState "VMPersistentState" Stable;
    Export "VMExport" Stable;
    PersistentReservation "PersistentReservation" Stable;
    InstancetypeReferencePolicy "InstancetypeReferencePolicy" Stable;
    VirtiofsConfigVolumes "EnableVirtioFsConfigVolumes" Stable;
    ExpandDisks "ExpandDisks" Stable;
    PanicDevices "PanicDevices" Stable;
    LiveUpdateNadRef "LiveUpdateNADRef" Stable;
    VideoConfig "VideoConfig" Stable;
    SecureExecution "SecureExecution" Stable;
    MigrationPriorityQueue "MigrationPriorityQueue" Stable;
    DockerSelinuxMcsWorkaround "DockerSELinuxMCSWorkaround" Deprecated "DockerSELinuxMCSWorkaround has been deprecated since v1.4.";
    MultiArchitecture "MultiArchitecture" Deprecated "MultiArchitecture has been deprecated since v1.8.0";
    DisableMdevConfiguration "DisableMDEVConfiguration" Deprecated "DisableMDEVConfiguration has been deprecated since v1.8.0";
    HotplugVolumes "HotplugVolumes" Deprecated
        "HotplugVolumes has been deprecated since v1.9.0 and has been replaced by DeclarativeHotplugVolumes";
    VirtiofsSupport "ExperimentalVirtiofsSupport" Discontinued
        "Virtiofs ExperimentalVirtiofsSupport feature gate is discontinued since v1.7. Please use EnableVirtioFsConfigVolumes or EnableVirtioFsPVC feature gates instead";
    Passt "Passt" Discontinued
        "Passt network binding is discontinued since v1.3. Please refer to Kubevirt user guide for alternatives.";
    Macvtap "Macvtap" Discontinued
        "Macvtap network binding is discontinued since v1.3. Please refer to Kubevirt user guide for alternatives.";
    PasstIpStackMigration "PasstIPStackMigration" Discontinued
        "Seamless migration with passt network binding plugin is no longer supported since KubeVirt v1.8. Please use the passt core binding instead.";
}

impl Gate {
    /// What who sets the gate is warned of; nothing where setting it still makes sense. Tools match on the words, so
    /// they are KubeVirt's.
    pub fn warning(self) -> Option<String> {
        match (self.state(), self.note()) {
            (Alpha | Beta, _) => None,
            (_, Some(note)) => Some(note.to_owned()),
            (state, None) => Some(format!(
                "feature gate {} is deprecated (feature state is {:?}), therefore it can be safely removed and is redundant. \
                 For more info, please look at: https://github.com/kubevirt/kubevirt/blob/main/docs/deprecation.md",
                self.name(),
                state.as_str()
            )),
        }
    }

    /// Whether the gate is on, given the names that the configuration enables and disables. What is stable is on
    /// whatever they say; enabling wins over disabling; the state decides where neither names it.
    pub(super) fn resolve(self, enabled: &[String], disabled: &[String]) -> bool {
        let named = |list: &[String]| list.iter().any(|name| name == self.name());
        match self.state() {
            Stable => true,
            _ if named(enabled) => true,
            _ if named(disabled) => false,
            state => state == Beta,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(names: &[&str]) -> Vec<String> {
        names.iter().map(|n| (*n).to_owned()).collect()
    }

    #[test]
    fn state_and_configuration_decide_whether_a_gate_is_on() {
        for (gate, enabled, disabled, on) in [
            (Gate::HostDisk, &[][..], &[][..], false),
            (Gate::HostDisk, &["HostDisk"], &[], true),
            (Gate::HostDisk, &["HostDisk"], &["HostDisk"], true),
            (Gate::Snapshot, &[], &[], true),
            (Gate::Snapshot, &[], &["Snapshot"], false),
            (Gate::Numa, &[], &["NUMA"], true),
            (Gate::HotplugVolumes, &[], &[], false),
            (Gate::HotplugVolumes, &["HotplugVolumes"], &[], true),
        ] {
            assert_eq!(gate.resolve(&list(enabled), &list(disabled)), on, "{gate:?} +{enabled:?} -{disabled:?}");
        }
    }

    #[test]
    fn every_gate_is_found_by_its_name() {
        for gate in Gate::ALL {
            assert_eq!(Gate::named(gate.name()), Some(*gate));
        }
        assert_eq!(Gate::named("hostdisk"), None);
    }

    #[test]
    fn only_gates_without_effect_or_future_warn() {
        assert_eq!(Gate::HostDisk.warning(), None);
        assert_eq!(Gate::Snapshot.warning(), None);
        assert!(Gate::Numa.warning().is_some_and(|w| w.starts_with("feature gate NUMA is deprecated")));
        assert!(Gate::Passt.warning().is_some_and(|w| w.contains("discontinued")));
    }
}
