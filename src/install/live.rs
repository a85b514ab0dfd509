//! Whether a live object is what it is to be.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Id, Object};
use crate::api::Quantity;

/// The objects that there are: those that an operator installed, whole or nothing but their metadata.
pub type Live = BTreeMap<Id, Value>;

/// Whether an object is there as it is to be. `generation` is the one that it had when it was written last; it tells of
/// changes where nothing but the metadata was read.
pub(super) fn is_current(wanted: &Object, live: Option<&Value>, generation: Option<i64>) -> bool {
    let Some(live) = live else { return false };
    if goes(live) {
        // It will be made again when it is gone.
        return true;
    }
    let is_whole =
        live.as_object().is_some_and(|fields| fields.keys().any(|key| !matches!(key.as_str(), "apiVersion" | "kind" | "metadata")));
    if is_whole {
        return covers(wanted.value(), live);
    }
    wanted.value().get("metadata").is_some_and(|metadata| is_told(metadata, Some(live), generation))
}

/// The same by nothing but metadata: the checksum tells what was written, and the generation whether it still is.
pub(super) fn is_told(wanted: &Value, live: Option<&Value>, generation: Option<i64>) -> bool {
    let Some(live) = live else { return false };
    let now = live.pointer("/metadata/generation").and_then(Value::as_i64);
    goes(live)
        || live.get("metadata").is_some_and(|metadata| covers(wanted, metadata))
            && (generation.is_none() || now.is_none() || generation == now)
}

/// Whether an object is on its way out.
pub(super) fn goes(live: &Value) -> bool {
    live.pointer("/metadata/deletionTimestamp").is_some_and(|time| !time.is_null())
}

/// Whether everything that is wanted is there, whatever else is: the API server adds defaults, and others their own.
fn covers(wanted: &Value, live: &Value) -> bool {
    match (wanted, live) {
        (Value::Object(wanted), Value::Object(live)) => {
            wanted.iter().all(|(key, value)| live.get(key).map_or_else(|| is_nothing(value), |live| covers(value, live)))
        }
        (Value::Array(wanted), Value::Array(live)) => {
            wanted.len() == live.len() && wanted.iter().zip(live).all(|(wanted, live)| covers(wanted, live))
        }
        (Value::String(wanted), Value::String(live)) => wanted == live || same_quantity(wanted, live),
        (wanted, live) => wanted == live,
    }
}

/// What the API server does not keep.
fn is_nothing(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.is_empty(),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

/// The same amount, written in two ways.
fn same_quantity(a: &str, b: &str) -> bool {
    matches!((a.parse::<Quantity>(), b.parse::<Quantity>()), (Ok(a), Ok(b)) if a == b)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::install::CHECKSUM;
    use serde_json::json;

    fn current(wanted: Value, live: Value, generation: Option<i64>) -> bool {
        is_current(&Object::new(wanted), Some(&live), generation)
    }

    #[test]
    fn what_others_add_makes_no_difference() {
        let wanted = json!({"kind": "Service", "metadata": {"name": "a", "labels": {"x": "1"}}, "spec": {"ports": [{"port": 1}], "cpu": "1000m", "empty": []}});
        let live = |labels: Value, ports: Value| json!({"kind": "Service", "metadata": {"name": "a", "uid": "u", "labels": labels}, "spec": {"ports": ports, "cpu": "1", "type": "ClusterIP"}});
        let more = json!({"x": "1", "y": "2"});
        assert!(current(wanted.clone(), live(more.clone(), json!([{"port": 1, "protocol": "TCP"}])), None));
        assert!(!current(wanted.clone(), live(json!({"y": "2"}), json!([{"port": 1}])), None));
        assert!(!current(wanted.clone(), live(more.clone(), json!([{"port": 2}])), None));
        assert!(!current(wanted.clone(), live(more, json!([{"port": 1}, {"port": 2}])), None));
        assert!(!is_current(&Object::new(wanted), None, None));
    }

    #[test]
    fn where_only_metadata_is_read_checksum_and_generation_tell() {
        let of = |checksum: &str, generation: i64| json!({"kind": "CustomResourceDefinition", "metadata": {"name": "a", "generation": generation, "annotations": {CHECKSUM: checksum}}});
        let wanted = json!({"kind": "CustomResourceDefinition", "metadata": {"name": "a", "annotations": {CHECKSUM: "1"}}, "spec": {}});
        for (checksum, generation, recorded, wanted_current) in
            [("1", 3, None, true), ("1", 3, Some(3), true), ("1", 4, Some(3), false), ("2", 3, Some(3), false)]
        {
            assert_eq!(current(wanted.clone(), of(checksum, generation), recorded), wanted_current, "{checksum} {generation}");
        }
    }
}
