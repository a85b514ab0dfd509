//! The API server's binary form of objects: what every kind has.
//!
//! The API server writes it sooner than JSON, and what is not asked for is passed over without being looked at. There is
//! none of objects that are defined by a CustomResourceDefinition. The numbers are those of
//! `k8s.io/apimachinery/pkg/apis/meta/v1/generated.proto`.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{self as kubernetes, ObjectMeta, OwnerReference};
use k8s_openapi::jiff::Timestamp;
use prost::{DecodeError, Message};

/// What the binary form begins with.
const MAGIC: &[u8] = b"k8s\0";

/// Reads what the API server answered.
///
/// # Errors
///
/// It is not that.
pub(super) fn read<T: Message + Default>(bytes: &[u8]) -> Result<T, DecodeError> {
    // without what it should begin with it is read as something that cannot be
    T::decode(&*Unknown::decode(bytes.strip_prefix(MAGIC).unwrap_or(&[0]))?.raw)
}

/// A text that is not there is empty.
pub(super) fn some(text: String) -> Option<String> {
    Some(text).filter(|text| !text.is_empty())
}

/// So is a list.
pub(super) fn all<T, U>(list: Vec<T>, of: impl Fn(T) -> U) -> Option<Vec<U>> {
    (!list.is_empty()).then(|| list.into_iter().map(of).collect())
}

/// A time that is not set is one without seconds.
pub(super) fn time(time: Time) -> Option<kubernetes::Time> {
    let set = time.seconds != 0 || time.nanos != 0;
    Timestamp::new(time.seconds, time.nanos).ok().filter(|_| set).map(kubernetes::Time)
}

fn map(map: BTreeMap<String, String>) -> Option<BTreeMap<String, String>> {
    Some(map).filter(|map| !map.is_empty())
}

impl From<Meta> for ObjectMeta {
    fn from(meta: Meta) -> Self {
        let owner = |owner: Owner| OwnerReference {
            api_version: owner.api_version,
            kind: owner.kind,
            name: owner.name,
            uid: owner.uid,
            controller: owner.controller,
            block_owner_deletion: owner.block_owner_deletion,
        };
        Self {
            name: some(meta.name),
            namespace: some(meta.namespace),
            uid: some(meta.uid),
            resource_version: some(meta.resource_version),
            creation_timestamp: meta.creation_timestamp.and_then(time),
            deletion_timestamp: meta.deletion_timestamp.and_then(time),
            labels: map(meta.labels),
            annotations: map(meta.annotations),
            owner_references: all(meta.owner_references, owner),
            finalizers: all(meta.finalizers, |text| text),
            ..Self::default()
        }
    }
}

impl From<ListMeta> for kubernetes::ListMeta {
    fn from(meta: ListMeta) -> Self {
        Self { resource_version: some(meta.resource_version), continue_: some(meta.continue_), ..Self::default() }
    }
}

#[derive(Clone, PartialEq, Message)]
struct Unknown {
    #[prost(bytes = "vec", tag = "2")]
    raw: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct ListMeta {
    #[prost(string, tag = "2")]
    pub(super) resource_version: String,
    #[prost(string, tag = "3")]
    pub(super) continue_: String,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Meta {
    #[prost(string, tag = "1")]
    pub(super) name: String,
    #[prost(string, tag = "3")]
    pub(super) namespace: String,
    #[prost(string, tag = "5")]
    pub(super) uid: String,
    #[prost(string, tag = "6")]
    pub(super) resource_version: String,
    #[prost(message, optional, tag = "8")]
    pub(super) creation_timestamp: Option<Time>,
    #[prost(message, optional, tag = "9")]
    pub(super) deletion_timestamp: Option<Time>,
    #[prost(btree_map = "string, string", tag = "11")]
    pub(super) labels: BTreeMap<String, String>,
    #[prost(btree_map = "string, string", tag = "12")]
    pub(super) annotations: BTreeMap<String, String>,
    #[prost(message, repeated, tag = "13")]
    pub(super) owner_references: Vec<Owner>,
    #[prost(string, repeated, tag = "14")]
    pub(super) finalizers: Vec<String>,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Owner {
    #[prost(string, tag = "1")]
    pub(super) kind: String,
    #[prost(string, tag = "3")]
    pub(super) name: String,
    #[prost(string, tag = "4")]
    pub(super) uid: String,
    #[prost(string, tag = "5")]
    pub(super) api_version: String,
    #[prost(bool, optional, tag = "6")]
    pub(super) controller: Option<bool>,
    #[prost(bool, optional, tag = "7")]
    pub(super) block_owner_deletion: Option<bool>,
}

#[derive(Clone, Copy, PartialEq, Eq, Message)]
pub(super) struct Time {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}
