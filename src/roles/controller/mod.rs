//! Turns VirtualMachines into instances, and instances into pods.
//!
//! Every controller goes the same five steps: [`observe`] reads the stores, [`validate`] judges what is to be made, the
//! plan is `lifecycle`'s, [`apply`] carries it out, [`report`] tells of it. A pass hangs on nothing but what is there, so
//! it does not matter how often, and after which change, it is made.

mod apply;
mod args;
#[cfg(test)]
mod histories;
mod item;
mod observe;
mod pass;
mod report;
mod service;
mod settings;
mod stores;
mod validate;

use std::net::SocketAddr;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

pub(crate) use args::Args;

use anyhow::Context as _;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::admission::Seed;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use crate::cluster::{Cluster, Election, Expectations, Queue, Recorder, Shutdown};
use crate::serve::certificates::KeyFiles;
use crate::serve::health::Health;
use crate::serve::tls::{Clients, ServerTls};
use crate::serve::{Limits, Server};
use item::Item;
use settings::Settings;
use stores::Stores;

/// The name under which the controller writes and leads, as tools expect it.
const COMPONENT: &str = "virt-controller";
/// So long passes may take to come to their end once the end is asked for.
const LAST_PASSES: Duration = Duration::from_secs(3);

/// What the controllers share.
struct Controller {
    cluster: Cluster,
    stores: Arc<Stores>,
    settings: Arc<Settings>,
    queue: Arc<Queue<Item>>,
    expectations: Expectations<Item>,
    recorder: Recorder,
    installed: Installed,
    outside: Outside,
}

/// What is different every time that one asks.
struct Outside {
    /// What the time is.
    now: Box<dyn Fn() -> Timestamp + Send + Sync>,
    /// Random bits.
    chance: Box<dyn Fn() -> Seed + Send + Sync>,
}

/// Where this is, and how this installation makes pods.
struct Installed {
    image: String,
    sidecar_shim_image: String,
    image_pull_secret: String,
    qemu_timeout: u32,
    /// The namespace of the roles.
    namespace: String,
    /// The name of the pod or machine.
    host: String,
}

impl Controller {
    /// Follows all that is read, until it is time to stop. Nothing is written yet but what there is to say.
    fn follow(cluster: Cluster, installed: Installed, outside: Outside, shutdown: &Shutdown) -> Arc<Self> {
        let recorder = Recorder::start(&cluster, &installed.host, shutdown);
        let (stores, queue, settings) = (Stores::new(), Arc::<Queue<Item>>::default(), Arc::<Settings>::default());
        stores.follow(&cluster, &queue, &settings, &recorder, shutdown);
        Arc::new(Self { cluster, stores, settings, queue, expectations: Expectations::default(), recorder, installed, outside })
    }

    /// Makes so many passes at once.
    fn work(self: &Arc<Self>, workers: u16, shutdown: &Shutdown) -> JoinSet<()> {
        let mut all = JoinSet::new();
        for _ in 0..workers.max(1) {
            let (controller, shutdown) = (self.clone(), shutdown.clone());
            all.spawn(async move { controller.queue.work(&shutdown, |item| controller.pass(item)).await });
        }
        all
    }
}

/// Runs the role until it is asked to stop.
pub(crate) fn run(args: &Args) -> ExitCode {
    const THREADS: u8 = 2;
    crate::linux::memory::arenas(THREADS);
    let runtime = match tokio::runtime::Builder::new_multi_thread().worker_threads(THREADS.into()).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            tracing::error!("start the threads: {error}");
            return ExitCode::FAILURE;
        }
    };
    let done = runtime.block_on(serve(args));
    runtime.shutdown_timeout(Duration::from_millis(200));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!("{error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn serve(args: &Args) -> anyhow::Result<()> {
    let shutdown = Shutdown::on_signals().context("listen to signals")?;
    crate::linux::memory::keep_small();
    let cluster = args.access.connect(COMPONENT).await?;
    let metrics = service::Metrics::new().context("set the metrics up")?;
    let health = Health::default();
    health.set("the objects", false);
    answer(args, &health, &metrics, &shutdown).await?;
    let host = host_name();
    let installed = Installed {
        image: args.launcher_image.clone(),
        sidecar_shim_image: args.sidecar_shim_image.clone().unwrap_or_else(|| args.launcher_image.clone()),
        image_pull_secret: args.image_pull_secret.clone(),
        qemu_timeout: args.launcher_qemu_timeout,
        namespace: args.namespace.clone(),
        host: host.clone(),
    };
    let outside = Outside { now: Box::new(now), chance: Box::new(random_seed) };
    let controller = Controller::follow(cluster.clone(), installed, outside, &shutdown);
    let stores = &controller.stores;
    // A stand-by has its stores filled, so that it can begin at once.
    if shutdown.unless(stores.ready()).await.is_none() {
        return Ok(());
    }
    tracing::info!(
        "everything is listed: {} machines, {} instances, {} pods",
        stores.machines.len(),
        stores.instances.len(),
        stores.pods.len()
    );
    health.set("the objects", true);
    let identity = format!("{host}_{}", random_seed().uuid(0));
    let election = Election::new(&cluster, &args.namespace, COMPONENT, &identity);
    let Some(mut leadership) = election.win(&shutdown).await else {
        return Ok(());
    };
    metrics.leading.set(1);
    let mut workers = controller.work(args.workers, &shutdown);
    tokio::select! {
        () = leadership.keep() => {
            // Someone else may lead by now: nothing more is written, not even the end of what is in hand.
            workers.abort_all();
            anyhow::bail!("stop: the lease is lost");
        }
        () = shutdown.asked() => {}
    }
    let _ = timeout(LAST_PASSES, workers.join_all()).await;
    leadership.release().await;
    Ok(())
}

/// Serves health and metrics until it is time to stop.
async fn answer(args: &Args, health: &Health, metrics: &service::Metrics, shutdown: &Shutdown) -> anyhow::Result<()> {
    let address = SocketAddr::new(args.listen, args.port);
    let listener = TcpListener::bind(address).await.with_context(|| format!("listen on {address}"))?;
    let (_, settings) = watch::channel(Default::default());
    let tls = ServerTls::follow(KeyFiles::of_secret(&args.certificates), Clients::Anyone, settings);
    let service = Arc::new(service::Answers { health: health.clone(), metrics: metrics.clone() });
    tokio::spawn(Server { listener, tls, service, limits: Limits::default() }.run(shutdown.clone()));
    tracing::info!(%address, "serving");
    Ok(())
}

/// The name of the pod or machine.
fn host_name() -> String {
    let name = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    Some(name.trim()).filter(|name| !name.is_empty()).unwrap_or(COMPONENT).to_owned()
}

fn random_seed() -> Seed {
    Seed(rand::random())
}

/// The time as conditions tell it: to the second, as every other controller does.
fn now() -> Timestamp {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now)
}
