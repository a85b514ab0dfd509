//! A definition as the API server takes it.

use kubevirt_api::names;
use serde_json::{Map, Value, json};

use super::definitions::{Column, Definition, Subresources, Version};

impl Definition {
    /// The name of the definition: `virtualmachines.kubevirt.io`.
    pub fn name(&self) -> String {
        format!("{}.{}", self.kind().map_or("", |k| k.plural), self.group)
    }

    /// The whole `CustomResourceDefinition`, made from the types.
    pub fn to_json(&self) -> Value {
        let Some(kind) = self.kind() else { return Value::Null };
        let mut schema = (kind.schema)().to_json();
        // The API server knows the metadata of an object itself, and refuses a definition that says anything of it.
        schema["properties"]["metadata"] = json!({"type": "object"});
        let bare = without_descriptions(&schema);
        // One version is explained, the one that clients prefer: so a definition has half the size, and stays small
        // enough for the annotation of a client-side apply.
        let version = |version: &Version| self.version(version, if version.name == kind.version { &schema } else { &bare });
        let mut names = json!({
            "kind": self.kind,
            "listKind": format!("{}List", self.kind),
            "plural": kind.plural,
            "singular": self.kind.to_lowercase(),
        });
        if !self.short_names.is_empty() {
            names["shortNames"] = json!(self.short_names);
        }
        if self.in_all {
            names["categories"] = json!(["all"]);
        }
        let label = if self.kind == "KubeVirt" { names::OPERATOR_LABEL } else { names::APP_LABEL };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": self.name(), "labels": {label: ""}},
            "spec": {
                "group": self.group,
                "names": names,
                "scope": if kind.namespaced { "Namespaced" } else { "Cluster" },
                "versions": self.versions.iter().map(version).collect::<Vec<_>>(),
            },
        })
    }

    fn version(&self, version: &Version, schema: &Value) -> Value {
        let mut out = Map::new();
        out.insert("name".into(), version.name.into());
        out.insert("served".into(), true.into());
        out.insert("storage".into(), version.storage.into());
        if let Some(instead) = version.instead {
            out.insert("deprecated".into(), true.into());
            let warning = format!("{}/{} {} is deprecated: {instead}", self.group, version.name, self.kind);
            out.insert("deprecationWarning".into(), warning.into());
        }
        if !self.columns.is_empty() {
            out.insert("additionalPrinterColumns".into(), self.columns.iter().map(Column::to_json).collect());
        }
        if let Some(subresources) = self.subresources.to_json() {
            out.insert("subresources".into(), subresources);
        }
        out.insert("schema".into(), json!({"openAPIV3Schema": schema}));
        Value::Object(out)
    }
}

/// The schema with nothing but its structure. (A field may be called `description`, but its value is no string.)
fn without_descriptions(schema: &Value) -> Value {
    match schema {
        Value::Object(map) => {
            let kept = map.iter().filter(|(name, value)| !(*name == "description" && value.is_string()));
            Value::Object(kept.map(|(name, value)| (name.clone(), without_descriptions(value))).collect())
        }
        Value::Array(items) => items.iter().map(without_descriptions).collect(),
        other => other.clone(),
    }
}

impl Column {
    fn to_json(&self) -> Value {
        let mut column = json!({"name": self.name, "type": self.kind, "jsonPath": self.path, "description": self.description});
        if self.wide {
            column["priority"] = 1.into();
        }
        column
    }
}

impl Subresources {
    fn to_json(self) -> Option<Value> {
        match self {
            Self::None => None,
            Self::Status => Some(json!({"status": {}})),
            Self::StatusAndScale => Some(json!({
                "status": {},
                "scale": {
                    "specReplicasPath": ".spec.replicas",
                    "statusReplicasPath": ".status.replicas",
                    "labelSelectorPath": ".status.labelSelector",
                },
            })),
        }
    }
}
