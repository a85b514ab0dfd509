//! The structural schema of a type: what a document of it may hold, and what each part of it means.
//!
//! Every type that carries `#[api]` yields its own schema; `k8s` holds the tables for the Kubernetes types that are
//! embedded in ours. A schema is a tree of [`Node`]s; [`Node::to_json`] prints it as the `openAPIV3Schema` of a
//! custom resource definition, the checks of a document walk the same tree.

mod json;
mod k8s;
mod scalars;

use serde_json::Value;

pub use k8s::object_meta;

/// A type whose structure is known.
pub trait Schema {
    /// The structure of the type.
    fn schema() -> Node;
}

/// The structure of one value.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    /// What the value means, its unit, default and limits.
    pub description: &'static str,
    /// What the value is made of.
    pub shape: Shape,
    /// Whether `null` stands for itself; elsewhere the API server drops a `null`.
    pub nullable: bool,
    /// What the API server fills in.
    pub default: Option<Value>,
    /// The known values of an enumeration.
    pub values: &'static [&'static str],
    /// Whether a value outside of [`Node::values`] is a fault.
    pub closed: bool,
    /// The notation of a scalar: `date-time`, `int32`, `byte`, …
    pub format: Option<&'static str>,
    /// The regular expression that a string matches.
    pub pattern: Option<&'static str>,
    /// The smallest number.
    pub minimum: Option<i64>,
    /// The largest number.
    pub maximum: Option<i64>,
    /// The shortest string, in characters.
    pub min_length: Option<u64>,
    /// The longest string, in characters.
    pub max_length: Option<u64>,
    /// The shortest list.
    pub min_items: Option<u64>,
    /// The longest list.
    pub max_items: Option<u64>,
    /// Whether a server-side apply takes an object as one value.
    pub atomic: bool,
    /// Whether the API server keeps fields that the schema does not name.
    pub preserve: bool,
    /// What must hold beyond the structure.
    pub rules: Vec<Rule>,
    /// What the type takes, where a definition cannot say it: it is no part of what is printed.
    pub takes: Takes,
}

/// What a type takes beyond what its definition says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Takes {
    /// All that the definition does.
    #[default]
    Everything,
    /// Whole numbers from the first to the last.
    Numbers(i128, i128),
    /// Lengths of time, such as `1h30m`.
    Durations,
}

/// What a value is made of.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Shape {
    /// Anything at all.
    #[default]
    Any,
    /// Named fields.
    Object(Vec<Field>),
    /// Values under keys of the user's own.
    Map(Box<Node>),
    /// A list of values.
    List {
        /// What each item is.
        item: Box<Node>,
        /// How two appliers' lists merge.
        kind: Option<ListKind>,
        /// The fields that tell the items of a [`ListKind::Map`] apart.
        keys: Vec<&'static str>,
    },
    /// A string.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A whole number or a string.
    IntOrString,
}

/// A field of an object.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// The name on the wire.
    pub name: &'static str,
    /// Whether it must be there.
    pub required: bool,
    /// Its structure.
    pub node: Node,
}

/// How the lists of two appliers merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ListKind {
    /// One list replaces the other.
    Atomic,
    /// Items are scalars, none stands twice.
    Set,
    /// Items are objects, told apart by their keys.
    Map,
}

/// A rule in CEL that the API server holds a value to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The expression; it is true when all is well.
    pub rule: &'static str,
    /// What is said when it is not.
    pub message: &'static str,
}

impl Node {
    /// A value of a shape.
    pub fn new(shape: Shape) -> Self {
        Self { shape, ..<Self as Default>::default() }
    }

    /// An object without fields; [`Node::field`] adds them.
    pub fn object() -> Self {
        Self::new(Shape::Object(Vec::new()))
    }

