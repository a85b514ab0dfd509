//! JSON patches: how objects of the API server are changed without losing what someone else changes meanwhile.

use serde::Serialize;
use serde_json::{Map, Value, json};

/// The object is not as the patch expects it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the object was changed meanwhile; look at it again")]
pub struct PatchError;

/// One step of a JSON patch.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Step {
    /// `test`, `add`, `replace` or `remove`.
    pub op: &'static str,
    /// The JSON pointer.
    pub path: String,
    /// The value; `remove` has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<Value>,
}

/// A JSON patch: tests first, so that a change of someone else in between makes the whole patch fail.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct Patch(pub Vec<Step>);

impl Patch {
    fn step(mut self, op: &'static str, path: &str, value: Option<Value>) -> Self {
        self.0.push(Step { op, path: path.to_owned(), value });
        self
    }

    /// Goes on only if the value is still `value`; `null` is the same as absent.
    #[must_use]
    pub fn test(self, path: &str, value: impl Serialize) -> Self {
        self.step("test", path, Some(json!(value)))
    }

    /// Sets the value, there or not.
    #[must_use]
    pub fn add(self, path: &str, value: impl Serialize) -> Self {
        self.step("add", path, Some(json!(value)))
    }

    /// Sets the value that is there.
    #[must_use]
    pub fn replace(self, path: &str, value: impl Serialize) -> Self {
        self.step("replace", path, Some(json!(value)))
    }

    /// Takes the value away.
    #[must_use]
    pub fn remove(self, path: &str) -> Self {
        self.step("remove", path, None)
    }

    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What makes `new` of `old`, no more: each field that changes is tested for what it was. Lists are replaced as a whole.
    pub fn between(old: &impl Serialize, new: &impl Serialize) -> Self {
        let (mut tests, mut changes) = (Self::default(), Self::default());
        differ(&json!(old), &json!(new), "", &mut tests, &mut changes);
        tests.0.append(&mut changes.0);
        tests
    }

    /// What makes the status of an object `new`; nothing, if it is so. An object that nobody has looked after yet may have no
    /// status at all to change.
    pub fn of_status<T: Serialize + Default + PartialEq>(old: &T, new: &T) -> Option<Self> {
        let patch = if *old == T::default() && old != new { Self::default().add("", new) } else { Self::between(old, new) };
        (!patch.is_empty()).then(|| patch.below("/status"))
    }

    /// The same patch for an object that stands at `prefix` in a bigger one.
    #[must_use]
    pub fn below(mut self, prefix: &str) -> Self {
        for step in &mut self.0 {
            step.path.insert_str(0, prefix);
        }
        self
    }

    /// The same change of an object of that resource version and no other. An API server keeps more of a value than our types
    /// do, such as the difference between `null` and nothing, so tests of values may fail that hold; a version does not.
    #[must_use]
    pub fn locked(&self, version: &str) -> Self {
        let lock = Self::default().replace("/metadata/resourceVersion", version);
        Self(lock.0.into_iter().chain(self.0.iter().filter(|s| s.op != "test").cloned()).collect())
    }

    /// Carries the patch out on an object that its tests hold for.
    pub fn apply(&self, object: &mut Value) -> Result<(), PatchError> {
        if !self.holds_for(object) {
            return Err(PatchError);
        }
        self.0.iter().filter(|s| s.op != "test").try_for_each(|step| carry_out(step, object).ok_or(PatchError))
    }

    /// Whether every test of the patch holds for an object.
    pub fn holds_for(&self, object: &Value) -> bool {
        self.0
            .iter()
            .filter(|s| s.op == "test")
            .all(|s| object.pointer(&s.path).unwrap_or(&Value::Null) == s.value.as_ref().unwrap_or(&Value::Null))
    }
}

