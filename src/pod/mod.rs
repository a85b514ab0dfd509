//! A VirtualMachineInstance and the configuration as its launcher pod.
//!
//! [`render`] is the whole of it, each file one part of the pod: who may run where (`nodes`, `affinity`), with what
//! (`resources`, [`overhead`]), as whom ([`security`]), with which volumes (`volumes`) and which containers
//! (`compute` and those that help). [`target`] is the pod that a guest migrates into, [`attachment`] one that brings
//! volumes to a guest that runs. [`Context`] holds what is not in the VMI and not in the configuration.

mod affinity;
pub mod attachment;
mod compute;
mod console_log;
mod container_disks;
pub mod container_paths;
mod context;
mod error;
mod facets;
#[cfg(test)]
mod fixture;
mod hooks;
mod metadata;
pub mod networks;
mod nodes;
pub mod overhead;
pub mod paths;
pub mod persistence;
mod probes;
pub mod programs;
mod reservations;
mod resources;
pub mod security;
mod settings;
mod support;
pub mod target;
mod traits;
mod virtiofs;
mod volumes;

pub use context::{Claim, Context, Purpose, Quota};
pub use error::Error;
pub use facets::facets;
pub use metadata::vmi_id;
pub(crate) use metadata::{backup_hooks, is_backup_hook};
pub use virtiofs::container as virtiofs_container;

use k8s_openapi::api::core::v1::{LocalObjectReference, Pod, PodReadinessGate, PodResourceClaim, PodSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};

use crate::api::names;
use crate::api::v1::VirtualMachineInstance;
use crate::config::ClusterConfig;

/// The container that runs the guest; the first of the pod's, since device plugins' webhooks change the first.
pub const COMPUTE: &str = "compute";
/// How long a guest may take to shut down when nobody says anything, in seconds.
const GRACE_PERIOD: i64 = 30;
/// The launcher gets so much more than the guest, and the pod so much more than the launcher: whoever is inside
/// should end before it is ended.
const GRACE_PADDING: i64 = 15;

