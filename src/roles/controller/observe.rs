//! What a pass is decided by, put together from the stores.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::authorization::v1::{ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec};
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use kubevirt_rs::api::cdi::DataVolume;
use kubevirt_rs::api::v1::{VirtualMachine, VirtualMachineInstance, Volume};
use kubevirt_rs::lifecycle::{node, owner, persistent_state, pool, replicaset, vm, vmi, volumes};
use kubevirt_rs::pod::{Context, Quota, networks};
use serde_json::{Value, json};

use super::settings::Effective;
use super::stores::{NODE, OWNER};
use super::{Controller, Installed};
use crate::cluster::{Error, Key};

/// The resource that a network attachment definition names, which Multus' device plugins offer.
const RESOURCE_NAME: &str = "k8s.v1.cni.cncf.io/resourceName";
/// The first address on the virtual socket that is a guest's.
const FIRST_VSOCK_ADDRESS: u32 = 3;

impl Controller {
    /// What is there around a machine.
    pub(super) async fn observe_machine(&self, key: &Key) -> Result<Option<vm::Observed>, Error> {
        let Some(machine) = self.stores.machines.get(key) else {
            return Ok(None);
        };
        let instance = self.stores.instances.get(key);
        let data_volumes = self.data_volumes_of(&machine, instance.as_ref());
        let clone_verdicts = self.clone_verdicts(&machine, &data_volumes).await?;
        Ok(Some(vm::Observed {
            claims: self.claims_of_machine(&machine, instance.as_ref()),
            revisions: self.revisions_of(&machine),
            instancetypes: self.instancetypes_of(&machine),
            namespace_labels: self.namespace_labels(&key.namespace),
            followed_labels: Vec::new(),
            followed_annotations: Vec::new(),
            clone_verdicts,
            data_volumes,
            instance,
            machine,
        }))
    }

    fn data_volumes_of(&self, machine: &VirtualMachine, instance: Option<&VirtualMachineInstance>) -> Vec<DataVolume> {
        let templates = machine.spec.data_volume_templates.iter().filter_map(|t| t.metadata.name.as_deref());
        let named = volumes_of_machine(machine, instance).filter_map(|v| v.data_volume.as_ref()).map(|d| d.name.as_str());
        let names: BTreeSet<_> = templates.chain(named).collect();
        let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
        names.into_iter().filter_map(|name| self.stores.data_volumes.get(&Key::new(namespace, name))).collect()
    }

    fn claims_of_machine(&self, machine: &VirtualMachine, instance: Option<&VirtualMachineInstance>) -> Vec<PersistentVolumeClaim> {
        let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
        let named = volumes_of_machine(machine, instance).filter_map(volumes::claim_name).map(|name| Key::new(namespace, name));
        let sources = machine.spec.data_volume_templates.iter().filter_map(|t| t.spec.source.as_ref()?.pvc.as_ref());
        let sources = sources.map(|s| Key::new(if s.namespace.is_empty() { namespace } else { &s.namespace }, &s.name));
        let dumped = machine.status.memory_dump_request.iter().map(|r| Key::new(namespace, &r.claim_name));
        let keys: BTreeSet<_> = named.chain(sources).chain(dumped).collect();
        keys.iter().filter_map(|key| self.stores.claims.get(key)).collect()
    }

    /// The revisions that the machine controls, and those of instance type and preference that it names, which may be
    /// another machine's.
    fn revisions_of(&self, machine: &VirtualMachine) -> Vec<ControllerRevision> {
        let mut revisions = self.stores.revisions.by(OWNER, machine.metadata.uid.as_deref().unwrap_or_default());
        let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
        let (spec, status) = (&machine.spec, &machine.status);
        let named = [spec.instancetype.as_ref().map(|m| &m.revision_name), spec.preference.as_ref().map(|m| &m.revision_name)];
        let recorded = [&status.instancetype_ref, &status.preference_ref]
            .map(|r| r.as_ref().and_then(|r| r.controller_revision_ref.as_ref()).map(|r| &r.name));
        for name in named.into_iter().chain(recorded).flatten().filter(|name| !name.is_empty()) {
            if !revisions.iter().any(|r| r.metadata.name.as_ref() == Some(name)) {
                revisions.extend(self.stores.revisions.get(&Key::new(namespace, name)));
            }
        }
        revisions
    }

