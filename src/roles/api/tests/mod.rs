//! The whole role in one process: an API server and a handler that say what a test wants, and the role between them.

mod cluster;
mod streams;
mod subresources;
mod webhooks;

use std::sync::Arc;

use clap::Parser as _;
use http_body_util::{BodyExt as _, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper::{Method, Request};
use hyper_util::rt::TokioIo;
use kube::Config;
use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls::sign::SingleCertAndKey;
use serde_json::Value;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;

use super::{Args, serve_on};
use crate::serve::Shutdown;
use crate::serve::certificates::{KeyFiles, provider, roots};
use crate::serve::testing::{Authority, Folder};
use cluster::Cluster;

#[derive(clap::Parser)]
struct Cli {
    #[command(flatten)]
    args: Args,
}

/// The role, its cluster, and what makes certificates for both.
struct Role {
    cluster: Arc<Cluster>,
    port: u16,
    folder: Folder,
    kubevirt: Authority,
    front_proxy: Authority,
}

const FRONT_PROXY: &str = "front-proxy-client";

impl Role {
    /// Starts the role in a cluster with these objects, and waits until it is ready.
    async fn start(objects: Value, handler_port: u16) -> Self {
        let (kubevirt, front_proxy, folder) = (Authority::new("kubevirt-ca"), Authority::new("front-proxy-ca"), Folder::new("api"));
        let at = |name: &str| folder.path().join(name);
        kubevirt.server("virt-api").write(&at("server"));
        kubevirt.client("kubevirt.io:system:client:virt-handler").write(&at("client"));
        front_proxy.client(FRONT_PROXY).write(&at("front"));
        front_proxy.client("somebody").write(&at("other"));
        let cluster = Cluster::start(objects, &kubevirt.pem(), &front_proxy.pem()).await;
        let client = kube::Client::try_from(Config::new(cluster.url().parse().unwrap())).unwrap();
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
        tokio::spawn(async move { serve_on(listener, client, &args, Shutdown::new()).await });
        let role = Self { cluster, port, folder, kubevirt, front_proxy };
        for _ in 0..200 {
            if role.ask(None, Method::GET, "/readyz", "").await.0 == 200 {
                return role;
            }
            tokio::time::sleep(std::time::Duration::from_millis(50)).await;
        }
        panic!("the role does not become ready: {}", role.ask(None, Method::GET, "/readyz", "").await.1);
    }

    async fn dial(&self, certificate: Option<&str>) -> std::io::Result<TlsStream<TcpStream>> {
        let roots = roots(self.kubevirt.pem().as_bytes(), "test").unwrap();
        let builder = ClientConfig::builder_with_provider(provider()).with_safe_default_protocol_versions().unwrap();
        let builder = builder.with_root_certificates(roots);
        let config = match certificate {
            Some(name) => {
                let pair = KeyFiles::of_secret(&self.folder.path().join(name)).load().unwrap();
                builder.with_client_cert_resolver(Arc::new(SingleCertAndKey::from(pair)))
            }
            None => builder.with_no_client_auth(),
        };
        let stream = TcpStream::connect(("127.0.0.1", self.port)).await?;
        TlsConnector::from(Arc::new(config)).connect(ServerName::try_from("localhost").unwrap(), stream).await
    }

    /// Asks as a user of the front proxy, or as nobody.
    async fn ask(&self, user: Option<&str>, method: Method, path: &str, body: &str) -> (u16, String) {
        let stream = TokioIo::new(self.dial(user.map(|_| "front")).await.unwrap());
        let (mut sender, connection) = http1::handshake(stream).await.unwrap();
        tokio::spawn(connection);
        let mut request = Request::builder().method(method).uri(path).header("host", "localhost");
        if let Some(user) = user {
            request = request.header("x-remote-user", user).header("x-remote-group", "system:authenticated");
        }
        let response = sender.send_request(request.body(Full::new(Bytes::from(body.to_owned()))).unwrap()).await.unwrap();
        let code = response.status().as_u16();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        (code, String::from_utf8_lossy(&body).into_owned())
    }
}
