//! What an installation changes about what is installed: patches of single objects, and flags of the components.
//!
//! A patch that cannot be read or applied is a fault of the settings, found by [`check`] before anything is written.

use json_patch::{AddOperation, Patch, PatchOperation};
use serde_json::{Value, json};

use super::{Object, SettingsError};
use crate::api::v1::{CustomizeComponents, CustomizeComponentsPatch, Flags, PatchType};

/// What can be patched.
const KINDS: [&str; 6] =
    ["Deployment", "DaemonSet", "Service", "ValidatingWebhookConfiguration", "MutatingWebhookConfiguration", "APIService"];
/// By what the elements of a list are told apart in a strategic patch; other lists are replaced.
const KEYS: [(&str, &str); 9] = [
    ("containers", "name"),
    ("initContainers", "name"),
    ("volumes", "name"),
    ("env", "name"),
    ("volumeMounts", "mountPath"),
    ("volumeDevices", "devicePath"),
    ("imagePullSecrets", "name"),
    ("webhooks", "name"),
    ("hostAliases", "ip"),
];

/// Whether every patch can be read, and says what it changes.
pub(super) fn check(settings: &CustomizeComponents) -> Result<(), SettingsError> {
    for (index, patch) in settings.patches.iter().enumerate() {
        let fault = |why: String| SettingsError::Patch { index, why };
        if !KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(&patch.resource_type)) {
            return Err(fault(format!("{:?} cannot be patched; resourceType is one of {}", patch.resource_type, KINDS.join(", "))));
        }
        read(patch).map_err(fault)?;
    }
    Ok(())
}

enum Change {
    Json(Patch),
    Merge(Value),
    Strategic(Value),
}

fn read(patch: &CustomizeComponentsPatch) -> Result<Change, String> {
    let unreadable = |error: serde_json::Error| format!("the patch cannot be read: {error}");
    match &patch.type_ {
        PatchType::Json => serde_json::from_str(&patch.patch).map(Change::Json).map_err(unreadable),
        PatchType::Merge => serde_json::from_str(&patch.patch).map(Change::Merge).map_err(unreadable),
        PatchType::Strategic => serde_json::from_str(&patch.patch).map(Change::Strategic).map_err(unreadable),
        other => Err(format!("{:?} is no type of a patch; take json, merge or strategic", other.as_str())),
    }
}

/// Changes the object as the installation wants. A patch that does not fit it leaves it as it is.
pub(super) fn customize(object: &mut Object, settings: &CustomizeComponents) {
    if let Some(flags) = &settings.flags {
        add_flags(object, flags);
    }
    for patch in &settings.patches {
        let is_meant = object.kind().eq_ignore_ascii_case(&patch.resource_type) && matches!(patch.resource_name.as_str(), "*" | "")
            || object.kind().eq_ignore_ascii_case(&patch.resource_type) && object.name() == patch.resource_name;
        if !is_meant {
            continue;
        }
        match read(patch) {
            Ok(Change::Json(mut patch)) => {
                with_parents(&mut patch, object.value());
                // all or nothing
                let _ = json_patch::patch(object.value_mut(), &patch);
            }
            Ok(Change::Merge(patch)) => json_patch::merge(object.value_mut(), &patch),
            Ok(Change::Strategic(patch)) => merge("", object.value_mut(), &patch),
            Err(_) => {}
        }
    }
}

/// Lists that an object has none of can be added to nevertheless, as they can be in one that the API server has read.
fn with_parents(patch: &mut Patch, object: &Value) {
    let mut missing = Vec::new();
    for operation in &patch.0 {
        if let PatchOperation::Add(add) = operation
            && let Some((parent, key)) = add.path.split_back()
            && key.encoded() == "-"
            && parent.resolve(object).is_err()
            && !missing.contains(&parent.to_buf())
        {
            missing.push(parent.to_buf());
        }
    }
    let first = missing.into_iter().map(|path| PatchOperation::Add(AddOperation { path, value: json!([]) }));
    let all = first.chain(patch.0.drain(..)).collect();
    patch.0 = all;
}

fn add_flags(object: &mut Object, flags: &Flags) {
    let flags = match object.name() {
        "virt-api" => &flags.api,
        "virt-controller" => &flags.controller,
        "virt-handler" => &flags.handler,
        _ => return,
    };
    if let Some(Value::Array(command)) = object.value_mut().pointer_mut("/spec/template/spec/containers/0/command") {
        for (name, value) in flags {
            command.push(json!(format!("--{}", name.trim_start_matches('-'))));
            // a flag without a value is a switch
            command.extend((!value.is_empty()).then(|| json!(value)));
        }
    }
}