    fn instancetypes_of(&self, machine: &VirtualMachine) -> Vec<Value> {
        let namespace = machine.metadata.namespace.as_deref().unwrap_or_default();
        let mut found = Vec::new();
        if let Some(matcher) = &machine.spec.instancetype {
            found.extend(self.stores.instancetypes.get(&Key::new(namespace, &matcher.name)).map(|o| json!(o)));
            found.extend(self.stores.cluster_instancetypes.get(&Key::new("", &matcher.name)).map(|o| json!(o)));
        }
        if let Some(matcher) = &machine.spec.preference {
            found.extend(self.stores.preferences.get(&Key::new(namespace, &matcher.name)).map(|o| json!(o)));
            found.extend(self.stores.cluster_preferences.get(&Key::new("", &matcher.name)).map(|o| json!(o)));
        }
        found
    }

    fn namespace_labels(&self, namespace: &str) -> BTreeMap<String, String> {
        self.stores.namespaces.get(&Key::new("", namespace)).and_then(|n| n.metadata.labels).unwrap_or_default()
    }

    /// Asks whether the machine's service account may copy what the machine clones from other namespaces, for each
    /// DataVolume that is still to be made.
    async fn clone_verdicts(&self, machine: &VirtualMachine, there: &[DataVolume]) -> Result<BTreeMap<String, Result<(), String>>, Error> {
        let own = machine.metadata.namespace.as_deref().unwrap_or_default();
        let mut verdicts = BTreeMap::new();
        for template in &machine.spec.data_volume_templates {
            let name = template.metadata.name.clone().unwrap_or_default();
            if there.iter().any(|d| d.metadata.name.as_ref() == Some(&name)) {
                continue;
            }
            let spec = &template.spec;
            let claim = spec.source.as_ref().and_then(|s| s.pvc.as_ref()).map(|s| (s.namespace.as_str(), s.name.as_str()));
            let snapshot = spec.source.as_ref().and_then(|s| s.snapshot.as_ref()).map(|s| (s.namespace.as_str(), s.name.as_str()));
            let reference = spec.source_ref.as_ref().and_then(|s| Some((s.namespace.as_deref()?, s.name.as_str())));
            let foreign = [claim, snapshot, reference].into_iter().flatten().find(|(n, _)| !n.is_empty() && *n != own);
            if let Some((namespace, source)) = foreign {
                verdicts.insert(name, self.may_copy(own, vm::service_account(machine), namespace, source).await?);
            }
        }
        Ok(verdicts)
    }

    async fn may_copy(&self, own: &str, account: &str, namespace: &str, source: &str) -> Result<Result<(), String>, Error> {
        let may = |group: &str, resource: &str, subresource: Option<&str>, verb: &str| SubjectAccessReview {
            spec: SubjectAccessReviewSpec {
                user: Some(format!("system:serviceaccount:{own}:{account}")),
                groups: Some(vec![
                    "system:serviceaccounts".to_owned(),
                    format!("system:serviceaccounts:{own}"),
                    "system:authenticated".to_owned(),
                ]),
                resource_attributes: Some(ResourceAttributes {
                    namespace: Some(namespace.to_owned()),
                    verb: Some(verb.to_owned()),
                    group: Some(group.to_owned()),
                    resource: Some(resource.to_owned()),
                    subresource: subresource.map(str::to_owned),
                    name: Some(source.to_owned()),
                    ..ResourceAttributes::default()
                }),
                ..SubjectAccessReviewSpec::default()
            },
            ..SubjectAccessReview::default()
        };
        // Whoever may make pods beside the volume may read it anyhow.
        for question in [may("cdi.kubevirt.io", "datavolumes", Some("source"), "create"), may("", "pods", None, "create")] {
            let answer = self.cluster.ask(&question).await?;
            if answer.status.is_some_and(|s| s.allowed) {
                return Ok(Ok(()));
            }
        }
        Ok(Err(format!(
            "the service account {own}/{account} may not copy {source:?} from {namespace:?}; allow it to create datavolumes/source there"
        )))
    }

