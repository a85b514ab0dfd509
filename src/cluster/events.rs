//! Events: what happened to an object, for whoever describes it. The same said again is counted, and an object that has
//! too much to say is cut short, as client-go's recorder does.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, EventSource, ObjectReference};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta, Time};
use k8s_openapi::jiff::Timestamp;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};

use super::limiter::Bucket;
use super::{Cluster, Error, Object, Shutdown};

/// So many events may wait to be written; what comes then is dropped, for it must not hold a pass.
const WAITING: usize = 1000;
/// So many different events are remembered, so that the same said again is counted.
const REMEMBERED: usize = 4096;
/// After so long the same is a new event.
const RECENT: Duration = Duration::from_secs(600);
/// So many events of one object at once …
const BURST: f64 = 25.0;
/// … and then so many a second.
const RATE: f64 = 1.0 / 300.0;
/// At the end what still waits gets so long.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// The longest message that an event may have.
const LONGEST: usize = 1024;

/// Writes events. Copies share one task.
#[derive(Clone)]
pub(crate) struct Recorder {
    said: mpsc::Sender<Said>,
    silent: Arc<std::sync::atomic::AtomicU64>,
}

/// Something said about an object.
#[derive(Clone, Debug)]
struct Said {
    about: ObjectReference,
    kind: &'static str,
    reason: String,
    message: String,
}

/// The reference by which events name an object.
pub(crate) fn reference<K: Object>(object: &K) -> ObjectReference {
    let meta = object.meta();
    ObjectReference {
        api_version: Some(K::api_version(&()).into_owned()),
        kind: Some(K::kind(&()).into_owned()),
        namespace: meta.namespace.clone(),
        name: meta.name.clone(),
        uid: meta.uid.clone(),
        resource_version: meta.resource_version.clone(),
        ..ObjectReference::default()
    }
}

impl Recorder {
    /// Starts the task that writes the events of a role. `host` is the name of its pod or machine.
    pub(crate) fn start(cluster: &Cluster, host: &str, shutdown: &Shutdown) -> Self {
        let (said, waiting) = mpsc::channel(WAITING);
        let writer = Writer { cluster: cluster.clone(), host: host.to_owned(), memory: Memory::default() };
        tokio::spawn(writer.run(waiting, shutdown.clone()));
        Self { said, silent: Arc::default() }
    }

