//! An API server in memory that errs on purpose. What it does follows from a seed: answers are lost before or after the
//! deed, come late or as errors, watches are cut, told twice, fall behind or lie too far back. Time is that of the runtime.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::{StreamExt as _, stream};
use http_body_util::{BodyExt as _, Full, StreamBody};
use hyper::body::{Bytes, Frame};
use hyper::http::{self, Method, Request, Response};
use k8s_openapi::jiff::{SignedDuration, Timestamp};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use tonic::codegen::Service;

/// The group and version, and the plural name, as in the path: `apis/kubevirt.io/v1/virtualmachines`.
type Collection = String;

/// Numbers that follow from a seed.
pub(crate) struct Chance(u64);

impl Chance {
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ (self.0 >> 33)).wrapping_mul(0xff51_afd7_ed55_8ccd);
        mixed ^ (mixed >> 33)
    }

    pub(crate) fn below(&mut self, most: u64) -> u64 {
        self.next() % most.max(1)
    }

    pub(crate) fn one_in(&mut self, many: u64) -> bool {
        self.below(many) == 0
    }
}

/// What has changed.
#[derive(Clone)]
struct Event {
    version: u64,
    kind: &'static str,
    object: Value,
}

/// All that there is.
pub(crate) struct State {
    objects: BTreeMap<Collection, BTreeMap<(String, String), Value>>,
    log: BTreeMap<Collection, Vec<Event>>,
    version: u64,
    made: u64,
    begin: Instant,
    /// Whether it errs.
    pub(crate) errs: bool,
    pub(crate) chance: Chance,
    /// What was written through the API, events aside.
    pub(crate) written: Vec<String>,
}

