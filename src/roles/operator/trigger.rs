//! When to look again: something that we installed changed, whoever did it.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt as _;
use kube::api::DynamicObject;
use kube::core::PartialObjectMeta;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use kubevirt_rs::install::{KINDS, Kind};
use tokio::sync::Notify;
use tokio::task::JoinSet;
use tokio::time::sleep;

use super::observe::{resource, selector};

/// How long to leave a kind alone that the cluster does not know.
const ABSENT: Duration = Duration::from_secs(60);
/// How long to leave alone one that our own definitions make.
const COMING: Duration = Duration::from_secs(2);

/// Watches every kind, metadata only, and wakes whoever waits. Nothing is kept: a pass looks for itself.
pub(super) fn start(client: &Client, namespace: &str, wake: &Arc<Notify>) -> JoinSet<()> {
    let mut watches = JoinSet::new();
    for kind in KINDS {
        watches.spawn(watch(client.clone(), namespace.to_owned(), kind, Arc::clone(wake)));
    }
    watches
}

async fn watch(client: Client, namespace: String, kind: &'static Kind, wake: Arc<Notify>) {
    let resource = resource(kind);
    let api: Api<PartialObjectMeta<DynamicObject>> =
        if kind.home { Api::namespaced_with(client, &namespace, &resource) } else { Api::all_with(client, &resource) };
    loop {
        let config = watcher::Config::default().labels(&selector()).page_size(100);
        let events = watcher::watcher(api.clone(), config).touched_objects();
        futures_util::pin_mut!(events);
        while let Some(event) = events.next().await {
            match event {
                Ok(_) => wake.notify_one(),
                Err(error) => {
                    tracing::debug!(kind = kind.kind, %error, "the watch is cut");
                    break;
                }
            }
        }
        sleep(if kind.optional { ABSENT } else { COMING }).await;
        // Whatever happened meanwhile was not seen.
        if !kind.optional {
            wake.notify_one();
        }
    }
}
