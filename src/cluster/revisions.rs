//! ControllerRevisions in the API server's binary form.
//!
//! A machine that runs has one, so there are as many as machines. The numbers are those of
//! `k8s.io/api/apps/v1/generated.proto`.

use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use prost::DecodeError;

use super::{Key, binary};

/// Reads a list in its binary form.
///
/// # Errors
///
/// It is no such list.
pub(crate) fn read_list(bytes: &[u8]) -> Result<(ListMeta, Vec<ControllerRevision>), DecodeError> {
    let list: list::Revisions = binary::read(bytes)?;
    Ok((list.metadata.unwrap_or_default().into(), list.items.into_iter().map(ControllerRevision::from).collect()))
}

impl From<list::Revision> for ControllerRevision {
    fn from(revision: list::Revision) -> Self {
        let metadata: ObjectMeta = revision.metadata.unwrap_or_default().into();
        // What it holds is JSON in this form, too: the API server takes nothing else.
        let read = |data: list::Data| {
            let read = serde_json::from_slice(&data.raw);
            read.inspect_err(|error| tracing::warn!("cannot read what the ControllerRevision {} holds: {error}", Key::of(&metadata))).ok()
        };
        let data = revision.data.and_then(read).map(RawExtension);
        Self { metadata, data, revision: revision.revision }
    }
}

/// The parts of the messages that are read.
mod list {
    use prost::Message;

    use super::binary::{ListMeta, Meta};

    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Revisions {
        #[prost(message, optional, tag = "1")]
        pub(super) metadata: Option<ListMeta>,
        #[prost(message, repeated, tag = "2")]
        pub(super) items: Vec<Revision>,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Revision {
        #[prost(message, optional, tag = "1")]
        pub(super) metadata: Option<Meta>,
        #[prost(message, optional, tag = "2")]
        pub(super) data: Option<Data>,
        #[prost(int64, tag = "3")]
        pub(super) revision: i64,
    }
    #[derive(Clone, PartialEq, Message)]
    pub(super) struct Data {
        #[prost(bytes = "vec", tag = "1")]
        pub(super) raw: Vec<u8>,
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::List;

    use super::*;

    /// Recorded from kube-apiserver 1.34: the same two revisions in both forms.
    const JSON: &str = include_str!("revisions/list.json");
    const BINARY: &[u8] = include_bytes!("revisions/list.pb");

    #[test]
    fn both_forms_of_a_list_say_the_same() {
        let mut wanted: List<ControllerRevision> = serde_json::from_str(JSON).unwrap();
        for revision in &mut wanted.items {
            revision.metadata.managed_fields = None;
            assert!(revision.data.is_some() && revision.metadata.owner_references.is_some());
        }
        let (meta, revisions) = read_list(BINARY).unwrap();
        assert_eq!(serde_json::to_string_pretty(&revisions).unwrap(), serde_json::to_string_pretty(&wanted.items).unwrap());
        assert_eq!((meta.resource_version, revisions.len()), (wanted.metadata.resource_version, 2));
        assert!(read_list(&BINARY[1..]).is_err());
    }
}
