//! The KubeVirt CR as an effective configuration: defaults, feature gates and their states.

mod check;
mod defaults;
mod gates;
mod pattern;

pub use gates::{Gate, GateState};

use std::collections::BTreeMap;

use serde_json::Value;

use crate::api::v1::{
    ArchConfiguration, ArchSpecificConfiguration, DeveloperConfiguration, InstancetypeReferencePolicy, InterfaceBindingPlugin,
    KubeVirtConfiguration, PermittedHostDevices, SupportContainerType, VmRolloutStrategy,
};
use crate::api::{Quantity, names};

/// The architecture of a cluster that has not told its own.
pub const DEFAULT_ARCHITECTURE: &str = "amd64";
/// The hypervisor that every cluster has.
pub const KVM: &str = "kvm";

/// What a cluster is set to, with every default filled in and every feature gate decided.
#[derive(Clone, Debug)]
pub struct ClusterConfig {
    spec: KubeVirtConfiguration,
    gates: u128,
    emulator_thread_to_even_parity: bool,
    vga_for_efi: bool,
    memory_overhead: MemoryOverhead,
}

/// By which figures the memory is estimated that a launcher pod needs beside its guest's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryOverhead {
    /// KubeVirt's, so that a VM fits the same nodes and quotas as there.
    #[default]
    KubeVirt,
    /// What was measured of this program's pods, with a margin: docs/memory.md.
    Measured,
}

/// Why a configuration is not usable.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ConfigError {
    /// A value that no cluster can work with.
    #[error("set {field} to {wanted}, not {found}")]
    Value {
        /// The field, below `spec.configuration`.
        field: &'static str,
        /// What would be right.
        wanted: &'static str,
        /// What was there.
        found: String,
    },
    /// An annotation of the KubeVirt object that says nothing which we know.
    #[error("set {annotation} to {wanted}, not {found:?}")]
    Annotation {
        /// Which annotation.
        annotation: &'static str,
        /// What would be right.
        wanted: &'static str,
        /// What was there.
        found: String,
    },
    /// The configuration does not fit its own type.
    #[error("write the configuration in its form: {0}")]
    Form(String),
}

impl ConfigError {
    /// The part of the KubeVirt object that is to be changed.
    pub fn place(&self) -> &'static str {
        match self {
            Self::Annotation { .. } => "metadata.annotations",
            Self::Value { .. } | Self::Form(_) => "spec.configuration",
        }
    }
}

impl ClusterConfig {
    /// The configuration of a cluster with those settings. Where they are unusable the defaults count, as they do for
    /// a cluster whose last good configuration is none; [`ClusterConfig::checked`] tells why.
    pub fn new(settings: &KubeVirtConfiguration) -> Self {
        Self::checked(settings).unwrap_or_else(|_| Self::effective(defaults::configuration()))
    }

    /// The configuration of a cluster with those settings, or what is wrong with them.
    pub fn checked(settings: &KubeVirtConfiguration) -> Result<Self, ConfigError> {
        let form = |error: serde_json::Error| ConfigError::Form(error.to_string());
        let mut value = serde_json::to_value(defaults::configuration()).map_err(form)?;
        overlay(&mut value, serde_json::to_value(settings).map_err(form)?);
        let spec = serde::Deserialize::deserialize(&value).map_err(form)?;
        check::values(&spec)?;
        let config = Self::effective(spec);
        check::machine_types(settings, &config)?;
        Ok(config)
    }

    fn effective(mut spec: KubeVirtConfiguration) -> Self {
        let architectures = spec.architecture_configuration.get_or_insert_default();
        if architectures.default_architecture.is_empty() {
            architectures.default_architecture = DEFAULT_ARCHITECTURE.to_owned();
        }
        let (enabled, disabled) = match &spec.developer_configuration {
            Some(developer) => (developer.feature_gates.as_slice(), developer.disabled_feature_gates.as_slice()),
            None => (&[][..], &[][..]),
        };
        let gates = Gate::ALL.iter().filter(|gate| gate.resolve(enabled, disabled)).fold(0, |bits, gate| bits | 1_u128 << (*gate as u32));
        Self { spec, gates, emulator_thread_to_even_parity: false, vga_for_efi: false, memory_overhead: MemoryOverhead::default() }
    }

