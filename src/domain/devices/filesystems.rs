//! File systems shared by virtiofs.

use super::super::guest::Guest;
use super::super::model::Filesystem;

pub(super) fn convert(guest: &Guest<'_>) -> Vec<Filesystem> {
    let facts = guest.facts;
    let shared = guest.devices().filesystems.iter().filter(|filesystem| filesystem.virtiofs.is_some());
    shared
        .map(|source| Filesystem {
            tag: source.name.clone(),
            socket: facts.paths.virtiofs(&source.name),
            kubevirt_spelling: facts.kubevirt_spelling,
        })
        .collect()
}
