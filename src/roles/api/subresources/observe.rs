//! What a decision needs is read from the API server at the time of the request: it is then as fresh as the patch that
//! tests for it.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Node, PersistentVolumeClaim, Pod};
use kube::api::{ApiResource, DynamicObject, ListParams};
use kube::{Api, Client, Resource};
use kubevirt_rs::admission::{Operation, Request as Judged, Seed, needs};
use kubevirt_rs::api::names::APP_LABEL;
use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::lifecycle::subresource::{Kind, Observed, Overhead, Refusal, Request};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::serve::webhooks::{LookupError, Presets, lookup};

/// Which operations need what, beyond the object itself.
fn is_one_of(request: &Request, operations: &[&str]) -> bool {
    operations.contains(&request.operation)
}

/// Reads what the request is decided by.
pub(super) async fn observe(client: &Client, request: &Request<'_>, config: &ClusterConfig) -> Result<Observed, Refusal> {
    let (namespace, name) = (request.namespace, request.name);
    let mut observed = Observed::default();
    // an unpaused guest could spoil a snapshot of its machine
    if request.kind == Kind::Machine || is_one_of(request, &["unpause"]) {
        observed.machine = get(client, namespace, name).await?;
    }
    observed.instance = get(client, namespace, name).await?;
    if is_one_of(request, &["evacuate/cancel"])
        && let Some(instance) = &observed.instance
    {
        let nodes: Api<Node> = Api::all(client.clone());
        for node in [&instance.status.evacuation_node_name, &instance.status.node_name] {
            if !node.is_empty() {
                observed.nodes.extend(nodes.get_opt(node).await.map_err(|e| unread("node", node, &e))?);
            }
        }
    }
    if is_one_of(request, &["memorydump", "objectgraph"]) {
        let claims: Api<PersistentVolumeClaim> = Api::namespaced(client.clone(), namespace);
        let claims = claims.list(&ListParams::default()).await.map_err(|e| unread("claims of", namespace, &e))?;
        observed.claims = claims.items;
    }
    if is_one_of(request, &["objectgraph"]) {
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        let launchers = ListParams::default().labels(&format!("{APP_LABEL}=virt-launcher"));
        observed.pods = pods.list(&launchers).await.map_err(|e| unread("launchers of", namespace, &e))?.items;
    }
    if is_one_of(request, &["memorydump"]) {
        observed.overhead = overhead(client).await?;
    }
    if is_one_of(request, &["expand-spec"])
        && let Some(machine) = &observed.machine
    {
        observed.instancetypes = referred(client, &json!(machine), config).await?;
    }
    Ok(observed)
}

/// What the machine in a document refers to.
pub(super) async fn of_document(client: &Client, body: &[u8], namespace: &str) -> Result<Vec<Value>, Refusal> {
    // what cannot be read is refused by who decides
    let Ok(mut machine) = serde_json::from_slice::<Value>(body) else { return Ok(Vec::new()) };
    if let Some(metadata) = machine.as_object_mut().map(|fields| fields.entry("metadata").or_insert_with(|| json!({}))) {
        metadata.as_object_mut().map(|fields| fields.insert("namespace".to_owned(), namespace.into()));
    }
    let config = ClusterConfig::new(&kubevirt_rs::api::v1::KubeVirtConfiguration::default());
    referred(client, &machine, &config).await
}

async fn referred(client: &Client, machine: &Value, config: &ClusterConfig) -> Result<Vec<Value>, Refusal> {
    let base = Judged {
        kind: "VirtualMachine",
        operation: Operation::Create,
        config,
        object: machine,
        old: None,
        user: "",
        user_node: None,
        namespace: "",
        cluster: &[],
        seed: Seed::default(),
        now: jiff::Timestamp::UNIX_EPOCH,
    };
    let read = lookup::read(client, &Presets::none(), |known| needs::needs(&Judged { cluster: known, ..base })).await;
    read.map_err(|error: LookupError| Refusal::internal(error))
}

async fn get<T>(client: &Client, namespace: &str, name: &str) -> Result<Option<T>, Refusal>
where
    T: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + DeserializeOwned + Clone + std::fmt::Debug,
{
    Api::<T>::namespaced(client.clone(), namespace).get_opt(name).await.map_err(|e| unread(&T::kind(&()), name, &e))
}

fn unread(what: &str, name: &str, error: &kube::Error) -> Refusal {
    Refusal::internal(format_args!("the {what} {name:?} could not be read: {error}"))
}

/// The share of file systems that CDI keeps for itself, where CDI is there.
async fn overhead(client: &Client) -> Result<Option<Overhead>, Refusal> {
    let resource = ApiResource {
        group: "cdi.kubevirt.io".to_owned(),
        version: "v1beta1".to_owned(),
        api_version: "cdi.kubevirt.io/v1beta1".to_owned(),
        kind: "CDIConfig".to_owned(),
        plural: "cdiconfigs".to_owned(),
    };
    let configs: Api<DynamicObject> = Api::all_with(client.clone(), &resource);
    let Some(config) = configs.get_opt("config").await.map_err(|e| unread("CDIConfig", "config", &e))? else { return Ok(None) };
    let Some(share) = config.data.pointer("/status/filesystemOverhead") else { return Ok(None) };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let by_class = share.get("storageClass").and_then(Value::as_object).into_iter().flatten();
    let by_class: BTreeMap<String, String> = by_class.filter_map(|(class, share)| Some((class.clone(), text(share)?))).collect();
    Ok(Some(Overhead { global: share.get("global").and_then(text).unwrap_or_default(), by_class }))
}
