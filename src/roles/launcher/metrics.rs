//! Gives a guest its downward metrics: writes the disk again and again, and answers at the port.
//!
//! The launcher reads all of it itself: what the host's kernel tells is the same inside a pod, and libvirt is its own.
//! Nobody outside has to reach into the pod for it.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;
use std::time::{Duration, Instant, SystemTime};

use kubevirt_rs::api::v1::VirtualMachineInstance;
use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::downward_metrics::channel::{self, Channel, Request};
use kubevirt_rs::downward_metrics::{Figures, INTERVAL, disk, disk_of, document, has_channel};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::UnixStream;
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::libvirt::{Connection, Domain};
use crate::linux::figures;

/// How long libvirt may take. What comes later is not true any more.
const ANSWERED: Duration = Duration::from_secs(10);
/// How much of what the guest writes is taken at once.
const PIECE: usize = 512;

/// They are given for as long as this is here.
pub(super) type Metrics = JoinSet<()>;

/// Why there are none.
#[derive(Debug, thiserror::Error)]
#[error("The metrics cannot be given by {path}: {error}")]
pub(super) struct MetricsError {
    pub(super) field: String,
    path: String,
    error: io::Error,
}

/// Begins, with the first figures on the disk. QEMU runs, the guest does not need to yet.
pub(super) async fn begin(
    vmi: &VirtualMachineInstance,
    paths: &Paths,
    host_name: &str,
    connection: &Connection,
    domain: &Domain,
) -> Result<Metrics, MetricsError> {
    let mut tasks = Metrics::new();
    if disk_of(vmi).is_none() && !has_channel(vmi) {
        return Ok(tasks);
    }
    let source =
        Source { host_name: host_name.to_owned(), packages: figures::packages(), connection: connection.clone(), domain: domain.clone() };
    if let Some(volume) = disk_of(vmi) {
        let path = &paths.metrics_disk;
        let field = || format!("spec.volumes[{volume}].downwardMetrics");
        let failed = |error| MetricsError { field: field(), path: path.clone(), error };
        let file = File::options().write(true).open(path).map_err(failed)?;
        if let Err(error) = write(&file, &source).await {
            tracing::warn!("The metrics are not on their disk yet: {error}");
        }
        tasks.spawn(keep(file, source.clone()));
    }
    if has_channel(vmi) {
        let path = &paths.metrics_socket;
        let failed = |error| MetricsError { field: "spec.domain.devices.downwardMetrics".to_owned(), path: path.clone(), error };
        let stream = UnixStream::connect(path).await.map_err(failed)?;
        tasks.spawn(serve(stream, source));
    }
    Ok(tasks)
}

/// Where the figures come from.
#[derive(Clone)]
struct Source {
    host_name: String,
    packages: Option<usize>,
    connection: Connection,
    domain: Domain,
}

impl Source {
    async fn document(&self) -> Result<String, String> {
        let ask = async { tokio::try_join!(self.connection.product(), self.domain.figures()) };
        let answer = timeout(ANSWERED, ask).await.map_err(|_| format!("libvirt has not answered within {} s", ANSWERED.as_secs()))?;
        let (product, guest) = answer.map_err(|error| error.to_string())?;
        Ok(document(&Figures {
            host_name: self.host_name.clone(),
            product,
            guest,
            host: figures::read(self.packages),
            time: SystemTime::UNIX_EPOCH.elapsed().unwrap_or_default().as_secs(),
        }))
    }
}

/// Keeps the disk up to date. What goes wrong is told once, until something else does.
async fn keep(file: File, source: Source) {
    let mut told = None;
    loop {
        sleep(INTERVAL).await;
        let fault = write(&file, &source).await.err();
        if let Some(fault) = &fault
            && told.as_ref() != Some(fault)
        {
            tracing::warn!("The metrics on their disk are old: {fault}");
        }
        told = fault;
    }
}

async fn write(file: &File, source: &Source) -> Result<(), String> {
    let document = source.document().await?;
    // QEMU reads by way of the page cache, so that it sees the parts in the order in which they are written
    for part in disk::update(&document).map_err(|error| error.to_string())? {
        file.write_all_at(&part.bytes, part.offset).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Answers until QEMU ends.
async fn serve(mut stream: UnixStream, source: Source) {
    let (mut channel, mut piece, begin) = (Channel::default(), vec![0; PIECE], Instant::now());
    let ended = loop {
        let Some(request) = channel.take() else {
            match stream.read(&mut piece).await {
                Ok(0) => break None,
                Ok(n) => channel.push(piece.get(..n).unwrap_or_default()),
                Err(error) => break Some(error),
            }
            continue;
        };
        sleep(channel.wait(begin.elapsed())).await;
        let answer = match request {
            Request::Invalid => channel::INVALID.to_vec(),
            Request::Metrics => match source.document().await {
                Ok(document) => channel::answer(&document),
                Err(error) => {
                    tracing::warn!("The guest was given no metrics: {error}");
                    channel::UNAVAILABLE.to_vec()
                }
            },
        };
        if let Err(error) = stream.write_all(&answer).await {
            break Some(error);
        }
    };
    if let Some(error) = ended {
        tracing::debug!(%error, "The port of the metrics is closed");
    }
}
