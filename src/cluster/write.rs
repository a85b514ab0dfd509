//! Writes: each under the name of the role, each logged as one line, each told apart by what the API server answers.

use std::time::Duration;

use http::Method;
use hyper::http;
use kube::core::Request;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use tokio::time::timeout;

use super::{Error, Object};

/// No request but a watch takes longer.
const PATIENCE: Duration = Duration::from_secs(30);

/// The way to the API server, under the name of one role.
#[derive(Clone)]
pub(crate) struct Cluster {
    /// The client of the kube crate, for what is not here.
    pub(crate) client: kube::Client,
    /// The name under which this role owns fields and says events: `virt-controller`, …
    pub(crate) component: &'static str,
}

/// What has to be true of an object that is deleted, and how it goes.
#[derive(Clone, Debug, Default)]
pub(crate) struct Deletion {
    /// Only the object of this uid, not one that was made of its name since.
    pub(crate) uid: Option<String>,
    /// How long it may take; otherwise as long as it says itself.
    pub(crate) grace_seconds: Option<i64>,
    /// What becomes of what belongs to it: `Background`, `Foreground` or `Orphan`.
    pub(crate) propagation: Option<&'static str>,
}

impl Deletion {
    /// The object of that uid.
    pub(crate) fn of(uid: Option<&str>) -> Self {
        Self { uid: uid.map(str::to_owned), ..Self::default() }
    }

    fn body(&self) -> Value {
        let mut body = json!({"apiVersion": "v1", "kind": "DeleteOptions"});
        if let Some(uid) = &self.uid {
            body["preconditions"] = json!({ "uid": uid });
        }
        if let Some(seconds) = self.grace_seconds {
            body["gracePeriodSeconds"] = json!(seconds);
        }
        if let Some(policy) = self.propagation {
            body["propagationPolicy"] = json!(policy);
        }
        body
    }
}

/// Where an object is: its kind is known by its type.
#[derive(Clone, Copy)]
struct Place<'a> {
    namespace: Option<&'a str>,
    name: &'a str,
    subresource: Option<&'a str>,
}

impl<'a> Place<'a> {
    fn of<K: Object>(object: &'a K) -> Self {
        let meta = object.meta();
        Self { namespace: meta.namespace.as_deref(), name: meta.name.as_deref().unwrap_or_default(), subresource: None }
    }

    fn path<K: Object>(&self) -> String {
        let mut path = K::url_path(&(), self.namespace.filter(|n| !n.is_empty()));
        for part in [Some(self.name), self.subresource].into_iter().flatten() {
            path.push('/');
            path.push_str(part);
        }
        path
    }
}

impl Cluster {
    /// Reads an object as it is now.
    pub(crate) async fn get<K: Object>(&self, namespace: Option<&str>, name: &str) -> Result<K, Error> {
        let place = Place { namespace, name, subresource: None };
        self.send(Method::GET, &place.path::<K>(), None, Vec::new()).await
    }

    /// Reads all objects of a kind, or all of a namespace.
    pub(crate) async fn list<K: Object>(&self, namespace: Option<&str>, labels: Option<&str>) -> Result<Vec<K>, Error> {
        let mut params = kube::api::ListParams { label_selector: labels.map(str::to_owned), limit: Some(500), ..Default::default() };
        let mut all = Vec::new();
        loop {
            let request = Request::new(K::url_path(&(), namespace)).list(&params).map_err(kube::Error::BuildRequest)?;
            let page: kube::core::ObjectList<K> = limited(self.client.request(request)).await?;
            all.extend(page.items);
            match page.metadata.continue_.filter(|token| !token.is_empty()) {
                Some(token) => params.continue_token = Some(token),
                None => return Ok(all),
            }
        }
    }

    /// Reads what lies at a path, of a kind that this program has no type for.
    pub(crate) async fn read(&self, path: &str) -> Result<Value, Error> {
        self.send(Method::GET, path, None, Vec::new()).await
    }

    /// Asks the API server something by an object that it answers and does not keep, such as a SubjectAccessReview.
    pub(crate) async fn ask<K: Object>(&self, question: &K) -> Result<K, Error> {
        let place = Place::of(question);
        let path = K::url_path(&(), place.namespace.filter(|n| !n.is_empty()));
        self.send(Method::POST, &path, Some("application/json"), body(question)?).await
    }

    /// Makes an object and gives it as the API server has it.
    pub(crate) async fn create<K: Object>(&self, object: &K) -> Result<K, Error> {
        let place = Place::of(object);
        let path = K::url_path(&(), place.namespace.filter(|n| !n.is_empty()));
        let made: K = self.send(Method::POST, &path, Some("application/json"), body(object)?).await?;
        log::<K>(Place::of(&made), "created");
        Ok(made)
    }