/// Merges by the rules of a strategic patch: lists of things with names are merged by these, others are replaced.
fn merge(name: &str, to: &mut Value, from: &Value) {
    match (to, from) {
        (to, Value::Object(from)) => {
            if !to.is_object() {
                *to = json!({});
            }
            let Some(to) = to.as_object_mut() else { return };
            for (key, value) in from.iter().filter(|(key, _)| !key.starts_with('$')) {
                if value.is_null() {
                    to.remove(key);
                } else {
                    merge(key, to.entry(key).or_insert(Value::Null), value);
                }
            }
        }
        (Value::Array(to), Value::Array(from)) => match KEYS.iter().find(|(list, _)| *list == name) {
            None => to.clone_from(from),
            Some((_, key)) => from.iter().for_each(|item| merge_item(key, to, item)),
        },
        (to, from) => *to = from.clone(),
    }
}

fn merge_item(key: &str, to: &mut Vec<Value>, item: &Value) {
    let same = |other: &Value| other.get(key).is_some() && other.get(key) == item.get(key);
    if item.get("$patch").and_then(Value::as_str) == Some("delete") {
        to.retain(|other| !same(other));
    } else if let Some(at) = to.iter().position(same)
        && let Some(other) = to.get_mut(at)
    {
        merge("", other, item);
    } else {
        to.push(item.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn customized(settings: Value) -> Value {
        let settings: CustomizeComponents = serde_json::from_value(settings).unwrap();
        check(&settings).unwrap();
        let mut object = Object::new(json!({
            "kind": "Deployment",
            "metadata": {"name": "virt-api"},
            "spec": {"replicas": 2, "template": {"spec": {"containers": [{"name": "virt-api", "image": "i", "command": ["p", "api"], "env": [{"name": "A", "value": "1"}]}]}}},
        }));
        customize(&mut object, &settings);
        object.into_value()
    }

    fn patch(kind: &str, type_: &str, patch: &Value) -> Value {
        json!({"patches": [{"resourceName": "virt-api", "resourceType": kind, "type": type_, "patch": patch.to_string()}]})
    }

    #[test]
    fn each_type_of_patch_changes_what_it_names() {
        let strategic = json!({"spec": {"template": {"spec": {"containers": [{"name": "virt-api", "env": [{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]}, {"name": "other"}]}}}});
        let object = customized(patch("deployment", "strategic", &strategic));
        let containers = &object["spec"]["template"]["spec"]["containers"];
        assert_eq!(containers[0]["image"], "i");
        assert_eq!(containers[0]["env"], json!([{"name": "A", "value": "2"}, {"name": "B", "value": "3"}]));
        assert_eq!(containers[1], json!({"name": "other"}));
        assert_eq!(customized(patch("Deployment", "merge", &json!({"spec": {"replicas": 5}})))["spec"]["replicas"], 5);
        let json_patch = json!([{"op": "add", "path": "/spec/template/spec/tolerations/-", "value": {"key": "x"}}]);
        assert_eq!(customized(patch("Deployment", "json", &json_patch))["spec"]["template"]["spec"]["tolerations"], json!([{"key": "x"}]));
        assert_eq!(customized(patch("Service", "merge", &json!({"spec": {"replicas": 5}})))["spec"]["replicas"], 2);
    }

    #[test]
    fn flags_follow_the_role() {
        let object = customized(json!({"flags": {"api": {"v": "5", "quiet": ""}, "handler": {"x": "1"}}}));
        assert_eq!(object["spec"]["template"]["spec"]["containers"][0]["command"], json!(["p", "api", "--quiet", "--v", "5"]));
    }

    #[test]
    fn what_cannot_be_applied_is_told() {
        for settings in [
            patch("Secret", "merge", &json!({})),
            json!({"patches": [{"resourceName": "virt-api", "resourceType": "Deployment", "type": "json", "patch": "{}"}]}),
            json!({"patches": [{"resourceName": "virt-api", "resourceType": "Deployment", "type": "twist", "patch": "{}"}]}),
        ] {
            let settings: CustomizeComponents = serde_json::from_value(settings).unwrap();
            assert!(matches!(check(&settings), Err(SettingsError::Patch { index: 0, .. })), "{settings:?}");
        }
    }
}