    /// The same configuration on a cluster of another architecture, which its status tells.
    #[must_use]
    pub fn with_default_architecture(mut self, architecture: &str) -> Self {
        self.spec.architecture_configuration.get_or_insert_default().default_architecture = architecture.to_owned();
        self
    }

    /// The same configuration with what the annotations of the KubeVirt object switch on.
    ///
    /// # Errors
    /// An annotation has a value that says nothing.
    pub fn with_annotations(mut self, annotations: &BTreeMap<String, String>) -> Result<Self, ConfigError> {
        self.emulator_thread_to_even_parity = annotations.contains_key(names::EMULATOR_THREAD_COMPLETE_TO_EVEN_PARITY);
        self.vga_for_efi = annotations.contains_key(names::VGA_DISPLAY_FOR_EFI_GUESTS_X_86_ANNOTATION);
        self.memory_overhead = match annotations.get(names::MEMORY_OVERHEAD_PROFILE_ANNOTATION).map(String::as_str) {
            None | Some("kubevirt") => MemoryOverhead::KubeVirt,
            Some("measured") => MemoryOverhead::Measured,
            Some(found) => {
                let annotation = names::MEMORY_OVERHEAD_PROFILE_ANNOTATION;
                return Err(ConfigError::Annotation { annotation, wanted: "kubevirt or measured", found: found.to_owned() });
            }
        };
        Ok(self)
    }

    /// Whether an isolated emulator thread gets a second CPU where that makes their number even.
    pub fn emulator_thread_to_even_parity(&self) -> bool {
        self.emulator_thread_to_even_parity
    }

    /// Whether guests with EFI firmware get a VGA display on x86.
    pub fn vga_for_efi(&self) -> bool {
        self.vga_for_efi
    }

    /// By which figures the memory of launcher pods is estimated.
    pub fn memory_overhead(&self) -> MemoryOverhead {
        self.memory_overhead
    }

    /// The settings, defaults included.
    pub fn spec(&self) -> &KubeVirtConfiguration {
        &self.spec
    }

    /// Whether the feature is on.
    pub fn enabled(&self, gate: Gate) -> bool {
        self.gates & (1_u128 << (gate as u32)) != 0
    }

    /// The developer settings.
    pub fn developer(&self) -> Option<&DeveloperConfiguration> {
        self.spec.developer_configuration.as_ref()
    }

    /// The names of the gates that the configuration lists, whatever their state.
    pub fn listed_gates(&self) -> &[String] {
        self.developer().map_or(&[], |developer| &developer.feature_gates)
    }

    /// The architecture of a guest that names none.
    pub fn default_architecture(&self) -> &str {
        self.spec.architecture_configuration.as_ref().map_or(DEFAULT_ARCHITECTURE, |a| &a.default_architecture)
    }

    fn of(&self, architecture: &str) -> Option<&ArchSpecificConfiguration> {
        let all: &ArchConfiguration = self.spec.architecture_configuration.as_ref()?;
        match architecture {
            "arm64" => all.arm64.as_ref(),
            "s390x" => all.s390x.as_ref(),
            _ => all.amd64.as_ref(),
        }
    }

    /// The machine type of a guest of that architecture that names none.
    pub fn machine_type(&self, architecture: &str) -> &str {
        match self.spec.machine_type.as_str() {
            "" => self.of(architecture).map_or("", |a| &a.machine_type),
            general => general,
        }
    }

