//! A document into its type, naming the field that does not fit.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Cause;

/// The object that the document describes, or the field that does not fit its type.
pub(super) fn object<T: DeserializeOwned>(document: &Value) -> Result<T, Cause> {
    T::deserialize(document).map_err(|error| Cause::type_invalid(culprit::<T>(document).unwrap_or_default(), sentence(&error.to_string())))
}

fn sentence(error: &str) -> String {
    format!("the value does not fit the field: {error}")
}

/// Finds the field that a decoder stumbles over: the deepest value without which the document decodes.
///
/// Decoders do not tell where they failed, so every branch is taken out in turn. It runs only for documents that
/// have already failed, and looks at each value on the way down once.
fn culprit<T: DeserializeOwned>(document: &Value) -> Option<String> {
    let mut rest = document.clone();
    let mut path = String::new();
    let mut pointer = String::new();
    loop {
        let keys: Vec<(String, String)> = match rest.pointer(&pointer)? {
            Value::Object(map) => map
                .keys()
                .map(|key| {
                    let dot = if path.is_empty() { "" } else { "." };
                    (format!("{pointer}/{}", key.replace('~', "~0").replace('/', "~1")), format!("{path}{dot}{key}"))
                })
                .collect(),
            Value::Array(list) => (0..list.len()).map(|i| (format!("{pointer}/{i}"), format!("{path}[{i}]"))).collect(),
            _ => return Some(path),
        };
        let mut deeper = None;
        for (candidate, name) in keys {
            let Some(slot) = rest.pointer_mut(&candidate) else { continue };
            let kept = slot.take();
            let decodes = T::deserialize(&rest).is_ok();
            if let Some(slot) = rest.pointer_mut(&candidate) {
                *slot = kept;
            }
            if decodes {
                deeper = Some((candidate, name));
                break;
            }
        }
        match deeper {
            Some((candidate, name)) => (pointer, path) = (candidate, name),
            None => return (!path.is_empty()).then_some(path),
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
            (json!({"spec": {"domain": {"memory": {"guest": "lots"}, "devices": {}}}}), "spec.domain.memory.guest"),
            (json!({"spec": 5}), "spec"),
            (json!("text"), ""),
        ] {
            let cause = object::<VirtualMachineInstance>(&document).unwrap_err();
            assert_eq!(cause.field, field, "{document}");
        }
    }
}
