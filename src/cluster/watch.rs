//! Keeps a store as the API server has it: lists, watches from there, and lists again when the watch was cut too long ago.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::future::join;
use futures_util::{AsyncBufReadExt as _, TryStreamExt as _};
use http_body_util::BodyExt as _;
use hyper::Request;
use hyper::header::{ACCEPT, CONTENT_TYPE, HeaderValue};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchParams};
use kube::client::Body;
use kube::core::{Request as Requests, Status};
use serde::Deserialize;
use serde_json::Value;
use tokio::time::{sleep, timeout};

use super::store::{Change, Object, Store};
use super::{Cluster, Error, Key};

/// So many objects are asked for at a time: a list of ten thousand pods must not be in memory at once.
const PAGE: u32 = 200;
/// The API server ends a watch after so many seconds.
const WATCH_SECONDS: u32 = 290;
/// A watch that says nothing for longer hangs on a connection that is dead.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);
/// How long to wait after the first failure, and at most.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(5));
/// How often to look whether a kind that the cluster does not know has come.
const ABSENT: Duration = Duration::from_secs(30);

/// Which objects of a kind a store holds.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    /// Only those of this namespace.
    pub(crate) namespace: Option<String>,
    /// Only those with these labels.
    pub(crate) labels: Option<String>,
    /// Only those with these fields.
    pub(crate) fields: Option<String>,
    /// The cluster may not know the kind at all; then there are none.
    pub(crate) optional: bool,
}

impl Selection {
    /// Those of a namespace.
    pub(crate) fn namespace(namespace: impl Into<String>) -> Self {
        Self { namespace: Some(namespace.into()), ..Self::default() }
    }

    /// Those with these labels.
    pub(crate) fn labels(labels: impl Into<String>) -> Self {
        Self { labels: Some(labels.into()), ..Self::default() }
    }

    /// Those that have this field, and all else as before.
    #[must_use]
    pub(crate) fn fields(self, fields: impl Into<String>) -> Self {
        Self { fields: Some(fields.into()), ..self }
    }

    /// The same of a kind that the cluster may not know.
    #[must_use]
    pub(crate) fn optional(self) -> Self {
        Self { optional: true, ..self }
    }

    fn request<K: Object>(&self) -> Requests {
        Requests::new(K::url_path(&(), self.namespace.as_deref()))
    }
}

/// What the API server says in a line of a watch.
#[derive(Deserialize)]
struct Event<T> {
    #[serde(rename = "type")]
    kind: String,
    object: T,
}

/// What a line of a watch means.
enum Line<K> {
    /// An object is so now, or is gone.
    Object { object: Box<K>, gone: bool },
    /// Nothing has changed up to a version.
    Mark(String),
    /// Nothing that can be understood.
    Nothing,
}

impl<K: Object> Line<K> {
    fn read(text: &str) -> Result<Self, Error> {
        let text = without_managers(text);
        let of = |object: K, kind: &str| match kind {
            "ADDED" | "MODIFIED" | "DELETED" => Self::Object { object: Box::new(object), gone: kind == "DELETED" },
            "BOOKMARK" => Self::Mark(object.meta().resource_version.clone().unwrap_or_default()),
            _ => Self::Nothing,
        };
        if let Ok(Event { kind, object }) = serde_json::from_str::<Event<K>>(&text)
            && kind != "ERROR"
        {
            return Ok(of(object, &kind));
        }
        let Event { kind, object } = serde_json::from_str::<Event<Value>>(&text).map_err(kube::Error::SerdeError)?;
        match kind.as_str() {
            "ERROR" => Err(Error::from(&serde_json::from_value::<Status>(object).map_err(kube::Error::SerdeError)?)),
            // It has nothing but its version, not even what every object of the kind must have.
            "BOOKMARK" => {
                let version = object.pointer("/metadata/resourceVersion").and_then(Value::as_str);
                Ok(Self::Mark(version.unwrap_or_default().to_owned()))
            }
            _ => Ok(known(&object).map_or(Self::Nothing, |object| of(object, &kind))),
        }
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "T: Deserialize<'de>"))]
struct Page<T> {
    #[serde(default)]
    metadata: ListMeta,
    #[serde(default = "Vec::new")]
    items: Vec<T>,
}

impl<K: Object> Page<K> {
    /// Reads a page without what in it cannot be read. Mostly that is nothing, and then the objects need not become trees
    /// first, which takes longer than all the rest.
    fn read(text: &str) -> Result<Self, kube::Error> {
        let text = without_managers(text);
        serde_json::from_str(&text).or_else(|_| {
            let page: Page<Value> = serde_json::from_str(&text).map_err(kube::Error::SerdeError)?;
            Ok(Self { metadata: page.metadata, items: page.items.iter().filter_map(known).collect() })
        })
    }
}