    /// The machine types that guests of that architecture may have, as patterns with `*`.
    pub fn emulated_machines(&self, architecture: &str) -> &[String] {
        match self.spec.emulated_machines.as_slice() {
            [] => self.of(architecture).map_or(&[], |a| &a.emulated_machines),
            general => general,
        }
    }

    /// Whether guests of that architecture may have that machine type.
    pub fn permits_machine(&self, architecture: &str, machine: &str) -> bool {
        self.emulated_machines(architecture).iter().any(|pattern| pattern::matches(pattern, machine))
    }

    /// Where the EFI firmware of that architecture lies.
    pub fn ovmf_path(&self, architecture: &str) -> &str {
        match self.spec.ovmf_path.as_str() {
            "" => self.of(architecture).map_or("", |a| &a.ovmf_path),
            general => general,
        }
    }

    /// Whether guests may be emulated where there is no hardware virtualization.
    pub fn allow_emulation(&self) -> bool {
        self.developer().is_some_and(|d| d.use_emulation)
    }

    /// How many percent of its requested memory a guest is told to have.
    pub fn memory_overcommit(&self) -> i64 {
        self.developer().map_or(defaults::MEMORY_OVERCOMMIT, |d| d.memory_overcommit)
    }

    /// How many virtual CPUs share a physical one.
    pub fn cpu_allocation_ratio(&self) -> i64 {
        self.developer().map_or(defaults::CPU_ALLOCATION_RATIO, |d| d.cpu_allocation_ratio)
    }

    /// The CPU that a guest requests when nothing says how much.
    pub fn cpu_request(&self) -> Option<&Quantity> {
        self.spec.cpu_request.as_ref()
    }

    /// The binding of the interface that a guest without interfaces gets.
    pub fn default_network_interface(&self) -> &str {
        self.spec.network.as_ref().map_or(defaults::NETWORK_INTERFACE, |n| &n.default_network_interface)
    }

    /// Whether a guest may be bridged to the pod network.
    pub fn bridge_on_pod_network(&self) -> bool {
        self.spec.network.as_ref().and_then(|n| n.permit_bridge_interface_on_pod_network).unwrap_or(true)
    }

    /// The network binding plugins by name.
    pub fn network_bindings(&self) -> Option<&BTreeMap<String, InterfaceBindingPlugin>> {
        self.spec.network.as_ref().map(|n| &n.binding)
    }

    /// The host devices that guests may be given.
    pub fn permitted_host_devices(&self) -> Option<&PermittedHostDevices> {
        self.spec.permitted_host_devices.as_ref()
    }

    /// The most sockets that a guest may grow to, if there is a limit.
    pub fn max_cpu_sockets(&self) -> Option<u32> {
        self.spec.live_update_configuration.as_ref()?.max_cpu_sockets
    }

    /// The most memory that a guest may grow to, if there is a limit.
    pub fn max_guest(&self) -> Option<&Quantity> {
        self.spec.live_update_configuration.as_ref()?.max_guest.as_ref()
    }

    /// How many times its size a guest may grow to.
    pub fn max_hotplug_ratio(&self) -> u32 {
        self.spec.live_update_configuration.as_ref().map_or(1, |l| l.max_hotplug_ratio)
    }

    /// Whether a change to a virtual machine reaches its running guest.
    pub fn live_update(&self) -> bool {
        self.spec.vm_rollout_strategy.as_ref().is_none_or(|s| *s == VmRolloutStrategy::LiveUpdate)
    }

    /// How virtual machines refer to their instance types.
    pub fn instancetype_reference_policy(&self) -> InstancetypeReferencePolicy {
        let set = self.spec.instancetype.as_ref().and_then(|i| i.reference_policy.clone());
        set.unwrap_or(InstancetypeReferencePolicy::Reference)
    }

    /// The hypervisor that guests run on.
    pub fn hypervisor(&self) -> &str {
        match self.spec.hypervisors.first() {
            Some(first) if self.enabled(Gate::ConfigurableHypervisor) => &first.name,
            _ => KVM,
        }
    }

