//! How a schema prints: as the `openAPIV3Schema` of a custom resource definition.

use serde_json::{Map, Value, json};

use super::{ListKind, Node, Shape};

/// What a quantity looks like; the API server's own expression.
const QUANTITY: &str = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$";

impl ListKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::Atomic => "atomic",
            Self::Set => "set",
            Self::Map => "map",
        }
    }
}

impl Node {
    /// A quantity: a whole number, or a string such as `1.5Gi`.
    pub fn quantity() -> Self {
        Self::new(Shape::IntOrString).pattern(QUANTITY)
    }

    /// Whether the value is a quantity.
    pub fn is_quantity(&self) -> bool {
        self.pattern == Some(QUANTITY)
    }

    /// The schema as JSON.
    pub fn to_json(&self) -> Value {
        let mut out = Map::new();
        if !self.description.is_empty() {
            out.insert("description".into(), self.description.into());
        }
        self.shape(&mut out);
        self.limits(&mut out);
        for (name, set) in
            [("nullable", self.nullable), ("x-kubernetes-preserve-unknown-fields", self.preserve || self.shape == Shape::Any)]
        {
            if set {
                out.insert(name.into(), true.into());
            }
        }
        if self.atomic {
            out.insert("x-kubernetes-map-type".into(), "atomic".into());
        }
        if self.closed {
            out.insert("enum".into(), json!(self.values));
        }
        if let Some(default) = &self.default {
            out.insert("default".into(), default.clone());
        }
        if !self.rules.is_empty() {
            let rules = self.rules.iter().map(|r| json!({"rule": r.rule, "message": r.message}));
            out.insert("x-kubernetes-validations".into(), rules.collect());
        }
        Value::Object(out)
    }

    fn shape(&self, out: &mut Map<String, Value>) {
        let name = match &self.shape {
            Shape::Any => return,
            Shape::IntOrString => {
                out.insert("anyOf".into(), json!([{"type": "integer"}, {"type": "string"}]));
                out.insert("x-kubernetes-int-or-string".into(), true.into());
                return;
            }
            Shape::Object(fields) => {
                if !fields.is_empty() {
                    let properties = fields.iter().map(|f| (f.name.to_owned(), f.node.to_json()));
                    out.insert("properties".into(), Value::Object(properties.collect()));
                }
                let required: Vec<_> = fields.iter().filter(|f| f.required).map(|f| f.name).collect();
                if !required.is_empty() {
                    out.insert("required".into(), json!(required));
                }
                "object"
            }
            Shape::Map(value) => {
                out.insert("additionalProperties".into(), value.to_json());
                "object"
            }
            Shape::List { item, kind, keys } => {
                out.insert("items".into(), item.to_json());
                if let Some(kind) = kind {
                    out.insert("x-kubernetes-list-type".into(), kind.as_str().into());
                }
                if !keys.is_empty() {
                    out.insert("x-kubernetes-list-map-keys".into(), json!(keys));
                }
                "array"
            }
            Shape::String => "string",
            Shape::Integer => "integer",
            Shape::Number => "number",
            Shape::Boolean => "boolean",
        };
        out.insert("type".into(), name.into());
    }

    fn limits(&self, out: &mut Map<String, Value>) {
        for (name, text) in [("format", self.format), ("pattern", self.pattern)] {
            if let Some(text) = text {
                out.insert(name.into(), text.into());
            }
        }
        for (name, bound) in [("minimum", self.minimum), ("maximum", self.maximum)] {
            if let Some(bound) = bound {
                out.insert(name.into(), bound.into());
            }
        }
        for (name, length) in
            [("minLength", self.min_length), ("maxLength", self.max_length), ("minItems", self.min_items), ("maxItems", self.max_items)]
        {
            if let Some(length) = length {
                out.insert(name.into(), length.into());
            }
        }
    }
}
