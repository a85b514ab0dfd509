//! The launcher pod that a guest migrates into: as the first, and as like its source as the guest has to find it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{
    Affinity, NodeSelector, NodeSelectorRequirement, NodeSelectorTerm, Pod, PodAffinityTerm, PodSpec, SELinuxOptions,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use serde::Deserialize;

use crate::api::names;
use crate::api::v1::{VirtualMachineInstance, VirtualMachineInstanceMigration, VirtualMachineInstanceMigrationSourceState};
use crate::config::{ClusterConfig, Gate};

use super::networks::{self, Naming};
use super::{COMPUTE, Context, Error, container_disks, security, traits, volumes};

const HOSTNAME: &str = "kubernetes.io/hostname";
/// What Multus attached, as the pod's annotation says.
const NETWORK_STATUS: &str = "k8s.v1.cni.cncf.io/network-status";

/// Where the guest comes from.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// Its pod.
    pub pod: &'a Pod,
    /// The labels of its node.
    pub node_labels: &'a BTreeMap<String, String>,
}

/// The pod for a migration. `context.state_claim` is the target's claim, if it has one of its own.
///
/// A guest that comes from another cluster has no source here; its status tells what the source's node is like.
pub fn render(
    vmi: &VirtualMachineInstance,
    migration: &VirtualMachineInstanceMigration,
    source: Source,
    config: &ClusterConfig,
    context: &Context,
) -> Result<Pod, Error> {
    let context = Context { image_ids: image_ids(vmi, source.pod, config)?, ..context.clone() };
    let mut pod = super::render(vmi, config, &context)?;
    let abroad = vmi.status.migration_state.as_ref().and_then(|m| m.source_state.as_ref()).filter(|_| comes_from_abroad(migration));

    let annotations = pod.metadata.annotations.get_or_insert_default();
    annotations.insert(names::MIGRATION_JOB_NAME_ANNOTATION.to_owned(), migration.metadata.name.clone().unwrap_or_default());
    if let Some(attachments) = numbered_links(vmi, source.pod, config)? {
        annotations.insert(networks::MULTUS_NETWORKS.to_owned(), attachments);
    }
    let uid = migration.metadata.uid.clone().unwrap_or_default();
    pod.metadata.labels.get_or_insert_default().insert(names::MIGRATION_JOB_LABEL.to_owned(), uid);

    let spec = pod.spec.get_or_insert_default();
    let affinity = spec.affinity.get_or_insert_default();
    match abroad {
        Some(source) => keep_off_node(affinity, &source.node),
        None => keep_off_own_pods(affinity, vmi.metadata.uid.as_deref().unwrap_or_default()),
    }
    select_nodes(spec, vmi, migration, source, abroad)?;
    let matched = config.spec().migrations.as_ref().and_then(|m| m.match_selinux_level_on_migration) != Some(false);
    if matched {
        let selinux = abroad.map_or(&vmi.status.selinux_context, |source| &source.selinux_context);
        match_level(spec, selinux)?;
    }
    if let Some(image) = image_override(migration) {
        spec.containers.iter_mut().filter(|c| c.name == COMPUTE).for_each(|c| c.image = Some(image.to_owned()));
    }
    Ok(pod)
}

/// Whether the other half of the migration is in another cluster.
fn comes_from_abroad(migration: &VirtualMachineInstanceMigration) -> bool {
    migration.spec.receive.is_some() && migration.spec.send_to.is_none()
}

fn image_override(migration: &VirtualMachineInstanceMigration) -> Option<&str> {
    let image = migration.metadata.annotations.as_ref()?.get(names::FUNC_TEST_MIGRATION_TARGET_IMAGE_OVERRIDE_ANNOTATION)?;
    Some(image.as_str()).filter(|image| !image.is_empty())
}

