//! The screen and the graphics card.

use super::super::Architecture;
use super::super::guest::Guest;
use super::super::model::{Graphics, Video};

/// The video memory of a model that the VMI names, in KiB.
const MEMORY: u32 = 16384;

/// The screen. An emulator of another architecture comes without graphics cards.
pub(super) fn convert(guest: &Guest<'_>) -> Option<(Graphics, Video)> {
    if !guest.has_graphics() || guest.is_foreign() {
        return None;
    }
    let rules = guest.rules;
    let video = match &guest.devices().video {
        Some(video) => Video { model: video.type_.clone(), memory: Some(MEMORY) },
        None if guest.architecture() == Architecture::Amd64 && guest.facts.bochs_for_efi && guest.boots_by_efi() => {
            Video { model: "bochs".to_owned(), memory: None }
        }
        None => Video { model: rules.video.to_owned(), memory: rules.video_memory },
    };
    Some((Graphics { socket: guest.facts.paths.vnc(guest.uid()) }, video))
}
