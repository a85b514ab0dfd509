//! The files of a downwardAPI volume where there is no pod: what Kubernetes would say of a pod is said of the machine.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;

use super::{Files, StorageError};
use crate::api::v1::DownwardApiVolumeSource;

/// The files; `field` is that of the source.
///
/// # Errors
/// A file shows what only a pod has, or nothing.
pub fn downward_api(meta: &ObjectMeta, source: &DownwardApiVolumeSource, field: &str) -> Result<Files, StorageError> {
    let mut files = Files::new();
    for (i, file) in source.fields.iter().enumerate() {
        let at = |name: &str| format!("{field}.fields[{i}]{name}");
        if file.resource_field_ref.is_some() {
            let message = "only a pod has requests and limits; show a field of the machine by fieldRef, or leave the file out";
            return Err(StorageError::field(&at(".resourceFieldRef"), message));
        }
        let Some(reference) = &file.field_ref else {
            return Err(StorageError::field(&at(""), "nothing says what the file shows; add a fieldRef"));
        };
        let content = value(meta, &reference.field_path).ok_or_else(|| {
            let known = "metadata.name, .namespace, .uid, .labels, .annotations, .labels['KEY'] and .annotations['KEY']";
            StorageError::field(&at(".fieldRef.fieldPath"), &format!("{:?} is not known; a file can show {known}", reference.field_path))
        })?;
        files.insert(file.path.clone(), content.into_bytes());
    }
    Ok(files)
}

/// What a path leads to; what the machine does not have is empty.
fn value(meta: &ObjectMeta, path: &str) -> Option<String> {
    let text = |value: &Option<String>| Some(value.clone().unwrap_or_default());
    match path {
        "metadata.name" => return text(&meta.name),
        "metadata.namespace" => return text(&meta.namespace),
        "metadata.uid" => return text(&meta.uid),
        _ => {}
    }
    let (map, key) = [("metadata.labels", &meta.labels), ("metadata.annotations", &meta.annotations)]
        .into_iter()
        .find_map(|(name, map)| Some((map, path.strip_prefix(name)?)))?;
    if key.is_empty() {
        return Some(map.as_ref().map(lines).unwrap_or_default());
    }
    let key = key.strip_prefix("['")?.strip_suffix("']")?;
    Some(map.as_ref().and_then(|map| map.get(key)).cloned().unwrap_or_default())
}

/// `KEY="VALUE"`, one on a line, as the kubelet writes them.
fn lines(map: &BTreeMap<String, String>) -> String {
    map.iter().map(|(key, value)| format!("{key}={}", quoted(value))).collect::<Vec<_>>().join("\n")
}

fn quoted(value: &str) -> String {
    let mut text = String::from('"');
    for c in value.chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            '\n' => text.push_str("\\n"),
            '\r' => text.push_str("\\r"),
            '\t' => text.push_str("\\t"),
            // writing to a text cannot fail
            c if c.is_ascii_control() => drop(write!(text, "\\x{:02x}", u32::from(c))),
            c if c.is_control() => drop(write!(text, "\\u{:04x}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn files(fields: Value) -> Result<Files, StorageError> {
        let meta = serde_json::from_value(json!({
            "name": "a", "namespace": "n", "uid": "u",
            "labels": {"tier": "web", "app": "x\"y\\z"}, "annotations": {"note": "one\ntwo\u{7}ü"},
        }));
        let source = serde_json::from_value(json!({"fields": fields}));
        downward_api(&meta.unwrap(), &source.unwrap(), "spec.volumes[2].downwardAPI")
    }

    fn shown(path: &str) -> Result<String, StorageError> {
        let files = files(json!([{"path": "f", "fieldRef": {"fieldPath": path}}]))?;
        Ok(String::from_utf8(files["f"].clone()).unwrap())
    }

    #[test]
    fn a_file_shows_what_the_machine_is_called_and_marked_with() {
        for (path, expected) in [
            ("metadata.name", "a"),
            ("metadata.namespace", "n"),
            ("metadata.uid", "u"),
            ("metadata.labels", "app=\"x\\\"y\\\\z\"\ntier=\"web\""),
            ("metadata.annotations", "note=\"one\\ntwo\\x07ü\""),
            ("metadata.labels['tier']", "web"),
            ("metadata.labels['none']", ""),
            ("metadata.annotations['note']", "one\ntwo\u{7}ü"),
        ] {
            assert_eq!(shown(path).unwrap(), expected, "{path}");
        }
        let empty = downward_api(&ObjectMeta::default(), &DownwardApiVolumeSource::default(), "f");
        assert_eq!(empty, Ok(Files::new()));
    }

    #[test]
    fn what_only_a_pod_has_is_named() {
        for path in ["spec.nodeName", "status.podIP", "metadata.labels[x]", "metadata.labels['x", "metadata", ""] {
            assert_eq!(shown(path).unwrap_err().field, "spec.volumes[2].downwardAPI.fields[0].fieldRef.fieldPath", "{path}");
        }
        let limit = json!([{"path": "a", "fieldRef": {"fieldPath": "metadata.name"}}, {"path": "b", "resourceFieldRef": {"resource": "limits.cpu"}}]);
        assert_eq!(files(limit).unwrap_err().field, "spec.volumes[2].downwardAPI.fields[1].resourceFieldRef");
        assert_eq!(files(json!([{"path": "a"}])).unwrap_err().field, "spec.volumes[2].downwardAPI.fields[0]");
    }
}
