//! Carries out what a pass decided.

use std::collections::BTreeMap;

use futures_util::{StreamExt as _, stream};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node as ApiNode, Secret};
use kube::api::{DeleteParams, DynamicObject, Patch, PatchParams};
use kube::{Api, ResourceExt as _};
use kubevirt_rs::api::names::{DEPRECATED_KUBEVIRT_FINALIZER, KUBEVIRT_FINALIZER};
use kubevirt_rs::api::v1::KubeVirt;
use kubevirt_rs::install::certificates::{Lifetimes, Make};
use kubevirt_rs::install::{Action, Id, Node, Object};
use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::mint::{self, Pair};
use super::observe::resource;
use crate::cluster::{Cluster, Error};

/// How many objects of a kind are written at a time.
const AT_ONCE: usize = 6;

/// Why an action had no success.
#[derive(Debug, thiserror::Error)]
pub(super) enum ApplyError {
    /// The API server did not do it.
    #[error("{what}: {source}")]
    Write {
        /// What was to be done.
        what: String,
        /// Its answer.
        source: Error,
    },
    /// A certificate could not be made.
    #[error(transparent)]
    Mint(#[from] mint::MintError),
}

impl ApplyError {
    /// Whether the same may succeed in a moment without anyone changing anything.
    pub(super) fn is_transient(&self) -> bool {
        match self {
            Self::Write { source, .. } => source.is_transient() || source.is_conflict() || source.is_not_found(),
            Self::Mint(_) => false,
        }
    }
}

/// What actions are carried out with.
pub(super) struct Hand<'a> {
    /// The API server.
    pub(super) cluster: &'a Cluster,
    /// The object that asks for the installation.
    pub(super) kubevirt: &'a KubeVirt,
    /// Where it is installed.
    pub(super) namespace: &'a str,
    /// The authority that signs.
    pub(super) authority: Option<&'a Pair>,
    /// How long certificates live.
    pub(super) lifetimes: Lifetimes,
    /// Held while a definition is in memory.
    pub(super) reading: Mutex<()>,
}

