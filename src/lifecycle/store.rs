//! A cluster in memory: carries actions out on plain values, so that plans can be followed to their end without a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::action::{Action, Event};
use super::patch::Patch;
use crate::api::cdi::DataVolume;

/// What there is. A deletion is final at once, finalizers hold nobody. The two main objects are kept as they were written:
/// what someone left out and what someone wrote empty are not the same to a patch.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Store {
    /// The machine.
    pub machine: Option<Value>,
    /// The instance of its name.
    pub instance: Option<Value>,
    /// DataVolumes by name.
    pub data_volumes: BTreeMap<String, DataVolume>,
    /// Claims by name.
    pub claims: BTreeMap<String, PersistentVolumeClaim>,
    /// Revisions by name.
    pub revisions: BTreeMap<String, ControllerRevision>,
    /// Pods by name.
    pub pods: BTreeMap<String, Pod>,
}

/// What became of the actions.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Log {
    /// What was said, once each, as Kubernetes does.
    pub events: Vec<Event>,
    /// The resources that were made: `pod`, `persistentvolumeclaim`, …
    pub made: Vec<&'static str>,
    /// The pods that were deleted.
    pub deleted_pods: Vec<String>,
}

const MACHINE: &str = "virtualmachine";
const INSTANCE: &str = "virtualmachineinstance";

/// Why the store did not do something.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum StoreError {
    /// It is there already.
    #[error("{0} {1:?} already exists")]
    AlreadyExists(&'static str, String),
    /// It is not there.
    #[error("{0} not found")]
    NotFound(&'static str),
    /// It is another one by now.
    #[error("{0} was changed meanwhile: {1}")]
    Conflict(&'static str, String),
}

impl Store {
    /// Carries one action out.
    pub fn apply(&mut self, action: &Action, log: &mut Log) -> Result<(), StoreError> {
        match action {
            Action::PatchMachine(patch) | Action::PatchMachineStatus(patch) => change_value(MACHINE, self.machine.as_mut(), patch),
            Action::CreateInstance(instance) => match self.instance {
                Some(_) => Err(exists(INSTANCE, &instance.metadata)),
                None => write(INSTANCE, &mut self.instance, instance),
            },
            Action::PatchInstance(patch) => change_value(INSTANCE, self.instance.as_mut(), patch),
            Action::UpdateInstance(instance) => write(INSTANCE, &mut self.instance, instance),
            Action::DeleteInstance { uid } => match &self.instance {
                Some(instance) if instance.pointer("/metadata/uid").and_then(Value::as_str).unwrap_or_default() == uid => {
                    self.instance = None;
                    Ok(())
                }
                Some(_) => Err(StoreError::Conflict(INSTANCE, "it has another uid".to_owned())),
                None => Ok(()),
            },
            Action::CreateDataVolume(made) => create("datavolume", &mut self.data_volumes, &made.metadata, made, log),
            Action::PatchDataVolume { name, patch } => change("datavolume", self.data_volumes.get_mut(name), patch),
            Action::CreateRevision(made) => create("controllerrevision", &mut self.revisions, &made.metadata, made, log),
            Action::DeleteRevision { name } => {
                self.revisions.remove(name);
                Ok(())
            }
            Action::CreateClaim(made) => create("persistentvolumeclaim", &mut self.claims, &made.metadata, made, log),
            Action::PatchClaim { name, patch } => change("persistentvolumeclaim", self.claims.get_mut(name), patch),
            Action::CreatePod(made) => create("pod", &mut self.pods, &made.metadata, made, log),
            Action::CreateAttachmentPod { .. } => {
                log.made.push("pod");
                Ok(())
            }
            Action::PatchPod { name, patch } | Action::PatchPodStatus { name, patch } => change("pod", self.pods.get_mut(name), patch),
            Action::DeletePod { name, .. } => {
                if self.pods.remove(name).is_some() {
                    log.deleted_pods.push(name.clone());
                }
                Ok(())
            }
            Action::Record(event) => {
                if !log.events.iter().any(|e| (e.warning, e.reason) == (event.warning, event.reason)) {
                    log.events.push(event.clone());
                }
                Ok(())
            }
            Action::LookAgain { .. } => Ok(()),
        }
    }
}

fn name(meta: &ObjectMeta, fallback: usize) -> String {
    let generated = || meta.generate_name.as_ref().map(|prefix| format!("{prefix}{fallback}"));
    meta.name.clone().or_else(generated).unwrap_or_default()
}

fn exists(kind: &'static str, meta: &ObjectMeta) -> StoreError {
    StoreError::AlreadyExists(kind, name(meta, 0))
}

fn create<T: Clone>(
    kind: &'static str,
    of_kind: &mut BTreeMap<String, T>,
    meta: &ObjectMeta,
    made: &T,
    log: &mut Log,
) -> Result<(), StoreError> {
    let name = name(meta, of_kind.len());
    if of_kind.contains_key(&name) {
        return Err(exists(kind, meta));
    }
    of_kind.insert(name, made.clone());
    log.made.push(kind);
    Ok(())
}

fn write(kind: &'static str, object: &mut Option<Value>, new: &impl Serialize) -> Result<(), StoreError> {
    *object = Some(serde_json::to_value(new).map_err(|e| StoreError::Conflict(kind, e.to_string()))?);
    Ok(())
}

fn change_value(kind: &'static str, object: Option<&mut Value>, patch: &Patch) -> Result<(), StoreError> {
    let object = object.ok_or(StoreError::NotFound(kind))?;
    let mut changed = object.clone();
    patch.apply(&mut changed).map_err(|e| StoreError::Conflict(kind, e.to_string()))?;
    *object = changed;
    Ok(())
}

fn change<T: Serialize + DeserializeOwned>(kind: &'static str, object: Option<&mut T>, patch: &Patch) -> Result<(), StoreError> {
    let object = object.ok_or(StoreError::NotFound(kind))?;
    let conflict = |why: String| StoreError::Conflict(kind, why);
    let mut value = serde_json::to_value(&*object).map_err(|e| conflict(e.to_string()))?;
    patch.apply(&mut value).map_err(|e| conflict(e.to_string()))?;
    *object = serde::Deserialize::deserialize(&value).map_err(|e: serde_json::Error| conflict(e.to_string()))?;
    Ok(())
}