/// The launcher pod of a VMI that admission has been through.
pub fn render(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> Result<Pod, Error> {
    let name = named(vmi.metadata.name.as_deref(), "metadata.name")?;
    let namespace = named(vmi.metadata.namespace.as_deref(), "metadata.namespace")?;
    let overhead = overhead::total(vmi, config);
    let resources = resources::compute(vmi, config, context, &overhead)?;

    let sidecars = hooks::sidecars(vmi, config)?;
    let mut plan = volumes::plan(vmi, config, context, &sidecars)?;
    let hooks = hooks::containers(&sidecars, vmi, config, context, &mut plan);
    let mut containers = vec![compute::container(vmi, config, context, &plan, resources, hooks.len())?];
    containers.extend(container_disks::beside(vmi, config, context));
    containers.extend(virtiofs::containers(vmi, config, context));
    containers.extend(hooks);
    let mut init_containers = Vec::from_iter(console_log::container(vmi, config, context)?);
    init_containers.extend(container_disks::init(vmi, config, context));

    let reservations = reservations::labels(vmi, context);
    let hostname = metadata::hostname(vmi, name);
    let mut labels = metadata::labels(vmi, name, &hostname);
    labels.extend(reservations.iter().map(|label| (label.clone(), String::new())));
    let annotations = metadata::annotations(vmi, config, context, overhead.value())?;

    let spec = PodSpec {
        containers,
        init_containers: Some(init_containers).filter(|c| !c.is_empty()),
        volumes: Some(plan.volumes),
        node_selector: Some(nodes::selector(vmi, config)),
        affinity: affinity::affinity(vmi, config, reservations.iter().map(String::as_str)),
        security_context: Some(security::pod(vmi, config)),
        hostname: non_empty(&hostname),
        termination_grace_period_seconds: Some(launcher_grace_period(vmi).saturating_add(GRACE_PADDING)),
        ..wishes(vmi, config, context)
    };
    let mut pod = Pod {
        metadata: ObjectMeta {
            generate_name: Some(format!("virt-launcher-{name}-")),
            namespace: Some(namespace.to_owned()),
            labels: Some(labels),
            annotations: Some(annotations),
            owner_references: Some(vec![owner(vmi, name)]),
            ..ObjectMeta::default()
        },
        spec: Some(spec),
        status: None,
    };
    security::share_categories(&mut pod, config);
    Ok(pod)
}

/// What the VMI wishes and the pod just has.
fn wishes(vmi: &VirtualMachineInstance, config: &ClusterConfig, context: &Context) -> PodSpec {
    let spec = &vmi.spec;
    let account = spec.volumes.iter().find_map(|v| v.service_account.as_ref()).map(|a| a.service_account_name.as_str());
    let account = account.unwrap_or_default();
    let needs_token = !account.is_empty() || metadata::has_istio_proxy(vmi);
    let secrets = container_disks::pull_secrets(vmi, context).into_iter().map(|name| LocalObjectReference { name });
    let claims = spec.resource_claims.iter().map(|claim| PodResourceClaim {
        name: claim.name.clone(),
        resource_claim_name: claim.resource_claim_name.clone(),
        resource_claim_template_name: claim.resource_claim_template_name.clone(),
    });
    PodSpec {
        subdomain: non_empty(&spec.subdomain),
        restart_policy: Some("Never".to_owned()),
        image_pull_secrets: listed(secrets),
        dns_policy: non_empty(&spec.dns_policy),
        dns_config: spec.dns_config.clone(),
        readiness_gates: Some(vec![PodReadinessGate { condition_type: names::UNPAUSED_CONDITION.to_owned() }]),
        enable_service_links: Some(false),
        scheduler_name: non_empty(&spec.scheduler_name),
        priority_class_name: non_empty(&spec.priority_class_name),
        runtime_class_name: non_empty(&config.spec().default_runtime_class),
        tolerations: listed(spec.tolerations.iter().cloned()),
        topology_spread_constraints: listed(spec.topology_spread_constraints.iter().cloned()),
        resource_claims: listed(claims),
        service_account_name: non_empty(&spec.service_account_name).or_else(|| non_empty(account)),
        automount_service_account_token: Some(needs_token),
        ..PodSpec::default()
    }
}

/// How long the launcher waits for its guest to shut down, in seconds.
fn launcher_grace_period(vmi: &VirtualMachineInstance) -> i64 {
    vmi.spec.termination_grace_period_seconds.unwrap_or(GRACE_PERIOD).saturating_add(GRACE_PADDING)
}

fn owner(vmi: &VirtualMachineInstance, name: &str) -> OwnerReference {
    OwnerReference {
        api_version: format!("{}/v1", names::GROUP),
        kind: "VirtualMachineInstance".to_owned(),
        name: name.to_owned(),
        uid: vmi.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

fn named<'a>(name: Option<&'a str>, field: &'static str) -> Result<&'a str, Error> {
    name.filter(|name| !name.is_empty()).ok_or(Error::NoName { field })
}

/// The text, unless it is empty.
fn non_empty(text: &str) -> Option<String> {
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

/// The items, unless there are none.
fn listed<T>(items: impl Iterator<Item = T>) -> Option<Vec<T>> {
    Some(items.collect::<Vec<_>>()).filter(|items| !items.is_empty())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::{Value, json};

    use super::fixture::config;
    use super::*;

    /// Machines that use much, as a start for others.
    const MACHINES: [&str; 3] = [
        include_str!("../../tests/golden/pod/mounted/in.yaml"),
        include_str!("../../tests/golden/pod/tiny/in.yaml"),
        "{metadata: {name: a, namespace: b, labels: {logVerbosity: '3'}, annotations: {hooks.kubevirt.io/hookSidecars: '[{}]'}}, \
          status: {selinuxContext: 'u:r:t:s0', volumeStatus: [{name: d, target: '', hotplugVolume: {}, phase: Ready}], \
          migrationState: {sourceState: {node: n, selinuxContext: none}}, changedBlockTracking: {state: Enabled}, topologyHints: {tscFrequency: 5}}, \
          spec: {architecture: s390x, domain: {cpu: {cores: 4, sockets: 4294967295, threads: 7, dedicatedCpuPlacement: true, isolateEmulatorThread: true, \
          features: [{name: invtsc, policy: require}]}, memory: {guest: 1Ei, hugepages: {pageSize: 2Mi}, reservedOverhead: {addedOverhead: 8E}}, \
          resources: {requests: {memory: 9E, cpu: 1n}, limits: {memory: 1Ki, cpu: 9E, ephemeral-storage: 9E}}, ioThreads: {supplementalPoolThreadCount: 4294967295}, \
          ioThreadsPolicy: supplementalPool, devices: {gpus: [{name: g, claimName: c}], hostDevices: [{name: h, deviceName: x/y}], \
          interfaces: [{name: n, sriov: {}, ports: [{port: -1}]}]}}, terminationGracePeriodSeconds: 9223372036854775807, \
          livenessProbe: {exec: {command: [a]}, timeoutSeconds: 2147483647, initialDelaySeconds: 2147483647}, networks: [{name: n, multus: {networkName: /}}], \
          volumes: [{name: d, persistentVolumeClaim: {claimName: c}}, {name: h, hostDisk: {path: h, type: x, capacity: 1}}]}}",
    ];

    /// The places in a value, as JSON pointers.
    fn places(value: &Value, at: &str, into: &mut Vec<String>) {
        into.push(at.to_owned());
        match value {
            Value::Object(map) => {
                for (key, value) in map {
                    places(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), into);
                }
            }
            Value::Array(list) => {
                for (index, value) in list.iter().enumerate() {
                    places(value, &format!("{at}/{index}"), into);
                }
            }
            _ => {}
        }
    }

    fn odd() -> impl Strategy<Value = Value> {
        prop_oneof![
            Just(Value::Null),
            Just(json!({})),
            Just(json!([])),
            Just(json!([{}])),
            any::<bool>().prop_map(Value::from),
            any::<i64>().prop_map(Value::from),
            prop_oneof![Just(""), Just("none"), Just("9223372036854775807"), Just("-1"), Just("é/:"), Just("a:b:c:d"), Just("host-model")]
                .prop_map(Value::from),
            "\\PC{0,70}".prop_map(Value::from),
        ]
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 512, ..ProptestConfig::default() })]

        #[test]
        fn whatever_a_machine_is_its_pod_is_a_pod_or_an_error_that_names_a_field(
            machine in 0..MACHINES.len(),
            changes in proptest::collection::vec((any::<proptest::sample::Index>(), odd()), 0..6),
            images in any::<bool>(),
        ) {
            let mut value: Value = serde_yaml::from_str(MACHINES[machine]).expect("a machine");
            for (place, odd) in changes {
                let mut all = Vec::new();
                places(&value, "", &mut all);
                let place = &all[place.index(all.len())];
                if let Some(target) = value.pointer_mut(place) {
                    *target = odd;
                }
            }
            let Ok(vmi) = serde_json::from_value::<VirtualMachineInstance>(value) else { return Ok(()) };
            let gate = if images { "featureGates" } else { "disabledFeatureGates" };
            let config = config(&format!("{{developerConfiguration: {{{gate}: [ImageVolume, Plugins, IOMMUFD, CrossArchitectureVirtualization]}}}}"));
            let claims = vmi.spec.volumes.iter().filter_map(reservations::claim_name);
            let claims = claims.map(|name| (name.to_owned(), Claim { block: name.len() % 2 == 0, ..Claim::default() })).collect();
            let context = Context { claims, state_claim: Some("state".to_owned()), ..Context::default() };
            match render(&vmi, &config, &context) {
                Ok(pod) => {
                    let spec = pod.spec.as_ref().expect("a pod has a spec");
                    prop_assert_eq!(spec.containers.first().map(|c| c.name.as_str()), Some(COMPUTE));
                    let volumes: Vec<_> = spec.volumes.iter().flatten().map(|v| &v.name).collect();
                    let unique: std::collections::BTreeSet<_> = volumes.iter().collect();
                    prop_assert_eq!(unique.len(), volumes.len(), "a volume stands twice in {:?}", volumes);
                    prop_assert!(facets(&pod)["compute"]["resources"]["requests"]["memory"].is_string());
                    let _ = attachment::render(&vmi.spec.volumes.iter().collect::<Vec<_>>(), &pod, &vmi, &config, &context);
                    let source = target::Source { pod: &pod, node_labels: &std::collections::BTreeMap::new() };
                    let _ = target::render(&vmi, &Default::default(), source, &config, &context);
                }
                Err(error) => prop_assert!(!error.field().is_empty() && !error.reason().is_empty()),
            }
        }
    }
}
