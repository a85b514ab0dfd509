//! Dumps of the guest's memory, into a file of a claim whose folder the handler has shown in the pod.
//!
//! The claim is the tenant's, and other pods may write to it: names are taken away below a folder that is held, and the
//! handler shows the folder so that no link in it is followed, by libvirt either.

use std::io;
use std::path::Path;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kubevirt_rs::domain::facts::Paths;
use kubevirt_rs::guest::status::{Fault, FaultReason, MemoryDump};
use tokio::task::spawn_blocking;

use super::board::Board;
use super::fault;
use crate::libvirt::Domain;
use crate::linux::beneath::Folder;
use crate::wire::launcher::DumpMemory;

/// What is in the name of every dump.
const MARK: &str = "memory.dump";

/// Begins a dump, which goes on beside whoever watches the guest; the board tells how it went. One that was begun already
/// is left alone.
pub(super) fn begin(domain: Domain, board: &Board, to: DumpMemory) -> Result<(), Fault> {
    let status = board.status();
    match &status.memory_dump {
        Some(dump) if dump.volume == to.volume && dump.file == to.file => return Ok(()),
        Some(dump) if dump.goes_on() => {
            let message = format!("The guest's memory is being dumped to the volume {:?}; one dump is made at a time", dump.volume);
            return Err(fault(FaultReason::Conflict, message));
        }
        _ => {}
    }
    for (what, name) in [("volume", &to.volume), ("file", &to.file)] {
        if !is_plain(name) {
            return Err(fault(FaultReason::BadRequest, format!("{name:?} is no name of a {what}; it must be one without '/'")));
        }
    }
    let guest = status.domain.clone().unwrap_or_default();
    let bytes = guest.memory.max(guest.memory_at_boot);
    let DumpMemory { volume, file } = to;
    let begun = MemoryDump { volume: volume.clone(), file: file.clone(), begun: Some(now()), ..MemoryDump::default() };
    board.update(|status| status.memory_dump = Some(begun));
    tracing::info!(volume, file, "The guest's memory is dumped");
    let board = board.clone();
    tokio::spawn(async move {
        let failure = dump(&domain, &volume, &file, bytes).await.err();
        match &failure {
            None => tracing::info!(volume, file, "The guest's memory was dumped"),
            Some(why) => tracing::error!(volume, file, "The guest's memory was not dumped: {why}"),
        }
        board.update(|status| {
            if let Some(dump) = &mut status.memory_dump {
                (dump.ended, dump.failure) = (Some(now()), failure);
            }
        });
    });
    Ok(())
}

fn is_plain(name: &str) -> bool {
    !matches!(name, "" | "." | "..") && !name.contains(['/', '\0'])
}

/// The time as Kubernetes writes it: to the second.
fn now() -> Time {
    let now = Timestamp::now();
    Time(Timestamp::from_second(now.as_second()).unwrap_or(now))
}

/// Writes the memory, of so many bytes, to a file; the error says why that is not there.
async fn dump(domain: &Domain, volume: &str, file: &str, bytes: u64) -> Result<(), String> {
    let hotplug = Paths::default().hotplug;
    let path = format!("{hotplug}/{volume}/{file}");
    let name = volume.to_owned();
    let folder = spawn_blocking(move || prepare(Path::new(&hotplug), &name, bytes)).await.map_err(|error| error.to_string())??;
    let dumped = domain.dump_memory(path).await;
    let Err(error) = dumped else { return Ok(()) };
    // the part that was written is no use to anybody, and there may be no room for the next
    let file = file.to_owned();
    let left = spawn_blocking(move || {
        let room = folder.available();
        folder.remove(&file).map(|()| room)
    });
    let why = error.to_string();
    Err(match left.await {
        Ok(Ok(Ok(room))) if room < bytes => format!("{why} (the claim had {room} bytes left, the guest's memory takes {bytes})"),
        Ok(Err(error)) => format!("{why}; what was written of it stays: {error}"),
        _ => why,
    })
}

/// Takes earlier dumps away from a volume, and looks whether there is room for another.
fn prepare(shown: &Path, volume: &str, bytes: u64) -> Result<Folder, String> {
    let failed = |what: &str, error: &io::Error| format!("{what} of the volume {volume:?}: {error}");
    let folder = Folder::open(shown).and_then(|shown| shown.folder(volume)).map_err(|error| failed("open the folder", &error))?;
    for entry in std::fs::read_dir(folder.path("")).map_err(|error| failed("look at the files", &error))? {
        let name = entry.map_err(|error| failed("look at the files", &error))?.file_name();
        let Some(name) = name.to_str().filter(|name| name.contains(MARK)) else { continue };
        if let Err(error) = folder.remove(name) {
            // it only takes room
            tracing::warn!(%error, file = name, "An earlier dump of the guest's memory stays");
        }
    }
    let room = folder.available().map_err(|error| failed("look for room on the claim", &error))?;
    if room < bytes {
        return Err(format!(
            "the claim has {room} bytes left, and the guest's memory takes {bytes}; give a larger claim, or make room in it"
        ));
    }
    Ok(folder)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lead_nowhere_else() {
        for (name, plain) in
            [("a-b-20261203-150000.memory.dump", true), ("", false), (".", false), ("..", false), ("a/b", false), ("a\0", false)]
        {
            assert_eq!(is_plain(name), plain, "{name:?}");
        }
    }

    #[test]
    fn earlier_dumps_go_and_a_claim_without_room_is_told() {
        let scratch = std::env::temp_dir().join(format!("kubevirt-rs-dumps-{}", std::process::id()));
        let _ = std::fs::remove_dir_all(&scratch);
        let claim = scratch.join("claim");
        std::fs::create_dir_all(&claim).unwrap();
        for name in ["vm-claim-20261203-150000.memory.dump", "kept"] {
            std::fs::write(claim.join(name), "x").unwrap();
        }
        let error = prepare(&scratch, "claim", u64::MAX).unwrap_err();
        assert!(error.contains(&u64::MAX.to_string()) && error.contains("larger claim"), "{error}");
        prepare(&scratch, "claim", 1).unwrap();
        let names: Vec<_> = std::fs::read_dir(&claim).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(names, ["kept"]);
        std::os::unix::fs::symlink(&claim, scratch.join("link")).unwrap();
        for elsewhere in ["link", "absent"] {
            assert!(prepare(&scratch, elsewhere, 1).unwrap_err().contains("open the folder"), "{elsewhere}");
        }
        std::fs::remove_dir_all(&scratch).unwrap();
    }
}