    /// What is there around an instance.
    pub(super) async fn observe_instance(&self, key: &Key, effective: &Effective) -> Result<Option<vmi::Observed>, Error> {
        let Some(instance) = self.stores.instances.get(key) else {
            return Ok(None);
        };
        let uid = instance.metadata.uid.as_deref().unwrap_or_default();
        let mut pods = self.stores.pods.by(OWNER, uid);
        let attached: Vec<Pod> =
            pods.iter().filter_map(|p| p.metadata.uid.as_deref()).flat_map(|uid| self.stores.pods.by(OWNER, uid)).collect();
        pods.extend(attached);
        let has_launcher = !pods.is_empty();
        let claims = self.claims_of_instance(&instance);
        let data_volumes = self.data_volumes_behind(&instance, &claims);
        Ok(Some(vmi::Observed {
            // A machine that goes itself takes note of nothing any more, nor does another one of its name.
            owner_exists: self.stores.machines.get(key).is_some_and(|machine| {
                let is_owner = owner::controller(&instance.metadata).is_none_or(|o| Some(&o.uid) == machine.metadata.uid.as_ref());
                is_owner && machine.metadata.deletion_timestamp.is_none()
            }),
            migration_active: self.stores.is_migrated(key),
            storage_classes: if has_launcher { Vec::new() } else { self.stores.storage_classes.all() },
            lowest_tsc_frequency: self.lowest_tsc_frequency(&instance),
            free_vsock_address: self.free_vsock_address(&instance),
            overhead: None,
            context: self.context(&instance, effective, has_launcher).await?,
            claims,
            data_volumes,
            pods,
            instance,
        }))
    }

    fn claims_of_instance(&self, instance: &VirtualMachineInstance) -> Vec<PersistentVolumeClaim> {
        let namespace = instance.metadata.namespace.as_deref().unwrap_or_default();
        let spec = &instance.spec;
        let beneath =
            spec.volumes.iter().filter_map(|v| v.ephemeral.as_ref()?.persistent_volume_claim.as_ref()).map(|c| c.claim_name.as_str());
        let utility = spec.utility_volumes.iter().map(|v| v.claim_name.as_str());
        let names: BTreeSet<_> = spec.volumes.iter().filter_map(volumes::claim_name).chain(beneath).chain(utility).collect();
        let mut claims: Vec<_> = names.into_iter().filter_map(|name| self.stores.claims.get(&Key::new(namespace, name))).collect();
        if persistent_state::is_needed(spec, instance.status.changed_block_tracking.as_ref()) {
            let name = instance.metadata.name.as_deref().unwrap_or_default();
            let all = self.stores.claims.in_namespace(namespace);
            claims.extend(persistent_state::claim_of(&all, name).cloned());
        }
        claims
    }

    /// The DataVolumes of the volumes, and those that fill their claims.
    fn data_volumes_behind(&self, instance: &VirtualMachineInstance, claims: &[PersistentVolumeClaim]) -> Vec<DataVolume> {
        let namespace = instance.metadata.namespace.as_deref().unwrap_or_default();
        let named = instance.spec.volumes.iter().filter_map(volumes::claim_name);
        let filling =
            claims.iter().filter_map(|c| owner::controller(&c.metadata)).filter(|o| o.kind == "DataVolume").map(|o| o.name.as_str());
        let names: BTreeSet<_> = named.chain(filling).collect();
        names.into_iter().filter_map(|name| self.stores.data_volumes.get(&Key::new(namespace, name))).collect()
    }

    /// The lowest frequency among the nodes that guests can go to or are on. Only guests that need it are told.
    fn lowest_tsc_frequency(&self, instance: &VirtualMachineInstance) -> Option<i64> {
        if instance.status.topology_hints.is_some() || !vmi::needs_frequency(instance) {
            return None;
        }
        let nodes = self.stores.nodes.all();
        let frequencies = nodes.iter().filter_map(|n| {
            let frequency = node::tsc_frequency(n)?;
            let in_use = || !self.stores.instances.keys_by(NODE, n.metadata.name.as_deref().unwrap_or_default()).is_empty();
            (node::is_schedulable(n) || in_use()).then_some(frequency)
        });
        Some(frequencies.min().unwrap_or(0))
    }

    /// An address on the virtual socket for an instance that wants one.
    fn free_vsock_address(&self, instance: &VirtualMachineInstance) -> Option<u32> {
        if instance.spec.domain.devices.autoattach_vsock != Some(true) || instance.status.vsock_cid.is_some() {
            return None;
        }
        let taken: BTreeSet<u32> = self.stores.instances.all().iter().filter_map(|i| i.status.vsock_cid).collect();
        // Begin somewhere else for each guest, so that two which start at once don't take the same.
        let begin = instance
            .metadata
            .uid
            .iter()
            .flat_map(|uid| uid.bytes())
            .fold(FIRST_VSOCK_ADDRESS, |hash, byte| hash.wrapping_mul(16_777_619) ^ u32::from(byte));
        let begin = begin.max(FIRST_VSOCK_ADDRESS);
        (begin..u32::MAX).chain(FIRST_VSOCK_ADDRESS..begin).find(|address| !taken.contains(address))
    }

