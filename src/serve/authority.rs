//! Whose certificates are believed, and what they may say: bundles of authorities, which others renew at any time.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{StreamExt as _, TryStreamExt as _};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::runtime::{WatchStreamExt as _, watcher};
use kube::{Api, Client};
use rustls::RootCertStore;
use tokio::sync::watch;

use super::certificates::{self, CertificateError};

/// How often a file is looked at.
const LOOK: Duration = Duration::from_secs(2);

/// Authorities, and what goes with them. Empty until it is known.
#[derive(Clone, Debug)]
pub(crate) struct Authority {
    /// The authorities.
    pub(crate) roots: Arc<RootCertStore>,
    /// The names that a certificate may have; any, where there is none.
    pub(crate) names: Vec<String>,
    /// Where the front proxy says who asks.
    pub(crate) headers: UserHeaders,
}

impl Default for Authority {
    fn default() -> Self {
        Self { roots: Arc::new(RootCertStore::empty()), names: Vec::new(), headers: UserHeaders::default() }
    }
}

/// The headers by which a front proxy says who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct UserHeaders {
    /// The user's name.
    pub(crate) user: Vec<String>,
    /// The user's groups.
    pub(crate) group: Vec<String>,
    /// The beginning of headers with more about the user.
    pub(crate) extra: Vec<String>,
}

impl Default for UserHeaders {
    fn default() -> Self {
        let one = |name: &str| vec![name.to_owned()];
        Self { user: one("x-remote-user"), group: one("x-remote-group"), extra: one("x-remote-extra-") }
    }
}

/// The authority as it is now, and the news of it.
pub(crate) type Known = watch::Receiver<Authority>;

/// A file or an object in the API server that tells.
#[derive(Clone, Debug)]
pub(crate) enum Source {
    /// A file with a bundle.
    File(PathBuf),
    /// A ConfigMap with a bundle under the key `ca-bundle`.
    Bundle {
        /// The namespace.
        namespace: String,
        /// The name.
        name: String,
    },
    /// What the API server says of the front proxy, by which it passes requests on.
    FrontProxy,
}

/// The key of a bundle in a ConfigMap.
const BUNDLE: &str = "ca-bundle";
/// Where the API server tells what its front proxy is known by.
const FRONT_PROXY: (&str, &str) = ("kube-system", "extension-apiserver-authentication");

/// Follows a source for as long as somebody listens. What is known stays known while the source cannot be read.
pub(crate) fn follow(source: Source, client: Option<Client>) -> Known {
    let (sender, known) = watch::channel(Authority::default());
    tokio::spawn(async move {
        match (source, client) {
            (Source::File(path), _) => follow_file(&path, &sender).await,
            (Source::Bundle { namespace, name }, Some(client)) => {
                follow_config_map(client, &namespace, &name, from_bundle, &sender).await;
            }
            (Source::FrontProxy, Some(client)) => {
                follow_config_map(client, FRONT_PROXY.0, FRONT_PROXY.1, from_front_proxy, &sender).await;
            }
            (source, None) => tracing::error!(?source, "a source in the API server needs a client"),
        }
    });
    known
}

async fn follow_file(path: &std::path::Path, sender: &watch::Sender<Authority>) {
    let (mut last, mut told) = (Vec::new(), false);
    loop {
        match tokio::fs::read(path).await {
            Ok(text) if text != last => {
                match certificates::roots(&text, &path.to_string_lossy()) {
                    Ok(roots) => {
                        sender.send_replace(Authority { roots: Arc::new(roots), ..Authority::default() });
                        tracing::info!(path = %path.display(), "authorities read");
                    }
                    Err(error) => tracing::warn!(%error, "authorities are not used"),
                }
                (last, told) = (text, false);
            }
            Ok(_) => {}
            Err(error) if told => tracing::debug!(path = %path.display(), %error, "authorities cannot be read"),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "authorities cannot be read");
                told = true;
            }
        }
        tokio::select! {
            () = tokio::time::sleep(LOOK) => {}
            () = sender.closed() => return,
        }
    }
}