/// The images that the source runs, with their digests: behind a tag may be another image by now.
fn image_ids(vmi: &VirtualMachineInstance, source: &Pod, config: &ClusterConfig) -> Result<BTreeMap<String, String>, Error> {
    let disks = vmi.spec.volumes.iter().filter_map(|v| Some((v.name.clone(), v.container_disk.as_ref()?.image.clone())));
    let kernel = traits::kernel_boot(vmi).map(|kernel| (volumes::KERNEL_BOOT.to_owned(), kernel.image.clone()));
    let mut images: BTreeMap<String, String> = disks.chain(kernel).collect();
    let status = source.status.as_ref();
    let mut statuses: Vec<_> = status.and_then(|s| s.container_statuses.as_ref()).into_iter().flatten().collect();
    if config.enabled(Gate::ImageVolume) {
        // the first target learned the digest from an init container and has it in its volumes for the next
        statuses.extend(status.and_then(|s| s.init_container_statuses.as_ref()).into_iter().flatten());
        for volume in source.spec.iter().flat_map(|spec| spec.volumes.iter().flatten()) {
            let reference = volume.image.as_ref().and_then(|image| image.reference.as_ref());
            if let (Some(image), Some(reference)) = (images.get_mut(&volume.name), reference.filter(|r| r.contains("@sha256:"))) {
                image.clone_from(reference);
            }
        }
    }
    for status in statuses {
        let volume = status.name.strip_prefix(container_disks::PREFIX).unwrap_or_default();
        let Some(image) = images.get_mut(volume) else { continue };
        let digest = digest(&status.image_id).ok_or_else(|| no_digest(vmi, volume, &status.image_id))?;
        *image = format!("{}@sha256:{digest}", repository(image));
    }
    Ok(images)
}

fn no_digest(vmi: &VirtualMachineInstance, volume: &str, image_id: &str) -> Error {
    let index = vmi.spec.volumes.iter().position(|v| v.name == volume);
    let field = match index {
        Some(index) => format!("spec.volumes[{index}].containerDisk.image"),
        None => "spec.domain.firmware.kernelBoot.container.image".to_owned(),
    };
    Error::NoImageDigest { field, image_id: image_id.to_owned() }
}

/// An image without its tag and its digest. A colon before the last slash is the registry's port.
fn repository(image: &str) -> &str {
    if let Some((repository, _)) = image.split_once("@sha256:") {
        return repository;
    }
    match image.rfind(':') {
        Some(colon) if image.rfind('/').is_none_or(|slash| slash < colon) => &image[..colon],
        _ => image,
    }
}

fn digest(image_id: &str) -> Option<&str> {
    let (_, rest) = image_id.split_once("sha256:")?;
    let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    Some(&rest[..end]).filter(|digest| !digest.is_empty())
}

/// Attachments with numbered links, if those of the source are numbered and are to stay so.
fn numbered_links(vmi: &VirtualMachineInstance, source: &Pod, config: &ClusterConfig) -> Result<Option<String>, Error> {
    #[derive(Deserialize)]
    struct Link {
        #[serde(default)]
        interface: String,
    }
    let status = source.metadata.annotations.as_ref().and_then(|a| a.get(NETWORK_STATUS));
    let links: Vec<Link> = status.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let numbered = links.iter().any(|link| link.interface.strip_prefix("net").is_some_and(is_number));
    if !numbered || config.enabled(Gate::PodSecondaryInterfaceNamingUpgrade) {
        return Ok(None);
    }
    networks::attachments(vmi, config, Naming::Ordinal)
}

/// Not the node where the guest is: two pods of one guest must not meet.
fn keep_off_own_pods(affinity: &mut Affinity, uid: &str) {
    let own = BTreeMap::from([(names::CREATED_BY_LABEL.to_owned(), uid.to_owned())]);
    let term = PodAffinityTerm {
        label_selector: Some(LabelSelector { match_labels: Some(own), match_expressions: None }),
        topology_key: HOSTNAME.to_owned(),
        ..PodAffinityTerm::default()
    };
    let apart = affinity.pod_anti_affinity.get_or_insert_default();
    apart.required_during_scheduling_ignored_during_execution.get_or_insert_default().push(term);
}

/// Not a node of the source's name, in case the other cluster is this one.
fn keep_off_node(affinity: &mut Affinity, node: &str) {
    let requirement =
        NodeSelectorRequirement { key: HOSTNAME.to_owned(), operator: "NotIn".to_owned(), values: Some(vec![node.to_owned()]) };
    let required = &mut affinity.node_affinity.get_or_insert_default().required_during_scheduling_ignored_during_execution;
    let selector = required.get_or_insert_with(|| NodeSelector { node_selector_terms: vec![NodeSelectorTerm::default()] });
    for term in &mut selector.node_selector_terms {
        term.match_expressions.get_or_insert_default().push(requirement.clone());
    }
}