    /// Whether mediated devices are left alone.
    pub fn mediated_devices_left_alone(&self) -> bool {
        match self.spec.mediated_devices_configuration.as_ref().and_then(|m| m.enabled) {
            Some(enabled) => !enabled,
            None => self.enabled(Gate::DisableMdevConfiguration),
        }
    }

    /// Whether a guest may reserve a SCSI disk persistently. The setting decides; without it the gate does, which
    /// must be listed although it is stable.
    pub fn persistent_reservation(&self) -> bool {
        let set = self.spec.persistent_reservation_configuration.as_ref().and_then(|p| p.enabled);
        set.unwrap_or_else(|| self.listed_gates().iter().any(|g| g == Gate::PersistentReservation.name()))
    }

    /// Whether a guest of TDX needs a quote generation service.
    pub fn tdx_attestation_enforced(&self) -> bool {
        let tdx = self.spec.confidential_compute.as_ref().and_then(|c| c.tdx.as_ref());
        tdx.and_then(|t| t.attestation.as_ref()).and_then(|a| a.enforced).unwrap_or(false)
    }

    /// The socket of the service that signs quotes of guests with TDX.
    pub fn tdx_quote_socket(&self) -> &str {
        let tdx = self.spec.confidential_compute.as_ref().and_then(|c| c.tdx.as_ref());
        let set = tdx.and_then(|t| t.attestation.as_ref()).and_then(|a| a.qgs_socket_path.as_deref());
        set.unwrap_or("/var/run/tdx-qgs/qgs.socket")
    }

    /// Whether the guest's console is kept out of the pod's log.
    pub fn serial_console_log_disabled(&self) -> bool {
        self.spec.virtual_machine_options.as_ref().is_some_and(|o| o.disable_serial_console_log.is_some())
    }

    /// Whether the guest keeps free pages to itself.
    pub fn free_page_reporting_disabled(&self) -> bool {
        self.spec.virtual_machine_options.as_ref().is_some_and(|o| o.disable_free_page_reporting.is_some())
    }

    /// What a supporting container of that kind requests of a resource.
    pub fn support_container_request(&self, kind: &SupportContainerType, resource: &str) -> Option<&Quantity> {
        let container = self.spec.support_container_resources.iter().find(|c| c.type_ == *kind)?;
        container.resources.requests.get(resource).filter(|q| !q.is_zero())
    }

    /// What a supporting container of that kind is limited to of a resource.
    pub fn support_container_limit(&self, kind: &SupportContainerType, resource: &str) -> Option<&Quantity> {
        let container = self.spec.support_container_resources.iter().find(|c| c.type_ == *kind)?;
        container.resources.limits.get(resource).filter(|q| !q.is_zero())
    }
}

