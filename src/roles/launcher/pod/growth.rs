//! Makes images on claims, and disks larger for the guest when what is behind them has become larger.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;
use std::time::Duration;

use kubevirt_rs::config::ClusterConfig;
use kubevirt_rs::domain::facts::{CLAIM_IMAGE, Paths};
use kubevirt_rs::guest::order::{Order, Volumes};
use kubevirt_rs::guest::status::{Fault, FaultReason};
use kubevirt_rs::storage::growth::{Backing, Claim, Rules, first, growing, size};
use nix::fcntl::{FallocateFlags, fallocate};
use tokio::task::spawn_blocking;
use tokio::time::sleep;

use super::board::Board;
use super::start::Started;
use super::task::Task;
use super::{fault, found};
use crate::libvirt::{Domain, LibvirtError};
use crate::linux::beneath::Held;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// What the blocks are that the kernel counts.
const BLOCK: u64 = 512;

/// Makes images as large as their claims let them be, before the guest sees them, and those that are not there yet. One
/// that cannot be made larger serves as well as it is.
pub(super) fn before(order: &Order, paths: &Paths) -> Result<(), Fault> {
    for volume in growing(&order.vmi) {
        let claim = claim(Some(&order.volumes), volume);
        match found::backing(volume, paths).and_then(|held| enlarge(&held, claim)) {
            Ok(None) => {}
            Ok(Some(bytes)) => tracing::info!(volume, bytes, "An image has become larger"),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                if let Some(claim) = claim {
                    make(order, volume, claim, paths)?;
                }
            }
            Err(error) => tracing::warn!(%error, volume, "An image was not made larger"),
        }
    }
    Ok(())
}

/// Makes the image of a claim that has none.
fn make(order: &Order, volume: &str, claim: Claim, paths: &Paths) -> Result<(), Fault> {
    let rules = Rules::of(&ClusterConfig::new(&order.configuration));
    let made = || -> io::Result<u64> {
        let folder = found::claim_folder(volume, paths)?;
        let size = first(claim, folder.available()?, rules).map_err(io::Error::other)?;
        folder.create(CLAIM_IMAGE)?.set_len(size)?;
        Ok(size)
    };
    match made() {
        Ok(bytes) => {
            tracing::info!(volume, bytes, "An image was made");
            Ok(())
        }
        Err(error) => {
            let at = order.vmi.spec.volumes.iter().position(|known| known.name == volume).unwrap_or_default();
            let message = format!("There is no {CLAIM_IMAGE} on the claim of the volume {volume:?}, and none could be made: {error}");
            Err(Fault { field: Some(format!("spec.volumes[{at}]")), ..fault(FaultReason::DiskNotReady, message) })
        }
    }
}

/// Looks after the claims of a guest. What is known of them stands on the board.
pub(super) fn watch(started: &Started, board: &Board) -> Option<Task> {
    let status = board.status();
    let disks = status.domain.as_ref().map(|domain| domain.disks.as_slice()).unwrap_or_default();
    let target = |name: &str| disks.iter().find(|disk| disk.volume == name).map(|disk| disk.target.clone());
    let watched: Vec<_> =
        growing(&started.vmi).filter_map(|volume| Some(Watched { volume: volume.into(), target: target(volume)? })).collect();
    (!watched.is_empty()).then(|| Task::begin(look(started.domain.clone(), board.clone(), watched)))
}

/// A disk that may grow.
struct Watched {
    volume: Arc<str>,
    /// Its name in the domain.
    target: String,
}

async fn look(domain: Domain, board: Board, watched: Vec<Watched>) {
    let mut seen = BTreeMap::new();
    loop {
        for Watched { volume, target } in &watched {
            let backing = match look_at(volume.clone()).await {
                Ok(backing) => backing,
                Err(error) => {
                    tracing::debug!(%error, %volume, "A disk cannot be looked at");
                    continue;
                }
            };
            let bytes = size(backing, claim(board.status().volumes.as_ref(), volume));
            // once for each size, whether that went well or not
            if seen.insert(target, bytes) == Some(bytes) {
                continue;
            }
            match grow(&domain, target, bytes).await {
                Ok(false) => {}
                Ok(true) => tracing::info!(disk = target, bytes, "A disk has become larger"),
                Err(error) => tracing::warn!(%error, disk = target, bytes, "A disk was not made larger for the guest"),
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// Looks on a thread of its own: what lies on a network may let wait.
async fn look_at(volume: Arc<str>) -> io::Result<Backing> {
    let look = move || backing(&found::backing(&volume, &Paths::default())?);
    spawn_blocking(look).await.unwrap_or_else(|error| Err(io::Error::other(error)))
}

fn backing(held: &Held) -> io::Result<Backing> {
    let size = held.size()?;
    if held.is_block_device()? {
        return Ok(Backing::Device { size });
    }
    let allocated = u64::try_from(held.stat()?.st_blocks).unwrap_or(0).saturating_mul(BLOCK);
    Ok(Backing::File { size, allocated, available: held.available()? })
}

fn claim(volumes: Option<&Volumes>, name: &str) -> Option<Claim> {
    volumes?.get(name)?.claim
}

/// Makes an image larger that nobody uses yet; says how large it is then. One without holes has none afterwards.
fn enlarge(held: &Held, claim: Option<Claim>) -> io::Result<Option<u64>> {
    let backing = backing(held)?;
    let wanted = size(backing, claim);
    let Backing::File { size, allocated, .. } = backing else { return Ok(None) };
    if wanted <= size {
        return Ok(None);
    }
    let file = held.open(true)?;
    if size > 0 && allocated >= size {
        let length = |bytes: u64| i64::try_from(bytes).map_err(io::Error::other);
        fallocate(&file, FallocateFlags::empty(), length(size)?, length(wanted - size)?)?;
    } else {
        file.set_len(wanted)?;
    }
    Ok(Some(wanted))
}

/// Makes a disk as large as that, if it is smaller. QEMU makes the image larger where it is one.
async fn grow(domain: &Domain, target: &str, size: u64) -> Result<bool, LibvirtError> {
    let smaller = domain.capacity(target.to_owned()).await? < size;
    if smaller {
        domain.resize(target.to_owned(), size).await?;
    }
    Ok(smaller)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::linux::beneath::Folder;

    #[test]
    fn an_image_is_enlarged_once_and_stays_without_holes() {
        let folder = std::env::temp_dir().join(format!("kubevirt-rs-growth-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let hold = |path: &Path, content: &[u8], size| {
            fs::write(path, content).unwrap();
            fs::OpenOptions::new().write(true).open(path).and_then(|file| file.set_len(size)).unwrap();
            Folder::open(&folder).unwrap().hold("disk.img").unwrap()
        };
        let image = folder.join("disk.img");
        let claim = Some(Claim { capacity: 4 << 20, overhead: 500 });
        let sparse = hold(&image, b"", 1 << 20);
        assert_eq!(enlarge(&sparse, None).unwrap(), None);
        assert_eq!(enlarge(&sparse, claim).unwrap(), Some(2 << 20));
        assert_eq!(enlarge(&sparse, claim).unwrap(), None);
        assert!(matches!(backing(&sparse).unwrap(), Backing::File { size, allocated: 0, .. } if size == 2 << 20));
        let full = hold(&image, &vec![1; 1 << 20], 1 << 20);
        full.open(true).unwrap().sync_all().unwrap();
        assert_eq!(enlarge(&full, claim).unwrap(), Some(2 << 20));
        assert!(matches!(backing(&full).unwrap(), Backing::File { allocated, .. } if allocated >= 2 << 20));
        fs::remove_dir_all(&folder).unwrap();
    }
}
