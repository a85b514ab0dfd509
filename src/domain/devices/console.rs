//! The serial console.

use super::super::guest::Guest;
use super::super::model::Serial;

pub(super) fn convert(guest: &Guest<'_>) -> Option<Serial> {
    let facts = guest.facts;
    guest.has_serial_console().then(|| Serial {
        socket: facts.paths.serial(guest.uid()),
        log: facts.serial_console_log.then(|| facts.paths.serial_log(guest.uid())),
    })
}
