//! The definitions of the kinds. They are large, so that they are kept as text and read one at a time, when they are
//! written; whether one is there as it is to be is told by a checksum.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::live::{self, Live};
use super::object::hex;
use super::{CHECKSUM, Id, Installation, Kind, Object};
use crate::api::names::APP_LABEL;
use crate::schema::{self, Crd, DEFINITIONS};

/// The definition of the installation itself comes with the operator's manifest.
const OWN: &str = "KubeVirt";

/// The checksums of the texts, by kind.
static CHECKSUMS: LazyLock<BTreeMap<&'static str, String>> =
    LazyLock::new(|| schema::crds().iter().map(|crd| (crd.kind, hex(&Sha256::digest(crd.json.as_bytes())))).collect());

/// A definition that is to be there.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Definition {
    /// Which one.
    pub id: Id,
    /// What its metadata are to be.
    metadata: Value,
    kind: &'static str,
}

impl Definition {
    /// The whole object.
    pub fn object(&self) -> Option<Object> {
        let crd = schema::crds().iter().find(|crd| crd.kind == self.kind)?;
        let mut object: Value = serde_json::from_str(crd.json).ok()?;
        object.as_object_mut()?.insert("metadata".to_owned(), self.metadata.clone());
        Some(Object::new(object))
    }

    /// Whether it is there as it is to be.
    pub(super) fn is_current(&self, live: &Live, generations: &BTreeMap<Id, i64>) -> bool {
        live::is_told(&self.metadata, live.get(&self.id), generations.get(&self.id).copied())
    }
}

/// Every definition that is installed.
pub(super) fn definitions(installation: &Installation) -> impl Iterator<Item = Definition> {
    schema::crds().iter().filter(|crd| crd.kind != OWN).filter_map(|crd| definition(crd, installation))
}

fn definition(crd: &Crd, installation: &Installation) -> Option<Definition> {
    let name = DEFINITIONS.iter().find(|definition| definition.kind == crd.kind)?.name();
    let kind = Kind::named("CustomResourceDefinition")?;
    let mut object = Object::new(serde_json::json!({"metadata": {"name": name}}));
    object.label(APP_LABEL, "");
    super::mark(&mut object, installation);
    object.annotate(CHECKSUM, CHECKSUMS.get(crd.kind)?);
    let metadata = object.into_value().get_mut("metadata").map(Value::take)?;
    Some(Definition { id: Id { kind, namespace: None, name }, metadata, kind: crd.kind })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::Cluster;
    use crate::install::settings::testing;
    use serde_json::json;

    #[test]
    fn all_but_one_are_installed_whole() {
        let installation = testing(json!({}), Cluster::default()).unwrap();
        let all: Vec<Definition> = definitions(&installation).collect();
        assert_eq!(all.len(), schema::crds().len() - 1);
        for definition in all {
            let object = definition.object().unwrap();
            assert_eq!(object.id().as_ref(), Some(&definition.id));
            assert!(object.value()["spec"]["versions"].is_array(), "{}", definition.id);
            let mut live = Live::from([(definition.id.clone(), json!({"metadata": object.value()["metadata"]}))]);
            assert!(definition.is_current(&live, &BTreeMap::new()));
            live.insert(definition.id.clone(), json!({"metadata": {"name": definition.id.name}}));
            assert!(!definition.is_current(&live, &BTreeMap::new()));
        }
    }
}
