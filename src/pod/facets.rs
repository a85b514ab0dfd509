//! What counts of a launcher pod, for a comparison: what the scheduler, the kubelet and other tools see of it.

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec};
use serde_json::{Map, Value, json};

use crate::api::names;

use super::{COMPUTE, metadata, networks, volumes};

/// The facets of a pod, in the order in which the pod has them; what is empty is left out. Left out too are
/// annotations for other projects' controllers, and volumes that every launcher pod or every feature of it has.
pub fn facets(pod: &Pod) -> Value {
    let none = PodSpec::default();
    let spec = pod.spec.as_ref().unwrap_or(&none);
    let annotations = pod.metadata.annotations.iter().flatten().filter(|(key, _)| !is_for_others(key));
    let own = |name: &str| !is_infrastructure(name);
    let names_of = |containers: &[Container]| containers.iter().map(|c| c.name.clone()).collect::<Vec<_>>();
    let mut facets = Map::new();
    for (facet, value) in [
        ("labels", json!(pod.metadata.labels)),
        ("annotations", annotations.map(|(k, v)| (k.clone(), json!(v))).collect::<Map<_, _>>().into()),
        ("ownerKind", json!(pod.metadata.owner_references.iter().flatten().next().map(|o| &o.kind))),
        ("nodeSelector", json!(spec.node_selector)),
        ("affinity", json!(spec.affinity)),
        ("tolerations", json!(spec.tolerations)),
        ("topologySpreadConstraints", json!(spec.topology_spread_constraints)),
        ("schedulerName", json!(spec.scheduler_name)),
        ("priorityClassName", json!(spec.priority_class_name)),
        ("runtimeClassName", json!(spec.runtime_class_name)),
        ("hostname", json!(spec.hostname)),
        ("subdomain", json!(spec.subdomain)),
        ("dnsPolicy", json!(spec.dns_policy)),
        ("dnsConfig", json!(spec.dns_config)),
        ("restartPolicy", json!(spec.restart_policy)),
        ("terminationGracePeriodSeconds", json!(spec.termination_grace_period_seconds)),
        ("readinessGates", json!(spec.readiness_gates)),
        ("automountServiceAccountToken", json!(spec.automount_service_account_token)),
        ("serviceAccountName", json!(spec.service_account_name)),
        ("enableServiceLinks", json!(spec.enable_service_links)),
        ("securityContext", json!(spec.security_context)),
        ("resourceClaims", json!(spec.resource_claims)),
        ("imagePullSecrets", json!(spec.image_pull_secrets)),
    ] {
        if !value.is_null() {
            facets.insert(facet.to_owned(), value);
        }
    }
    let volumes: Vec<_> = spec.volumes.iter().flatten().filter(|v| own(&v.name)).collect();
    facets.insert("volumes".to_owned(), json!(volumes));
    facets.insert("containers".to_owned(), json!(names_of(&spec.containers)));
    facets.insert("initContainers".to_owned(), json!(names_of(spec.init_containers.as_deref().unwrap_or_default())));
    if let Some(overhead) =
        pod.metadata.annotations.as_ref().and_then(|a| a.get(names::MEMORY_OVERHEAD_ANNOTATION_BYTES)?.parse::<i64>().ok())
    {
        facets.insert("memoryOverheadBytes".to_owned(), json!(overhead));
    }
    if let Some(compute) = spec.containers.iter().find(|c| c.name == COMPUTE) {
        facets.insert("compute".to_owned(), compute_facets(compute));
    }
    facets.into()
}

fn compute_facets(compute: &Container) -> Value {
    let mounts: Vec<_> = compute.volume_mounts.iter().flatten().filter(|m| !is_infrastructure(&m.name)).collect();
    let mut facets = Map::from_iter([("volumeMounts".to_owned(), json!(mounts))]);
    for (facet, value) in [
        ("resources", json!(compute.resources)),
        ("ports", json!(compute.ports)),
        ("securityContext", json!(compute.security_context)),
        ("volumeDevices", json!(compute.volume_devices)),
        ("livenessProbe", json!(compute.liveness_probe)),
        ("readinessProbe", json!(compute.readiness_probe)),
    ] {
        if !value.is_null() {
            facets.insert(facet.to_owned(), value);
        }
    }
    facets.into()
}

/// Annotations that Multus, Istio and Velero read, and the one that `memoryOverheadBytes` stands for.
fn is_for_others(key: &str) -> bool {
    let [old, new] = networks::ISTIO_INTERFACES;
    let others = [networks::MULTUS_NETWORKS, networks::MULTUS_DEFAULT, old, new, names::MEMORY_OVERHEAD_ANNOTATION_BYTES];
    others.contains(&key) || metadata::is_backup_hook(key)
}

/// Volumes of the launcher pod that don't stand for one of the VMI's.
fn is_infrastructure(name: &str) -> bool {
    volumes::BASE.iter().any(|(base, _)| *base == name)
        || volumes::FEATURES.contains(&name)
        || volumes::STATE_DIRECTORIES.contains(&name)
        || [volumes::CONTAINER_DISKS, volumes::HOTPLUG_DISKS, volumes::LAUNCHER].contains(&name)
}
