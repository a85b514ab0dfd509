//! The launcher pod: when it is made, what goes before it, and what it is told while the guest runs.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, VolumeResourceRequirements};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::pass::Pass;
use super::{CLAIM_MISSING, CREATED, FAILED_CREATE, hotplug, network, pods, topology};
use crate::admission::Seed;
use crate::api::names;
use crate::config::Gate;
use crate::lifecycle::action::{Action, Event, Failure};
use crate::lifecycle::patch::Patch;
use crate::lifecycle::{owner, persistent_state};
use crate::pod::{self, Claim, Context, Purpose};

/// Says to the descheduler that an eviction takes its time.
const REQUEST_EVICT_ONLY: &str = "descheduler.alpha.kubernetes.io/request-evict-only";
/// Says to the descheduler that the guest is about to go.
const EVICTION_IN_PROGRESS: &str = "descheduler.alpha.kubernetes.io/eviction-in-progress";
/// Lets CDI adapt a claim to its storage class.
const APPLY_STORAGE_PROFILE: &str = "cdi.kubevirt.io/applyStorageProfile";
const DEFAULT_CLASS: &str = "storageclass.kubernetes.io/is-default-class";
const DEFAULT_VIRT_CLASS: &str = "storageclass.kubevirt.io/is-default-virt-class";

/// Makes the launcher pod, once everything that it needs is there.
pub(super) fn launch(pass: &mut Pass<'_>, volumes_ready: bool, waits_for_consumer: bool) -> Result<(), Failure> {
    // A pod that was there once is not made again: its guest is lost.
    if !pass.is_unprocessed() {
        return Ok(());
    }
    if (pass.instance.status.topology_hints.is_none() && topology::needs_frequency(&pass.instance)) || !volumes_ready {
        return Ok(());
    }
    if pass.observed.migration_active {
        return Err(Failure::new(FAILED_CREATE, "a migration of the guest has not ended; it starts when that has"));
    }
    let Some(state_claim) = state_claim(pass)? else {
        return Ok(());
    };
    refuse_container_paths(pass)?;
    let context = Context {
        claims: claims(pass),
        state_claim,
        purpose: if waits_for_consumer { Purpose::BindVolumes } else { Purpose::Run },
        ..pass.observed.context.clone()
    };
    let mut pod = match pod::render(&pass.instance, pass.config, &context) {
        Ok(pod) => pod,
        Err(error @ pod::Error::ClaimNotFound { .. }) => {
            pass.standing.push(Event::warning(CLAIM_MISSING, error.to_string()));
            return Err(Failure::new(CLAIM_MISSING, error.to_string()));
        }
        Err(error) => return Err(Failure::new(FAILED_CREATE, error.to_string())),
    };
    name(&mut pod, pass.instance.metadata.uid.as_deref().unwrap_or_default());
    pass.actions.push(Action::CreatePod(Box::new(pod.clone())));
    pass.actions.push(Event::normal(CREATED, "made the virtual machine pod"));
    pass.pod = Some(pod);
    Ok(())
}

/// The name of a guest's pod follows from the guest. So a pod that is asked for twice, because the answer to the first time
/// was lost, is made once: no guest runs in two.
fn name(pod: &mut Pod, uid: &str) {
    const LONGEST_PREFIX: usize = 58;
    const LETTERS: usize = 5;
    let Some(prefix) = pod.metadata.generate_name.take() else {
        return;
    };
    let seed = uid.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d_u128, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    });
    let letters = Seed(seed).suffix(u64::from(pods::is_temporary(pod)), LETTERS);
    let prefix = prefix.get(..LONGEST_PREFIX).unwrap_or(&prefix);
    pod.metadata.name = Some(format!("{prefix}{letters}"));
}

fn claims(pass: &Pass<'_>) -> std::collections::BTreeMap<String, Claim> {
    pass.observed.claims.iter().map(|claim| (claim.metadata.name.clone().unwrap_or_default(), Claim::from(claim))).collect()
}