    /// What the launcher pod depends on besides. Of an instance that has its pod most is of no interest any more.
    async fn context(&self, instance: &VirtualMachineInstance, effective: &Effective, has_launcher: bool) -> Result<Context, Error> {
        let Installed { image, sidecar_shim_image, image_pull_secret, qemu_timeout, .. } = &self.installed;
        let mut context = Context {
            image: image.clone(),
            sidecar_shim_image: sidecar_shim_image.clone(),
            image_pull_secret: image_pull_secret.clone(),
            qemu_timeout: spread(*qemu_timeout, instance.metadata.uid.as_deref().unwrap_or_default()),
            skip_backup_hooks: effective.skip_backup_hooks.clone(),
            ..Context::default()
        };
        let namespace = instance.metadata.namespace.as_deref().unwrap_or_default();
        context.namespace_labels = self.namespace_labels(namespace);
        for quota in self.stores.quotas.in_namespace(namespace) {
            let hard = quota.spec.and_then(|s| s.hard).unwrap_or_default();
            context.quota = Quota {
                cpu: context.quota.cpu || hard.contains_key("limits.cpu"),
                memory: context.quota.memory || hard.contains_key("limits.memory"),
            };
        }
        if !has_launcher {
            context.network_resources = self.network_resources(instance).await?;
        }
        Ok(context)
    }

    async fn network_resources(&self, instance: &VirtualMachineInstance) -> Result<BTreeMap<String, String>, Error> {
        let own = instance.metadata.namespace.as_deref().unwrap_or_default();
        let mut resources = BTreeMap::new();
        for network in &instance.spec.networks {
            let Some(multus) = &network.multus else { continue };
            let (namespace, name) = networks::definition(own, &multus.network_name);
            let path = format!("/apis/k8s.cni.cncf.io/v1/namespaces/{namespace}/network-attachment-definitions/{name}");
            // One that is missing is Multus' to complain about: the pod does not start without.
            let definition = match self.cluster.read(&path).await {
                Err(Error::NotFound(_)) => continue,
                definition => definition?,
            };
            let annotations = definition.pointer("/metadata/annotations");
            if let Some(resource) = annotations.and_then(|a| a.get(RESOURCE_NAME)?.as_str()) {
                resources.insert(network.name.clone(), resource.to_owned());
            }
        }
        Ok(resources)
    }

    /// A set and the instances of its namespace.
    pub(super) fn observe_set(&self, key: &Key) -> Option<replicaset::Observed> {
        let set = self.stores.sets.get(key)?;
        Some(replicaset::Observed { instances: self.stores.instances.in_namespace(&key.namespace), set })
    }

    /// A pool, the machines of its namespace, and what belongs to its own.
    pub(super) fn observe_pool(&self, key: &Key) -> Option<pool::Observed> {
        let pool = self.stores.pools.get(key)?;
        let uid = pool.metadata.uid.as_deref().unwrap_or_default();
        let own = self.stores.machines.by(OWNER, uid);
        let keys = own.iter().map(|machine| Key::of(&machine.metadata));
        Some(pool::Observed {
            instances: keys.filter_map(|key| self.stores.instances.get(&key)).collect(),
            revisions: self.stores.revisions.by(OWNER, uid),
            claims: own.iter().flat_map(|machine| self.claims_of_machine(machine, None)).collect(),
            data_volumes: own.iter().flat_map(|machine| self.data_volumes_of(machine, None)).collect(),
            machines: self.stores.machines.in_namespace(&key.namespace),
            pool,
        })
    }

    /// A node, its instances, and the pods that hold them.
    pub(super) async fn observe_node(&self, name: &str) -> Result<node::Observed, Error> {
        let node = self.stores.nodes.get(&Key::new("", name));
        let instances = self.stores.instances.by(NODE, name);
        Ok(node::Observed {
            name: name.to_owned(),
            pods: if instances.is_empty() { Vec::new() } else { self.stores.pods.by(NODE, name) },
            node,
            instances,
        })
    }
}

/// The volumes of a machine's template, and of its instance: those of the template may have changed since it started.
fn volumes_of_machine<'a>(machine: &'a VirtualMachine, instance: Option<&'a VirtualMachineInstance>) -> impl Iterator<Item = &'a Volume> {
    let template = machine.spec.template.iter().flat_map(|t| &t.spec.volumes);
    template.chain(instance.into_iter().flat_map(|i| &i.spec.volumes))
}

/// The time that a launcher waits, up to a tenth longer, so that launchers which start together don't give up together.
fn spread(seconds: u32, uid: &str) -> u32 {
    let chance = uid.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(u32::from(byte)));
    seconds.saturating_add(chance % (seconds / 10 + 1))
}
