//! Pods that keep volumes mounted on a node while a running guest uses them.
//!
//! A running pod can be given no volume. So a second pod is put on the same node with the volumes that are to be
//! attached, and the handler mounts them from there into the launcher's pod. Each change makes a new such pod; the old
//! one goes once the new one holds all.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, Container, EmptyDirVolumeSource, NodeAffinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm,
    PersistentVolumeClaimVolumeSource, Pod, PodAffinity, PodAffinityTerm, PodSecurityContext, PodSpec, SELinuxOptions, SeccompProfile,
    SecurityContext, Toleration, Volume as PodVolume, VolumeDevice,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, ObjectMeta, OwnerReference};

use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, Volume, VolumePhase};
use crate::config::ClusterConfig;

use super::support::{self, Support};
use super::volumes::{HOTPLUG_DISKS, from_host, mount};
use super::{Context, Error, Purpose, programs, reservations, security};

/// The name of the only container, and the value of the pod's label.
pub const CONTAINER: &str = "hotplug-disk";
/// Where the container sees what it shares with the handler.
const DIRECTORY: &str = "/path";
const HOSTNAME: &str = "kubernetes.io/hostname";

/// Taints that did not keep the launcher away later: a guest that runs gets its volume whatever becomes of its node.
const TOLERATED: [&str; 5] = [
    "node.kubernetes.io/unschedulable",
    "node.kubernetes.io/network-unavailable",
    "node.kubernetes.io/disk-pressure",
    "node.kubernetes.io/memory-pressure",
    "node.kubernetes.io/pid-pressure",
];

/// The pod that holds those volumes for a guest. `launcher` is the guest's pod.
pub fn render(
    volumes: &[&Volume],
    launcher: &Pod,
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
) -> Result<Pod, Error> {
    let level = level(vmi)?;
    let mut container = container(config, context, Some(config.spec().selinux_launcher_type.as_str()), level);
    let mut pod_volumes = vec![shared_directory()];
    for volume in volumes {
        let Some(claim) = reservations::claim_name(volume) else { continue };
        pod_volumes.push(claim_volume(&volume.name, claim));
        let Some(facts) = context.claims.get(claim) else { continue };
        if facts.block {
            let device = VolumeDevice { name: volume.name.clone(), device_path: format!("{DIRECTORY}/{}/{}", volume.name, facts.uid) };
            container.volume_devices.get_or_insert_default().push(device);
        } else if !is_mounted(vmi, &volume.name) {
            container.volume_mounts.get_or_insert_default().push(mount(&volume.name, format!("/{}", volume.name)));
        }
    }
    let node = launcher.spec.as_ref().and_then(|spec| spec.node_name.clone()).unwrap_or_default();
    let affinity = Affinity { node_affinity: Some(on_node(node)), ..Affinity::default() };
    Ok(pod(launcher, container, pod_volumes, affinity, tolerations(launcher), None, false))
}

/// The pod that makes a volume be bound which waits for its first consumer, on the launcher's node or where the launcher
/// may go. It holds the volume too, unless it is made to bind only.
pub fn trigger(
    volume: &Volume,
    claim: &str,
    launcher: &Pod,
    vmi: &VirtualMachineInstance,
    config: &ClusterConfig,
    context: &Context,
) -> Result<Pod, Error> {
    let mut container = container(config, context, None, level(vmi)?);
    let temporary = context.purpose == Purpose::BindVolumes;
    if temporary {
        container.command = Some([programs::CONTAINER_DISK, "--no-op"].map(str::to_owned).into());
    }
    let block = context.claims.get(claim).is_some_and(|facts| facts.block);
    if block {
        container.volume_devices =
            Some(vec![VolumeDevice { name: volume.name.clone(), device_path: "/dev/hotplugblockdevice".to_owned() }]);
    } else {
        container.volume_mounts.get_or_insert_default().push(mount(&volume.name, "/pvc"));
    }
    let near = PodAffinityTerm {
        label_selector: Some(LabelSelector { match_labels: launcher.metadata.labels.clone(), match_expressions: None }),
        topology_key: HOSTNAME.to_owned(),
        ..PodAffinityTerm::default()
    };
    let near = PodAffinity { required_during_scheduling_ignored_during_execution: Some(vec![near]), ..PodAffinity::default() };
    let affinity = Affinity { pod_affinity: Some(near), ..Affinity::default() };
    let tolerations = launcher.spec.as_ref().and_then(|spec| spec.tolerations.clone()).unwrap_or_default();
    let volumes = vec![claim_volume(&volume.name, claim), shared_directory()];
    let user = block.then(|| PodSecurityContext { run_as_user: Some(0), ..PodSecurityContext::default() });
    Ok(pod(launcher, container, volumes, affinity, tolerations, user, temporary))
}

