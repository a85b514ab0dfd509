//! The end of a launcher: what is told to whom, and what is cleared away.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::time::Duration;

use kubevirt_rs::guest::status::{Fault, FaultReason, Stage, Status};
use kubevirt_rs::pod::paths;
use tokio::signal::unix::{SignalKind, signal};

use super::NEVER_STARTED;
use super::board::Board;
use super::driver::Ended;
use crate::linux::files;
use crate::roles::launcher::args::PodArgs;
use crate::wire::launcher::LAST_STATUS;

/// Where Kubernetes looks for a pod's last words.
const TERMINATION_LOG: &str = "/dev/termination-log";
/// How long those who watch may take to see the end.
const SEEN: Duration = Duration::from_secs(2);

/// Tells how it ended; returns the exit code.
///
/// As with KubeVirt, a launcher whose guest had started ends with 0, however the guest ended: that is in the status.
pub(super) async fn tell(args: &PodArgs, board: &Board, outcome: Result<Ended, Fault>) -> u8 {
    let code = match outcome {
        Ok(Ended::Guest | Ended::NotWanted) => 0,
        Err(fault) => {
            let started = board.status().domain.is_some();
            board.update(|status| status.fault = Some(fault));
            if started { 1 } else { NEVER_STARTED }
        }
    };
    board.update(|status| status.stage = Stage::Ended);
    let status = board.status();
    if let Some(words) = last_words(&status) {
        eprintln!("kubevirt-rs: {words}");
        // not every pod has such a file
        let _ = fs::write(TERMINATION_LOG, &words);
    }
    let file = args.kubevirt_share_dir.join("sockets").join(LAST_STATUS);
    let text = serde_json::to_vec(&*status).unwrap_or_default();
    if let Err(error) = files::replace(&file, &text) {
        tracing::warn!(%error, "The last status could not be written for the handler");
    }
    board.seen(SEEN).await;
    release_images(&args.container_disk_dir);
    code
}

/// What went wrong, in words; nothing when nothing did.
fn last_words(status: &Status) -> Option<String> {
    let fault = status.fault.as_ref()?;
    let words = status.last_words.trim();
    Some(if words.is_empty() { fault.message.clone() } else { format!("{}\n{words}", fault.message) })
}

/// The containers that hold images end when their sockets are gone, and with them the pod.
fn release_images(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if path.extension().is_some_and(|e| e == "sock") {
            match fs::remove_file(&path) {
                Err(e) if e.kind() != ErrorKind::NotFound => tracing::warn!(%e, path = %path.display(), "A container may stay"),
                _ => {}
            }
        }
    }
}

/// Waits until the pod is deleted.
pub(super) async fn until_told() {
    if let Ok(mut stop) = signal(SignalKind::terminate()) {
        stop.recv().await;
    }
}

/// The folder of the sockets by which the handler speaks to launchers: as every other path, it is KubeVirt's.
pub(super) fn sockets(args: &PodArgs) -> std::path::PathBuf {
    match Path::new(paths::SOCKETS).strip_prefix(paths::SHARE) {
        Ok(below) => args.kubevirt_share_dir.join(below),
        Err(_) => args.kubevirt_share_dir.join("sockets"),
    }
}

/// How a guest is spoken of that libvirt lost.
pub(super) fn libvirt_lost(status: &str) -> Fault {
    super::fault(FaultReason::LibvirtFailed, format!("Libvirt's daemon has ended ({status}), and the guest is ended with it"))
}