/// The claim for the guest's own state, if it needs one: `None` while it is not there yet.
fn state_claim(pass: &mut Pass<'_>) -> Result<Option<Option<String>>, Failure> {
    const NOT_READY: &str = "BackendStorageNotReady";
    const FAILED: &str = "FailedBackendStorageProbe";
    let tracking = pass.instance.status.changed_block_tracking.as_ref();
    if !persistent_state::is_needed(&pass.instance.spec, tracking) {
        return Ok(Some(None));
    }
    let name = pass.instance.metadata.name.clone().unwrap_or_default();
    let Some(claim) = persistent_state::claim_of(&pass.observed.claims, &name) else {
        let claim = render_state_claim(pass, &name)?;
        pass.actions.push(Action::CreateClaim(Box::new(claim)));
        return Ok(None);
    };
    let meta = &claim.metadata;
    let claim_name = meta.name.clone().unwrap_or_default();
    if meta.labels.as_ref().is_none_or(|l| !l.contains_key(persistent_state::PREFIX)) {
        let mut labelled = claim.clone();
        labelled.metadata.labels.get_or_insert_default().insert(persistent_state::PREFIX.to_owned(), name);
        pass.actions.push(Action::PatchClaim { name: claim_name.clone(), patch: Patch::between(claim, &labelled) });
    }
    let class = claim.spec.as_ref().and_then(|s| s.storage_class_name.as_deref());
    match claim.status.as_ref().and_then(|s| s.phase.as_deref()).unwrap_or_default() {
        "Bound" => Ok(Some(Some(claim_name))),
        "Lost" => Err(Failure::new(FAILED, format!("the claim {claim_name:?} for the guest's own state has lost its volume"))),
        "Pending" => {
            let class = class.ok_or_else(|| Failure::new(FAILED, format!("the claim {claim_name:?} names no storage class")))?;
            let found = pass.observed.storage_classes.iter().find(|c| c.metadata.name.as_deref() == Some(class));
            let found =
                found.ok_or_else(|| Failure::new(FAILED, format!("there is no storage class {class:?}, which {claim_name:?} names")))?;
            if found.volume_binding_mode.as_deref() == Some("WaitForFirstConsumer") {
                return Ok(Some(Some(claim_name)));
            }
            Err(Failure::new(NOT_READY, format!("the claim {claim_name:?} for the guest's own state is not bound yet")))
        }
        _ => Err(Failure::new(NOT_READY, format!("the claim {claim_name:?} for the guest's own state is not bound yet"))),
    }
}

fn render_state_claim(pass: &Pass<'_>, name: &str) -> Result<PersistentVolumeClaim, Failure> {
    let configured = pass.config.spec().vm_state_storage_class.as_str();
    let marked = |annotation: &str| {
        let marked = pass.observed.storage_classes.iter().filter(|class| {
            let annotations = class.metadata.annotations.as_ref();
            annotations.and_then(|a| a.get(annotation)).is_some_and(|v| v == "true")
        });
        // Of several defaults the same one counts, whatever the order they come in.
        marked.filter_map(|class| class.metadata.name.clone()).max()
    };
    let class =
        if configured.is_empty() { marked(DEFAULT_VIRT_CLASS).or_else(|| marked(DEFAULT_CLASS)) } else { Some(configured.to_owned()) };
    let class = class.ok_or_else(|| {
        let message = "the guest keeps state of its own, for which there is no default storage class; set vmStateStorageClass in the KubeVirt configuration";
        Failure::new("FailedBackendStorageCreate", message)
    })?;
    let owners = pass.instance.metadata.owner_references.clone().filter(|o| !o.is_empty());
    let own = || vec![owner::reference("kubevirt.io/v1", "VirtualMachineInstance", &pass.instance.metadata)];
    let labels = [(persistent_state::PREFIX, name), (APPLY_STORAGE_PROFILE, "true")];
    Ok(PersistentVolumeClaim {
        metadata: ObjectMeta {
            generate_name: Some(format!("{}-{name}-", persistent_state::PREFIX)),
            namespace: pass.instance.metadata.namespace.clone(),
            labels: Some(labels.into_iter().map(|(k, v)| (k.to_owned(), v.to_owned())).collect()),
            owner_references: Some(owners.unwrap_or_else(own)),
            ..ObjectMeta::default()
        },
        spec: Some(PersistentVolumeClaimSpec {
            // A class that someone chose for this is expected to be shared, so that guests can migrate.
            access_modes: Some(vec![if configured.is_empty() { "ReadWriteOnce" } else { "ReadWriteMany" }.to_owned()]),
            resources: Some(VolumeResourceRequirements {
                requests: Some([("storage".to_owned(), Quantity(persistent_state::CLAIM_SIZE.to_owned()))].into()),
                ..VolumeResourceRequirements::default()
            }),
            storage_class_name: Some(class),
            volume_mode: Some("Filesystem".to_owned()),
            ..PersistentVolumeClaimSpec::default()
        }),
        ..PersistentVolumeClaim::default()
    })
}

