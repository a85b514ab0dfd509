//! What the cluster would say of objects in files: the same code, with the files as the cluster.

use std::path::Path;

use kubevirt_rs::admission::{self, Cause, Operation, Reason, Request, Seed, Verdict};
use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::schema::{self, FaultKind};
use serde::Deserialize;
use serde_json::{Value, json};

use super::input::{self, Input};

/// Where objects are that do not say.
pub(crate) const NAMESPACE: &str = "default";
/// Who asks.
pub(super) const USER: &str = "kubernetes-admin";
/// Where KubeVirt is installed.
pub(super) const INSTALLATION: &str = "kubevirt";

/// A judge who knows a configuration and the objects beside the one that is judged.
pub(crate) struct Judge {
    pub(crate) config: ClusterConfig,
    pub(crate) cluster: Vec<Value>,
}

impl Judge {
    /// Takes the configuration of the KubeVirt object in `file`, or else among the inputs, or else `settings`.
    ///
    /// # Errors
    /// A line that says what is wrong with the file, or with its configuration.
    pub(crate) fn new(file: Option<&Path>, inputs: &[Input], settings: Value) -> Result<Self, String> {
        let config = config(file, inputs, settings)?;
        let cluster = inputs.iter().map(|i| settled(&i.document.value)).collect();
        Ok(Self { config, cluster })
    }

    /// The verdict on a new object. A field that the API does not know is a fault here: the API server would drop it,
    /// and its author would wonder.
    pub(crate) fn review(&self, kind: &str, object: &Value) -> Verdict {
        // the object itself is not there yet
        let others: Vec<Value> = self.cluster.iter().filter(|other| identity(other) != identity(object)).cloned().collect();
        let mut verdict = admission::review(&Request {
            kind,
            operation: Operation::Create,
            config: &self.config,
            object,
            old: None,
            user: USER,
            user_node: None,
            namespace: INSTALLATION,
            cluster: &others,
            seed: seed(),
            now: jiff::Timestamp::now(),
        });
        for fault in schema::check(kind, object) {
            if fault.kind == FaultKind::UnknownField {
                let warning = fault.to_string();
                verdict.warnings.retain(|w| *w != warning);
                verdict.causes.push(Cause { reason: Reason::Invalid, field: fault.path, message: fault.message });
                verdict.allowed = false;
            }
        }
        verdict
    }
}

/// The configuration of the KubeVirt object in that file, or else among the inputs; otherwise the settings count.
pub(super) fn config(file: Option<&Path>, inputs: &[Input], settings: Value) -> Result<ClusterConfig, String> {
    let loaded = file.map(input::read).transpose().map_err(|e| e.to_string())?;
    let (place, settings, annotations) = match loaded.as_deref().unwrap_or(inputs).iter().find(|i| i.document.kind() == "KubeVirt") {
        Some(input) => {
            let given = input.document.value.pointer("/spec/configuration").cloned().unwrap_or_else(|| json!({}));
            let annotations = input.document.value.pointer("/metadata/annotations").cloned();
            (input.place("spec.configuration"), given, annotations)
        }
        None => match file {
            Some(file) => return Err(format!("{}: there is no KubeVirt object in it", file.display())),
            None => (String::new(), settings, None),
        },
    };
    let settings = KubeVirtConfiguration::deserialize(settings).map_err(|e| format!("{place}: spec.configuration: {e}"))?;
    // what is wrong with the object itself, such as an annotation that is no text, is told where it is judged
    let annotations = annotations.and_then(|map| serde_json::from_value(map).ok()).unwrap_or_default();
    let config = ClusterConfig::checked(&settings).and_then(|config| config.with_annotations(&annotations));
    config.map_err(|e| format!("{place}: {}: {e}", e.place()))
}

/// What tells an object from every other: its kind, namespace and name.
fn identity(object: &Value) -> [Option<&Value>; 3] {
    ["/kind", "/metadata/namespace", "/metadata/name"].map(|pointer| object.pointer(pointer))
}

/// An object where `kubectl` would put it: in the default namespace, unless it names one.
pub(crate) fn settled(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.entry("namespace").or_insert_with(|| json!(NAMESPACE));
    }
    object
}

/// Fresh random bits: the standard library keys every hasher anew from the system's own source.
pub(crate) fn seed() -> Seed {
    use std::hash::{BuildHasher, RandomState};
    let half = || u128::from(RandomState::new().hash_one(()));
    Seed((half() << 64) | half())
}
