//! The guests of this node, as far as they are not known to the API server.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kubevirt_rs::guest::status::Fault;
use kubevirt_rs::network::Network;
use kubevirt_rs::node::instance::{Launcher, RefusedDump, Start};
use tokio::task::AbortHandle;
use tokio::time::Instant;

use crate::cluster::Key;
use crate::linux::beneath::Held;
use crate::wire::launcher::Client;

/// One instance: another of the same name is another one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) struct Item {
    pub(super) key: Key,
    pub(super) uid: Box<str>,
}

impl Item {
    /// The instance with that metadata.
    pub(super) fn of(meta: &ObjectMeta) -> Self {
        Self { key: Key::of(meta), uid: meta.uid.as_deref().unwrap_or_default().into() }
    }
}

/// A launcher that can be asked.
#[derive(Debug)]
pub(super) struct Line {
    pub(super) client: Client,
    /// What the client's path leads by.
    _socket: Held,
}

impl Line {
    pub(super) fn new(socket: Held) -> Self {
        Self { client: Client::new(socket.path()), _socket: socket }
    }
}

/// What is known of a guest.
#[derive(Debug)]
pub(super) struct Guest {
    /// The UID of its pod.
    pub(super) pod: String,
    pub(super) launcher: Launcher,
    pub(super) line: Option<Arc<Line>>,
    pub(super) start: Start,
    /// How often the start has failed, and when it may be tried again.
    failures: u32,
    not_before: Option<Instant>,
    pub(super) networks: Vec<Network>,
    pub(super) selinux_context: Option<String>,
    pub(super) asked_to_end: bool,
    /// The volumes whose folders are shown in the pod, and those whose are about to be.
    pub(super) shown: BTreeSet<String>,
    pub(super) in_hand: BTreeSet<String>,
    /// Why a volume is not shown, as it was told.
    pub(super) trouble: Option<String>,
    /// The dump of memory that the launcher has refused to make.
    pub(super) refused: Option<RefusedDump>,
    /// The task that follows the launcher.
    link: AbortHandle,
}

/// The first pause after a failed start, and the longest.
const PAUSES: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));

impl Guest {
    /// A guest in a pod, in which the folders of such volumes are shown already.
    pub(super) fn new(pod: String, shown: BTreeSet<String>, link: AbortHandle) -> Self {
        Self {
            pod,
            launcher: Launcher::Unknown,
            line: None,
            start: Start::NotTried,
            failures: 0,
            not_before: None,
            networks: Vec::new(),
            selinux_context: None,
            asked_to_end: false,
            shown,
            in_hand: BTreeSet::new(),
            trouble: None,
            refused: None,
            link,
        }
    }

    /// Whether a start that failed may be tried again.
    pub(super) fn may_retry(&self) -> bool {
        self.not_before.is_none_or(|at| at <= Instant::now())
    }

    /// Notes that the start has failed; says when it is tried again.
    pub(super) fn failed(&mut self, fault: Fault) -> Duration {
        let pause = PAUSES.0.saturating_mul(1 << self.failures.min(10)).min(PAUSES.1);
        self.failures = self.failures.saturating_add(1);
        self.not_before = Some(Instant::now() + pause);
        self.start = Start::Failed(fault);
        pause
    }
}

impl Drop for Guest {
    fn drop(&mut self) {
        self.link.abort();
    }
}

/// All guests, by the UIDs of their instances.
#[derive(Debug, Default)]
pub(super) struct Guests(Mutex<HashMap<Box<str>, Guest>>);

impl Guests {
    /// The table, for a moment: nothing waits while it is held.
    pub(super) fn lock(&self) -> MutexGuard<'_, HashMap<Box<str>, Guest>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Changes what is known of a guest, if it is still there.
    pub(super) fn change<T>(&self, item: &Item, change: impl FnOnce(&mut Guest) -> T) -> Option<T> {
        self.lock().get_mut(&item.uid).map(change)
    }

    /// The line to a guest's launcher.
    pub(super) fn line(&self, uid: &str) -> Option<Arc<Line>> {
        self.lock().get(uid)?.line.clone()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.lock().len()
    }
}

/// The folder of a pod's volume, below the folder of the kubelet.
pub(super) fn volume(pod: &str, name: &str) -> PathBuf {
    PathBuf::from(format!("pods/{pod}/volumes/kubernetes.io~empty-dir/{name}"))
}
