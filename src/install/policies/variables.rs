//! Variables that rules share: what every policy knows of the configuration, of feature gates and of the request.

use crate::api::names;
use crate::config::{ClusterConfig, Gate, GateState};
use crate::install::webhooks::{by_component, by_controller};

use super::rule::literal as text;

/// A name for CEL that rules share. It is evaluated when a rule first uses it, and may use those before it.
#[derive(Clone, Debug)]
pub(super) struct Variable {
    /// The name.
    pub(super) name: String,
    /// What it stands for; `$name` is another variable.
    pub(super) cel: String,
}

impl Variable {
    pub(super) fn new(name: impl Into<String>, cel: impl Into<String>) -> Self {
        Self { name: name.into(), cel: cel.into() }
    }
}

/// A table of variables.
pub(super) type Table = &'static [(&'static str, &'static str)];

pub(super) fn table(variables: Table) -> impl Iterator<Item = Variable> {
    variables.iter().map(|(name, cel)| Variable::new(*name, *cel))
}

/// The architectures whose settings have defaults.
const ARCHITECTURES: [&str; 3] = ["amd64", "arm64", "s390x"];

/// Labels that only KubeVirt's own components may set.
const RESERVED_LABELS: [&str; 6] = [
    names::CREATED_BY_LABEL,
    names::MIGRATION_JOB_LABEL,
    names::NODE_NAME_LABEL,
    names::MIGRATION_TARGET_NODE_NAME_LABEL,
    names::NODE_SCHEDULABLE,
    names::INSTALL_STRATEGY_LABEL,
];

/// What a configuration says, decided already.
pub(super) fn decided(config: &ClusterConfig) -> Vec<Variable> {
    let spec = config.spec();
    let eviction = spec.eviction_strategy.as_ref().map_or("None", |strategy| strategy.as_str());
    let deployed = spec.virt_template_deployment.as_ref().and_then(|deployment| deployment.enabled).unwrap_or(true);
    let machines = by_architecture(|name| format!("[{}]", list(config.emulated_machines(name))));
    let mut variables = vec![
        Variable::new("default_architecture", text(config.default_architecture())),
        Variable::new("emulated_machines", machines),
        Variable::new("machine_types", by_architecture(|name| text(config.machine_type(name)))),
        Variable::new("live_update", config.live_update().to_string()),
        Variable::new("reservations", config.persistent_reservation().to_string()),
        Variable::new("bridge_on_pod_network", config.bridge_on_pod_network().to_string()),
        Variable::new("default_interface", text(config.default_network_interface())),
        Variable::new("default_eviction", text(eviction)),
        Variable::new("templates_deployed", deployed.to_string()),
    ];
    variables.extend(Gate::ALL.iter().map(|gate| Variable::new(gate_name(*gate), config.enabled(*gate).to_string())));
    variables
}

fn by_architecture(value: impl Fn(&str) -> String) -> String {
    format!("{{{}}}", ARCHITECTURES.map(|name| format!("{}: {}", text(name), value(name))).join(", "))
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| text(item)).collect::<Vec<_>>().join(", ")
}

/// What a configuration that is judged itself says of feature gates.
pub(super) fn itself() -> Vec<Variable> {
    let mut variables = vec![
        Variable::new("config", "object.?spec.?configuration.orValue({})"),
        Variable::new("enabled", "$config.?developerConfiguration.?featureGates.orValue([])"),
        Variable::new("disabled", "$config.?developerConfiguration.?disabledFeatureGates.orValue([])"),
    ];
    variables.extend(Gate::ALL.iter().map(|gate| Variable::new(gate_name(*gate), gate_is_on(*gate))));
    variables
}

/// What is known of the request to the installation in that namespace, and of labels and annotations that mean something.
pub(super) fn request(namespace: &str) -> Vec<Variable> {
    let reserved = RESERVED_LABELS.map(|label| format!("'{label}'")).join(", ");
    vec![
        Variable::new("creates", "request.operation == 'CREATE'"),
        Variable::new("by_component", by_component(namespace)),
        Variable::new("by_controller", by_controller(namespace)),
        Variable::new("reserved_labels", format!("[{reserved}]")),
        Variable::new("ignition_annotation", text(names::IGNITION_ANNOTATION)),
        Variable::new("sidecars_annotation", text(names::HOOK_SIDECARS_ANNOTATION)),
        Variable::new("migration_label", text(names::MIGRATION_SELECTOR_LABEL)),
    ]
}

/// The variable that tells whether a gate is on.
pub(super) fn gate_name(gate: Gate) -> String {
    format!("gate_{}", gate.name())
}

/// The same decision as [`ClusterConfig::enabled`].
fn gate_is_on(gate: Gate) -> String {
    let name = gate.name();
    match gate.state() {
        GateState::GeneralAvailability => "true".to_owned(),
        GateState::Beta => format!("'{name}' in $enabled || !('{name}' in $disabled)"),
        GateState::Alpha | GateState::Deprecated | GateState::Discontinued => format!("'{name}' in $enabled"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gates_are_on_as_their_state_says() {
        assert_eq!(gate_is_on(Gate::Numa), "true");
        assert_eq!(gate_is_on(Gate::Snapshot), "'Snapshot' in $enabled || !('Snapshot' in $disabled)");
        assert_eq!(gate_is_on(Gate::HostDisk), "'HostDisk' in $enabled");
    }

    #[test]
    fn a_configuration_is_decided_once() {
        let settings =
            serde_json::json!({"developerConfiguration": {"featureGates": ["VSOCK"]}, "machineType": "pc's", "emulatedMachines": ["pc*"]});
        let all = decided(&ClusterConfig::new(&serde_json::from_value(settings).unwrap()));
        let of = |name: &str| all.iter().find(|variable| variable.name == name).map(|variable| variable.cel.as_str());
        assert_eq!(of("machine_types"), Some(r"{'amd64': 'pc\'s', 'arm64': 'pc\'s', 's390x': 'pc\'s'}"));
        assert_eq!((of("gate_VSOCK"), of("gate_HostDisk"), of("gate_Snapshot")), (Some("true"), Some("false"), Some("true")));
        assert_eq!((of("default_architecture"), of("live_update")), (Some("'amd64'"), Some("true")));
    }
}
