//! Writes the status of an installation, if it says anything new.

use kube::ResourceExt as _;
use kubevirt_rs::api::v1::{KubeVirt, KubeVirtStatus};
use serde_json::{Map, Value, json};

use crate::cluster::{Cluster, Error};

/// Writes what differs. Fields that others write stay theirs.
pub(super) async fn write(cluster: &Cluster, kubevirt: &KubeVirt, new: &KubeVirtStatus) -> Result<(), Error> {
    let patch = difference(&json!(kubevirt.status), &json!(new));
    if patch.is_empty() {
        return Ok(());
    }
    let (namespace, name) = (kubevirt.namespace(), kubevirt.name_any());
    cluster.merge::<KubeVirt>(namespace.as_deref(), &name, Some("status"), &json!({"status": patch})).await.map(|_| ())
}

/// The fields that are to be written: those that changed, and nothing for those that are gone.
fn difference(old: &Value, new: &Value) -> Map<String, Value> {
    let none = Map::new();
    let (old, new) = (old.as_object().unwrap_or(&none), new.as_object().unwrap_or(&none));
    let changed = new.iter().filter(|(key, value)| old.get(*key) != Some(value)).map(|(key, value)| (key.clone(), value.clone()));
    let gone = old.keys().filter(|key| !new.contains_key(*key)).map(|key| (key.clone(), Value::Null));
    changed.chain(gone).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_stays_is_not_written() {
        let old = json!({"phase": "Deploying", "operatorVersion": "v1", "observedGeneration": 1});
        let new = json!({"phase": "Deployed", "operatorVersion": "v1"});
        assert_eq!(Value::Object(difference(&old, &new)), json!({"phase": "Deployed", "observedGeneration": null}));
        assert!(difference(&new, &new).is_empty());
    }
}
