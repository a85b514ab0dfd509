//! File systems shared by virtiofs.

use super::super::guest::Guest;
use super::super::model::Filesystem;

pub(super) fn convert(guest: &Guest<'_>) -> Vec<Filesystem> {
    let shared = guest.devices().filesystems.iter().filter(|filesystem| filesystem.virtiofs.is_some());
    shared.map(|filesystem| Filesystem { tag: filesystem.name.clone(), socket: guest.facts.paths.virtiofs(&filesystem.name) }).collect()
}