/// A node that can go on with what the guest saw of its CPU.
fn select_nodes(
    spec: &mut PodSpec,
    vmi: &VirtualMachineInstance,
    migration: &VirtualMachineInstanceMigration,
    source: Source,
    abroad: Option<&VirtualMachineInstanceMigrationSourceState>,
) -> Result<(), Error> {
    let before = abroad.map_or(source.node_labels, |source| &source.node_selectors);
    let selector = spec.node_selector.get_or_insert_default();
    for (key, value) in &migration.spec.added_node_selector {
        selector.entry(key.clone()).or_insert_with(|| value.clone());
    }
    if vmi.spec.domain.cpu.as_ref().is_some_and(|cpu| cpu.model == "host-model") {
        let chosen = match abroad {
            Some(_) => BTreeMap::new(),
            None => chosen_before(source.pod),
        };
        selector.extend(if chosen.is_empty() { host_model(before)? } else { chosen });
    }
    let is_vendor = |key: &&String| key.starts_with(names::CPU_MODEL_VENDOR_LABEL);
    if !selector.keys().any(|key| is_vendor(&key)) {
        let vendor = before.keys().find(is_vendor).map(|key| (key.clone(), "true".to_owned()));
        selector.extend(vendor);
    }
    Ok(())
}

/// What an earlier migration selected by. It stays: the guest's CPU is that of the node where it started, not of the
/// node where it is now.
fn chosen_before(source: &Pod) -> BTreeMap<String, String> {
    let selector = source.spec.as_ref().and_then(|spec| spec.node_selector.as_ref());
    let of_cpu = |key: &str| key.contains(names::CPU_FEATURE_LABEL) || key.contains(names::SUPPORTED_HOST_MODEL_MIGRATION_CPU);
    selector.into_iter().flatten().filter(|(key, _)| of_cpu(key)).map(|(k, v)| (k.clone(), v.clone())).collect()
}

