//! Reads from the API server what a judgement needs, reference by reference.

use std::sync::Arc;

use futures_util::StreamExt as _;
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::runtime::reflector::Store;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use kubevirt_rs::admission::needs::{Need, Which};
use kubevirt_rs::api::names;
use serde_json::{Value, json};

/// How often a reference may lead to another one.
const ROUNDS: usize = 6;
const PRESET: &str = "VirtualMachineInstancePreset";

/// Why what a judgement needs is not known.
#[derive(Debug, thiserror::Error)]
#[error("read the {kind} objects that the judgement needs: {source}")]
pub(crate) struct LookupError {
    kind: &'static str,
    source: kube::Error,
}

/// All presets of the cluster. There are few, mostly none, and every new instance asks for them.
#[derive(Clone)]
pub(crate) struct Presets(Option<Arc<Store<DynamicObject>>>);

impl Presets {
    /// Follows the presets.
    pub(crate) fn follow(client: Client) -> Self {
        let resource = resource(names::GROUP, "v1", "virtualmachineinstancepresets", PRESET);
        let (store, writer) = store_of(&resource);
        let changes = watcher(Api::all_with(client, &resource), watcher::Config::default()).default_backoff().reflect(writer);
        tokio::spawn(async move {
            let mut changes = changes.boxed();
            while let Some(change) = changes.next().await {
                if let Err(error) = change {
                    tracing::warn!(kind = PRESET, %error, "presets cannot be read");
                }
            }
        });
        Self(Some(Arc::new(store)))
    }

    /// None, for who judges no instances.
    pub(crate) fn none() -> Self {
        Self(None)
    }

    /// Waits until they are known.
    pub(crate) async fn known(&self) {
        if let Some(store) = &self.0 {
            let _ = store.wait_until_ready().await;
        }
    }

    fn of(&self, namespace: &str) -> Vec<Value> {
        let Some(store) = &self.0 else { return Vec::new() };
        let own = store.state().into_iter().filter(|preset| preset.metadata.namespace.as_deref() == Some(namespace));
        own.map(|preset| typed(json!(*preset), PRESET, "kubevirt.io/v1")).collect()
    }
}

fn store_of(resource: &ApiResource) -> (Store<DynamicObject>, kube::runtime::reflector::store::Writer<DynamicObject>) {
    let writer = kube::runtime::reflector::store::Writer::new(resource.clone());
    (writer.as_reader(), writer)
}

fn resource(group: &str, version: &str, plural: &str, kind: &str) -> ApiResource {
    let api_version = if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") };
    ApiResource { group: group.into(), version: version.into(), api_version, kind: kind.into(), plural: plural.into() }
}

/// Items of a list don't say what they are.
fn typed(mut object: Value, kind: &str, api_version: &str) -> Value {
    if let Value::Object(fields) = &mut object {
        fields.entry("kind").or_insert_with(|| kind.into());
        fields.entry("apiVersion").or_insert_with(|| api_version.into());
    }
    object
}

/// Reads until nothing is needed that was not looked for. What is not there, or of a kind that the cluster does not
/// know, is not among what comes back.
pub(crate) async fn read(client: &Client, presets: &Presets, needs: impl Fn(&[Value]) -> Vec<Need>) -> Result<Vec<Value>, LookupError> {
    let mut known = Vec::new();
    let mut asked: Vec<Need> = Vec::new();
    for _ in 0..ROUNDS {
        let new: Vec<Need> = needs(&known).into_iter().filter(|need| !asked.contains(need)).collect();
        if new.is_empty() {
            break;
        }
        for need in new {
            match &need.namespace {
                Some(namespace) if need.kind == PRESET => known.extend(presets.of(namespace)),
                _ => known.extend(one(client, &need).await.map_err(|source| LookupError { kind: need.kind, source })?),
            }
            asked.push(need);
        }
    }
    Ok(known)
}

async fn one(client: &Client, need: &Need) -> kube::Result<Vec<Value>> {
    let Some((group, version, plural)) = need.resource() else { return Ok(Vec::new()) };
    let resource = resource(group, version, plural, need.kind);
    let api: Api<DynamicObject> = match &need.namespace {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    };
    let list = match &need.which {
        Which::Named(name) => return Ok(api.get_opt(name).await?.map(|object| json!(object)).into_iter().collect()),
        Which::All(None) => ListParams::default(),
        Which::All(Some((key, value))) => ListParams::default().labels(&format!("{key}={value}")),
        Which::Any => ListParams::default().limit(1),
    };
    match api.list(&list).await {
        Ok(list) => Ok(list.items.into_iter().map(|item| typed(json!(item), need.kind, &resource.api_version)).collect()),
        // the cluster does not know the kind
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(Vec::new()),
        Err(error) => Err(error),
    }
}