type Reader = fn(&BTreeMap<String, String>) -> Result<Authority, CertificateError>;

async fn follow_config_map(client: Client, namespace: &str, name: &str, read: Reader, sender: &watch::Sender<Authority>) {
    let api: Api<ConfigMap> = Api::namespaced(client, namespace);
    let only = watcher::Config::default().fields(&format!("metadata.name={name}"));
    let mut changes = watcher(api, only).default_backoff().applied_objects().boxed();
    loop {
        let change = tokio::select! {
            change = changes.try_next() => change,
            () = sender.closed() => return,
        };
        match change {
            Ok(Some(map)) => match read(&map.data.unwrap_or_default()) {
                Ok(authority) => {
                    sender.send_replace(authority);
                    tracing::info!(kind = "ConfigMap", namespace, name, "authorities read");
                }
                Err(error) => tracing::warn!(kind = "ConfigMap", namespace, name, %error, "authorities are not used"),
            },
            Ok(None) => return,
            // the watcher waits longer each time
            Err(error) => tracing::warn!(kind = "ConfigMap", namespace, name, %error, "authorities cannot be read"),
        }
    }
}

fn from_bundle(data: &BTreeMap<String, String>) -> Result<Authority, CertificateError> {
    let bundle = data.get(BUNDLE).map(String::as_bytes).unwrap_or_default();
    Ok(Authority { roots: Arc::new(certificates::roots(bundle, BUNDLE)?), ..Authority::default() })
}

fn from_front_proxy(data: &BTreeMap<String, String>) -> Result<Authority, CertificateError> {
    const CA: &str = "requestheader-client-ca-file";
    let bundle = data.get(CA).map(String::as_bytes).unwrap_or_default();
    let list = |key: &str| -> Option<Vec<String>> {
        let list: Vec<String> = serde_json::from_str(data.get(key)?).ok()?;
        (!list.is_empty()).then_some(list)
    };
    let mut headers = UserHeaders::default();
    for (own, key) in [
        (&mut headers.user, "requestheader-username-headers"),
        (&mut headers.group, "requestheader-group-headers"),
        (&mut headers.extra, "requestheader-extra-headers-prefix"),
    ] {
        if let Some(given) = list(key) {
            *own = given.iter().map(|name| name.to_ascii_lowercase()).collect();
        }
    }
    let names = list("requestheader-allowed-names").unwrap_or_default();
    Ok(Authority { roots: Arc::new(certificates::roots(bundle, CA)?), names, headers })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::serve::testing;

    #[test]
    fn the_front_proxy_is_described_by_a_config_map() {
        let mut data = BTreeMap::from([
            ("requestheader-client-ca-file".to_owned(), testing::Authority::new("front").pem()),
            ("requestheader-allowed-names".to_owned(), r#"["front-proxy-client"]"#.to_owned()),
            ("requestheader-username-headers".to_owned(), r#"["X-User"]"#.to_owned()),
            ("requestheader-group-headers".to_owned(), "[]".to_owned()),
        ]);
        let authority = from_front_proxy(&data).unwrap();
        assert_eq!(authority.names, ["front-proxy-client"]);
        assert_eq!(authority.headers.user, ["x-user"]);
        assert_eq!(authority.headers.group, ["x-remote-group"]);
        data.remove("requestheader-client-ca-file");
        assert!(from_front_proxy(&data).is_err());
    }

    #[tokio::test]
    async fn a_file_is_read_again_when_it_changes() {
        let folder = testing::Folder::new("authority");
        let path = folder.path().join("ca.crt");
        std::fs::write(&path, testing::Authority::new("one").pem()).unwrap();
        let mut known = follow(Source::File(path.clone()), None);
        known.wait_for(|authority| authority.roots.len() == 1).await.unwrap();
        let two = testing::Authority::new("one").pem() + &testing::Authority::new("two").pem();
        std::fs::write(&path, two).unwrap();
        let changed = tokio::time::timeout(LOOK * 3, known.wait_for(|authority| authority.roots.len() == 2)).await;
        assert!(changed.is_ok());
    }
}
