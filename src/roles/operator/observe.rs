//! Looks at everything that a pass decides by.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures_util::{StreamExt as _, stream};
use k8s_openapi::api::core::v1::Node as ApiNode;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, ListParams};
use kube::core::PartialObjectMeta;
use kube::{Api, Client, ResourceExt as _};
use kubevirt_rs::api::names;
use kubevirt_rs::install::certificates::{self, AUTHORITY, BUNDLE, Certificate, PROFILES};
use kubevirt_rs::install::{Cluster, Id, KINDS, Kind, Live, Node};
use serde_json::{Value, json};

use super::mint::Pair;
use crate::cluster::Error;

/// How many kinds are listed at a time.
const AT_ONCE: usize = 6;
/// So many objects are read at a time.
const PAGE: u32 = 200;

/// What there is.
pub(super) struct Seen {
    /// Everything that an operator installed.
    pub(super) live: Live,
    /// The certificates.
    pub(super) certificates: certificates::Observed,
    /// The authority, to sign with.
    pub(super) authority: Option<Pair>,
    /// What the cluster is like.
    pub(super) cluster: Cluster,
    /// What handlers wrote on nodes.
    pub(super) nodes: Vec<Node>,
}

/// What selects the objects that an operator installed.
pub(super) fn selector() -> String {
    format!("{}={}", names::MANAGED_BY_LABEL, names::MANAGED_BY_OPERATOR)
}

/// How the client names a kind.
pub(super) fn resource(kind: &Kind) -> ApiResource {
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(kind.group, kind.version, kind.kind), kind.plural)
}

/// Whether the metadata of a kind's objects tell all that a pass needs. The others are small, or their status counts.
pub(super) fn by_metadata(kind: &Kind) -> bool {
    kind.generation && kind.group != "apps"
}

/// Looks at everything.
pub(super) async fn look(client: &Client, namespace: &str) -> Result<Seen, Error> {
    let lists: Vec<Result<Listed, Error>> =
        stream::iter(KINDS).map(|kind| list(client, namespace, kind)).buffer_unordered(AT_ONCE).collect().await;
    let (mut live, mut security_constraints) = (Live::new(), false);
    for listed in lists {
        let Listed { kind, objects } = listed?;
        security_constraints |= kind.kind == "SecurityContextConstraints" && objects.is_some();
        live.extend(objects.into_iter().flatten().map(|object| (id(kind, &object), object)));
    }
    let certificates = certificates_of(&live, namespace);
    let authority = pair(&live, namespace, AUTHORITY);
    let nodes = Api::<ApiNode>::all(client.clone()).list_metadata(&ListParams::default()).await?.items;
    let cluster = Cluster { nodes: nodes.len(), security_constraints };
    Ok(Seen { live, certificates, authority, cluster, nodes: nodes.iter().filter_map(written_on).collect() })
}

/// The objects of a kind; nothing where the cluster does not know it.
struct Listed {
    kind: &'static Kind,
    objects: Option<Vec<Value>>,
}

async fn list(client: &Client, namespace: &str, kind: &'static Kind) -> Result<Listed, Error> {
    let (client, resource) = (client.clone(), resource(kind));
    let api: Api<DynamicObject> =
        if kind.home { Api::namespaced_with(client, namespace, &resource) } else { Api::all_with(client, &resource) };
    let mut params = ListParams::default().labels(&selector()).limit(PAGE);
    let mut objects = Vec::new();
    loop {
        let page = if by_metadata(kind) {
            api.list_metadata(&params)
                .await
                .map(|page| (page.metadata.continue_, page.items.iter().map(|object| plain(kind, json!(object))).collect()))
        } else {
            api.list(&params)
                .await
                .map(|page| (page.metadata.continue_, page.items.iter().map(|object| plain(kind, json!(object))).collect::<Vec<_>>()))
        };
        let (next, page): (Option<String>, Vec<Value>) = match page.map_err(Error::from) {
            Ok(page) => page,
            Err(Error::NotFound(_)) => return Ok(Listed { kind, objects: None }),
            Err(error) => return Err(error),
        };
        objects.extend(page);
        match next.filter(|token| !token.is_empty()) {
            Some(token) => params.continue_token = Some(token),
            None => return Ok(Listed { kind, objects: Some(objects) }),
        }
    }
}

