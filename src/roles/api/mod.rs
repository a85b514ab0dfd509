//! Serves the webhooks and the aggregated API.
//!
//! ```text
//!  request ─ service ─┬─▶ webhooks      (serve::webhooks: AdmissionReview → admission)
//!                     ├─▶ documents     (discovery, OpenAPI, health, metrics: for everyone)
//!                     └─▶ subresources  who asks? may they? → observe → lifecycle::subresource → apply
//!                                                                        │ writes, the handler's answer, or a stream
//! ```

mod args;
mod documents;
mod metrics;
mod service;
mod subresources;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
pub(crate) use args::Args;
use kube::Client;
use kubevirt_rs::api::v1::TlsProtocolVersion;
use kubevirt_rs::config::ClusterConfig;
use tokio::net::TcpListener;
use tokio::sync::watch;

use crate::cluster::Configuration;
use crate::serve::authority::{self, Source};
use crate::serve::certificates::KeyFiles;
use crate::serve::client::Client as HandlerClient;
use crate::serve::health::Health;
use crate::serve::tls::{Clients, ServerTls, Settings};
use crate::serve::webhooks::{Gate, Presets};
use crate::serve::{Limits, Server, Shutdown};

/// The name in the certificate of a handler's server.
const HANDLER: &str = "kubevirt.io:system:node:virt-handler";
/// How long requests are still taken after the signal to stop, until nobody sends any more.
const LINGER: Duration = Duration::from_secs(2);

/// Runs the role until it is asked to stop.
pub(crate) fn run(args: &Args) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build();
    match runtime.context("start the runtime").and_then(|runtime| runtime.block_on(serve(args))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kubevirt-rs api: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals().context("listen to signals")?;
    crate::linux::memory::keep_small();
    let address = SocketAddr::new(args.listen, args.port);
    // connections wait in the queue until the rest is there
    let listener = TcpListener::bind(address).await.with_context(|| format!("listen on {address}"))?;
    let client = args.access.connect("virt-api").await?.client;
    tracing::info!(%address, "serving");
    serve_on(listener, client, args, shutdown).await
}

/// Serves connections of the listener until it is time to stop.
async fn serve_on(listener: TcpListener, client: Client, args: &Args, shutdown: Shutdown) -> anyhow::Result<()> {
    let namespace = args.namespace.clone().or_else(namespace_of_pod).unwrap_or_else(|| "kubevirt".to_owned());
    let configuration = Configuration::follow(client.clone(), &namespace);
    let front_proxy = authority::follow(Source::FrontProxy, Some(client.clone()));
    let bundle = match &args.ca_file {
        Some(file) => Source::File(file.clone()),
        None => Source::Bundle { namespace: namespace.clone(), name: args.ca_configmap_name.clone() },
    };
    let handlers = authority::follow(bundle, Some(client.clone()));
    let keys = KeyFiles::new(&args.tls_cert_file, &args.tls_key_file);
    let tls = ServerTls::follow(keys, Clients::Optional(front_proxy.clone()), settings(configuration.clone()));
    let handler_keys = KeyFiles::new(&args.handler_cert_file, &args.handler_key_file);

    let health = Health::default();
    let gate = Gate {
        client: client.clone(),
        configuration: configuration.clone(),
        namespace: namespace.clone(),
        presets: Presets::follow(client.clone()),
    };
    warm(&health, &gate, front_proxy.clone(), &shutdown);
    let metrics = Arc::new(metrics::Metrics::new().context("set the metrics up")?);
    let subresources = subresources::Subresources {
        client,
        configuration,
        namespace,
        front_proxy,
        handlers: Arc::new(HandlerClient::new(handler_keys, handlers, HANDLER)),
        handler_port: args.console_server_port,
        metrics: Arc::clone(&metrics),
    };
    let service = service::Api { gate, subresources, health, metrics };
    let limits = Limits { linger_time: LINGER, ..Limits::default() };
    Server { listener, tls, service: Arc::new(service), limits }.run(shutdown).await;
    Ok(())
}

/// The namespace that the service account of a pod is of.
fn namespace_of_pod() -> Option<String> {
    let text = std::fs::read_to_string("/var/run/secrets/kubernetes.io/serviceaccount/namespace").ok()?;
    Some(text.trim().to_owned()).filter(|namespace| !namespace.is_empty())
}

/// Says when what is needed is known. Requests are served before that: they wait for it, or do without.
fn warm(health: &Health, gate: &Gate, mut front_proxy: authority::Known, shutdown: &Shutdown) {
    for name in ["configuration", "presets", "front proxy"] {
        health.set(name, false);
    }
    health.set("running", true);
    let (health, gate, shutdown) = (health.clone(), gate.clone(), shutdown.clone());
    tokio::spawn(async move {
        let configured = async {
            while gate.configuration.known(Duration::from_secs(60)).await.is_none() {}
            health.set("configuration", true);
        };
        let presets = async {
            gate.presets.known().await;
            health.set("presets", true);
        };
        let trusted = async {
            let _ = front_proxy.wait_for(|authority| !authority.roots.is_empty()).await;
            health.set("front proxy", true);
        };
        let stopping = async {
            shutdown.asked().await;
            health.set("running", false);
        };
        tokio::join!(configured, presets, trusted, stopping);
    });
}

/// What the configuration says about TLS, followed.
fn settings(mut configuration: Configuration) -> watch::Receiver<Settings> {
    let (sender, receiver) = watch::channel(of(&configuration.now()));
    tokio::spawn(async move {
        loop {
            tokio::select! {
                () = configuration.changed() => {}
                () = sender.closed() => return,
            }
            let new = of(&configuration.now());
            sender.send_if_modified(|old| {
                let is_new = *old != new;
                *old = new;
                is_new
            });
        }
    });
    receiver
}

fn of(config: &ClusterConfig) -> Settings {
    let tls = config.spec().tls_configuration.clone().unwrap_or_default();
    Settings { only_1_3: tls.min_tls_version == TlsProtocolVersion::VersionTls13, ciphers: tls.ciphers }
}