    /// Says something about an object.
    pub(crate) fn record(&self, about: ObjectReference, warning: bool, reason: &str, message: &str) {
        let kind = if warning { "Warning" } else { "Normal" };
        let said = Said { about, kind, reason: reason.to_owned(), message: shortened(message) };
        if self.said.try_send(said).is_err() {
            self.silent.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
}

fn shortened(message: &str) -> String {
    if message.len() <= LONGEST {
        return message.to_owned();
    }
    let mut end = LONGEST - '…'.len_utf8();
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    format!("{}…", message.get(..end).unwrap_or_default())
}

/// What was said, so that it is counted.
#[derive(Default)]
struct Memory {
    events: HashMap<Sameness, Counted>,
    objects: HashMap<String, Bucket>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Sameness {
    uid: String,
    kind: &'static str,
    reason: String,
    message: String,
}

struct Counted {
    name: String,
    count: i32,
    last: Instant,
}

/// What is to be written.
#[derive(Debug, PartialEq, Eq)]
enum Step {
    /// A new event.
    Create,
    /// One more of the event of that name.
    Count { name: String, count: i32 },
    /// Nothing: the object has said too much.
    Drop,
}

impl Memory {
    fn step(&mut self, said: &Said, now: Instant) -> (Sameness, Step) {
        let uid = said.about.uid.clone().unwrap_or_default();
        let same = Sameness { uid: uid.clone(), kind: said.kind, reason: said.reason.clone(), message: said.message.clone() };
        self.forget(now);
        if !self.objects.entry(uid).or_insert_with(|| Bucket::new(RATE, BURST, now)).try_take(now) {
            return (same, Step::Drop);
        }
        let step = match self.events.get_mut(&same) {
            Some(counted) if now.saturating_duration_since(counted.last) < RECENT => {
                counted.count = counted.count.saturating_add(1);
                counted.last = now;
                Step::Count { name: counted.name.clone(), count: counted.count }
            }
            _ => Step::Create,
        };
        (same, step)
    }

    fn made(&mut self, same: Sameness, name: String, now: Instant) {
        self.events.insert(same, Counted { name, count: 1, last: now });
    }

    fn forget(&mut self, now: Instant) {
        if self.events.len() >= REMEMBERED {
            self.events.retain(|_, counted| now.saturating_duration_since(counted.last) < RECENT);
        }
        if self.events.len() >= REMEMBERED {
            self.events.clear();
        }
        if self.objects.len() >= REMEMBERED {
            self.objects.clear();
        }
    }
}

struct Writer {
    cluster: Cluster,
    host: String,
    memory: Memory,
}

impl Writer {
    async fn run(mut self, mut waiting: mpsc::Receiver<Said>, shutdown: Shutdown) {
        while let Some(Some(said)) = shutdown.unless(waiting.recv()).await {
            self.write(said).await;
        }
        let rest = async {
            while let Ok(said) = waiting.try_recv() {
                self.write(said).await;
            }
        };
        let _ = timeout(LAST_WORDS, rest).await;
    }

    async fn write(&mut self, said: Said) {
        let (same, step) = self.memory.step(&said, Instant::now());
        let namespace = said.about.namespace.clone().filter(|n| !n.is_empty()).unwrap_or_else(|| "default".to_owned());
        let done = match step {
            Step::Drop => return,
            Step::Count { name, count } => {
                let patch = json!({"count": count, "lastTimestamp": Time(Timestamp::now())});
                match self.cluster.merge_quietly(&namespace, &name, &patch).await {
                    // The API server forgets events after an hour.
                    Err(Error::NotFound(_)) => self.create(&said, same, &namespace).await,
                    done => done,
                }
            }
            Step::Create => self.create(&said, same, &namespace).await,
        };
        if let Err(error) = done {
            tracing::warn!("write the event {} about {}: {error}", said.reason, said.about.name.as_deref().unwrap_or_default());
        }
    }

    async fn create(&mut self, said: &Said, same: Sameness, namespace: &str) -> Result<(), Error> {
        let event = self.event(said, namespace, Timestamp::now());
        let name = event.metadata.name.clone().unwrap_or_default();
        self.cluster.create_quietly(namespace, &event).await?;
        self.memory.made(same, name, Instant::now());
        Ok(())
    }

    fn event(&self, said: &Said, namespace: &str, now: Timestamp) -> Event {
        let about = said.about.name.as_deref().unwrap_or_default();
        let number = u64::try_from(now.as_nanosecond()).unwrap_or_default();
        Event {
            metadata: ObjectMeta {
                name: Some(format!("{about}.{number:x}")),
                namespace: Some(namespace.to_owned()),
                ..ObjectMeta::default()
            },
            involved_object: said.about.clone(),
            type_: Some(said.kind.to_owned()),
            reason: Some(said.reason.clone()),
            message: Some(said.message.clone()),
            source: Some(EventSource { component: Some(self.cluster.component.to_owned()), host: Some(self.host.clone()) }),
            reporting_component: Some(self.cluster.component.to_owned()),
            reporting_instance: Some(self.host.clone()),
            first_timestamp: Some(Time(now)),
            last_timestamp: Some(Time(now)),
            event_time: None::<MicroTime>,
            count: Some(1),
            ..Event::default()
        }
    }
}

impl Cluster {
    // Events are no objects whose change is worth a line.
    async fn create_quietly(&self, namespace: &str, event: &Event) -> Result<(), Error> {
        let api = kube::Api::<Event>::namespaced(self.client.clone(), namespace);
        let params = kube::api::PostParams { field_manager: Some(self.component.to_owned()), ..Default::default() };
        api.create(&params, event).await.map(|_| ()).map_err(Error::from)
    }

    async fn merge_quietly(&self, namespace: &str, name: &str, patch: &serde_json::Value) -> Result<(), Error> {
        let api = kube::Api::<Event>::namespaced(self.client.clone(), namespace);
        let params = kube::api::PatchParams { field_manager: Some(self.component.to_owned()), ..Default::default() };
        api.patch(name, &params, &kube::api::Patch::Merge(patch)).await.map(|_| ()).map_err(Error::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(uid: &str, reason: &str) -> Said {
        let about = ObjectReference { uid: Some(uid.to_owned()), ..ObjectReference::default() };
        Said { about, kind: "Normal", reason: reason.to_owned(), message: "m".to_owned() }
    }

    #[test]
    fn the_same_is_counted_for_a_while() {
        let (mut memory, now) = (Memory::default(), Instant::now());
        let (same, step) = memory.step(&said("a", "R"), now);
        assert_eq!(step, Step::Create);
        memory.made(same, "e".to_owned(), now);
        assert_eq!(memory.step(&said("a", "R"), now).1, Step::Count { name: "e".to_owned(), count: 2 });
        assert_eq!(memory.step(&said("a", "Other"), now).1, Step::Create);
        assert_eq!(memory.step(&said("b", "R"), now).1, Step::Create);
        assert_eq!(memory.step(&said("a", "R"), now + RECENT).1, Step::Create);
    }

    #[test]
    fn an_object_that_says_too_much_is_cut_short() {
        let (mut memory, now) = (Memory::default(), Instant::now());
        let steps: Vec<_> = (0..30).map(|n| memory.step(&said("a", &format!("R{n}")), now).1).collect();
        assert_eq!(steps.iter().filter(|s| **s == Step::Create).count(), 25);
        assert_eq!(memory.step(&said("a", "R"), now + Duration::from_secs(301)).1, Step::Create);
    }

    #[test]
    fn a_long_message_ends_between_two_letters() {
        let message = "ä".repeat(1000);
        let short = shortened(&message);
        assert!(short.len() <= LONGEST && short.ends_with("ä…"));
        assert_eq!(shortened("short"), "short");
    }
}
