//! Objects that exist in the cluster and that a judgement needs, by their types.

use k8s_openapi::Resource;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::Request;

fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// All objects of a type in a namespace, or in all of them where none is given. What cannot be read is passed over:
/// it has been judged when it came in.
pub(crate) fn all<'a, T: Resource + DeserializeOwned>(request: &Request<'a>, namespace: Option<&'a str>) -> impl Iterator<Item = T> {
    request
        .cluster
        .iter()
        .filter(|object| {
            text(object, "/kind") == T::KIND && text(object, "/apiVersion").split('/').next() == T::API_VERSION.split('/').next()
        })
        .filter(move |object| namespace.is_none_or(|namespace| text(object, "/metadata/namespace") == namespace))
        .filter_map(|object| T::deserialize(object).ok())
}

/// The object of a type with that name in a namespace.
pub(crate) fn one<T: Resource + DeserializeOwned>(request: &Request, namespace: &str, name: &str) -> Option<T> {
    let matches = |object: &&Value| {
        text(object, "/kind") == T::KIND
            && text(object, "/apiVersion").split('/').next() == T::API_VERSION.split('/').next()
            && text(object, "/metadata/namespace") == namespace
            && text(object, "/metadata/name") == name
    };
    request.cluster.iter().find(matches).and_then(|object| T::deserialize(object).ok())
}

/// The namespace of an object.
pub(crate) fn namespace(metadata: &k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta) -> &str {
    metadata.namespace.as_deref().unwrap_or_default()
}