fn pod(
    launcher: &Pod,
    container: Container,
    volumes: Vec<PodVolume>,
    affinity: Affinity,
    tolerations: Vec<Toleration>,
    user: Option<PodSecurityContext>,
    temporary: bool,
) -> Pod {
    let annotations = BTreeMap::from([(names::EPHEMERAL_PROVISIONING_OBJECT.to_owned(), "true".to_owned())]);
    Pod {
        metadata: ObjectMeta {
            generate_name: Some("hp-volume-".to_owned()),
            namespace: launcher.metadata.namespace.clone(),
            labels: Some(BTreeMap::from([(names::APP_LABEL.to_owned(), CONTAINER.to_owned())])),
            annotations: temporary.then_some(annotations),
            owner_references: Some(vec![owner(launcher)]),
            ..ObjectMeta::default()
        },
        spec: Some(PodSpec {
            containers: vec![container],
            volumes: Some(volumes),
            affinity: Some(affinity),
            tolerations: Some(tolerations).filter(|t| !t.is_empty()),
            security_context: user,
            termination_grace_period_seconds: Some(0),
            ..PodSpec::default()
        }),
        status: None,
    }
}

fn container(config: &ClusterConfig, context: &Context, selinux_type: Option<&str>, level: Option<&str>) -> Container {
    let selinux = SELinuxOptions {
        type_: selinux_type.and_then(super::non_empty),
        level: Some(level.unwrap_or("s0").to_owned()),
        ..SELinuxOptions::default()
    };
    Container {
        name: CONTAINER.to_owned(),
        image: Some(context.image.clone()),
        command: Some([programs::CONTAINER_DISK, "--copy-path", "/path/hp"].map(str::to_owned).into()),
        resources: Some(support::resources(Support::Attachment, false, config)),
        security_context: Some(SecurityContext {
            se_linux_options: Some(selinux),
            seccomp_profile: Some(SeccompProfile { type_: "RuntimeDefault".to_owned(), localhost_profile: None }),
            ..security::helper()
        }),
        volume_mounts: Some(vec![from_host(HOTPLUG_DISKS, DIRECTORY)]),
        ..Container::default()
    }
}

fn shared_directory() -> PodVolume {
    PodVolume { name: HOTPLUG_DISKS.to_owned(), empty_dir: Some(EmptyDirVolumeSource::default()), ..PodVolume::default() }
}

fn claim_volume(name: &str, claim: &str) -> PodVolume {
    let source = PersistentVolumeClaimVolumeSource { claim_name: claim.to_owned(), read_only: None };
    PodVolume { name: name.to_owned(), persistent_volume_claim: Some(source), ..PodVolume::default() }
}

/// A file system that the launcher has already needs no second mount, which could fail where the first is in use.
fn is_mounted(vmi: &VirtualMachineInstance, volume: &str) -> bool {
    let mut attached = vmi.status.volume_status.iter().filter(|s| s.hotplug_volume.is_some());
    attached.any(|s| s.name == volume && matches!(s.phase, VolumePhase::Ready | VolumePhase::MountedToPod))
}

/// The SELinux level of the launcher, so that it may open what this pod holds; nothing on a node without SELinux.
fn level(vmi: &VirtualMachineInstance) -> Result<Option<&str>, Error> {
    let own = vmi.status.selinux_context.as_str();
    let source = vmi.status.migration_state.as_ref().and_then(|m| m.source_state.as_ref());
    match source {
        Some(source) if own.is_empty() => security::selinux_level(&source.selinux_context),
        _ => security::selinux_level(own),
    }
}

fn on_node(node: String) -> NodeAffinity {
    let requirement = NodeSelectorRequirement { key: HOSTNAME.to_owned(), operator: "In".to_owned(), values: Some(vec![node]) };
    let term = NodeSelectorTerm { match_expressions: Some(vec![requirement]), match_fields: None };
    NodeAffinity {
        required_during_scheduling_ignored_during_execution: Some(NodeSelector { node_selector_terms: vec![term] }),
        ..NodeAffinity::default()
    }
}