    /// Writes an object as a whole, if it is still the one that was read.
    pub(crate) async fn replace<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.put(object, None).await
    }

    /// Writes the status of an object, if it is still the one that was read.
    pub(crate) async fn replace_status<K: Object>(&self, object: &K) -> Result<K, Error> {
        self.put(object, Some("status")).await
    }

    async fn put<K: Object>(&self, object: &K, subresource: Option<&str>) -> Result<K, Error> {
        let place = Place { subresource, ..Place::of(object) };
        let written = self.send(Method::PUT, &place.path::<K>(), Some("application/json"), body(object)?).await?;
        log::<K>(place, "updated");
        Ok(written)
    }

    /// Changes an object by a JSON patch.
    pub(crate) async fn patch<K: Object>(&self, namespace: Option<&str>, name: &str, patch: &impl Serialize) -> Result<K, Error> {
        self.change(Place { namespace, name, subresource: None }, "application/json-patch+json", patch).await
    }

    /// Changes a subresource of an object, such as `status`, by a JSON patch.
    pub(crate) async fn patch_subresource<K: Object>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
        patch: &impl Serialize,
    ) -> Result<K, Error> {
        self.change(Place { namespace, name, subresource: Some(subresource) }, "application/json-patch+json", patch).await
    }

    /// Changes a built-in object by a strategic merge patch, which adds to its lists by their keys.
    pub(crate) async fn merge_strategic<K: Object>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &impl Serialize,
    ) -> Result<K, Error> {
        self.change(Place { namespace, name, subresource }, "application/strategic-merge-patch+json", patch).await
    }

    /// Changes an object by a merge patch.
    pub(crate) async fn merge<K: Object>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: Option<&str>,
        patch: &impl Serialize,
    ) -> Result<K, Error> {
        self.change(Place { namespace, name, subresource }, "application/merge-patch+json", patch).await
    }

    async fn change<K: Object>(&self, place: Place<'_>, how: &'static str, patch: &impl Serialize) -> Result<K, Error> {
        let changed = self.send(Method::PATCH, &place.path::<K>(), Some(how), body(patch)?).await?;
        log::<K>(place, "patched");
        Ok(changed)
    }

    /// Makes an object be as it is said, by server-side apply; takes the fields over from whoever holds them.
    pub(crate) async fn apply<K: Object>(&self, object: &K) -> Result<K, Error> {
        let place = Place::of(object);
        let path = format!("{}?force=true", place.path::<K>());
        let applied = self.send(Method::PATCH, &path, Some("application/apply-patch+yaml"), body(object)?).await?;
        log::<K>(place, "applied");
        Ok(applied)
    }

    /// Deletes an object. One that is not there is deleted. Tells the resource version of one that something still holds.
    pub(crate) async fn delete<K: Object>(
        &self,
        namespace: Option<&str>,
        name: &str,
        deletion: &Deletion,
    ) -> Result<Option<String>, Error> {
        let place = Place { namespace, name, subresource: None };
        let path = place.path::<K>();
        match self.send::<Value>(Method::DELETE, &path, Some("application/json"), body(&deletion.body())?).await {
            Ok(answer) => {
                log::<K>(place, "deleted");
                Ok(answer.pointer("/metadata/resourceVersion").and_then(Value::as_str).map(str::to_owned))
            }
            Err(Error::NotFound(_)) => Ok(None),
            Err(error) => Err(error),
        }
    }

    async fn send<T: DeserializeOwned>(&self, method: Method, path: &str, content: Option<&str>, body: Vec<u8>) -> Result<T, Error> {
        let uri = match method {
            Method::POST | Method::PUT | Method::PATCH => {
                let joint = if path.contains('?') { '&' } else { '?' };
                format!("{path}{joint}fieldManager={}", self.component)
            }
            _ => path.to_owned(),
        };
        let mut request = http::Request::builder().method(method).uri(uri).header(http::header::ACCEPT, "application/json");
        if let Some(content) = content {
            request = request.header(http::header::CONTENT_TYPE, content);
        }
        let request = request.body(body).map_err(|error| Error::Refused(error.to_string()))?;
        limited(self.client.request(request)).await
    }
}

async fn limited<T>(answer: impl Future<Output = kube::Result<T>>) -> Result<T, Error> {
    timeout(PATIENCE, answer).await.map_err(|_| Error::Late(PATIENCE))?.map_err(Error::from)
}

fn body(object: &impl Serialize) -> Result<Vec<u8>, Error> {
    serde_json::to_vec(object).map_err(|error| Error::Refused(error.to_string()))
}

fn log<K: Object>(place: Place<'_>, what: &str) {
    let kind = K::kind(&());
    let (namespace, name) = (place.namespace.unwrap_or_default(), place.name);
    match place.subresource {
        None => tracing::info!(%kind, namespace, name, "{what}"),
        Some(subresource) => tracing::info!(%kind, namespace, name, subresource, "{what}"),
    }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::{Namespace, Pod};

    use super::*;

    #[test]
    fn an_object_has_its_path() {
        let place = |namespace, subresource| Place { namespace, name: "a", subresource };
        assert_eq!(place(Some("n"), Some("status")).path::<Pod>(), "/api/v1/namespaces/n/pods/a/status");
        assert_eq!(place(None, None).path::<Namespace>(), "/api/v1/namespaces/a");
        let kubevirt = place(Some("n"), None).path::<kubevirt_rs::api::v1::VirtualMachineInstance>();
        assert_eq!(kubevirt, "/apis/kubevirt.io/v1/namespaces/n/virtualmachineinstances/a");
    }

    #[test]
    fn a_deletion_says_only_what_it_demands() {
        assert_eq!(Deletion::default().body(), json!({"apiVersion": "v1", "kind": "DeleteOptions"}));
        let deletion = Deletion { grace_seconds: Some(0), ..Deletion::of(Some("u")) };
        assert_eq!(deletion.body()["preconditions"]["uid"], "u");
        assert_eq!(deletion.body()["gracePeriodSeconds"], 0);
    }
}