/// A key as it stands in a JSON pointer.
fn escape(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

fn differ(old: &Value, new: &Value, path: &str, tests: &mut Patch, changes: &mut Patch) {
    let (Value::Object(before), Value::Object(after)) = (old, new) else {
        if old != new {
            step(tests, "test", path, Some(old));
            step(changes, "replace", path, Some(new));
        }
        return;
    };
    for (key, value) in before {
        let path = format!("{path}/{}", escape(key));
        match after.get(key) {
            Some(wanted) => differ(value, wanted, &path, tests, changes),
            None => {
                step(tests, "test", &path, Some(value));
                step(changes, "remove", &path, None);
            }
        }
    }
    for (key, value) in after.iter().filter(|(key, _)| !before.contains_key(*key)) {
        let path = format!("{path}/{}", escape(key));
        step(tests, "test", &path, Some(&Value::Null));
        step(changes, "add", &path, Some(value));
    }
}

fn step(patch: &mut Patch, op: &'static str, path: &str, value: Option<&Value>) {
    patch.0.push(Step { op, path: path.to_owned(), value: value.cloned() });
}

fn carry_out(step: &Step, object: &mut Value) -> Option<()> {
    let Some((parent, key)) = step.path.rsplit_once('/') else {
        *object = step.value.clone().unwrap_or_default();
        return Some(());
    };
    let key = key.replace("~1", "/").replace("~0", "~");
    let parent = object.pointer_mut(parent)?;
    if parent.is_null() {
        *parent = Value::Object(Map::new());
    }
    if let Value::Array(items) = parent {
        let at = if key == "-" { items.len() } else { key.parse().ok()? };
        match (step.op, step.value.clone()) {
            ("add", Some(value)) if at <= items.len() => items.insert(at, value),
            ("replace", Some(value)) => *items.get_mut(at)? = value,
            ("remove", None) if at < items.len() => {
                items.remove(at);
            }
            _ => return None,
        }
        return Some(());
    }
    let parent = parent.as_object_mut()?;
    match &step.value {
        Some(value) => parent.insert(key, value.clone()),
        None => parent.remove(&key),
    };
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_of_null_holds_where_nothing_is() {
        let patch = Patch::default().test("/status/a", Value::Null).test("/status/b", 1).remove("/status/b");
        assert!(patch.holds_for(&json!({"status": {"b": 1}})));
        assert!(!patch.holds_for(&json!({"status": {"a": 2, "b": 1}})));
        assert!(!patch.holds_for(&json!({})));
    }

    #[test]
    fn lists_are_changed_by_position() {
        let mut object = json!({"l": [1, 2]});
        let patch = Patch::default().add("/l/-", 3).replace("/l/0", 9).remove("/l/1").test("/l/0", 1);
        patch.apply(&mut object).unwrap();
        assert_eq!(object, json!({"l": [9, 3]}));
        assert!(Patch::default().replace("/l/7", 1).apply(&mut object).is_err());
    }

    #[test]
    fn a_locked_patch_tests_nothing_but_the_version() {
        let patch = Patch::default().test("/a", 1).add("/a", 2).locked("7");
        let steps: Vec<_> = patch.0.iter().map(|s| (s.op, s.path.as_str())).collect();
        assert_eq!(steps, [("replace", "/metadata/resourceVersion"), ("add", "/a")]);
    }

    #[test]
    fn a_patch_between_two_objects_makes_one_of_the_other() {
        let old = json!({"a": {"x/y": 1, "l": [1]}, "b": null, "c": "gone"});
        for new in [json!({}), json!({"a": {"x/y": 2, "l": [1, 2], "~": {}}, "b": 1}), old.clone(), json!({"a": [], "d": {"e": {}}})] {
            let patch = Patch::between(&old, &new);
            let mut object = old.clone();
            patch.apply(&mut object).unwrap();
            assert_eq!(object, new);
            assert_eq!(patch.is_empty(), old == new);
        }
    }

    #[test]
    fn a_status_is_made_where_there_is_none() {
        type Status = std::collections::BTreeMap<&'static str, u8>;
        let (none, one, two) = (Status::new(), Status::from([("a", 1)]), Status::from([("a", 1), ("b", 2)]));
        let mut object = json!({});
        for (old, new) in [(&none, &one), (&one, &two), (&two, &none)] {
            Patch::of_status(old, new).unwrap().apply(&mut object).unwrap();
            assert_eq!(object["status"], json!(new));
        }
        let first = Patch::of_status(&none, &one).unwrap();
        assert_eq!(first.0.iter().map(|step| (step.op, step.path.as_str())).collect::<Vec<_>>(), [("add", "/status")]);
        assert_eq!(Patch::of_status(&one, &one), None);
    }

    #[test]
    fn a_patch_between_names_only_what_changes() {
        let patch = Patch::between(&json!({"a": {"x": 1, "y": 2}}), &json!({"a": {"x": 1, "y": 3}}));
        assert_eq!(
            json!(patch.below("/status")),
            json!([
                {"op": "test", "path": "/status/a/y", "value": 2},
                {"op": "replace", "path": "/status/a/y", "value": 3},
            ])
        );
        let patch = Patch::between(&json!({"a": 1}), &json!({"a": 2}));
        assert_eq!(patch.apply(&mut json!({"a": 3})), Err(PatchError));
    }
}