/// Asks for a page; in the binary form, if the store takes that and the API server has it.
async fn page<K: Object>(store: &Store<K>, cluster: &Cluster, request: Request<Vec<u8>>) -> Result<Page<K>, Error> {
    const BINARY: &str = "application/vnd.kubernetes.protobuf";
    const ACCEPTED: HeaderValue = HeaderValue::from_static("application/vnd.kubernetes.protobuf, application/json");
    if let Some(read) = store.binary() {
        let (mut head, body) = request.clone().into_parts();
        head.headers.insert(ACCEPT, ACCEPTED);
        let response = cluster.client.send(Request::from_parts(head, Body::from(body))).await?;
        let kind = response.headers().get(CONTENT_TYPE);
        if response.status().is_success() && kind.is_some_and(|kind| kind.as_bytes().starts_with(BINARY.as_bytes())) {
            let body = response.into_body().collect().await.map_err(|error| Error::Unanswered(error.to_string()))?;
            let (metadata, items) = read(&body.to_bytes()).map_err(|error| Error::Unanswered(error.to_string()))?;
            return Ok(Page { metadata, items });
        }
        // asked once more as text, of which the words of a refusal are read, too
    }
    Ok(Page::read(&cluster.client.request_text(request).await?)?)
}

/// Reads an object; one that nobody understands must not keep us from all others.
fn known<K: Object>(value: &Value) -> Option<K> {
    let name = |field: &str| value.pointer(field).and_then(Value::as_str).unwrap_or_default();
    let key = Key::new(name("/metadata/namespace"), name("/metadata/name"));
    serde_json::from_str(&value.to_string()).inspect_err(|error| tracing::warn!("cannot read the {} {key}: {error}", K::kind(&()))).ok()
}

/// A text of JSON, written without spaces, without the lists of who manages which field. That is half of what an API server
/// tells, nobody here reads it, and to read a text takes much longer than to copy it.
fn without_managers(text: &str) -> String {
    const KEY: &str = "\"managedFields\":";
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(KEY) {
        let (before, list) = rest.split_at(at + KEY.len());
        out.push_str(before);
        // A text within a text has a backslash before its quotation marks, so what is found is a key and not a part of one.
        match end_of_list(list) {
            Some(end) => {
                out.push_str("null");
                rest = &list[end..];
            }
            None => rest = list,
        }
    }
    out.push_str(rest);
    out
}

/// Where the list ends with which the text begins, if it does.
fn end_of_list(text: &str) -> Option<usize> {
    if !text.starts_with('[') {
        return None;
    }
    let (mut depth, mut quoted, mut escaped) = (0_usize, false, false);
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if quoted => escaped = true,
            b'"' => quoted = !quoted,
            _ if quoted => {}
            b'[' | b'{' => depth += 1,
            b']' | b'}' => {
                depth -= 1;
                if depth == 0 {
                    return Some(at + 1);
                }
            }
            _ => {}
        }
    }
    None
}

