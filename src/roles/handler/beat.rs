//! The heart of the node: says now and then that the handler is there, and what the node's guests can have.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::Node;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::api::names;
use kubevirt_rs::config::Gate;
use kubevirt_rs::node::beat::{Beat, has_cpu_manager, patch, pause};
use kubevirt_rs::node::device::POOLS;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use super::Args;
use super::host::Host;
use crate::cluster::{Cluster, Configuration, Error, Selection, Shutdown, Store};

/// How long the first beat waits for the kubelet to know the devices.
const UNTIL_DEVICES: Duration = Duration::from_secs(10);
/// After a beat that failed.
const AGAIN: Duration = Duration::from_secs(5);
/// How long it takes until a beat has come back by the watch.
const UNTIL_TOLD: Duration = Duration::from_secs(1);
/// How long the last beat may take.
const LAST: Duration = Duration::from_millis(1500);

pub(super) struct Heart {
    node: String,
    kubelet: PathBuf,
    cluster: Cluster,
    configuration: Configuration,
    host: Arc<Host>,
    /// How many pools of devices the kubelet knows.
    devices: watch::Receiver<usize>,
    /// Whether there is a node that was not told yet that the handler is there: one that was made anew.
    untold: watch::Receiver<bool>,
}

impl Heart {
    pub(super) fn new(
        args: &Args,
        cluster: &Cluster,
        configuration: Configuration,
        host: Arc<Host>,
        devices: watch::Receiver<usize>,
        shutdown: &Shutdown,
    ) -> Self {
        let (node, kubelet) = (args.node.clone(), args.kubelet.clone());
        let (tell, untold) = watch::channel(false);
        let store = Arc::new(Store::<Node>::new(Vec::new(), |node| (node.spec, node.status) = (None, None)));
        store.follow(cluster, Selection::default().fields(format!("metadata.name={node}")), shutdown, move |change| {
            let labels = change.object.metadata.labels.as_ref();
            let is_untold = !change.gone && labels.is_none_or(|labels| !labels.contains_key(names::NODE_SCHEDULABLE));
            tell.send_if_modified(|old| std::mem::replace(old, is_untold) != is_untold);
        });
        Self { node, kubelet, cluster: cluster.clone(), configuration, host, devices, untold }
    }

    /// Beats until the end is asked for; then says that no guests can come any more.
    pub(super) async fn run(mut self, shutdown: Shutdown) {
        let known = async {
            let _ = self.configuration.known(UNTIL_DEVICES).await;
            // a guest that comes before the kubelet knows the devices would be sent away
            let mut devices = self.devices.clone();
            let _ = timeout(UNTIL_DEVICES, devices.wait_for(|count| *count == POOLS.len())).await;
        };
        let mut goes_on = shutdown.unless(known).await.is_some();
        while goes_on {
            let schedulable = *self.devices.borrow_and_update() == POOLS.len();
            let next = match self.beat(schedulable, true).await {
                Ok(()) => pause(rand::random()),
                Err(error) => {
                    tracing::warn!(node = self.node, "beat: {error}");
                    AGAIN
                }
            };
            let news = async {
                tokio::select! {
                    () = sleep(next) => {}
                    // labels and devices are told at once, not only after a while
                    () = self.configuration.changed() => {}
                    changed = self.devices.changed() => if changed.is_err() { std::future::pending().await },
                    // a node without labels: the watch may only be late, so a moment is left to it
                    () = still_untold(&mut self.untold) => {}
                }
            };
            goes_on = shutdown.unless(news).await.is_some();
        }
        match timeout(LAST, self.beat(false, false)).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(node = self.node, "say that no guests can come: {error}"),
            Err(_) => tracing::warn!(node = self.node, "say that no guests can come: no answer"),
        }
    }

    async fn beat(&self, schedulable: bool, with_labels: bool) -> Result<(), Error> {
        let node: Node = self.cluster.get(None, &self.node).await?;
        let config = self.configuration.now();
        let cpu_manager = config.enabled(Gate::CpuManager) && self.has_cpu_manager();
        let labels = with_labels.then(|| self.host.labels(&config)).flatten();
        let beat = Beat { schedulable, cpu_manager, labels };
        let (labels, annotations) = (node.metadata.labels.unwrap_or_default(), node.metadata.annotations.unwrap_or_default());
        let patch = patch(&beat, &labels, &annotations, Timestamp::now());
        if patch.pointer("/metadata/labels").is_some() {
            self.cluster.merge::<Node>(None, &self.node, None, &patch).await?;
        } else {
            // nothing but the time changes, which is worth no line
            let api = kube::Api::<Node>::all(self.cluster.client.clone());
            let params = kube::api::PatchParams { field_manager: Some(self.cluster.component.to_owned()), ..Default::default() };
            api.patch_metadata(&self.node, &params, &kube::api::Patch::Merge(&patch)).await.map_err(Error::from)?;
        }
        Ok(())
    }

    fn has_cpu_manager(&self) -> bool {
        std::fs::read_to_string(self.kubelet.join("cpu_manager_state")).is_ok_and(|state| has_cpu_manager(&state))
    }
}

/// Waits until there is a node that was not told, and still is not after a moment.
async fn still_untold(untold: &mut watch::Receiver<bool>) {
    loop {
        if untold.wait_for(|untold| *untold).await.is_err() {
            return std::future::pending().await;
        }
        sleep(UNTIL_TOLD).await;
        if *untold.borrow_and_update() {
            return;
        }
    }
}
