//! Objects, maps and lists.

use std::collections::HashSet;

use kubevirt_api::schema::{Field, ListKind, Node, Shape};
use serde_json::{Map, Value};

use super::fault::{FaultKind, Path};
use super::{Walk, field};

/// Names that are less alike than this are no slip of the pen.
const ALIKE: f64 = 0.8;

impl Walk {
    pub(super) fn object(&mut self, node: &Node, fields: &[Field], path: &Path<'_>, map: &Map<String, Value>, old: Option<&Value>) {
        for field in fields.iter().filter(|f| f.required) {
            // What the API server fills in is never missing; a null that means nothing is dropped, and so is missing.
            let missing = map.get(field.name).is_none_or(|v| v.is_null() && !field.node.nullable);
            if missing && field.node.default.is_none() {
                self.fault(&path.field(field.name), FaultKind::Required, "must be given");
            }
        }
        for (name, value) in map {
            match field(fields, name) {
                Some(field) if value.is_null() && !field.node.nullable => {}
                Some(field) => self.value(&field.node, &path.field(name), value, old.and_then(|o| o.get(name))),
                None if node.preserve => {}
                None => self.fault(&path.field(name), FaultKind::UnknownField, unknown(fields, name)),
            }
        }
    }

    pub(super) fn map(&mut self, item: &Node, path: &Path<'_>, map: &Map<String, Value>, old: Option<&Value>) {
        for (key, value) in map.iter().filter(|(_, v)| item.nullable || !v.is_null()) {
            self.value(item, &path.key(key), value, old.and_then(|o| o.get(key)));
        }
    }

    #[allow(clippy::too_many_arguments, reason = "the parts of one node, taken apart by the caller's match")]
    pub(super) fn list(
        &mut self,
        node: &Node,
        item: &Node,
        kind: Option<ListKind>,
        keys: &[&'static str],
        path: &Path<'_>,
        items: &[Value],
        old: Option<&Value>,
    ) {
        let length = u64::try_from(items.len()).unwrap_or(u64::MAX);
        if let Some(least) = node.min_items.filter(|least| length < *least) {
            self.fault(path, FaultKind::Length, format!("must have at least {least} items, has {length}"));
        }
        if let Some(most) = node.max_items.filter(|most| length > *most) {
            self.fault(path, FaultKind::Length, format!("must have at most {most} items, has {length}"));
            return;
        }
        let olds = old.and_then(Value::as_array);
        let mut seen = HashSet::new();
        for (index, value) in items.iter().enumerate() {
            let path = path.index(index);
            let identity = identity(kind, keys, item, value);
            if identity.as_ref().is_some_and(|identity| !seen.insert(identity.clone())) {
                self.fault(&path, FaultKind::Duplicate, duplicate(keys));
            }
            // What an item was before is known only where items are told apart.
            let old = identity
                .filter(|_| kind == Some(ListKind::Map))
                .and_then(|own| olds?.iter().find(|old| super::objects::identity(kind, keys, item, old).as_ref() == Some(&own)));
            self.value(item, &path, value, old);
        }
    }
}

/// What tells an item of a set or a map apart from the others.
fn identity(kind: Option<ListKind>, keys: &[&str], item: &Node, value: &Value) -> Option<String> {
    match kind? {
        ListKind::Atomic => None,
        ListKind::Set => Some(value.to_string()),
        ListKind::Map => {
            let key = |key: &&str| value.get(key).cloned().or_else(|| item.get(key)?.default.clone()).unwrap_or_default();
            value.is_object().then(|| Value::Array(keys.iter().map(key).collect()).to_string())
        }
    }
}

fn duplicate(keys: &[&str]) -> String {
    if keys.is_empty() {
        "stands in the list already".to_owned()
    } else {
        format!("there is already an item with the same {}", keys.join(" and "))
    }
}

/// What is said of an unknown field, with the field that was probably meant.
fn unknown(fields: &[Field], name: &str) -> String {
    let likely = fields
        .iter()
        .map(|field| (strsim::normalized_damerau_levenshtein(&field.name.to_lowercase(), &short(name).to_lowercase()), field.name))
        .filter(|(alike, _)| *alike >= ALIKE)
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    let deeper = || fields.iter().find(|f| matches!(f.node.shape, Shape::Object(_)) && f.node.get(name).is_some()).map(|f| f.name);
    match (likely, deeper()) {
        (Some((_, likely)), _) => format!("there is no such field; did you mean {likely:?}?"),
        (None, Some(parent)) => format!("there is no such field here; did you mean {parent}.{name}?"),
        (None, None) => "there is no such field".to_owned(),
    }
}

/// The part of a name that is compared: names of fields are short, and comparing takes the square of the length.
fn short(name: &str) -> &str {
    name.char_indices().nth(64).map_or(name, |(end, _)| &name[..end])
}