/// Keeps the store as the API server has it, as long as it is polled.
pub(super) async fn follow<K: Object>(
    store: &Store<K>,
    cluster: &Cluster,
    selection: &Selection,
    told: &(dyn Fn(Change<'_, K>) + Send + Sync),
) {
    let mut from = None;
    let mut pause = PAUSES.0;
    loop {
        let failed = run(store, cluster, selection, told, &mut from, &mut pause).await;
        match failed {
            // The API server ends a watch from time to time.
            Ok(()) => continue,
            Err(Error::NotFound(_)) if selection.optional => {
                store.keep_only(&BTreeSet::new()).iter().for_each(|object| told(Change { object, gone: true }));
                from = None;
                store.set_ready();
                sleep(ABSENT).await;
                continue;
            }
            Err(Error::Gone(_)) => {
                tracing::debug!("list the {} again: the watch lies too far back", K::plural(&()));
                from = None;
            }
            Err(error) => tracing::warn!("watch the {}: {error}; trying again in {pause:?}", K::plural(&())),
        }
        sleep(pause).await;
        pause = (pause * 2).min(PAUSES.1);
    }
}

/// Lists if there is nothing to watch from, and watches until the watch ends.
async fn run<K: Object>(
    store: &Store<K>,
    cluster: &Cluster,
    selection: &Selection,
    told: &(dyn Fn(Change<'_, K>) + Send + Sync),
    from: &mut Option<String>,
    pause: &mut Duration,
) -> Result<(), Error> {
    let begin = match from.clone() {
        Some(version) => version,
        None => list(store, cluster, selection, told).await?,
    };
    *from = Some(begin.clone());
    let params = WatchParams {
        label_selector: selection.labels.clone(),
        field_selector: selection.fields.clone(),
        timeout: Some(WATCH_SECONDS),
        bookmarks: true,
        ..WatchParams::default()
    };
    let request = selection.request::<K>().watch(&params, &begin).map_err(kube::Error::BuildRequest)?;
    let mut lines = cluster.client.request_stream(request).await?.lines();
    *pause = PAUSES.0;
    loop {
        let next = timeout(SILENCE, lines.try_next()).await.map_err(|_| Error::Late(SILENCE))?;
        let Some(line) = next.map_err(kube::Error::ReadEvents)? else { return Ok(()) };
        let (object, gone) = match Line::<K>::read(&line)? {
            Line::Object { object, gone } => (*object, gone),
            Line::Mark(version) => {
                store.advance(version.parse().unwrap_or(0));
                *from = Some(version);
                continue;
            }
            Line::Nothing => continue,
        };
        if let Some(version) = object.meta().resource_version.clone() {
            *from = Some(version);
        }
        let news = if gone { store.take(object) } else { store.put(object) };
        if let Some(object) = news {
            told(Change { object: &object, gone });
        }
    }
}

/// Lists everything, page by page, and says from where to watch.
async fn list<K: Object>(
    store: &Store<K>,
    cluster: &Cluster,
    selection: &Selection,
    told: &(dyn Fn(Change<'_, K>) + Send + Sync),
) -> Result<String, Error> {
    let mut params = ListParams {
        label_selector: selection.labels.clone(),
        field_selector: selection.fields.clone(),
        limit: Some(PAGE),
        ..ListParams::default()
    };
    let ask = |params: &ListParams| {
        let request = selection.request::<K>().list(params).map_err(kube::Error::BuildRequest);
        async { page(store, cluster, request?).await }
    };
    let mut listed = BTreeSet::new();
    let mut answer = ask(&params).await?;
    let version = loop {
        let Page { metadata, items } = answer;
        let keep = async {
            for object in items {
                listed.insert(Key::of(object.meta()));
                if let Some(object) = store.put(object) {
                    told(Change { object: &object, gone: false });
                }
            }
        };
        let Some(token) = metadata.continue_.filter(|token| !token.is_empty()) else {
            keep.await;
            break metadata.resource_version.unwrap_or_default();
        };
        params.continue_token = Some(token);
        // The API server makes the next page while we keep this one: of the two, the first is polled first.
        let (next, ()) = join(ask(&params), keep).await;
        answer = next?;
    };
    store.keep_only(&listed).iter().for_each(|object| told(Change { object, gone: true }));
    store.advance(version.parse().unwrap_or(0));
    store.set_ready();
    Ok(version)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;
    use serde_json::json;

    use super::*;

    #[test]
    fn what_cannot_be_read_does_not_keep_us_from_the_rest_of_a_page() {
        let page = |second: &str| format!(r#"{{"metadata": {{"continue": "c"}}, "items": [{{"metadata": {{"name": "a"}}}}, {second}]}}"#);
        for (second, names) in [
            (r#"{"metadata": {"name": "b"}, "spec": {"containers": []}}"#, vec!["a", "b"]),
            (r#"{"metadata": {"name": "b"}, "spec": {"containers": 3}}"#, vec!["a"]),
        ] {
            let page = Page::<Pod>::read(&page(second)).unwrap();
            assert_eq!(page.items.iter().filter_map(|p| p.metadata.name.as_deref()).collect::<Vec<_>>(), names);
            assert_eq!(page.metadata.continue_.as_deref(), Some("c"));
        }
        assert!(Page::<Pod>::read("no list").is_err());
    }

    #[test]
    fn managers_are_left_out_and_nothing_else() {
        let managers = json!([{"manager": "a\"]\\", "fieldsV1": {"f:spec": {"f:x": {}, ".": [1, [2]]}}}, {}]);
        let said = "{\"managedFields\":[1],\"managedFields\":";
        let page = |managers: &Value| {
            let object = |name: &str| json!({"metadata": {"name": name, "managedFields": managers, "annotations": {"a": said, "managedFields": "no"}}});
            json!({"metadata": {}, "items": [object("a"), object(said), {"spec": {"managedFields": {}}}]})
        };
        let read: Value = serde_json::from_str(&without_managers(&page(&managers).to_string())).unwrap();
        assert_eq!(read, page(&Value::Null));
        for whole in ["", "{}", r#"{"managedFields":[{"#, r#"{"managedFields":"#, r#"{"managedFields":{}}"#] {
            assert_eq!(without_managers(whole), whole);
        }
    }
}
