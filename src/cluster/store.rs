//! The objects of one kind as the API server last told them.
//!
//! An object is kept packed, as its JSON text: a tenth of what it takes in memory when it is read, and a pass reads only
//! what it decides by. What a pass looks up by other things than the name (owner, label) is kept in indices.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Bound;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ListMeta, ObjectMeta};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;

use super::{Cluster, Key, Selection, Shutdown};

/// What a store can hold: every type of an object.
pub(crate) trait Object: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static {}
impl<K: kube::Resource<DynamicType = ()> + Serialize + DeserializeOwned + Clone + Send + Sync + 'static> Object for K {}

/// What objects are found by besides their names.
pub(crate) struct Index<K> {
    /// What it is called when it is asked.
    pub(crate) name: &'static str,
    /// What an object is found by.
    pub(crate) of: fn(&K) -> Vec<String>,
}

/// What became of an object.
#[derive(Debug)]
pub(crate) struct Change<'a, K> {
    /// As it is now, or as it was last.
    pub(crate) object: &'a K,
    /// Whether it is there no longer.
    pub(crate) gone: bool,
}

// Derived, they would ask the same of the kind.
impl<K> Clone for Change<'_, K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Change<'_, K> {}

/// The store of a kind.
pub(crate) struct Store<K> {
    state: RwLock<State>,
    indices: Vec<Index<K>>,
    trim: fn(&mut K),
    binary: Option<ReadList<K>>,
    seen: Arc<AtomicU64>,
    ready: watch::Sender<bool>,
}

/// How a list in the API server's binary form is read.
pub(crate) type ReadList<K> = fn(&[u8]) -> Result<(ListMeta, Vec<K>), prost::DecodeError>;

#[derive(Default)]
struct State {
    objects: BTreeMap<Key, Packed>,
    /// For each index: what is found by a text, in order. Mostly that is one, for which a set would take ten times the room.
    found: Vec<HashMap<Box<str>, Vec<Key>>>,
}

struct Packed {
    version: u64,
    uid: Box<str>,
    text: Box<str>,
    /// By what the object is found, for each index.
    by: Box<[Box<[Box<str>]>]>,
}

impl<K: Object> Default for Store<K> {
    fn default() -> Self {
        Self::new(Vec::new(), |_| {})
    }
}

impl<K: Object> Store<K> {
    /// An empty store. `trim` takes out of an object what nobody here reads; who manages which field is never kept.
    pub(crate) fn new(indices: Vec<Index<K>>, trim: fn(&mut K)) -> Self {
        let state = State { found: indices.iter().map(|_| HashMap::new()).collect(), ..State::default() };
        Self { state: RwLock::new(state), indices, trim, binary: None, seen: Arc::default(), ready: watch::Sender::new(false) }
    }

    /// Asks for lists in the binary form, which is read like this.
    #[must_use]
    pub(crate) fn listed_in_binary(self, read: ReadList<K>) -> Self {
        Self { binary: Some(read), ..self }
    }

    /// How a list in the binary form is read, if it is asked for.
    pub(super) fn binary(&self) -> Option<ReadList<K>> {
        self.binary
    }

    /// Keeps the store as the API server has it until the end is asked for, and tells of every change.
    pub(crate) fn follow(
        self: &Arc<Self>,
        cluster: &Cluster,
        selection: Selection,
        shutdown: &Shutdown,
        told: impl Fn(Change<'_, K>) + Send + Sync + 'static,
    ) {
        let (store, cluster, shutdown) = (self.clone(), cluster.clone(), shutdown.clone());
        tokio::spawn(async move {
            shutdown.unless(super::watch::follow(&store, &cluster, &selection, &told)).await;
        });
    }

    /// Waits until everything has been listed once.
    pub(crate) async fn ready(&self) {
        let mut ready = self.ready.subscribe();
        // The sender lives in `self`.
        let _ = ready.wait_for(|ready| *ready).await;
    }

    /// Whether everything has been listed once.
    pub(crate) fn is_ready(&self) -> bool {
        *self.ready.borrow()
    }

    /// How far the store has come, for [`super::Expectations`].
    pub(crate) fn seen(&self) -> Arc<AtomicU64> {
        self.seen.clone()
    }

    /// The object of that key.
    pub(crate) fn get(&self, key: &Key) -> Option<K> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.objects.get(key).and_then(unpack)
    }