/// The launcher's tolerations and those of a guest that runs already, each once, in the order of their keys.
fn tolerations(launcher: &Pod) -> Vec<Toleration> {
    let tolerated = TOLERATED.map(|key| Toleration {
        key: Some(key.to_owned()),
        operator: Some("Exists".to_owned()),
        effect: Some("NoSchedule".to_owned()),
        ..Toleration::default()
    });
    let own = launcher.spec.as_ref().and_then(|spec| spec.tolerations.as_deref()).unwrap_or_default();
    let mut tolerations: Vec<Toleration> = tolerated.into_iter().chain(own.iter().cloned()).collect();
    tolerations.sort_by(|a, b| a.key.cmp(&b.key));
    tolerations.dedup();
    tolerations
}

fn owner(launcher: &Pod) -> OwnerReference {
    OwnerReference {
        api_version: "v1".to_owned(),
        kind: "Pod".to_owned(),
        name: launcher.metadata.name.clone().unwrap_or_default(),
        uid: launcher.metadata.uid.clone().unwrap_or_default(),
        controller: Some(true),
        block_owner_deletion: Some(true),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::pod::Claim;
    use crate::pod::fixture::{config, vmi};

    fn launcher() -> Pod {
        serde_yaml::from_str(
            "{metadata: {name: l, namespace: lab, uid: u, labels: {kubevirt.io/created-by: v}}, spec: {containers: [], nodeName: n1, \
             tolerations: [{key: a, operator: Exists}, {key: node.kubernetes.io/disk-pressure, operator: Exists, effect: NoSchedule}]}}",
        )
        .expect("a pod")
    }

    fn case(context: &str) -> (VirtualMachineInstance, Context) {
        let mut vmi = vmi("{domain: {devices: {}}, volumes: [{name: f, dataVolume: {name: file}}, \
             {name: b, persistentVolumeClaim: {claimName: block, hotpluggable: true}}, {name: e, emptyDisk: {capacity: 1}}]}");
        vmi.status.selinux_context = context.to_owned();
        let claims = [
            ("file".to_owned(), Claim { uid: "1".to_owned(), ..Claim::default() }),
            ("block".to_owned(), Claim { block: true, uid: "2".to_owned(), ..Claim::default() }),
        ];
        (vmi, Context { claims: claims.into(), ..Context::default() })
    }

    #[test]
    fn volumes_go_to_the_launchers_node_at_the_launchers_level() {
        let (vmi, context) = case("system_u:object_r:container_file_t:s0:c1,c2");
        let volumes: Vec<&Volume> = vmi.spec.volumes.iter().collect();
        let pod = render(&volumes, &launcher(), &vmi, &config("{}"), &context).expect("all is there");
        let pod = json!(pod);
        let container = &pod["spec"]["containers"][0];
        assert_eq!(container["securityContext"]["seLinuxOptions"], json!({"level": "s0:c1,c2"}));
        assert_eq!(container["volumeDevices"], json!([{"name": "b", "devicePath": "/path/b/2"}]));
        assert_eq!(container["volumeMounts"][1], json!({"name": "f", "mountPath": "/f"}));
        let names: Vec<_> = pod["spec"]["volumes"].as_array().into_iter().flatten().map(|v| v["name"].clone()).collect();
        assert_eq!(names, ["hotplug-disks", "f", "b"]);
        assert_eq!(pod["spec"]["tolerations"].as_array().map(Vec::len), Some(6), "one was there twice");
        assert_eq!(
            pod["spec"]["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"][0],
            json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["n1"]}]})
        );
    }

    #[test]
    fn without_the_launchers_level_nothing_is_attached() {
        for (context, expected) in [("none", Ok(Some("s0"))), ("", Err("status.selinuxContext")), ("a:b", Err("status.selinuxContext"))] {
            let (vmi, facts) = case(context);
            let pod = trigger(&vmi.spec.volumes[1], "block", &launcher(), &vmi, &config("{}"), &facts);
            match (pod, expected) {
                (Ok(pod), Ok(level)) => {
                    let pod = json!(pod);
                    assert_eq!(pod["spec"]["containers"][0]["securityContext"]["seLinuxOptions"]["level"].as_str(), level);
                    assert_eq!(pod["spec"]["securityContext"]["runAsUser"], 0);
                }
                (Err(error), Err(field)) => assert!(error.to_string().starts_with(field), "{error}"),
                (found, _) => panic!("{context}: {found:?}"),
            }
        }
    }
}
