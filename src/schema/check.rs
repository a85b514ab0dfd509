//! What the schema finds wrong with a document: what the API server would refuse or drop, without an API server.
//!
//! The walk follows the schema, so its depth is bounded by the types; the number of faults and of values that are
//! looked at is bounded too. A document gets the same answer every time, and no document makes it panic.

mod fault;
mod objects;
mod scalars;

use std::collections::BTreeMap;
use std::sync::{LazyLock, OnceLock};

use kubevirt_api::kinds::{self, Kind};
use kubevirt_api::schema::{Field, Node, Shape, object_meta};
use serde_json::Value;

use fault::Path;
pub use fault::{Fault, FaultKind};

use super::cel::Program;

/// After so many faults there is no use in more.
const MOST_FAULTS: usize = 100;
/// A document of the size that an API server takes has fewer values.
const MOST_VALUES: usize = 500_000;

/// The structure of every kind by its name. Each is made once, when it is first asked for: it is a pure value of the
/// types, but all of them together take more memory than a launcher that judges one machine shall keep.
static SCHEMAS: LazyLock<BTreeMap<&'static str, (&'static Kind, OnceLock<Node>)>> =
    LazyLock::new(|| kinds::ALL.iter().map(|kind| (kind.kind, (kind, OnceLock::new()))).collect());

/// The structure of a kind, with that of metadata, which a definition leaves to the API server.
fn with_metadata(kind: &Kind) -> Node {
    let mut node = (kind.schema)();
    fill_metadata(&mut node);
    node
}

fn fill_metadata(node: &mut Node) {
    match &mut node.shape {
        Shape::Object(fields) => {
            for field in fields {
                if field.name == "metadata" && field.node.fields().is_empty() {
                    field.node.shape = object_meta().shape;
                } else {
                    fill_metadata(&mut field.node);
                }
            }
        }
        Shape::Map(item) | Shape::List { item, .. } => fill_metadata(item),
        _ => {}
    }
}

/// The structure of a kind: `VirtualMachine`, or with its group and version, `kubevirt.io/v1/VirtualMachine`.
pub fn node(kind: &str) -> Option<&'static Node> {
    let (group, name) = match kind.rsplit_once('/') {
        Some((group, name)) => (group.split('/').next(), name),
        None => (None, kind),
    };
    if let Some(group) = group {
        Kind::find(group, name)?;
    }
    SCHEMAS.get(name).map(|(kind, node)| node.get_or_init(|| with_metadata(kind)))
}

/// What is wrong with a new object of a kind. A kind that is not ours has no faults but that.
pub fn check(kind: &str, document: &Value) -> Vec<Fault> {
    check_update(kind, document, None)
}

/// What is wrong with an object of a kind that replaces `old`.
pub fn check_update(kind: &str, document: &Value, old: Option<&Value>) -> Vec<Fault> {
    match node(kind) {
        Some(node) => check_value(node, document, old),
        None => vec![Fault { path: "kind".to_owned(), kind: FaultKind::Kind, message: format!("{kind:?} is no kind of this API") }],
    }
}

/// What is wrong with a value of a structure.
pub fn check_value(node: &Node, value: &Value, old: Option<&Value>) -> Vec<Fault> {
    let mut walk = Walk { faults: Vec::new(), values: 0 };
    walk.value(node, &Path::root(), value, old);
    walk.faults
}

struct Walk {
    faults: Vec<Fault>,
    values: usize,
}

impl Walk {
    fn fault(&mut self, path: &Path<'_>, kind: FaultKind, message: impl Into<String>) {
        if self.faults.len() < MOST_FAULTS {
            self.faults.push(Fault { path: path.to_string(), kind, message: message.into() });
        }
    }

    fn value(&mut self, node: &Node, path: &Path<'_>, value: &Value, old: Option<&Value>) {
        self.values += 1;
        if self.values > MOST_VALUES || self.faults.len() >= MOST_FAULTS {
            if self.values == MOST_VALUES + 1 {
                self.fault(path, FaultKind::TooLarge, format!("the document has more than {MOST_VALUES} values"));
            }
            return;
        }
        if value.is_null() {
            if !node.nullable {
                self.fault(path, FaultKind::Type, "must not be null");
            }
            return;
        }
        let before = self.faults.len();
        match (&node.shape, value) {
            (Shape::Any, _) => {}
            (Shape::Object(fields), Value::Object(map)) => self.object(node, fields, path, map, old),
            (Shape::Map(item), Value::Object(map)) => self.map(item, path, map, old),
            (Shape::List { item, kind, keys }, Value::Array(items)) => self.list(node, item, *kind, keys, path, items, old),
            _ => self.scalar(node, path, value),
        }
        // A rule may rely on the structure, so it is not asked about a value that has not got it.
        if self.faults.iter().skip(before).all(|f| f.kind == FaultKind::UnknownField) {
            self.rules(node, path, value, old);
        }
    }

    fn rules(&mut self, node: &Node, path: &Path<'_>, value: &Value, old: Option<&Value>) {
        for rule in &node.rules {
            let holds = match Program::parse(rule.rule) {
                Ok(program) if program.is_transition() && old.is_none() => true,
                Ok(program) => program.holds(value, old).unwrap_or(false),
                Err(_) => false,
            };
            if !holds {
                self.fault(path, FaultKind::Rule, rule.message);
            }
        }
    }
}

/// The field of that name.
fn field<'a>(fields: &'a [Field], name: &str) -> Option<&'a Field> {
    fields.iter().find(|f| f.name == name)
}

#[cfg(test)]
mod generated_documents;
#[cfg(test)]
mod generator;
#[cfg(test)]
mod structural;
#[cfg(test)]
mod tests;