    /// Whether there is an object of that key.
    pub(crate) fn contains(&self, key: &Key) -> bool {
        self.state.read().unwrap_or_else(PoisonError::into_inner).objects.contains_key(key)
    }

    /// The objects that an index finds, in the order of their names.
    pub(crate) fn by(&self, index: &str, text: &str) -> Vec<K> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let found = self.position(index).and_then(|at| state.found.get(at)?.get(text));
        found.into_iter().flatten().filter_map(|key| state.objects.get(key)).filter_map(unpack).collect()
    }

    /// The keys of the objects that an index finds, in their order.
    pub(crate) fn keys_by(&self, index: &str, text: &str) -> Vec<Key> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let found = self.position(index).and_then(|at| state.found.get(at)?.get(text));
        found.into_iter().flatten().cloned().collect()
    }

    /// The objects of a namespace, in the order of their names.
    pub(crate) fn in_namespace(&self, namespace: &str) -> Vec<K> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let first = Key::new(namespace, "");
        let objects = state.objects.range((Bound::Included(first), Bound::Unbounded));
        objects.take_while(|(key, _)| *key.namespace == *namespace).filter_map(|(_, packed)| unpack(packed)).collect()
    }

    /// All objects, in the order of their names.
    pub(crate) fn all(&self) -> Vec<K> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.objects.values().filter_map(unpack).collect()
    }

    /// All keys, in their order.
    pub(crate) fn keys(&self) -> Vec<Key> {
        self.state.read().unwrap_or_else(PoisonError::into_inner).objects.keys().cloned().collect()
    }

    /// How many objects there are.
    pub(crate) fn len(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).objects.len()
    }

    fn position(&self, index: &str) -> Option<usize> {
        let at = self.indices.iter().position(|i| i.name == index);
        debug_assert!(at.is_some(), "the store has no index {index}");
        at
    }

    /// Takes an object as it is now. Says whether that is news.
    pub(super) fn put(&self, mut object: K) -> Option<K> {
        let version = version(object.meta());
        let key = Key::of(object.meta());
        object.meta_mut().managed_fields = None;
        (self.trim)(&mut object);
        let uid: Box<str> = object.meta().uid.as_deref().unwrap_or_default().into();
        let text = pack(&object)?;
        let by: Box<[Box<[Box<str>]>]> =
            self.indices.iter().map(|index| (index.of)(&object).into_iter().map(String::into_boxed_str).collect()).collect();
        {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            // Told twice, or told late.
            if state.objects.get(&key).is_some_and(|old| version != 0 && version <= old.version) {
                return None;
            }
            state.lose(&key);
            for (found, texts) in state.found.iter_mut().zip(&by) {
                for text in texts {
                    let keys = found.entry(text.clone()).or_insert_with(|| Vec::with_capacity(1));
                    if let Err(at) = keys.binary_search(&key) {
                        keys.insert(at, key.clone());
                    }
                }
            }
            state.objects.insert(key, Packed { version, uid, text, by });
        }
        self.advance(version);
        Some(object)
    }

    /// Takes an object out that was deleted. Says whether that is news.
    pub(super) fn take(&self, mut object: K) -> Option<K> {
        let version = version(object.meta());
        let key = Key::of(object.meta());
        object.meta_mut().managed_fields = None;
        (self.trim)(&mut object);
        {
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            let uid = object.meta().uid.as_deref().unwrap_or_default();
            // Another object of that name may be there already.
            if state.objects.get(&key).is_none_or(|old| *old.uid != *uid) {
                return None;
            }
            state.lose(&key);
        }
        self.advance(version);
        Some(object)
    }

    /// Takes out what a whole list did not contain, and gives it.
    pub(super) fn keep_only(&self, listed: &BTreeSet<Key>) -> Vec<K> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let gone: Vec<Key> = state.objects.keys().filter(|key| !listed.contains(*key)).cloned().collect();
        gone.iter().filter_map(|key| unpack(&state.lose(key)?)).collect()
    }

    /// Everything up to that version has been told.
    pub(super) fn advance(&self, version: u64) {
        self.seen.fetch_max(version, Ordering::AcqRel);
    }

    /// Everything has been listed once.
    pub(super) fn set_ready(&self) {
        self.ready.send_replace(true);
    }
}

