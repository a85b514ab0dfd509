//! The question that admission answers, and its answer.

use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Cause, Seed};
use crate::config::ClusterConfig;

/// What is to be done with the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "UPPERCASE")]
pub enum Operation {
    /// The object is new.
    #[default]
    Create,
    /// The object takes the place of an older version of itself.
    Update,
    /// The object goes.
    Delete,
}

/// May this object enter, and what does it look like then?
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// The kind of the object, as `VirtualMachine`.
    pub kind: &'a str,
    /// What is to be done.
    pub operation: Operation,
    /// The configuration of the cluster.
    pub config: &'a ClusterConfig,
    /// The object.
    pub object: &'a Value,
    /// The version that it replaces.
    pub old: Option<&'a Value>,
    /// The name of who asks.
    pub user: &'a str,
    /// The node that the credentials of who asks are bound to, if they are.
    pub user_node: Option<&'a str>,
    /// Where KubeVirt is installed.
    pub namespace: &'a str,
    /// Other objects of the cluster that the judgement may need.
    pub cluster: &'a [Value],
    /// Where random names and identifiers come from.
    pub seed: Seed,
    /// When it is asked.
    pub now: Timestamp,
}

/// The service accounts that KubeVirt's own components act as.
const COMPONENTS: [&str; 4] = ["kubevirt-apiserver", "kubevirt-controller", HANDLER, "kubevirt-synchronization-controller"];
/// The service account of the component on every node.
pub(super) const HANDLER: &str = "kubevirt-handler";

impl Request<'_> {
    /// Whether one of KubeVirt's own components asks, who may do more than others.
    pub fn is_component(&self) -> bool {
        COMPONENTS.iter().any(|account| self.is_account(account))
    }

    /// Whether that service account of KubeVirt's namespace asks.
    pub fn is_account(&self, account: &str) -> bool {
        let parts = self.user.strip_prefix("system:serviceaccount:").and_then(|rest| rest.split_once(':'));
        parts == Some((self.namespace, account))
    }
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Verdict {
    /// Whether the object may enter.
    pub allowed: bool,
    /// The object after defaulting; as it was given when it could not be read.
    pub object: Value,
    /// What is wrong with it.
    pub causes: Vec<Cause>,
    /// What its author should know.
    pub warnings: Vec<String>,
}
