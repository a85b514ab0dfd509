//! The device plugins: each serves its pool, tells the kubelet, and does so again when the kubelet has started anew.

use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use kubevirt_rs::node::device::{POOLS, Pool};
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};
use tokio::time::sleep;

use crate::cluster::Shutdown;
use crate::wire::device_plugin::{KUBELET_SOCKET, State, register, serve};

/// How often it is looked whether the device and the kubelet are still there.
const LOOK: Duration = Duration::from_secs(1);
/// How long the kubelet gets to hear that the devices are gone.
const LAST_WORDS: Duration = Duration::from_millis(200);

/// All plugins.
pub(super) struct Devices {
    plugins: JoinSet<()>,
    ready: watch::Receiver<usize>,
}

impl Devices {
    /// Starts one for each pool, until the end is asked for.
    pub(super) fn start(kubelet: &Path, shutdown: &Shutdown) -> Self {
        let (registered, ready) = watch::channel(0);
        let mut plugins = JoinSet::new();
        for pool in POOLS {
            let (folder, registered, shutdown) = (kubelet.join("device-plugins"), registered.clone(), shutdown.clone());
            plugins.spawn(async move { keep(&folder, pool, &registered, &shutdown).await });
        }
        Self { plugins, ready }
    }

    /// How many pools the kubelet knows of.
    pub(super) fn ready(&self) -> watch::Receiver<usize> {
        self.ready.clone()
    }

    /// Waits for their end.
    pub(super) async fn ended(mut self) {
        while self.plugins.join_next().await.is_some() {}
    }
}

async fn keep(folder: &Path, pool: Pool, registered: &watch::Sender<usize>, shutdown: &Shutdown) {
    if pool.wake {
        // opened once, so that the kernel loads what is behind it
        let _ = std::fs::File::open(pool.path);
    }
    while !shutdown.is_asked() {
        let (change, state) = watch::channel(look(&pool));
        match begin(folder, &pool, state).await {
            Ok(plugin) => {
                registered.send_modify(|count| *count += 1);
                tracing::info!(resource = pool.resource(), state = ?*change.borrow(), "the kubelet knows the devices");
                attend(&pool, &plugin, &change, shutdown).await;
                registered.send_modify(|count| *count = count.saturating_sub(1));
                if shutdown.is_asked() {
                    change.send_replace(State::Gone);
                    sleep(LAST_WORDS).await;
                    let _ = std::fs::remove_file(folder.join(pool.socket()));
                }
            }
            Err(error) => tracing::warn!("{error}"),
        }
        let _ = shutdown.unless(sleep(LOOK)).await;
    }
}

/// A plugin that serves.
struct Plugin {
    socket: PathBuf,
    /// The kubelet that knows of it, by its socket.
    kubelet: PathBuf,
    seen: (Option<u64>, Option<u64>),
    server: AbortHandle,
}

impl Drop for Plugin {
    fn drop(&mut self) {
        self.server.abort();
    }
}

async fn begin(folder: &Path, pool: &Pool, state: watch::Receiver<State>) -> anyhow::Result<Plugin> {
    let (socket, kubelet) = (folder.join(pool.socket()), folder.join(KUBELET_SOCKET));
    match std::fs::remove_file(&socket) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => anyhow::bail!("make place for {}: {error}", socket.display()),
        _ => {}
    }
    let listener = UnixListener::bind(&socket).map_err(|error| anyhow::anyhow!("listen at {}: {error}", socket.display()))?;
    let seen = (inode(&socket), inode(&kubelet));
    let (pool, resource) = (*pool, pool.resource());
    let server = tokio::spawn(async move {
        if let Err(error) = serve(listener, pool, state).await {
            tracing::warn!("serve {resource}: {error}");
        }
    });
    let plugin = Plugin { socket, kubelet, seen, server: server.abort_handle() };
    register(folder, &pool).await?;
    Ok(plugin)
}

/// Tells how the device is, until the kubelet has to be told anew or the end is asked for.
async fn attend(pool: &Pool, plugin: &Plugin, change: &watch::Sender<State>, shutdown: &Shutdown) {
    while shutdown.unless(sleep(LOOK)).await.is_some() {
        // a kubelet that starts removes every socket and makes its own anew
        if plugin.server.is_finished() || (inode(&plugin.socket), inode(&plugin.kubelet)) != plugin.seen {
            tracing::info!(resource = pool.resource(), "the kubelet has started anew");
            return;
        }
        let now = look(pool);
        let changed = change.send_if_modified(|state| std::mem::replace(state, now) != now);
        if changed {
            tracing::info!(resource = pool.resource(), state = ?now, "the device has changed");
        }
    }
}

fn inode(path: &Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|metadata| metadata.ino())
}

fn look(pool: &Pool) -> State {
    if Path::new(pool.path).exists() { State::Healthy } else { State::Unhealthy }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use futures_util::stream;
    use http_body_util::StreamBody;
    use hyper::body::{Bytes, Frame, Incoming};
    use hyper::service::service_fn;
    use hyper::{HeaderMap, Request, Response};
    use hyper_util::rt::{TokioExecutor, TokioIo};
    use tokio::sync::mpsc;
    use tokio::time::timeout;

    use super::*;

    /// A kubelet that takes every plugin, and tells what it was asked.
    async fn kubelet(folder: PathBuf, told: mpsc::UnboundedSender<String>) {
        let listener = UnixListener::bind(folder.join(KUBELET_SOCKET)).unwrap();
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let told = told.clone();
            let answer = service_fn(move |request: Request<Incoming>| {
                let _ = told.send(request.uri().path().to_owned());
                let mut end = HeaderMap::new();
                end.insert("grpc-status", "0".parse().unwrap());
                let empty = Frame::data(Bytes::from_static(&[0; 5]));
                let body = StreamBody::new(stream::iter([Ok::<_, Infallible>(empty), Ok(Frame::trailers(end))]));
                let answer = Response::builder().header("content-type", "application/grpc").body(body).unwrap();
                async move { Ok::<_, Infallible>(answer) }
            });
            tokio::spawn(hyper::server::conn::http2::Builder::new(TokioExecutor::new()).serve_connection(TokioIo::new(stream), answer));
        }
    }

    #[tokio::test]
    async fn a_kubelet_that_has_started_anew_is_told_again() {
        let folder = std::env::temp_dir().join(format!("kubevirt-rs-devices-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&folder);
        std::fs::create_dir(&folder).unwrap();
        let (tell, mut told) = mpsc::unbounded_channel();
        let kubelet = tokio::spawn(kubelet(folder.clone(), tell));
        let (registered, mut ready) = watch::channel(0);
        let shutdown = Shutdown::new();
        let (here, end) = (folder.clone(), shutdown.clone());
        let plugin = tokio::spawn(async move { keep(&here, POOLS[0], &registered, &end).await });
        let mut registers = async || {
            let asked = timeout(Duration::from_secs(20), told.recv()).await.unwrap();
            assert_eq!(asked.as_deref(), Some("/v1beta1.Registration/Register"));
            timeout(Duration::from_secs(20), ready.wait_for(|count| *count == 1)).await.unwrap().unwrap();
        };
        registers().await;
        std::fs::remove_file(folder.join(POOLS[0].socket())).unwrap();
        registers().await;
        shutdown.ask();
        timeout(Duration::from_secs(5), plugin).await.unwrap().unwrap();
        assert!(!folder.join(POOLS[0].socket()).exists(), "a plugin that ends leaves no socket");
        kubelet.abort();
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