impl State {
    fn lose(&mut self, key: &Key) -> Option<Packed> {
        let lost = self.objects.remove(key)?;
        for (found, texts) in self.found.iter_mut().zip(&lost.by) {
            for text in texts {
                if let Some(keys) = found.get_mut(text) {
                    if let Ok(at) = keys.binary_search(key) {
                        keys.remove(at);
                    }
                    if keys.is_empty() {
                        found.remove(text);
                    }
                }
            }
        }
        Some(lost)
    }
}

/// The resource version as a number; 0 if it is none.
pub(super) fn version(meta: &ObjectMeta) -> u64 {
    meta.resource_version.as_deref().and_then(|v| v.parse().ok()).unwrap_or(0)
}

/// The text of an object, in as much memory as it needs. It is written where there is room already: a text that grows, and
/// is cut to its size then, takes longer to be moved than to be written.
fn pack<K: Object>(object: &K) -> Option<Box<str>> {
    thread_local!(static ROOM: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) });
    ROOM.with_borrow_mut(|room| {
        room.clear();
        serde_json::to_writer(&mut *room, object).ok()?;
        std::str::from_utf8(room).ok().map(Box::from)
    })
}

fn unpack<K: Object>(packed: &Packed) -> Option<K> {
    // It was made from a `K`, so it is one.
    serde_json::from_str(&packed.text).inspect_err(|error| tracing::error!(%error, "read a stored {}", K::kind(&()))).ok()
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Pod;

    use super::*;

    fn pod(name: &str, uid: &str, version: u64, node: &str) -> Pod {
        let text = format!(
            "{{metadata: {{namespace: n, name: {name}, uid: {uid}, resourceVersion: '{version}', managedFields: [{{manager: m}}]}}, spec: {{nodeName: {node}, containers: []}}}}"
        );
        serde_yaml::from_str(&text).unwrap()
    }

    fn on_node(pod: &Pod) -> Vec<String> {
        pod.spec.iter().filter_map(|s| s.node_name.clone()).collect()
    }

    fn store() -> Store<Pod> {
        Store::new(vec![Index { name: "node", of: on_node }], |_| {})
    }

    fn names(pods: &[Pod]) -> Vec<&str> {
        pods.iter().filter_map(|p| p.metadata.name.as_deref()).collect()
    }

    #[test]
    fn objects_are_found_by_name_and_by_index() {
        let store = store();
        assert!(store.put(pod("b", "1", 5, "x")).is_some());
        assert!(store.put(pod("a", "2", 6, "x")).is_some());
        assert_eq!(names(&store.by("node", "x")), ["a", "b"]);
        assert!(store.put(pod("a", "2", 7, "y")).is_some());
        assert_eq!((names(&store.by("node", "x")), names(&store.by("node", "y"))), (vec!["b"], vec!["a"]));
        assert_eq!(names(&store.in_namespace("n")), ["a", "b"]);
        assert_eq!(store.get(&Key::new("n", "a")).and_then(|p| p.metadata.managed_fields), None);
        assert_eq!(store.seen().load(Ordering::Relaxed), 7);
    }

    #[test]
    fn what_is_told_late_or_twice_is_no_news() {
        let store = store();
        store.put(pod("a", "1", 5, "x"));
        assert!(store.put(pod("a", "1", 5, "x")).is_none());
        assert!(store.put(pod("a", "1", 4, "y")).is_none());
        // The word of its deletion does not take away its successor.
        store.put(pod("a", "2", 9, "x"));
        assert!(store.take(pod("a", "1", 8, "x")).is_none());
        assert!(store.take(pod("a", "2", 10, "x")).is_some());
        assert_eq!((store.len(), store.by("node", "x").len()), (0, 0));
    }

    #[test]
    fn a_list_shows_what_is_gone() {
        let store = store();
        store.put(pod("a", "1", 1, "x"));
        store.put(pod("b", "2", 2, "x"));
        let gone = store.keep_only(&[Key::new("n", "b")].into());
        assert_eq!((names(&gone), names(&store.all())), (vec!["a"], vec!["b"]));
    }
}
