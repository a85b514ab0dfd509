//! What an earlier handler left behind: mounts of pods that belong to no instance any more.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::pass::{Node, pod_of};
use super::shown;

/// Takes them away. What belongs to an instance goes with its instance.
pub(super) async fn sweep(node: &Arc<Node>) {
    let wanted: BTreeSet<String> = node.instances.all().iter().filter_map(|i| pod_of(i, &node.name)).map(str::to_owned).collect();
    let kubelet = node.kubelet.clone();
    let swept = tokio::task::spawn_blocking(move || {
        for pod in shown::pods_with_mounts(&kubelet)?.into_iter().filter(|pod| !wanted.contains(pod)) {
            match shown::take_away(&kubelet, &pod) {
                Ok(count) => tracing::info!(kind = "Pod", uid = pod, count, "mounts of an instance that is gone taken away"),
                Err(error) => tracing::warn!(kind = "Pod", uid = pod, "take the mounts of an instance that is gone away: {error}"),
            }
        }
        Ok::<_, std::io::Error>(())
    });
    if let Ok(Err(error)) = swept.await {
        tracing::warn!("look for mounts that were left behind: {error}");
    }
}