/// Nodes that can show the CPU model of the source's host, and the features that libvirt adds to it.
fn host_model(labels: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>, Error> {
    let model = labels.iter().find_map(|(key, value)| Some((key.strip_prefix(names::HOST_MODEL_CPU_LABEL)?, value)));
    let (model, value) = model.filter(|(model, _)| !model.is_empty()).ok_or(Error::NoHostModel)?;
    let features = labels.iter().filter_map(|(key, value)| {
        let feature = key.strip_prefix(names::HOST_MODEL_REQUIRED_FEATURES_LABEL)?;
        Some((format!("{}{feature}", names::CPU_FEATURE_LABEL), value.clone()))
    });
    let model = (format!("{}{model}", names::SUPPORTED_HOST_MODEL_MIGRATION_CPU), value.clone());
    Ok(features.chain([model]).collect())
}

/// Source and target may open the same files at the same time, which needs the same SELinux categories.
fn match_level(spec: &mut PodSpec, context: &str) -> Result<(), Error> {
    if let Some(level) = security::selinux_level(context)? {
        let options = spec.security_context.get_or_insert_default().se_linux_options.get_or_insert_with(SELinuxOptions::default);
        options.level = Some(level.to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::pod::fixture::{config, vmi};

    const SOURCE: &str = "{metadata: {annotations: {k8s.v1.cni.cncf.io/network-status: '[{\"interface\": \"net1\"}]'}}, \
        status: {initContainerStatuses: [{name: volumeroot, imageID: 'reg:5/i@sha256:0a1b', image: x, ready: true, restartCount: 0}]}}";
    const SPEC: &str = "{domain: {cpu: {model: host-model}, devices: {interfaces: [{name: blue, bridge: {}}]}}, \
        networks: [{name: blue, multus: {networkName: blue}}], volumes: [{name: root, containerDisk: {image: 'reg:5/i:latest'}}]}";

    fn labels() -> BTreeMap<String, String> {
        let labels = [
            "host-model-cpu.node.kubevirt.io/Rome",
            "host-model-required-features.node.kubevirt.io/ibs",
            "cpu-vendor.node.kubevirt.io/AMD",
        ];
        labels.map(|label| (label.to_owned(), "true".to_owned())).into()
    }

    fn target(migration: &str, change: impl FnOnce(&mut VirtualMachineInstance)) -> Result<Value, Error> {
        let source: Pod = serde_yaml::from_str(SOURCE).expect("a pod");
        let mut vmi = vmi(SPEC);
        vmi.status.selinux_context = "u:r:t:s0:c1,c2".to_owned();
        change(&mut vmi);
        let migration = serde_yaml::from_str(migration).expect("a migration");
        let source = Source { pod: &source, node_labels: &labels() };
        let config = config("{developerConfiguration: {disabledFeatureGates: [PodSecondaryInterfaceNamingUpgrade]}}");
        render(&vmi, &migration, source, &config, &Context::default()).map(|pod| json!(pod))
    }

    #[test]
    fn the_target_is_like_its_source() {
        let pod = target("{metadata: {name: m, uid: mu}, spec: {addedNodeSelector: {zone: z, kubevirt.io/schedulable: no}}}", |_| ())
            .expect("a pod");
        let spec = &pod["spec"];
        assert_eq!(pod["metadata"]["labels"]["kubevirt.io/migrationJobUID"], "mu");
        assert_eq!(
            spec["nodeSelector"],
            json!({"kubevirt.io/schedulable": "true", "zone": "z", "cpu-model-migration.node.kubevirt.io/Rome": "true",
                   "cpu-feature.node.kubevirt.io/ibs": "true", "cpu-vendor.node.kubevirt.io/AMD": "true"})
        );
        let root = spec["volumes"].as_array().into_iter().flatten().find(|v| v["name"] == "root");
        assert_eq!(root.map(|v| &v["image"]["reference"]), Some(&json!("reg:5/i@sha256:0a1b")));
        assert_eq!(spec["initContainers"].as_array().map(Vec::len), Some(1), "the digest is known, only the log is left");
        assert_eq!(spec["securityContext"]["seLinuxOptions"], json!({"level": "s0:c1,c2"}));
        assert!(pod["metadata"]["annotations"]["k8s.v1.cni.cncf.io/networks"].as_str().is_some_and(|a| a.contains("\"net1\"")));
        let apart =
            &spec["affinity"]["podAntiAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][0]["labelSelector"]["matchLabels"];
        assert_eq!(apart["kubevirt.io/created-by"], "5d307ca9-b3ef-428c-8861-06e72d69f223");
    }

    #[test]
    fn a_guest_from_abroad_keeps_off_a_node_of_the_same_name() {
        let pod = target("{metadata: {name: m}, spec: {receive: {migrationID: i}}}", |vmi| {
            let state = "{sourceState: {node: n1, selinuxContext: none, nodeSelectors: {host-model-cpu.node.kubevirt.io/Milan: 'true'}}}";
            vmi.status.migration_state = Some(serde_yaml::from_str(state).expect("a state"));
        });
        let spec = &pod.expect("a pod")["spec"];
        let terms = &spec["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"];
        assert!(
            terms.as_array().into_iter().flatten().all(|t| t["matchExpressions"].to_string().contains("\"NotIn\",\"values\":[\"n1\"]")),
            "{terms}"
        );
        assert_eq!(spec["nodeSelector"]["cpu-model-migration.node.kubevirt.io/Milan"], "true");
        assert_eq!(spec["securityContext"]["seLinuxOptions"], Value::Null);
    }

    #[test]
    fn images_are_repeated_by_digest() {
        for (image, repository_) in
            [("a", "a"), ("a:1", "a"), ("reg:5/a", "reg:5/a"), ("reg:5/a:1", "reg:5/a"), ("reg:5/a@sha256:00", "reg:5/a")]
        {
            assert_eq!(repository(image), repository_, "{image}");
        }
        for (id, expected) in [("docker://a@sha256:0b", Some("0b")), ("sha256:0b;x", Some("0b")), ("a:1", None), ("sha256:", None)] {
            assert_eq!(digest(id), expected, "{id}");
        }
    }
}
