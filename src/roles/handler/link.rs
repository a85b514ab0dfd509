//! The link to one launcher: finds its socket, listens to what it tells, and says when it has ended.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use kubevirt_rs::guest::status::{Notice, Stage, Status};
use kubevirt_rs::node::instance::Launcher;
use tokio::time::{Instant, sleep};

use super::guests::{Item, Line, volume};
use super::pass::Node;
use super::prepare;
use crate::cluster::reference;
use crate::linux::beneath::Folder;
use crate::wire::launcher::{ClientError, LAST_STATUS, News, SOCKET};

/// The volume with the socket.
const SOCKETS: &str = "sockets";
/// How often it is looked whether a launcher is there.
const LOOK: Duration = Duration::from_millis(200);
/// How long it may take until the socket is there: the pod runs already.
const UNTIL_SOCKET: Duration = Duration::from_secs(180);
/// How long a socket may be there at which nobody listens: that of a launcher that was killed stays behind.
const UNTIL_HEARD: Duration = Duration::from_secs(5);
/// The most that is read of a launcher's last status.
const LAST_WORDS: u64 = 4 << 20;

/// What a look at a pod's socket finds.
enum Look {
    /// The pod has no folder on this node (any more).
    NoPod,
    /// There is no socket.
    NoSocket,
    /// Here it is.
    Found(Line),
}

/// Follows a launcher until it has ended.
pub(super) async fn follow(node: Arc<Node>, item: Item, pod: String) {
    let mut since = Instant::now();
    let mut heard = false;
    loop {
        let found = match look(&node.kubelet, &pod) {
            Ok(found) => found,
            Err(error) => {
                tracing::warn!(namespace = %item.key.namespace, name = %item.key.name, %error, "look for the launcher's socket");
                Look::NoSocket
            }
        };
        let waited = since.elapsed();
        match found {
            Look::Found(line) => match listen(&node, &item, Arc::new(line)).await {
                // it had begun: from here on silence means the end
                Ok(()) => {
                    (heard, since) = (true, Instant::now());
                    continue;
                }
                // nobody has the socket open: that of a launcher that was killed, or has not begun yet
                Err(ClientError::Unreachable { error, .. }) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    if heard || waited > UNTIL_HEARD || last_status(&node.kubelet, &pod).is_some() {
                        break;
                    }
                }
                // one that is only slow is not gone
                Err(error) => tracing::debug!(%error, "the launcher does not answer"),
            },
            Look::NoPod => break,
            Look::NoSocket if heard || last_status(&node.kubelet, &pod).is_some() || waited > UNTIL_SOCKET => break,
            Look::NoSocket => {}
        }
        sleep(LOOK).await;
    }
    let last = last_status(&node.kubelet, &pod);
    node.guests.change(&item, |guest| {
        // what it told while it lived counts if it could not tell more
        let told = match std::mem::take(&mut guest.launcher) {
            Launcher::Alive(status) if status.stage == Stage::Ended => Some(status),
            _ => None,
        };
        guest.launcher = Launcher::Gone(last.map(Box::new).or(told));
        guest.line = None;
    });
    tracing::info!(namespace = %item.key.namespace, name = %item.key.name, "the launcher has ended");
    node.queue.add(item);
}

fn look(kubelet: &Path, pod: &str) -> io::Result<Look> {
    let kubelet = Folder::open(kubelet)?;
    let there = |result: io::Result<Folder>| match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    };
    if there(kubelet.folder(PathBuf::from(format!("pods/{pod}"))))?.is_none() {
        return Ok(Look::NoPod);
    }
    let Some(sockets) = there(kubelet.folder(volume(pod, SOCKETS)))? else { return Ok(Look::NoSocket) };
    match sockets.hold(SOCKET) {
        Ok(socket) if socket.is_socket()? => Ok(Look::Found(Line::new(socket))),
        Ok(_) => Ok(Look::NoSocket),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Look::NoSocket),
        Err(error) => Err(error),
    }
}

/// What a launcher that has ended left behind.
fn last_status(kubelet: &Path, pod: &str) -> Option<Status> {
    let text = Folder::open(kubelet).ok()?.folder(volume(pod, SOCKETS)).ok()?.read(LAST_STATUS, LAST_WORDS).ok()?;
    serde_json::from_str(&text).ok()
}

/// Listens to a launcher until it says nothing more. An error means that it has said nothing at all.
async fn listen(node: &Arc<Node>, item: &Item, line: Arc<Line>) -> Result<(), ClientError> {
    let mut events = line.client.events().await?;
    node.guests.change(item, |guest| guest.line = Some(line));
    loop {
        match events.next().await {
            Ok(Some(News::Status(status))) => {
                learn(node, item, &status).await;
                node.guests.change(item, |guest| guest.launcher = Launcher::Alive(status));
                node.queue.add(item.clone());
            }
            Ok(Some(News::Event(notice))) => tell(node, item, &notice),
            Ok(None) => return Ok(()),
            Err(error) => {
                tracing::debug!(%error, "the launcher was cut off");
                return Ok(());
            }
        }
    }
}

/// A guest that was started by an earlier handler: what that one knew is looked up.
async fn learn(node: &Arc<Node>, item: &Item, status: &Status) {
    let known = node.guests.change(item, |guest| !guest.networks.is_empty() || guest.start != Default::default()).unwrap_or(true);
    if known || !matches!(status.stage, Stage::Started | Stage::Stopping | Stage::Preparing) {
        return;
    }
    let (node, item) = (node.clone(), item.clone());
    let looked = tokio::task::spawn_blocking(move || prepare::look_again(&node, &item)).await;
    if let Ok(Err(error)) = looked {
        tracing::warn!(%error, "look at the network of a guest that runs already");
    }
}

fn tell(node: &Node, item: &Item, notice: &Notice) {
    if let Some(instance) = node.instance(item) {
        node.recorder.record(reference(&instance), notice.warning, &notice.reason, &notice.message);
    }
}
