//! Keeps a store as the API server has it: lists, watches from there, and lists again when the watch was cut too long ago.

use std::collections::BTreeSet;
use std::time::Duration;

use futures_util::{TryStreamExt as _, pin_mut};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ListMeta;
use kube::api::{ListParams, WatchParams};
use kube::core::{Request, WatchEvent};
use serde::{Deserialize, Deserializer};
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

    fn request<K: Object>(&self) -> Request {
        Request::new(K::url_path(&(), self.namespace.as_deref()))
    }
}

/// An object, or why it cannot be read: one that nobody understands must not keep us from all others.
#[derive(Clone)]
struct Lenient<K>(Result<K, String>);

impl<'de, K: Object> Deserialize<'de> for Lenient<K> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut value = Value::deserialize(deserializer)?;
        if let Value::Object(map) = &mut value {
            // The items of a list don't say what they are.
            map.entry("apiVersion").or_insert_with(|| K::api_version(&()).into_owned().into());
            map.entry("kind").or_insert_with(|| K::kind(&()).into_owned().into());
        }
        if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
        let name = |field: &str| value.pointer(field).and_then(Value::as_str).unwrap_or_default().to_owned();
        let key = Key::new(&name("/metadata/namespace"), &name("/metadata/name"));
        Ok(Self(K::deserialize(&value).map_err(|error| format!("{key}: {error}"))))
    }
}

impl<K: Object> Lenient<K> {
    fn known(self) -> Option<K> {
        self.0.inspect_err(|error| tracing::warn!("cannot read the {} {error}", K::kind(&()))).ok()
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
        serde_json::from_str(text).or_else(|_| {
            let page: Page<Lenient<K>> = serde_json::from_str(text).map_err(kube::Error::SerdeError)?;
            Ok(Self { metadata: page.metadata, items: page.items.into_iter().filter_map(Lenient::known).collect() })
        })
    }
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
    let events = cluster.client.request_events::<Lenient<K>>(request).await?;
    *pause = PAUSES.0;
    pin_mut!(events);
    loop {
        let next = timeout(SILENCE, events.try_next()).await.map_err(|_| Error::Late(SILENCE))?;
        let (object, gone) = match next? {
            None => return Ok(()),
            Some(WatchEvent::Added(object) | WatchEvent::Modified(object)) => (object, false),
            Some(WatchEvent::Deleted(object)) => (object, true),
            Some(WatchEvent::Bookmark(mark)) => {
                store.advance(mark.metadata.resource_version.parse().unwrap_or(0));
                *from = Some(mark.metadata.resource_version);
                continue;
            }
            Some(WatchEvent::Error(status)) => return Err(Error::from(&*status)),
        };
        let Some(object) = object.known() else { continue };
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
    let mut listed = BTreeSet::new();
    let version = loop {
        let request = selection.request::<K>().list(&params).map_err(kube::Error::BuildRequest)?;
        let page = Page::<K>::read(&cluster.client.request_text(request).await?)?;
        for object in page.items {
            listed.insert(Key::of(object.meta()));
            if let Some(object) = store.put(object) {
                told(Change { object: &object, gone: false });
            }
        }
        match page.metadata.continue_.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => break page.metadata.resource_version.unwrap_or_default(),
        }
    };
    store.keep_only(&listed).iter().for_each(|object| told(Change { object, gone: true }));
    store.advance(version.parse().unwrap_or(0));
    store.set_ready();
    Ok(version)
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

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
}
