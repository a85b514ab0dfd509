//! The configuration of the cluster as it is now: the KubeVirt object, followed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use kube::api::{ApiResource, DynamicObject, GroupVersionKind};
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use kubevirt_rs::api::names;
use kubevirt_rs::api::v1::KubeVirtConfiguration;
use kubevirt_rs::config::ClusterConfig;
use serde::Deserialize as _;
use serde_json::Value;
use tokio::sync::watch;

/// The configuration, and the version of the object that it is from.
#[derive(Clone, Debug)]
pub(crate) struct Configured {
    /// The configuration.
    pub(crate) config: Arc<ClusterConfig>,
    /// The version of the KubeVirt object; empty where there is none.
    pub(crate) version: String,
    /// Whether the API server was asked already.
    pub(crate) is_known: bool,
}

/// Follows the KubeVirt object. Clones see the same.
#[derive(Clone, Debug)]
pub(crate) struct Configuration(watch::Receiver<Configured>);

impl Configuration {
    /// Follows the object of that namespace for as long as somebody listens. A configuration that is of no use leaves the
    /// last good one in place.
    pub(crate) fn follow(client: Client, namespace: &str) -> Self {
        let defaults = ClusterConfig::new(&KubeVirtConfiguration::default());
        let start = Configured { config: Arc::new(defaults), version: String::new(), is_known: false };
        let (sender, receiver) = watch::channel(start);
        let resource = ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(names::GROUP, "v1", "KubeVirt"), "kubevirts");
        let api: Api<DynamicObject> = Api::namespaced_with(client, namespace, &resource);
        tokio::spawn(async move {
            tokio::select! {
                biased;
                () = keep(api, &sender) => {}
                () = sender.closed() => {}
            }
        });
        Self(receiver)
    }

    /// A configuration that does not change.
    pub(crate) fn fixed(config: ClusterConfig) -> Self {
        let configured = Configured { config: Arc::new(config), version: String::new(), is_known: true };
        Self(watch::channel(configured).1)
    }

    /// The configuration now.
    pub(crate) fn now(&self) -> Arc<ClusterConfig> {
        Arc::clone(&self.0.borrow().config)
    }

    /// All that is known now.
    pub(crate) fn details(&self) -> Configured {
        self.0.borrow().clone()
    }

    /// The configuration once the API server has told it; what it is without, if that takes too long.
    pub(crate) async fn known(&self, at_most: Duration) -> Option<Arc<ClusterConfig>> {
        let mut receiver = self.0.clone();
        let known = tokio::time::timeout(at_most, receiver.wait_for(|configured| configured.is_known)).await;
        known.ok()?.ok().map(|configured| Arc::clone(&configured.config))
    }

    /// Waits for the next change; forever, where there is none to come.
    pub(crate) async fn changed(&mut self) {
        if self.0.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

async fn keep(api: Api<DynamicObject>, sender: &watch::Sender<Configured>) {
    let mut there: BTreeMap<String, DynamicObject> = BTreeMap::new();
    let mut events = watcher(api, watcher::Config::default()).default_backoff().boxed();
    loop {
        let event = match events.try_next().await {
            Ok(Some(event)) => event,
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the KubeVirt object cannot be read");
                continue;
            }
        };
        let name = |object: &DynamicObject| object.metadata.name.clone().unwrap_or_default();
        match event {
            // while it is listed anew the last list counts
            watcher::Event::Init => {
                there.clear();
                continue;
            }
            watcher::Event::InitApply(object) => {
                there.insert(name(&object), object);
                continue;
            }
            watcher::Event::InitDone => {}
            watcher::Event::Apply(object) => drop(there.insert(name(&object), object)),
            watcher::Event::Delete(object) => drop(there.remove(&name(&object))),
        }
        let in_use = there.values().find(|object| object.metadata.deletion_timestamp.is_none()).or_else(|| there.values().next());
        take(in_use, sender);
    }
}

fn take(object: Option<&DynamicObject>, sender: &watch::Sender<Configured>) {
    let version = object.and_then(|object| object.metadata.resource_version.clone()).unwrap_or_default();
    let read = object.map(read).transpose();
    sender.send_modify(|configured| {
        match read {
            Ok(Some(config)) => configured.config = Arc::new(config),
            // without the object it goes on as it was: it is being uninstalled
            Ok(None) => {}
            Err(error) => tracing::error!(%error, "the configuration is of no use; the last good one stays"),
        }
        configured.version = version;
        configured.is_known = true;
    });
}

fn read(object: &DynamicObject) -> Result<ClusterConfig, String> {
    let at = |pointer: &str| object.data.pointer(pointer).filter(|value| !value.is_null());
    let settings = at("/spec/configuration").map(KubeVirtConfiguration::deserialize).transpose();
    let settings = settings.map_err(|e| format!("spec.configuration: {e}"))?.unwrap_or_default();
    let none = BTreeMap::new();
    let annotations = object.metadata.annotations.as_ref().unwrap_or(&none);
    let config = ClusterConfig::checked(&settings).and_then(|config| config.with_annotations(annotations));
    let mut config = config.map_err(|e| format!("{}: {e}", e.place()))?;
    if let Some(architecture) = at("/status/defaultArchitecture").and_then(Value::as_str).filter(|a| !a.is_empty()) {
        config = config.with_default_architecture(architecture);
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use kubevirt_rs::config::Gate;
    use serde_json::json;

    fn object(version: &str, spec: &Value) -> DynamicObject {
        serde_json::from_value(json!({
            "apiVersion": "kubevirt.io/v1", "kind": "KubeVirt", "metadata": {"name": "kubevirt", "resourceVersion": version},
            "spec": {"configuration": spec}, "status": {"defaultArchitecture": "arm64"},
        }))
        .unwrap()
    }

    #[test]
    fn the_last_good_configuration_counts() {
        let defaults = ClusterConfig::new(&KubeVirtConfiguration::default());
        let start = Configured { config: Arc::new(defaults), version: String::new(), is_known: false };
        let (sender, receiver) = watch::channel(start);
        let gates = json!({"developerConfiguration": {"featureGates": ["ObjectGraph"]}});
        let seen = |object: Option<DynamicObject>| {
            take(object.as_ref(), &sender);
            let now = receiver.borrow().clone();
            (now.version, now.config.enabled(Gate::ObjectGraph), now.config.default_architecture().to_owned(), now.is_known)
        };
        assert_eq!(seen(None), (String::new(), false, "amd64".to_owned(), true));
        assert_eq!(seen(Some(object("1", &gates))), ("1".to_owned(), true, "arm64".to_owned(), true));
        assert_eq!(seen(Some(object("2", &json!({"developerConfiguration": 7})))), ("2".to_owned(), true, "arm64".to_owned(), true));
        assert_eq!(seen(Some(object("3", &json!({})))), ("3".to_owned(), false, "arm64".to_owned(), true));
    }
}