/// An answer that is no object.
struct Refusal(u16, &'static str, String);

fn conflict(what: &str) -> Refusal {
    Refusal(409, "Conflict", format!("the object has been modified: {what}"))
}

fn not_found(what: &str) -> Refusal {
    Refusal(404, "NotFound", format!("{what} not found"))
}

const BEGIN: &str = "2026-12-01T00:00:00Z";

impl State {
    /// The time by which objects are stamped, to the second.
    pub(crate) fn now(&self) -> Timestamp {
        now_since(self.begin)
    }

    /// How much has happened.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    /// All that has happened, in its order.
    pub(crate) fn happened(&self) -> Vec<Value> {
        let mut all: Vec<&Event> = self.log.values().flatten().collect();
        all.sort_by_key(|event| event.version);
        all.into_iter().map(|event| json!([event.kind, event.object])).collect()
    }

    /// Everything of a kind.
    pub(crate) fn all(&self, collection: &str) -> Vec<Value> {
        self.objects.get(collection).map(|all| all.values().cloned().collect()).unwrap_or_default()
    }

    /// The object of that name, as it is now: in the namespace `n`, or in none.
    pub(crate) fn get(&self, collection: &str, name: &str) -> Option<Value> {
        let all = self.objects.get(collection)?;
        ["n", ""].iter().find_map(|namespace| all.get(&((*namespace).to_owned(), name.to_owned()))).cloned()
    }

    fn key(object: &Value) -> (String, String) {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
        (text("namespace"), text("name"))
    }

    /// Keeps an object as it is now; one that is deleted and held by nothing goes.
    pub(crate) fn put(&mut self, collection: &str, mut object: Value) -> Value {
        self.version += 1;
        object["metadata"]["resourceVersion"] = json!(self.version.to_string());
        let held = object["metadata"]["finalizers"].as_array().is_some_and(|f| !f.is_empty());
        let graceful = collection == "api/v1/pods" && object["metadata"]["deletionGracePeriodSeconds"] != 0;
        let gone = !object["metadata"]["deletionTimestamp"].is_null() && !held && !graceful;
        let all = self.objects.entry(collection.to_owned()).or_default();
        let kind = match (gone, all.contains_key(&Self::key(&object))) {
            (true, _) => "DELETED",
            (false, true) => "MODIFIED",
            (false, false) => "ADDED",
        };
        if gone {
            all.remove(&Self::key(&object));
        } else {
            all.insert(Self::key(&object), object.clone());
        }
        let event = Event { version: self.version, kind, object: object.clone() };
        self.log.entry(collection.to_owned()).or_default().push(event);
        object
    }

    /// Makes an object.
    pub(crate) fn create(&mut self, collection: &str, mut object: Value) -> Result<Value, String> {
        self.made += 1;
        if object["metadata"]["name"].is_null() {
            let prefix = object["metadata"]["generateName"].as_str().unwrap_or_default().to_owned();
            object["metadata"]["name"] = json!(format!("{prefix}{:05}", self.made));
        }
        if self.objects.get(collection).is_some_and(|all| all.contains_key(&Self::key(&object))) {
            return Err(format!("{collection} {:?} already exists", Self::key(&object)));
        }
        let now = self.now().to_string();
        let meta = &mut object["metadata"];
        meta["uid"] = json!(format!("00000000-0000-4000-8000-{:012}", self.made));
        meta["creationTimestamp"] = json!(now);
        meta["generation"] = json!(1);
        if has_status(collection) {
            object.as_object_mut().map(|o| o.remove("status"));
        }
        Ok(self.put(collection, object))
    }

    /// Changes an object by what `change` makes of it.
    fn change(
        &mut self,
        collection: &str,
        key: &(String, String),
        status: bool,
        change: impl FnOnce(Value) -> Result<Value, Refusal>,
    ) -> Result<Value, Refusal> {
        let old = self.objects.get(collection).and_then(|all| all.get(key)).cloned().ok_or_else(|| not_found(&key.1))?;
        let mut new = change(old.clone())?;
        if !new["metadata"]["resourceVersion"].is_null() && new["metadata"]["resourceVersion"] != old["metadata"]["resourceVersion"] {
            return Err(conflict(&key.1));
        }
        // who is who is not for anybody to change
        for field in ["uid", "creationTimestamp", "deletionTimestamp", "generation"] {
            new["metadata"][field] = old["metadata"][field].clone();
        }
        if has_status(collection) {
            let (from, to) = (old.clone(), new.clone());
            if status {
                new = from;
                new["status"] = to["status"].clone();
            } else {
                new["status"] = from["status"].clone();
            }
        }
        if new["spec"] != old["spec"] {
            new["metadata"]["generation"] = json!(old["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
        }
        if let Some(meta) = new["metadata"].as_object_mut() {
            meta.retain(|_, value| !value.is_null());
        }
        if new == old { Ok(old) } else { Ok(self.put(collection, new)) }
    }

    /// Deletes an object, if it is still that one.
    pub(crate) fn delete(&mut self, collection: &str, name: &str, options: &Value) -> Option<Value> {
        let mut object = self.get(collection, name)?;
        if !options["preconditions"]["uid"].is_null() && options["preconditions"]["uid"] != object["metadata"]["uid"] {
            return None;
        }
        let now = self.now().to_string();
        let meta = object["metadata"].as_object_mut()?;
        if meta.contains_key("deletionTimestamp") {
            return Some(object);
        }
        meta.insert("deletionTimestamp".to_owned(), json!(now));
        if options["propagationPolicy"] == "Foreground" {
            meta.entry("finalizers").or_insert(json!([])).as_array_mut()?.push(json!("foregroundDeletion"));
        }
        if collection == "api/v1/pods" {
            meta.insert("deletionGracePeriodSeconds".to_owned(), json!(30));
        }
        Some(self.put(collection, object))
    }

    /// Kubernetes' garbage collector: what belongs to nobody any more goes, and who waits for that goes after it.
    pub(crate) fn collect_garbage(&mut self) {
        let all: Vec<(Collection, Value)> =
            self.objects.iter().flat_map(|(collection, all)| all.values().map(move |o| (collection.clone(), o.clone()))).collect();
        let owner = |object: &Value| object["metadata"]["ownerReferences"].as_array().and_then(|o| o.first().cloned());
        let waits = |object: &Value| object["metadata"]["finalizers"].as_array().is_some_and(|f| f.contains(&json!("foregroundDeletion")));
        for (collection, object) in &all {
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            if let Some(owner) = owner(object) {
                let alive = all.iter().find(|(_, o)| o["metadata"]["uid"] == owner["uid"]);
                if alive.is_none_or(|(_, owner)| waits(owner)) {
                    self.delete(collection, name, &Value::Null);
                }
            }
            if waits(object) && !all.iter().any(|(_, o)| owner(o).is_some_and(|owner| owner["uid"] == object["metadata"]["uid"])) {
                let mut object = object.clone();
                if let Some(finalizers) = object["metadata"]["finalizers"].as_array_mut() {
                    finalizers.retain(|finalizer| finalizer != "foregroundDeletion");
                }
                self.put(collection, object);
            }
        }
    }
}

/// Which kinds have a status that only the subresource changes. That of an instance is a part of it like any other.
fn has_status(collection: &str) -> bool {
    !collection.ends_with("/virtualmachineinstances") && collection != "api/v1/pods"
}

/// The time since the history began.
pub(crate) fn now_since(begin: Instant) -> Timestamp {
    let begun: Timestamp = BEGIN.parse().expect("a time");
    let seconds = i64::try_from(begin.elapsed().as_secs()).unwrap_or(0);
    begun.checked_add(SignedDuration::from_secs(seconds)).expect("a time")
}

/// What is asked for.
struct Place {
    collection: Collection,
    namespace: String,
    name: Option<String>,
    subresource: Option<String>,
}

impl Place {
    fn of(path: &str) -> Option<Self> {
        let mut parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let root: Vec<&str> = parts.drain(..if parts.first() == Some(&"api") { 2 } else { 3 }).collect();
        let namespace = match parts.as_slice() {
            ["namespaces", namespace, _, ..] => (*namespace).to_owned(),
            _ => String::new(),
        };
        if !namespace.is_empty() {
            parts.drain(..2);
        }
        let mut parts = parts.into_iter();
        let collection = format!("{}/{}", root.join("/"), parts.next()?);
        Some(Self { collection, namespace, name: parts.next().map(str::to_owned), subresource: parts.next().map(str::to_owned) })
    }
}

type Bodies = http_body_util::combinators::UnsyncBoxBody<Bytes, Infallible>;

/// The server. Copies are the same one.
#[derive(Clone)]
pub(crate) struct ApiServer {
    state: Arc<Mutex<State>>,
    /// Wakes watches in the order in which they began to wait, so that a history can be gone through again.
    changed: Arc<Notify>,
}

impl ApiServer {
    /// One that has nothing, and errs as the seed says.
    pub(crate) fn new(seed: u64) -> Self {
        let state = State {
            objects: BTreeMap::new(),
            log: BTreeMap::new(),
            version: 1,
            made: 0,
            begin: Instant::now(),
            errs: true,
            chance: Chance(seed),
            written: Vec::new(),
        };
        Self { state: Arc::new(Mutex::new(state)), changed: Arc::default() }
    }

    /// A client of it.
    pub(crate) fn client(&self) -> Client {
        Client::new(self.clone(), "n")
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at what there is, or changes it, as nobody's request can.
    pub(crate) fn with<T>(&self, work: impl FnOnce(&mut State) -> T) -> T {
        let mut state = self.lock();
        let before = state.version;
        let done = work(&mut state);
        let is_news = state.version != before;
        drop(state);
        if is_news {
            self.changed.notify_waiters();
        }
        done
    }

    /// A change of an object by its name, as somebody else makes it.
    pub(crate) fn edit(&self, collection: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        self.with(|state| {
            if let Some(old) = state.get(collection, name) {
                let mut new = old.clone();
                edit(&mut new);
                if new["spec"] != old["spec"] {
                    new["metadata"]["generation"] = json!(old["metadata"]["generation"].as_i64().unwrap_or(0) + 1);
                }
                if new != old {
                    state.put(collection, new);
                }
            }
        });
    }

    async fn answer(self, request: Request<Body>) -> Response<Bodies> {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map(|b| b.to_bytes()).unwrap_or_default();
        let query = parts.uri.query().unwrap_or_default().to_owned();
        let Some(place) = Place::of(parts.uri.path()) else { return refuse(&not_found(parts.uri.path())) };
        let (before, after, late) = self.with(|state| {
            let errs = state.errs;
            let mut one_in = |many| errs && state.chance.one_in(many);
            (one_in(15), one_in(15), if one_in(4) { state.chance.below(3000) } else { 10 })
        });
        // every request takes its time: who never waits for one could keep the clock from going on
        sleep(Duration::from_millis(late)).await;
        if before {
            return refuse(&Refusal(503, "ServiceUnavailable", "try again".to_owned()));
        }
        if query.contains("watch=true") {
            let from = query.split('&').find_map(|q| q.strip_prefix("resourceVersion=")).and_then(|v| v.parse().ok()).unwrap_or(0);
            return self.watch(place, from);
        }
        let content = parts.headers.get("content-type").and_then(|c| c.to_str().ok()).unwrap_or_default().to_owned();
        let done = self.with(|state| act(state, &parts.method, &place, &content, &body));
        match done {
            // it is done, but who asked never hears of it
            Ok(_) if after => refuse(&Refusal(504, "Timeout", "the answer is lost".to_owned())),
            Ok(object) => say(200, &object),
            Err(refusal) => refuse(&refusal),
        }
    }

    fn watch(self, place: Place, from: u64) -> Response<Bodies> {
        let from_afar = self.with(|state| state.errs && state.chance.one_in(12));
        if from_afar {
            return refuse(&Refusal(410, "Expired", "too old resource version".to_owned()));
        }
        let lines = stream::unfold((self, place.collection, from), |(server, collection, from)| async move {
            loop {
                // what happens from here on is noticed
                let changed = server.changed.notified();
                let next = server.with(|state| {
                    let log = state.log.get(&collection)?;
                    log.get(log.partition_point(|event| event.version <= from)).cloned()
                });
                let Some(event) = next else {
                    changed.await;
                    continue;
                };
                drop(changed);
                let (cut, gone, again, late) = server.with(|state| {
                    let errs = state.errs;
                    let mut one_in = |many| errs && state.chance.one_in(many);
                    (one_in(25), one_in(60), one_in(10), one_in(3).then(|| state.chance.below(4000)))
                });
                if let Some(late) = late {
                    sleep(Duration::from_millis(late)).await;
                }
                if cut {
                    return None;
                }
                if gone {
                    let status = status(&Refusal(410, "Expired", "too old resource version".to_owned()));
                    let line = format!("{}\n", json!({"type": "ERROR", "object": status}));
                    return Some((line, (server, "none".to_owned(), u64::MAX)));
                }
                let line = format!("{}\n", json!({"type": event.kind, "object": event.object}));
                let lines = if again { format!("{line}{line}") } else { line };
                return Some((lines, (server, collection, event.version)));
            }
        });
        let body = StreamBody::new(lines.map(|line| Ok::<_, Infallible>(Frame::data(Bytes::from(line)))));
        Response::new(body.boxed_unsync())
    }
}

fn act(state: &mut State, method: &Method, place: &Place, content: &str, body: &[u8]) -> Result<Value, Refusal> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let told = body.to_string();
    let collection = place.collection.as_str();
    let name = place.name.clone().unwrap_or_default();
    let key = (place.namespace.clone(), name.clone());
    if collection.ends_with("/events") {
        return Ok(body);
    }
    let of_status = place.subresource.as_deref() == Some("status");
    let done = match *method {
        Method::GET if name.is_empty() => {
            return Ok(
                json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": state.version.to_string()}, "items": state.all(collection)}),
            );
        }
        Method::GET => return state.objects.get(collection).and_then(|all| all.get(&key)).cloned().ok_or_else(|| not_found(&name)),
        Method::POST => {
            let mut object = body;
            if !place.namespace.is_empty() {
                object["metadata"]["namespace"] = json!(place.namespace);
            }
            state.create(collection, object).map_err(|error| Refusal(409, "AlreadyExists", error))
        }
        Method::PUT => state.change(collection, &key, of_status, |_| Ok(body)),
        Method::PATCH if content.starts_with("application/json-patch") => state.change(collection, &key, of_status, |mut object| {
            let (tests, steps): (Vec<Value>, Vec<Value>) =
                body.as_array().cloned().unwrap_or_default().into_iter().partition(|step| step["op"] == "test");
            // to an API server what is not there is null
            let fails = tests
                .iter()
                .find(|test| object.pointer(test["path"].as_str().unwrap_or_default()).unwrap_or(&Value::Null) != &test["value"]);
            if let Some(test) = fails {
                return Err(Refusal(422, "Invalid", format!("testing path {} failed", test["path"])));
            }
            let steps: json_patch::Patch = serde_json::from_value(json!(steps)).map_err(|e| Refusal(400, "BadRequest", e.to_string()))?;
            json_patch::patch(&mut object, &steps).map_err(|error| Refusal(422, "Invalid", error.to_string()))?;
            Ok(object)
        }),
        Method::PATCH => state.change(collection, &key, of_status, |mut object| {
            json_patch::merge(&mut object, &body);
            Ok(object)
        }),
        Method::DELETE => state.delete(collection, &name, &body).ok_or_else(|| not_found(&name)),
        _ => Err(Refusal(405, "MethodNotAllowed", method.to_string())),
    };
    tracing::debug!(%method, collection, name, done = done.is_ok(), body = told, "asked");
    if done.is_ok() {
        state.written.push(format!("{method} {collection} {name} {}", place.subresource.as_deref().unwrap_or_default()));
    }
    done
}

fn status(Refusal(code, reason, message): &Refusal) -> Value {
    json!({"apiVersion": "v1", "kind": "Status", "metadata": {}, "status": "Failure", "code": code, "reason": reason, "message": message})
}

fn refuse(refusal: &Refusal) -> Response<Bodies> {
    say(refusal.0, &status(refusal))
}

fn say(code: u16, body: &Value) -> Response<Bodies> {
    let body = Full::new(Bytes::from(body.to_string())).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() = http::StatusCode::from_u16(code).expect("a code");
    response
}

impl Service<Request<Body>> for ApiServer {
    type Response = Response<Bodies>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move { Ok(server.answer(request).await) })
    }
}
