//! What the controllers do to the cluster, as plain values. A plan is a list of these; they are carried out in order, and
//! the first that fails ends the pass.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde::Serialize;

use super::patch::Patch;
use crate::api::cdi::DataVolume;
use crate::api::v1::VirtualMachineInstance;

/// One change, or something to say.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Action {
    /// Changes the machine: metadata and spec.
    PatchMachine(Patch),
    /// Changes the status of the machine.
    PatchMachineStatus(Patch),
    /// Makes the instance.
    CreateInstance(Box<VirtualMachineInstance>),
    /// Changes the instance; spec and status are one.
    PatchInstance(Patch),
    /// Writes the instance as a whole, if it is still the one that was read.
    UpdateInstance(Box<VirtualMachineInstance>),
    /// Deletes the instance with that uid.
    DeleteInstance {
        /// Its uid: one that was made meanwhile stays.
        uid: String,
    },
    /// Makes a DataVolume.
    CreateDataVolume(Box<DataVolume>),
    /// Changes a DataVolume.
    PatchDataVolume {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Keeps the spec of the machine as it was when it started.
    CreateRevision(Box<ControllerRevision>),
    /// Forgets such a spec.
    DeleteRevision {
        /// Its name.
        name: String,
    },
    /// Makes a claim.
    CreateClaim(Box<PersistentVolumeClaim>),
    /// Changes a claim.
    PatchClaim {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Makes a pod.
    CreatePod(Box<Pod>),
    /// Makes a pod that holds volumes on the node of a launcher pod.
    CreateAttachmentPod {
        /// The launcher pod.
        launcher: String,
        /// The names of the volumes.
        volumes: Vec<String>,
        /// Only so that a volume which waits for a consumer gets filled.
        populate: bool,
    },
    /// Changes a pod.
    PatchPod {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Changes a pod by way of its status, where labels and annotations may change as well.
    PatchPodStatus {
        /// Its name.
        name: String,
        /// How.
        patch: Patch,
    },
    /// Deletes a pod.
    DeletePod {
        /// Its name.
        name: String,
        /// How long it may take; nothing means what the pod itself says.
        grace_seconds: Option<i64>,
    },
    /// Says something to the user.
    Record(Event),
    /// Looks again after that many seconds, although nothing may have changed.
    LookAgain {
        /// The seconds.
        seconds: u64,
    },
}

impl Action {
    /// Whether the cluster is another one afterwards.
    pub fn writes(&self) -> bool {
        !matches!(self, Self::Record(_) | Self::LookAgain { .. })
    }
}

/// An event about the object of the controller.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Event {
    /// Whether it is a warning.
    pub warning: bool,
    /// The reason, one word.
    pub reason: &'static str,
    /// What happened and, if it is a warning, what to do.
    pub message: String,
}

impl Event {
    /// Something that went as it should.
    pub fn normal(reason: &'static str, message: impl Into<String>) -> Action {
        Action::Record(Self { warning: false, reason, message: message.into() })
    }

    /// Something that did not.
    pub fn warning(reason: &'static str, message: impl Into<String>) -> Action {
        Action::Record(Self { warning: true, reason, message: message.into() })
    }

    /// `Normal` or `Warning`.
    pub fn kind(&self) -> &'static str {
        if self.warning { "Warning" } else { "Normal" }
    }
}

/// Why a pass could not do what it should, as the object's condition tells it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    /// The reason of the condition.
    pub reason: &'static str,
    /// What is wrong.
    pub message: String,
}

impl Failure {
    /// A failure with that reason.
    pub fn new(reason: &'static str, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}
