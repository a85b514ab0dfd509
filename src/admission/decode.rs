//! A document into its type, naming the field that does not fit.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::Cause;

/// The object that the document describes, or the field that does not fit its type.
pub(super) fn object<T: DeserializeOwned>(document: &Value) -> Result<T, Cause> {
    T::deserialize(document).map_err(|error| {
        let message = format!("the value does not fit the field: {error}");
        Cause::type_invalid(culprit::<T>(document.clone()), message)
    })
}

/// Finds the first field that the decoder stumbles over, which it does not tell itself.
///
/// A value decodes as long as the faulty part of it is left out. So at every level the shortest beginning that still
/// fails is looked for by halving; its last element is the faulty one, and the search goes on in that alone.
fn culprit<T: DeserializeOwned>(mut root: Value) -> String {
    let (mut path, mut pointer) = (String::new(), String::new());
    loop {
        let Some(mut children) = root.pointer_mut(&pointer).and_then(Children::take) else { return path };
        let mut fails = |children: &mut Children, count: usize| {
            let Some(node) = root.pointer_mut(&pointer) else { return false };
            *node = children.lend(count);
            let failed = T::deserialize(&root).is_err();
            if let Some(node) = root.pointer_mut(&pointer) {
                children.take_back(node.take());
            }
            failed
        };
        if fails(&mut children, 0) {
            return path;
        }
        let (mut good, mut bad) = (0, children.len());
        while bad - good > 1 {
            let middle = good + (bad - good) / 2;
            if fails(&mut children, middle) {
                bad = middle;
            } else {
                good = middle;
            }
        }
        let Some((step, name, only)) = children.pick(good) else { return path };
        if let Some(node) = root.pointer_mut(&pointer) {
            *node = only;
        }
        if !path.is_empty() && !name.starts_with('[') {
            path.push('.');
        }
        path.push_str(&name);
        pointer.push_str(&step);
    }
}

/// The parts of a value, of which some can be lent.
enum Children {
    Fields(Vec<(String, Value)>),
    Elements(Vec<Value>),
}

impl Children {
    fn take(value: &mut Value) -> Option<Self> {
        match value.take() {
            Value::Object(map) if !map.is_empty() => Some(Self::Fields(map.into_iter().collect())),
            Value::Array(list) if !list.is_empty() => Some(Self::Elements(list)),
            _ => None,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Fields(fields) => fields.len(),
            Self::Elements(elements) => elements.len(),
        }
    }

    /// The first `count` parts as a value of their own, until they are taken back.
    fn lend(&mut self, count: usize) -> Value {
        match self {
            Self::Fields(fields) => Value::Object(fields.drain(..count.min(fields.len())).collect()),
            Self::Elements(elements) => Value::Array(elements.drain(..count.min(elements.len())).collect()),
        }
    }

    fn take_back(&mut self, value: Value) {
        match (self, value) {
            (Self::Fields(fields), Value::Object(map)) => drop(fields.splice(..0, map)),
            (Self::Elements(elements), Value::Array(list)) => drop(elements.splice(..0, list)),
            _ => {}
        }
    }

    /// One part alone: the step of a pointer that leads to it then, how people name it, and the value that holds it.
    fn pick(self, index: usize) -> Option<(String, String, Value)> {
        match self {
            Self::Fields(fields) => {
                let (key, value) = fields.into_iter().nth(index)?;
                let step = format!("/{}", key.replace('~', "~0").replace('/', "~1"));
                Some((step, key.clone(), Value::Object(Map::from_iter([(key, value)]))))
            }
            Self::Elements(elements) => {
                let value = elements.into_iter().nth(index)?;
                Some(("/0".to_owned(), format!("[{index}]"), Value::Array(vec![value])))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::v1::VirtualMachineInstance;
    use serde_json::json;

    #[test]
    fn the_field_that_does_not_fit_is_named() {
        for (document, field) in [
            (json!({"spec": {"domain": {"cpu": {"cores": "two"}, "devices": {}}}}), "spec.domain.cpu.cores"),
            (json!({"spec": {"domain": {"devices": {"disks": [{"name": "a"}, {"name": 7}]}}}}), "spec.domain.devices.disks[1].name"),
            (json!({"spec": {"domain": {"memory": {"guest": "lots"}, "cpu": {"threads": 1}, "devices": {}}}}), "spec.domain.memory.guest"),
            (json!({"spec": {"domain": {"devices": {"disks": {}}}}}), "spec.domain.devices.disks"),
            (json!({"spec": 5}), "spec"),
            (json!("text"), ""),
        ] {
            let cause = object::<VirtualMachineInstance>(&document).unwrap_err();
            assert_eq!(cause.field, field, "{document}");
        }
    }

    #[test]
    fn a_fault_among_many_values_is_found() {
        let mut disks = vec![json!({"name": "a"}); 2_000];
        disks.push(json!({"name": false}));
        let document = json!({"spec": {"domain": {"devices": {"disks": disks}}}});
        assert_eq!(object::<VirtualMachineInstance>(&document).unwrap_err().field, "spec.domain.devices.disks[2000].name");
    }
}
