//! What a request writes to the API server, as plain values.

use serde::Serialize;

use super::{Patch, Refusal};
use crate::api::v1::VirtualMachineInstanceMigration;

/// What is patched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Target {
    /// The VirtualMachine.
    #[serde(rename = "virtualmachines")]
    Machine,
    /// The status of the VirtualMachine.
    #[serde(rename = "virtualmachines/status")]
    MachineStatus,
    /// The VirtualMachineInstance.
    #[serde(rename = "virtualmachineinstances")]
    Instance,
}

impl Target {
    /// The plural name of the resource.
    pub fn resource(self) -> &'static str {
        match self {
            Self::Machine | Self::MachineStatus => "virtualmachines",
            Self::Instance => "virtualmachineinstances",
        }
    }

    /// The singular name, for messages.
    pub fn kind(self) -> &'static str {
        match self {
            Self::Machine | Self::MachineStatus => super::MACHINE,
            Self::Instance => super::INSTANCE,
        }
    }
}

/// What becomes of a request whose patch no longer fits the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum Race {
    /// 409: the client may look again and retry.
    Conflict,
    /// 500, as KubeVirt answers for these.
    Internal,
}

/// One write. The writes of a request are carried out in order; the first that fails ends it.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub enum Write {
    /// A JSON patch.
    Patch {
        /// What is patched.
        target: Target,
        /// How.
        patch: Patch,
        /// `["All"]` when nothing may be kept.
        dry_run: Vec<String>,
        /// What the answer is when a test of the patch fails.
        race: Race,
    },
    /// A new migration.
    Migrate {
        /// The object.
        migration: Box<VirtualMachineInstanceMigration>,
        /// `["All"]` when nothing may be kept.
        dry_run: Vec<String>,
    },
}

impl Write {
    /// The answer to a request whose write the API server did not take because the object had changed.
    pub fn raced(&self, name: &str) -> Refusal {
        match self {
            Self::Patch { target, race: Race::Conflict, .. } => {
                Refusal::conflict(target.kind(), name, "it was changed meanwhile; look at it and try again")
            }
            Self::Patch { target, .. } => Refusal::internal(format_args!("the {} {name:?} is not as the request says", target.kind())),
            Self::Migrate { .. } => Refusal::internal("the migration exists already"),
        }
    }
}
