//! Makes disks larger for the guest when what is behind them has become larger.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Seek as _, SeekFrom};
use std::time::Duration;

use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::guest::status::Disk;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::found;
use super::start::Started;
use crate::libvirt::Domain;

/// How often it is looked.
const LOOK_EVERY: Duration = Duration::from_secs(15);
/// Disks are whole sectors.
const SECTOR: u64 = 512;

/// Looks for as long as it lives.
pub(super) struct Growth(Option<JoinHandle<()>>);

impl Drop for Growth {
    fn drop(&mut self) {
        if let Some(task) = &self.0 {
            task.abort();
        }
    }
}

impl Growth {
    /// Watches the claims of a guest; `disks` are the guest's.
    pub(super) fn watch(started: &Started, disks: &[Disk]) -> Self {
        let paths = Paths::default();
        let claims = started.vmi.spec.volumes.iter().filter(|v| v.persistent_volume_claim.is_some() || v.data_volume.is_some());
        let target = |name: &str| disks.iter().find(|disk| disk.volume == name).map(|disk| disk.target.clone());
        let watched: Vec<_> = claims.filter_map(|volume| Some((target(&volume.name)?, found::claim(volume, &paths)?))).collect();
        Self((!watched.is_empty()).then(|| tokio::spawn(look(started.domain.clone(), watched))))
    }
}

async fn look(domain: Domain, watched: Vec<(String, String)>) {
    let mut seen = BTreeMap::new();
    loop {
        for (target, path) in &watched {
            let size = match size(path) {
                Ok(size) => size / SECTOR * SECTOR,
                Err(error) => {
                    tracing::debug!(%error, path, "A disk cannot be looked at");
                    continue;
                }
            };
            // once for each size, whether that went well or not
            if seen.insert(target, size) == Some(size) {
                continue;
            }
            match grow(&domain, target, size).await {
                Ok(false) => {}
                Ok(true) => tracing::info!(disk = target, bytes = size, "A disk has become larger"),
                Err(error) => tracing::warn!(%error, disk = target, bytes = size, "The guest was not told that a disk has become larger"),
            }
        }
        sleep(LOOK_EVERY).await;
    }
}

/// The size of a file or a block device.
fn size(path: &str) -> io::Result<u64> {
    File::open(path)?.seek(SeekFrom::End(0))
}

/// Makes a disk as large as that, if it is smaller.
async fn grow(domain: &Domain, target: &str, size: u64) -> Result<bool, crate::libvirt::LibvirtError> {
    let smaller = domain.capacity(target.to_owned()).await? < size;
    if smaller {
        domain.resize(target.to_owned(), size).await?;
    }
    Ok(smaller)
}