impl Hand<'_> {
    /// Carries the actions out in their order, those of one stage side by side. Notes the generations of what was written.
    /// Ends at the first stage with a failure: what follows leans on it.
    pub(super) async fn act(&self, actions: &[Action], generations: &mut BTreeMap<Id, i64>) -> Result<(), ApplyError> {
        for group in actions.chunk_by(|a, b| stage(a).is_some() && stage(a) == stage(b)) {
            let done: Vec<Result<Option<(Id, i64)>, ApplyError>> =
                stream::iter(group).map(|action| self.one(action)).buffer_unordered(AT_ONCE).collect().await;
            let mut failure = None;
            for result in done {
                match result {
                    Ok(written) => generations.extend(written),
                    Err(error) => failure = Some(error),
                }
            }
            if let Some(error) = failure {
                return Err(error);
            }
        }
        Ok(())
    }

    async fn one(&self, action: &Action) -> Result<Option<(Id, i64)>, ApplyError> {
        match action {
            Action::Hold => self.finalizers(true).await.map(|()| None),
            Action::Release => self.finalizers(false).await.map(|()| None),
            Action::Make(make) => self.make(*make).await.map(|()| None),
            Action::Define(definition) => {
                // One at a time is read: they are large.
                let _alone = self.reading.lock().await;
                match definition.object() {
                    Some(object) => self.apply(&object).await,
                    None => Ok(None),
                }
            }
            Action::Apply(object) => self.apply(object).await,
            Action::Delete(id) => self.delete(id).await.map(|()| None),
            Action::Clean(node) => self.clean(node).await.map(|()| None),
        }
    }

    async fn finalizers(&self, held: bool) -> Result<(), ApplyError> {
        let (namespace, name) = (self.kubevirt.namespace(), self.kubevirt.name_any());
        let others =
            self.kubevirt.finalizers().iter().filter(|f| !matches!(f.as_str(), KUBEVIRT_FINALIZER | DEPRECATED_KUBEVIRT_FINALIZER));
        let finalizers: Vec<&str> = others.map(String::as_str).chain(held.then_some(KUBEVIRT_FINALIZER)).collect();
        // Whoever adds one meanwhile keeps it: then this fails, and the next pass sees both.
        let old = json!(self.kubevirt.metadata.finalizers);
        let patch = json!([
            {"op": "test", "path": "/metadata/finalizers", "value": old},
            {"op": "add", "path": "/metadata/finalizers", "value": finalizers},
        ]);
        let written = self.cluster.patch::<KubeVirt>(namespace.as_deref(), &name, &patch).await;
        written.map(|_| ()).map_err(|source| ApplyError::Write { what: format!("set the finalizer of KubeVirt {name}"), source })
    }

    async fn make(&self, make: Make) -> Result<(), ApplyError> {
        let pair = mint::make(make, self.authority, &self.lifetimes, self.namespace, Timestamp::now())?;
        let secret = mint::secret(self.namespace, make.secret(), &pair);
        let written = self.cluster.apply::<Secret>(&secret).await;
        written.map(|_| ()).map_err(|source| ApplyError::Write { what: format!("write the Secret {}", make.secret()), source })
    }

    fn api(&self, id: &Id) -> Api<DynamicObject> {
        let (client, resource) = (self.cluster.client.clone(), resource(id.kind));
        match &id.namespace {
            Some(namespace) => Api::namespaced_with(client, namespace, &resource),
            None => Api::all_with(client, &resource),
        }
    }

    async fn apply(&self, object: &Object) -> Result<Option<(Id, i64)>, ApplyError> {
        let Some(id) = object.id() else { return Ok(None) };
        let params = PatchParams::apply(self.cluster.component).force();
        // The answer is as long as the object; all that matters is its generation.
        let written = self.api(&id).patch_metadata(&id.name, &params, &Patch::Apply(object.value())).await;
        match written.map_err(Error::from) {
            Ok(written) => {
                said(&id, "applied");
                Ok(written.metadata.generation.map(|generation| (id, generation)))
            }
            Err(source) => Err(ApplyError::Write { what: format!("write {id}"), source }),
        }
    }

    async fn delete(&self, id: &Id) -> Result<(), ApplyError> {
        match self.api(id).delete(&id.name, &DeleteParams::background()).await.map_err(Error::from) {
            Ok(_) => {
                said(id, "deleted");
                Ok(())
            }
            Err(Error::NotFound(_)) => Ok(()),
            Err(source) => Err(ApplyError::Write { what: format!("delete {id}"), source }),
        }
    }

    async fn clean(&self, node: &Node) -> Result<(), ApplyError> {
        let none = |keys: &std::collections::BTreeSet<String>| keys.iter().map(|key| (key.clone(), Value::Null)).collect::<Value>();
        let patch = json!({"metadata": {"labels": none(&node.labels), "annotations": none(&node.annotations)}});
        match self.cluster.merge::<ApiNode>(None, &node.name, None, &patch).await {
            Ok(_) | Err(Error::NotFound(_)) => Ok(()),
            Err(source) => Err(ApplyError::Write { what: format!("clean the Node {}", node.name), source }),
        }
    }
}

/// One line for every object that changes.
fn said(id: &Id, what: &str) {
    tracing::info!(kind = id.kind.kind, namespace = id.namespace.as_deref().unwrap_or_default(), name = id.name, "{what}");
}

/// What is done at the same time: nothing of a stage leans on anything else of it.
fn stage(action: &Action) -> Option<u8> {
    const ROLES: [&str; 3] = ["ServiceAccount", "ClusterRole", "Role"];
    const PODS: [&str; 2] = ["DaemonSet", "Deployment"];
    match action {
        Action::Hold | Action::Release | Action::Make(Make::Authority) => None,
        Action::Make(Make::Leaf(_)) => Some(0),
        Action::Define(_) => Some(1),
        Action::Apply(object) if ROLES.contains(&object.kind()) => Some(1),
        Action::Apply(object) if PODS.contains(&object.kind()) => Some(3),
        Action::Apply(object) if object.kind().starts_with("VirtualMachine") => Some(4),
        Action::Apply(_) => Some(2),
        Action::Delete(_) => Some(5),
        Action::Clean(_) => Some(6),
    }
}
