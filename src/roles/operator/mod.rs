//! Installs and upgrades the other roles in a cluster.
//!
//! ```text
//!  KubeVirt, anything installed ─▶ trigger ─▶ pass: observe ─▶ plan (install) ─▶ apply ─▶ report
//!                                              │ mint: certificates
//!  secret of the operator ─▶ keys ─▶ server: health, metrics, webhooks
//! ```
//!
//! Of several replicas the one with the lease acts; all of them serve.

mod apply;
mod args;
mod keys;
mod mint;
mod observe;
mod pass;
mod report;
mod service;
#[cfg(test)]
mod tests;
mod trigger;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
pub(crate) use args::Args;
use kubevirt_rs::api::v1::KubeVirt;
use tokio::net::TcpListener;
use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use crate::cluster::{Cluster, Configuration, Election, Selection, Shutdown, Store};
use crate::serve::certificates::KeyFiles;
use crate::serve::health::Health;
use crate::serve::tls::{Clients, ServerTls, Settings};
use crate::serve::webhooks::{Gate, Presets};
use crate::serve::{Limits, Server};
use pass::{Installer, Next, QUIET};
use service::{Metrics, Operator};

/// The name under which the operator writes and leads, as tools expect it.
const COMPONENT: &str = "virt-operator";
/// Changes come in swarms: so long is waited for the rest of one.
const SWARM: Duration = Duration::from_millis(100);
/// After a failure, and at most.
const RETRY: (Duration, Duration) = (Duration::from_millis(300), Duration::from_secs(20));
/// How long a pass may take to come to its end once the end is asked for.
const LAST_PASS: Duration = Duration::from_secs(2);

/// Runs the role until it is asked to stop.
pub(crate) fn run(args: &Args) -> ExitCode {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
    let done = runtime.context("start the runtime").and_then(|runtime| {
        let done = runtime.block_on(serve(args));
        runtime.shutdown_timeout(Duration::from_millis(200));
        done
    });
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            eprintln!("kubevirt-rs operator: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals().context("listen to signals")?;
    crate::linux::memory::keep_small();
    let cluster = args.access.connect(COMPONENT).await?;
    let metrics = Metrics::new().context("set the metrics up")?;
    let health = Health::default();
    health.set("the installations", false);
    keys::follow(&cluster, &args.namespace, &args.certificates, &shutdown)?;
    let servers = answer(args, &cluster, &health, &metrics, &shutdown).await?;

    let wake = Arc::new(Notify::new());
    let installations = Arc::new(Store::<KubeVirt>::default());
    let woken = Arc::clone(&wake);
    installations.follow(&cluster, Selection::default(), &shutdown, move |_| woken.notify_one());
    if shutdown.unless(installations.ready()).await.is_none() {
        return Ok(());
    }
    health.set("the installations", true);

    let identity = format!("{}_{:08x}", host_name(), rand::random::<u32>());
    let Some(mut leadership) = Election::new(&cluster, &args.namespace, COMPONENT, &identity).win(&shutdown).await else {
        return Ok(());
    };
    metrics.leading.set(1);
    let watches = trigger::start(&cluster.client, &args.namespace, &wake);
    let installer =
        Installer { cluster, namespace: args.namespace.clone(), image: args.image.clone(), generations: std::collections::BTreeMap::new() };
    // A pass that is under way ends by itself, or is cut off.
    let late = async {
        shutdown.asked().await;
        sleep(LAST_PASS).await;
    };
    tokio::select! {
        // Someone else may lead by now.
        () = leadership.keep() => anyhow::bail!("stop: the lease is lost"),
        () = passes(installer, &installations, &wake, &metrics, &shutdown) => {}
        () = late => {}
    }
    drop(watches);
    leadership.release().await;
    let _ = timeout(LAST_PASS, servers.join_all()).await;
    Ok(())
}

/// Makes a pass whenever there may be something to do.
async fn passes(mut installer: Installer, installations: &Store<KubeVirt>, wake: &Notify, metrics: &Metrics, shutdown: &Shutdown) {
    let mut retry = RETRY.0;
    while !shutdown.is_asked() {
        metrics.passes.inc();
        let pause = match installer.pass(installations.all()).await {
            Next::Now => Duration::ZERO,
            Next::Quiet => {
                retry = RETRY.0;
                let heard = async {
                    wake.notified().await;
                    sleep(SWARM).await;
                };
                let _ = shutdown.unless(timeout(QUIET, heard)).await;
                continue;
            }
            Next::Retry => {
                metrics.failures.inc();
                let pause = retry;
                retry = (retry * 2).min(RETRY.1);
                pause
            }
        };
        let _ = shutdown.unless(sleep(pause)).await;
    }
}

/// Serves health and metrics on one port and webhooks on the other.
async fn answer(
    args: &Args,
    cluster: &Cluster,
    health: &Health,
    metrics: &Metrics,
    shutdown: &Shutdown,
) -> anyhow::Result<tokio::task::JoinSet<()>> {
    let (_, settings) = watch::channel(Settings::default());
    let keys = KeyFiles::of_secret(&args.certificates);
    let tls = ServerTls::follow(keys, Clients::Anyone, settings);
    let gate = Gate {
        client: cluster.client.clone(),
        configuration: Configuration::follow(cluster.client.clone(), &args.namespace),
        namespace: args.namespace.clone(),
        presets: Presets::none(),
    };
    let service = Arc::new(Operator { gate, health: health.clone(), metrics: metrics.clone() });
    let mut servers = tokio::task::JoinSet::new();
    for port in [args.port, args.webhook_port] {
        let address = SocketAddr::new(args.listen, port);
        let listener = TcpListener::bind(address).await.with_context(|| format!("listen on {address}"))?;
        let server = Server { listener, tls: Arc::clone(&tls), service: Arc::clone(&service), limits: Limits::default() };
        servers.spawn(server.run(shutdown.clone()));
        tracing::info!(%address, "serving");
    }
    Ok(servers)
}

/// The name of the pod or machine.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or(COMPONENT).to_owned()
}