/// The volumes that share a directory of the launcher container with the guest.
fn container_paths<'a>(pass: &'a Pass<'_>) -> impl Iterator<Item = &'a str> {
    let spec = &pass.instance.spec;
    let shared = |name: &str| spec.domain.devices.filesystems.iter().any(|f| f.name == name && f.virtiofs.is_some());
    spec.volumes.iter().filter(|v| v.container_path.is_some()).map(|v| v.name.as_str()).filter(move |name| shared(name))
}

fn refuse_container_paths(pass: &mut Pass<'_>) -> Result<(), Failure> {
    if pass.config.enabled(Gate::ContainerPathVolumes) || container_paths(pass).next().is_none() {
        return Ok(());
    }
    let message = "the guest has containerPath volumes; enable the feature gate ContainerPathVolumes";
    pass.standing.push(Event::warning(names::CONTAINER_PATH_VOLUMES_DISABLED_REASON, message));
    Err(Failure::new(names::CONTAINER_PATH_VOLUMES_DISABLED_REASON, message))
}

/// Deletes the pods that were only there so that volumes got bound.
pub(super) fn clean_up(pass: &mut Pass<'_>) {
    let observed = pass.observed;
    let launcher = pass.pod.as_ref().and_then(|p| p.metadata.uid.clone()).unwrap_or_default();
    let done = |pod: &&k8s_openapi::api::core::v1::Pod| {
        let ours = pods::belongs_to(pod, &observed.instance) || owner::is_controlled_by(&pod.metadata, &launcher);
        ours && pods::is_temporary(pod) && matches!(pods::phase(pod), "Running" | "Succeeded" | "Failed")
    };
    for pod in observed.pods.iter().filter(done) {
        pass.delete_pod(pod, Some(0), "temporary pod");
    }
}

/// Follows the launcher pod while it is there.
pub(super) fn follow(pass: &mut Pass<'_>) -> Result<(), Failure> {
    let Some(pod) = pass.launcher().cloned() else {
        return Ok(());
    };
    let containers: Vec<_> = pod.spec.iter().flat_map(|s| &s.containers).map(|c| c.name.as_str()).collect();
    let missing = container_paths(pass).map(|volume| format!("virtiofs-{volume}")).find(|c| !containers.contains(&c.as_str()));
    if let Some(container) = missing {
        let message = format!("the launcher pod has no container {container:?} for a containerPath volume; restart the machine");
        pass.standing.push(Event::warning(names::MISSING_VIRTIOFS_CONTAINERS_REASON, &message));
        return Err(Failure::new(names::MISSING_VIRTIOFS_CONTAINERS_REASON, message));
    }
    if !pods::is_ready(&pod) {
        return Ok(());
    }
    let of_network = network::pod_annotations(pass, &pod);
    if let Some(wanted) = &mut pass.pod {
        let annotations = wanted.metadata.annotations.get_or_insert_default();
        // A pod that has nothing to attach need not be told so.
        annotations
            .extend(of_network.into_iter().filter(|(key, value)| !value.is_empty() || annotations.contains_key(key)).collect::<Vec<_>>());
        annotations.insert(REQUEST_EVICT_ONLY.to_owned(), String::new());
        if pass.instance.status.evacuation_node_name.is_empty() {
            annotations.remove(EVICTION_IN_PROGRESS);
        } else {
            annotations.entry(EVICTION_IN_PROGRESS.to_owned()).or_insert_with(|| "true".to_owned());
        }
    }
    hotplug::attach(pass, &pod)
}
