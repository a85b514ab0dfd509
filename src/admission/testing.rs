//! What tests of many kinds need: an object in, the fields at fault out.

use serde_json::Value;

use super::{Operation, Request, Seed, review};
use crate::config::ClusterConfig;

fn ask<T>(
    kind: &str,
    operation: Operation,
    objects: (&Value, Option<&Value>),
    config: &Value,
    cluster: &Value,
    answer: impl FnOnce(&Request) -> T,
) -> T {
    let config = ClusterConfig::new(&serde_json::from_value(config.clone()).unwrap());
    answer(&Request {
        kind,
        operation,
        config: &config,
        object: objects.0,
        old: objects.1,
        user: "somebody",
        user_node: None,
        namespace: "kubevirt",
        cluster: cluster.as_array().unwrap(),
        seed: Seed(7),
        now: jiff::Timestamp::UNIX_EPOCH,
    })
}

fn fields(request: &Request) -> Vec<String> {
    let verdict = review(request);
    assert!(verdict.causes.iter().all(|cause| !cause.message.is_empty()), "every cause has a message: {:?}", verdict.causes);
    assert_eq!(verdict.allowed, verdict.causes.is_empty());
    verdict.causes.into_iter().map(|cause| cause.field).collect()
}

/// Asks to create the object in an empty cluster.
pub(super) fn request<T>(kind: &str, object: &Value, answer: impl FnOnce(&Request) -> T) -> T {
    ask(kind, Operation::Create, (object, None), &serde_json::json!({}), &serde_json::json!([]), answer)
}

/// Asks to put the object in the place of another.
pub(super) fn update<T>(kind: &str, object: &Value, old: &Value, answer: impl FnOnce(&Request) -> T) -> T {
    ask(kind, Operation::Update, (object, Some(old)), &serde_json::json!({}), &serde_json::json!([]), answer)
}

/// The fields for which the object may not be created.
pub(super) fn denied(kind: &str, object: &Value, config: &Value, cluster: &Value) -> Vec<String> {
    ask(kind, Operation::Create, (object, None), config, cluster, fields)
}

/// The fields for which the object may not take the place of the other.
pub(super) fn denied_update(kind: &str, object: &Value, old: &Value) -> Vec<String> {
    update(kind, object, old, fields)
}

/// The fields for which the object may not be deleted.
pub(super) fn denied_delete(kind: &str, object: &Value, cluster: &Value) -> Vec<String> {
    ask(kind, Operation::Delete, (object, Some(object)), &serde_json::json!({}), cluster, fields)
}

/// The object as it is created in a cluster with others.
pub(super) fn defaulted(kind: &str, object: &Value, cluster: &Value) -> Value {
    ask(kind, Operation::Create, (object, None), &serde_json::json!({}), cluster, |request| review(request).object)
}
