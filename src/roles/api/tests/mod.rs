//! The whole role in one process: an API server and a handler that say what a test wants, and the role between them.

mod rollout;
mod streams;
mod subresources;
mod webhooks;

use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser as _;
use http_body_util::Full;
use hyper::body::Bytes;
use hyper::{Method, Request};
use serde_json::{Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio_rustls::client::TlsStream;

use super::{Args, serve_on};
use crate::cluster::testing::ApiServer;
use crate::serve::Shutdown;
use crate::serve::testing::{Authority, Folder, ask, dial};

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// The role, its cluster, and what makes certificates for both.
struct Role {
    cluster: Arc<ApiServer>,
    port: u16,
    folder: Folder,
    kubevirt: Authority,
    front_proxy: Authority,
    shutdown: Shutdown,
    served: JoinHandle<anyhow::Result<()>>,
}

const FRONT_PROXY: &str = "front-proxy-client";

impl Role {
    /// Starts the role in a cluster with these objects, and waits until it is ready.
    async fn start(mut objects: Value, handler_port: u16) -> Self {
        let (kubevirt, front_proxy, folder) = (Authority::new("kubevirt-ca"), Authority::new("front-proxy-ca"), Folder::new("api"));
        let at = |name: &str| folder.path().join(name);
        kubevirt.server("virt-api").write(&at("server"));
        kubevirt.client("kubevirt.io:system:client:virt-handler").write(&at("client"));
        front_proxy.client(FRONT_PROXY).write(&at("front"));
        front_proxy.client("somebody").write(&at("other"));
        let names = json!([FRONT_PROXY]).to_string();
        for (namespace, name, data) in [
            ("kubevirt", "kubevirt-ca", json!({"ca-bundle": kubevirt.pem()})),
            (
                "kube-system",
                "extension-apiserver-authentication",
                json!({"requestheader-client-ca-file": front_proxy.pem(), "requestheader-allowed-names": names}),
            ),
        ] {
            objects[format!("/api/v1/namespaces/{namespace}/configmaps/{name}")] = json!({"apiVersion": "v1", "kind": "ConfigMap",
                "metadata": {"namespace": namespace, "name": name, "resourceVersion": "1"}, "data": data});
        }
        let cluster = ApiServer::start(objects).await;
        let client = cluster.client();
        let path = |folder: &str, file: &str| at(folder).join(file).display().to_string();
        let args = Cli::parse_from([
            "api",
            "--namespace=kubevirt",
            &format!("--console-server-port={handler_port}"),
            &format!("--tls-cert-file={}", path("server", "tls.crt")),
            &format!("--tls-key-file={}", path("server", "tls.key")),
            &format!("--handler-cert-file={}", path("client", "tls.crt")),
            &format!("--handler-key-file={}", path("client", "tls.key")),
        ])
        .args;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let shutdown = Shutdown::new();
        let asked = shutdown.clone();
        let served = tokio::spawn(async move { serve_on(listener, client, &args, asked).await });
        let role = Self { cluster, port, folder, kubevirt, front_proxy, shutdown, served };
        for _ in 0..200 {
            if role.ask(None, Method::GET, "/readyz", "").await.0 == 200 {
                return role;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the role does not become ready: {}", role.ask(None, Method::GET, "/readyz", "").await.1);
    }

    async fn dial(&self, certificate: Option<&str>) -> std::io::Result<TlsStream<TcpStream>> {
        let folder: Option<PathBuf> = certificate.map(|name| self.folder.path().join(name));
        dial(self.port, &self.kubevirt, folder.as_deref(), "http/1.1").await
    }

    /// Asks as a user of the front proxy, or as nobody.
    async fn ask(&self, user: Option<&str>, method: Method, path: &str, body: &str) -> (u16, String) {
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if let Some(user) = user {
            request = request.header("x-remote-user", user).header("x-remote-group", "system:authenticated");
        }
        let request = request.body(Full::new(Bytes::from(body.to_owned()))).unwrap();
        ask(self.dial(user.map(|_| "front")).await.unwrap(), request).await
    }
}