    /// An enumeration with its known values.
    pub fn enumeration(values: &'static [&'static str]) -> Self {
        Self { values, ..Self::new(Shape::String) }
    }

    /// Adds a field to an object.
    #[must_use]
    pub fn field(mut self, name: &'static str, required: bool, node: Self) -> Self {
        if let Shape::Object(fields) = &mut self.shape {
            fields.push(Field { name, required, node });
        }
        self
    }

    /// Gives the description; an empty one keeps what is there (the description of the type).
    #[must_use]
    pub fn described(mut self, description: &'static str) -> Self {
        if !description.is_empty() {
            self.description = description;
        }
        self
    }

    /// Says how lists merge.
    #[must_use]
    pub fn list(mut self, as_kind: ListKind) -> Self {
        if let Shape::List { kind, .. } = &mut self.shape {
            *kind = Some(as_kind);
        }
        self
    }

    /// Adds a field that tells the items of a list apart.
    #[must_use]
    pub fn key(mut self, key: &'static str) -> Self {
        if let Shape::List { keys, .. } = &mut self.shape {
            keys.push(key);
        }
        self
    }

    /// Makes a string a closed enumeration.
    #[must_use]
    pub fn one_of(mut self, values: &'static [&'static str]) -> Self {
        (self.values, self.closed) = (values, true);
        self
    }

    /// Gives the notation of a scalar, or of the scalars in a list or a map; the empty one is none.
    #[must_use]
    pub fn format(mut self, format: &'static str) -> Self {
        match &mut self.shape {
            Shape::List { item: inner, .. } | Shape::Map(inner) => inner.format = Some(format).filter(|f| !f.is_empty()),
            _ => self.format = Some(format).filter(|f| !f.is_empty()),
        }
        self
    }

    /// Adds a rule.
    #[must_use]
    pub fn rule(mut self, rule: &'static str, message: &'static str) -> Self {
        self.rules.push(Rule { rule, message });
        self
    }

    /// The fields of an object.
    pub fn fields(&self) -> &[Field] {
        match &self.shape {
            Shape::Object(fields) => fields,
            _ => &[],
        }
    }

    /// The structure of a field of an object.
    pub fn get(&self, name: &str) -> Option<&Self> {
        self.fields().iter().find(|f| f.name == name).map(|f| &f.node)
    }
}

/// One builder step for each marker that sets one property.
macro_rules! setters {
    ($($(#[$doc:meta])* $name:ident: $ty:ty = $value:expr;)*) => {
        impl Node {$(
            $(#[$doc])*
            #[must_use]
            pub fn $name(mut self, $name: $ty) -> Self {
                self.$name = $value;
                self
            }
        )*}
    };
}

setters! {
    /// Whether `null` stands for itself.
    nullable: bool = nullable;
    /// Whether the values of the enumeration are all that there are.
    closed: bool = closed;
    /// What the type takes beyond what the definition says.
    takes: Takes = takes;
    /// Whether a server-side apply takes the object as one value.
    atomic: bool = atomic;
    /// Whether the API server keeps fields that the schema does not name.
    preserve: bool = preserve;
    /// What the API server fills in.
    default: impl Into<Value> = Some(default.into());
    /// The regular expression of the string.
    pattern: &'static str = Some(pattern);
    /// The smallest number.
    minimum: i64 = Some(minimum);
    /// The largest number.
    maximum: i64 = Some(maximum);
    /// The shortest string.
    min_length: u64 = Some(min_length);
    /// The longest string.
    max_length: u64 = Some(max_length);
    /// The shortest list.
    min_items: u64 = Some(min_items);
    /// The longest list.
    max_items: u64 = Some(max_items);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api;
    use serde_json::json;

    /// A thing.
    #[api(atomic)]
    struct Thing {
        /// Its name.
        #[api(required, min_length = 1, pattern = "^a")]
        name: String,
        /// Its colours.
        #[api(list = "map", key = "type", max_items = 3)]
        colours: Vec<Colour>,
        #[api(default = true, rule("self == true", "must be true"))]
        flag: Option<bool>,
        other: Option<Kind>,
    }

    #[api]
    struct Colour {
        #[api(required, format = "")]
        type_: i64,
    }

    /// A kind.
    #[api(closed)]
    enum Kind {
        A = "a",
        B = "b",
    }

    #[test]
    fn a_type_yields_what_its_markers_say() {
        assert_eq!(
            Thing::schema().to_json(),
            json!({
                "type": "object", "description": "A thing.", "x-kubernetes-map-type": "atomic", "required": ["name"],
                "properties": {
                    "name": {"type": "string", "description": "Its name.", "minLength": 1, "pattern": "^a"},
                    "colours": {
                        "type": "array", "description": "Its colours.", "maxItems": 3,
                        "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["type"],
                        "items": {"type": "object", "required": ["type"], "properties": {"type": {"type": "integer"}}},
                    },
                    "flag": {
                        "type": "boolean", "default": true,
                        "x-kubernetes-validations": [{"rule": "self == true", "message": "must be true"}],
                    },
                    "other": {"type": "string", "description": "A kind.", "enum": ["a", "b"]},
                },
            })
        );
    }

    #[test]
    fn an_open_enumeration_lists_no_values() {
        let node = Kind::schema().closed(false);
        assert_eq!((node.values, node.to_json().get("enum")), (&["a", "b"][..], None));
    }
}
