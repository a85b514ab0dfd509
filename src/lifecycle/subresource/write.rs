//! What a request writes to the API server, as plain values.

use serde::Serialize;
use serde_json::{Value, json};

use super::Refusal;
use crate::api::v1::VirtualMachineInstanceMigration;

/// One step of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// `test`, `add`, `replace` or `remove`.
    pub op: &'static str,
    /// The JSON pointer.
    pub path: String,
    /// The value; `remove` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A JSON patch: tests first, so that a change of someone else in between makes the whole patch fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch(pub Vec<Step>);

impl Patch {
    fn step(mut self, op: &'static str, path: &str, value: Option<Value>) -> Self {
        self.0.push(Step { op, path: path.to_owned(), value });
        self
    }

    /// Goes on only if the value is still `value`; `null` is the same as absent.
    #[must_use]
    pub fn test(self, path: &str, value: impl Serialize) -> Self {
        self.step("test", path, Some(json!(value)))
    }

    /// Sets the value, there or not.
    #[must_use]
    pub fn add(self, path: &str, value: impl Serialize) -> Self {
        self.step("add", path, Some(json!(value)))
    }

    /// Sets the value that is there.
    #[must_use]
    pub fn replace(self, path: &str, value: impl Serialize) -> Self {
        self.step("replace", path, Some(json!(value)))
    }

    /// Takes the value away.
    #[must_use]
    pub fn remove(self, path: &str) -> Self {
        self.step("remove", path, None)
    }

    /// Whether every test of the patch holds for an object.
    pub fn holds_for(&self, object: &Value) -> bool {
        self.0
            .iter()
            .filter(|s| s.op == "test")
            .all(|s| object.pointer(&s.path).unwrap_or(&Value::Null) == s.value.as_ref().unwrap_or(&Value::Null))
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_null_holds_where_nothing_is() {
        let patch = Patch::default().test("/status/a", Value::Null).test("/status/b", 1).remove("/status/b");
        assert!(patch.holds_for(&json!({"status": {"b": 1}})));
        assert!(!patch.holds_for(&json!({"status": {"a": 2, "b": 1}})));
        assert!(!patch.holds_for(&json!({})));
    }
}