/// Lays what was set over what stands by default: objects merge, anything else replaces.
fn overlay(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                overlay(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn config(value: Value) -> ClusterConfig {
        ClusterConfig::new(&serde_json::from_value(value).unwrap())
    }

    #[test]
    fn the_profile_of_memory_is_picked_by_an_annotation_that_must_be_known() {
        let with = |value: &str| {
            let annotations = BTreeMap::from([(names::MEMORY_OVERHEAD_PROFILE_ANNOTATION.to_owned(), value.to_owned())]);
            config(json!({})).with_annotations(&annotations)
        };
        assert_eq!(config(json!({})).with_annotations(&BTreeMap::new()).unwrap().memory_overhead(), MemoryOverhead::KubeVirt);
        assert_eq!(with("kubevirt").unwrap().memory_overhead(), MemoryOverhead::KubeVirt);
        assert_eq!(with("measured").unwrap().memory_overhead(), MemoryOverhead::Measured);
        for wrong in ["", "Measured", "true"] {
            let error = with(wrong).unwrap_err();
            assert_eq!(error.place(), "metadata.annotations");
            assert_eq!(error.to_string(), format!("set kubevirt-rs.io/memory-overhead to kubevirt or measured, not {wrong:?}"));
        }
    }

    #[test]
    fn what_is_set_lies_over_the_defaults() {
        let c = config(
            json!({"developerConfiguration": {"memoryOvercommit": 150}, "architectureConfiguration": {"amd64": {"machineType": "pc-q35-9.0"}}}),
        );
        assert_eq!((c.memory_overcommit(), c.cpu_allocation_ratio()), (150, 10));
        assert_eq!((c.machine_type("amd64"), c.machine_type("arm64")), ("pc-q35-9.0", "virt"));
        assert_eq!(c.emulated_machines("amd64"), ["q35*", "pc-q35*"]);
        assert_eq!(c.default_architecture(), "amd64");
    }

    #[test]
    fn the_general_setting_wins_over_that_of_an_architecture() {
        let c = config(json!({"machineType": "m", "emulatedMachines": ["m*"], "ovmfPath": "/o"}));
        assert_eq!((c.machine_type("arm64"), c.ovmf_path("s390x")), ("m", "/o"));
        assert_eq!(c.emulated_machines("amd64"), ["m*"]);
    }

    #[test]
    fn an_unusable_configuration_falls_back_to_the_defaults_and_says_why() {
        for (set, field) in [
            (json!({"imagePullPolicy": "Sometimes"}), "imagePullPolicy"),
            (json!({"developerConfiguration": {"memoryOvercommit": -1}}), "memoryOvercommit"),
            (json!({"developerConfiguration": {"cpuAllocationRatio": -2}}), "cpuAllocationRatio"),
            (json!({"developerConfiguration": {"pvcTolerateLessSpaceUpToPercent": 101}}), "pvcTolerateLessSpaceUpToPercent"),
            (json!({"network": {"defaultNetworkInterface": "token-ring"}}), "defaultNetworkInterface"),
            (json!({"evictionStrategy": "Whatever"}), "evictionStrategy"),
            (json!({"machineType": "bogus"}), "machineType"),
            (json!({"architectureConfiguration": {"amd64": {"machineType": "virt"}}}), "architectureConfiguration.amd64.machineType"),
            (json!({"architectureConfiguration": {"arm64": {"emulatedMachines": ["v"], "machineType": "virt"}}}), "arm64.machineType"),
        ] {
            let settings = serde_json::from_value(set).unwrap();
            assert!(ClusterConfig::checked(&settings).unwrap_err().to_string().contains(field));
            assert_eq!(ClusterConfig::new(&settings).memory_overcommit(), 100);
        }
    }

    #[test]
    fn a_machine_type_that_guests_may_have_is_usable() {
        for set in [
            json!({"evictionStrategy": "LiveMigrateIfPossible"}),
            json!({"machineType": "virt"}),
            json!({"architectureConfiguration": {"amd64": {"machineType": "pc", "emulatedMachines": ["pc*"]}}}),
            json!({"emulatedMachines": ["pc*"]}),
            // of guests of an architecture that the general setting leaves out
            json!({"emulatedMachines": ["pc*"], "architectureConfiguration": {"arm64": {"machineType": "virt"}}}),
            json!({"architectureConfiguration": {"amd64": {"machineType": ""}, "ppc64le": {"machineType": "pseries"}}}),
        ] {
            assert_eq!(ClusterConfig::checked(&serde_json::from_value(set.clone()).unwrap()).err(), None, "{set}");
        }
    }

    #[test]
    fn a_reservation_needs_its_gate_listed_or_its_setting() {
        assert!(!config(json!({})).persistent_reservation());
        assert!(config(json!({"developerConfiguration": {"featureGates": ["PersistentReservation"]}})).persistent_reservation());
        let both = json!({"developerConfiguration": {"featureGates": ["PersistentReservation"]}, "persistentReservationConfiguration": {"enabled": false}});
        assert!(!config(both).persistent_reservation());
    }
}