/// The object with its kind, which lists leave out, and without the book-keeping of who wrote what.
fn plain(kind: &Kind, mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.insert("apiVersion".to_owned(), json!(kind.api_version()));
        fields.insert("kind".to_owned(), json!(kind.kind));
        if let Some(metadata) = fields.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    }
    object
}

fn id(kind: &'static Kind, object: &Value) -> Id {
    let text = |path: &str| object.pointer(path).and_then(Value::as_str).map(str::to_owned);
    Id { kind, namespace: text("/metadata/namespace").filter(|_| kind.namespaced), name: text("/metadata/name").unwrap_or_default() }
}

fn find<'a>(live: &'a Live, kind: &str, namespace: &str, name: &str) -> Option<&'a Value> {
    let kind = Kind::named(kind)?;
    live.get(&Id { kind, namespace: Some(namespace.to_owned()), name: name.to_owned() })
}

/// What a secret holds, if it holds both.
fn pair(live: &Live, namespace: &str, name: &str) -> Option<Pair> {
    let secret = find(live, "Secret", namespace, name)?;
    let text = |key: &str| {
        let data = secret.get("data")?.get(key)?.as_str()?;
        String::from_utf8(STANDARD.decode(data).ok()?).ok().filter(|text| !text.is_empty())
    };
    Some(Pair { certificate: text("tls.crt")?, key: text("tls.key")? })
}

fn certificates_of(live: &Live, namespace: &str) -> certificates::Observed {
    let certificate = |name: &str| Certificate::first(&pair(live, namespace, name)?.certificate);
    let bundle = find(live, "ConfigMap", namespace, AUTHORITY).and_then(|map| map.get("data")?.get(BUNDLE)?.as_str());
    certificates::Observed {
        authority: certificate(AUTHORITY),
        bundle: Certificate::all(bundle.unwrap_or_default()),
        leaves: PROFILES.iter().filter_map(|it| Some((it.secret.to_owned(), certificate(it.secret)?))).collect(),
    }
}

/// What handlers wrote on a node, if they did.
fn written_on(node: &PartialObjectMeta<ApiNode>) -> Option<Node> {
    let ours = |keys: &BTreeMap<String, String>| -> BTreeSet<String> {
        let is_ours =
            |key: &&String| key.split_once('/').is_some_and(|(domain, _)| domain == names::GROUP || domain.ends_with(".kubevirt.io"));
        keys.keys().filter(is_ours).cloned().collect()
    };
    let node = Node { name: node.name_any(), labels: ours(node.labels()), annotations: ours(node.annotations()) };
    (!node.labels.is_empty() || !node.annotations.is_empty()).then_some(node)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_keeps_what_is_not_ours() {
        let node: PartialObjectMeta<ApiNode> = serde_json::from_value(json!({"metadata": {
            "name": "n",
            "labels": {"kubevirt.io/schedulable": "true", "cpu-model.node.kubevirt.io/Penryn": "true", "kubernetes.io/hostname": "n", "notkubevirt.io/x": ""},
            "annotations": {"kubevirt.io/heartbeat": "now", "other": ""},
        }}))
        .unwrap();
        let written = written_on(&node).unwrap();
        assert_eq!(written.labels.len(), 2);
        assert_eq!(written.annotations.into_iter().collect::<Vec<_>>(), ["kubevirt.io/heartbeat"]);
        assert_eq!(written_on(&PartialObjectMeta::default()), None);
    }

    #[test]
    fn a_secret_without_a_key_is_none() {
        let secret = |data: Value| json!({"kind": "Secret", "metadata": {"name": "s", "namespace": "n"}, "data": data});
        let kind = Kind::named("Secret").unwrap();
        for (data, wanted) in [
            (json!({"tls.crt": "YQ==", "tls.key": "Yg=="}), true),
            (json!({"tls.crt": "YQ=="}), false),
            (json!({"tls.crt": "YQ==", "tls.key": ""}), false),
            (json!({"tls.crt": "*", "tls.key": "Yg=="}), false),
        ] {
            let object = secret(data.clone());
            let live = Live::from([(id(kind, &object), object)]);
            assert_eq!(pair(&live, "n", "s").is_some(), wanted, "{data}");
        }
    }
}
