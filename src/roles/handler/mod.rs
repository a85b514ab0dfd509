//! Serves one node: devices, networks, guests.
//!
//! ```text
//!   instances of this node ─ store ─┐                                   ┌─▶ prepare: disks, devices, network → launcher
//!   launchers ─ link, one each ─────┴─▶ queue ─▶ pass: observe → plan ──┼─▶ launcher: shutdown, destroy
//!                                                 (node::instance)      └─▶ API server: one patch, events
//!   kubelet ◀─ devices        node object ◀─ beat        api ─▶ service ─▶ launcher
//! ```
//!
//! Nothing is kept but what can be found again: a handler that starts anew finds its guests by their instances and their
//! sockets, and what lies on the node by the table of mounts.

mod args;
mod beat;
mod devices;
mod disks;
mod guests;
mod host;
mod hotplug;
mod link;
mod pass;
mod prepare;
mod service;
mod shown;
mod sweep;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
pub(crate) use args::Args;
use kubevirt_rs::api::names;
use kubevirt_rs::api::v1::VirtualMachineInstance;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cluster::{Configuration, Expectations, Queue, Recorder, Selection, Shutdown, Store};
use crate::serve::Server;
use crate::serve::authority::{self, Source};
use crate::serve::certificates::KeyFiles;
use crate::serve::health::Health;
use crate::serve::tls::{Clients, ServerTls, Settings};
use guests::{Guests, Item};
use pass::Node;

/// The name under which the handler writes, as tools expect it.
const COMPONENT: &str = "virt-handler";
/// The name in the certificate of who may ask for consoles and give commands.
const CLIENT: &str = "kubevirt.io:system:client:virt-handler";
/// So long what is in hand may take to come to its end once the end is asked for.
const LAST_PASSES: Duration = Duration::from_secs(2);

/// Runs the role until it is asked to stop.
pub(crate) fn run(args: &Args) -> ExitCode {
    let done = if args.look_at_host { host::look(&args.host_facts) } else { start(args) };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

fn start(args: &Args) -> anyhow::Result<()> {
    anyhow::ensure!(!args.node.is_empty(), "say by --node (or NODE_NAME) which node is served");
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().context("start the runtime")?;
    let done = runtime.block_on(serve(args));
    runtime.shutdown_timeout(Duration::from_millis(200));
    done
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals().context("listen to signals")?;
    crate::linux::memory::keep_small();
    let listen = async |port| TcpListener::bind(SocketAddr::new(args.listen, port)).await.with_context(|| format!("listen on port {port}"));
    let (consoles, healths) = (listen(args.console_server_port).await?, listen(args.port).await?);
    let cluster = args.access.connect(COMPONENT).await?;
    let recorder = Recorder::start(&cluster, &args.node, &shutdown);
    let configuration = Configuration::follow(cluster.client.clone(), &args.namespace);
    let host = Arc::new(host::read(&args.host_facts));
    let health = Health::default();

    let instances: Arc<Store<VirtualMachineInstance>> = Arc::default();
    let queue: Arc<Queue<Item>> = Arc::default();
    let selection = Selection::labels(format!("{}={}", names::NODE_NAME_LABEL, args.node));
    let changed = queue.clone();
    instances.follow(&cluster, selection, &shutdown, move |change| changed.add(Item::of(&change.object.metadata)));

    let node = Arc::new(Node {
        name: args.node.clone(),
        kubelet: args.kubelet.clone(),
        cluster: cluster.clone(),
        configuration: configuration.clone(),
        instances,
        queue,
        guests: Guests::default(),
        expectations: Expectations::default(),
        recorder,
        host: host.clone(),
    });
    let devices = devices::Devices::start(&args.kubelet, &shutdown);
    let heart = beat::Heart::new(args, &cluster, configuration.clone(), host, devices.ready(), &shutdown);
    let beats = tokio::spawn(heart.run(shutdown.clone()));

    let bundle = Source::Bundle { namespace: args.namespace.clone(), name: args.ca_configmap_name.clone() };
    let authority = authority::follow(bundle, Some(cluster.client.clone()));
    let keys = || KeyFiles::of_secret(&args.certificates);
    let (_, settings) = watch::channel(Settings::default());
    let service = Arc::new(service::Handler::new(node.clone(), health.clone())?);
    let consoles = Server {
        listener: consoles,
        tls: ServerTls::follow(keys(), Clients::Required(authority, CLIENT), settings.clone()),
        service: Arc::new(service::Consoles(service.clone())),
        limits: service::limits(),
    };
    let healths = Server {
        listener: healths,
        tls: ServerTls::follow(keys(), Clients::Anyone, settings),
        service: Arc::new(service::Healths(service)),
        limits: service::limits(),
    };
    let servers = [tokio::spawn(consoles.run(shutdown.clone())), tokio::spawn(healths.run(shutdown.clone()))];
    tracing::info!(node = args.node, "serving");

    let workers = work(&node, &health, args.workers, &shutdown).await;
    shutdown.asked().await;
    health.set("running", false);
    let ends = async {
        workers.join_all().await;
        let _ = beats.await;
        devices.ended().await;
        for server in servers {
            let _ = server.await;
        }
    };
    if timeout(LAST_PASSES, ends).await.is_err() {
        tracing::info!("what was in hand is left; the next handler goes on with it");
    }
    Ok(())
}

/// Waits until everything is listed, takes away what nobody is left for, and works from then on.
async fn work(node: &Arc<Node>, health: &Health, workers: u16, shutdown: &Shutdown) -> JoinSet<()> {
    health.set("instances", false);
    health.set("running", true);
    let mut set = JoinSet::new();
    let known = async {
        node.instances.ready().await;
        while node.configuration.known(Duration::from_secs(60)).await.is_none() {}
    };
    if shutdown.unless(known).await.is_none() {
        return set;
    }
    health.set("instances", true);
    sweep::sweep(node).await;
    for _ in 0..workers.max(1) {
        let (node, shutdown) = (node.clone(), shutdown.clone());
        set.spawn(async move {
            let pass = |item: Item| {
                let node = node.clone();
                async move { node.pass(&item).await }
            };
            node.queue.work(&shutdown, pass).await;
        });
    }
    set
}
