//! Names of disks in libvirt: `vda`, `vdb`, … for virtio, `sda`, … for the other buses.
//!
//! A disk keeps the name that it has in the VMI's status: what is plugged into a running guest must not move the others.

use std::collections::HashSet;

use kubevirt_api::v1::{Disk, DiskBus, VolumeStatus};

use super::disks::bus;

/// Gives names to disks.
#[derive(Debug)]
pub(super) struct Namer<'a> {
    statuses: &'a [VolumeStatus],
    /// The names that disks have already, with the two letters of their bus.
    taken: HashSet<(&'static str, &'a str)>,
    virtio: u32,
    other: u32,
}

impl<'a> Namer<'a> {
    pub(super) fn new(disks: &[Disk], statuses: &'a [VolumeStatus]) -> Self {
        let mut taken = HashSet::new();
        for status in statuses.iter().filter(|status| !status.target.is_empty()) {
            for disk in disks.iter().filter(|disk| disk.name == status.name) {
                if let Some(bus) = bus(disk) {
                    taken.insert((prefix(bus), status.target.as_str()));
                }
            }
        }
        Self { statuses, taken, virtio: 0, other: 0 }
    }

    /// The name of a disk, and its place among those of its bus.
    pub(super) fn name(&mut self, disk: &str, bus: &DiskBus) -> (String, u32) {
        let prefix = prefix(bus);
        let known = self.statuses.iter().rfind(|status| status.name == disk && !status.target.is_empty());
        if let Some(known) = known {
            let place = known.target.strip_prefix(prefix).and_then(place).unwrap_or(0);
            return (known.target.clone(), place);
        }
        loop {
            let next = if prefix == "vd" { &mut self.virtio } else { &mut self.other };
            let place = *next;
            *next += 1;
            let name = format(prefix, place);
            if !self.taken.contains(&(prefix, name.as_str())) {
                return (name, place);
            }
        }
    }
}

fn prefix(bus: &DiskBus) -> &'static str {
    if *bus == DiskBus::Virtio { "vd" } else { "sd" }
}

/// The name of a place: letters as digits, `z` is followed by `aa`.
fn format(prefix: &str, place: u32) -> String {
    let mut letters = [0; 8];
    let mut start = letters.len();
    let mut rest = place;
    for letter in letters.iter_mut().rev() {
        *letter = b'a' + u8::try_from(rest % 26).unwrap_or(0);
        start -= 1;
        if rest < 26 {
            break;
        }
        rest = rest / 26 - 1;
    }
    let mut name = String::with_capacity(prefix.len() + 3);
    name.push_str(prefix);
    name.extend(letters.iter().skip(start).map(|b| char::from(*b)));
    name
}

/// The place of the letters of a name.
fn place(letters: &str) -> Option<u32> {
    let mut place: u32 = 0;
    for letter in letters.bytes() {
        let digit = letter.checked_sub(b'a').filter(|digit| *digit < 26)?;
        place = place.checked_mul(26)?.checked_add(u32::from(digit) + 1)?;
    }
    place.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use kubevirt_api::v1::{CdromTarget, DiskTarget};

    use super::*;

    #[test]
    fn places_and_letters_are_each_others_inverse() {
        for (number, letters) in [(0, "a"), (25, "z"), (26, "aa"), (51, "az"), (52, "ba"), (701, "zz"), (702, "aaa")] {
            assert_eq!(format("vd", number), format!("vd{letters}"));
            assert_eq!(place(letters), Some(number));
        }
        for letters in ["", "A", "1", "zzzzzzzzzzzz"] {
            assert_eq!(place(letters), None, "{letters}");
        }
    }

    #[test]
    fn a_disk_keeps_the_name_that_the_status_knows() {
        let disk = |name: &str| Disk {
            name: name.into(),
            disk: Some(DiskTarget { bus: DiskBus::Virtio, ..DiskTarget::default() }),
            ..Disk::default()
        };
        let drive = Disk { name: "d".into(), cdrom: Some(CdromTarget { bus: DiskBus::Sata, ..CdromTarget::default() }), ..Disk::default() };
        let disks = [disk("a"), disk("b"), disk("c"), drive];
        let statuses = [VolumeStatus { name: "c".into(), target: "vda".into(), ..VolumeStatus::default() }];
        let mut namer = Namer::new(&disks, &statuses);
        let names: Vec<_> = disks.iter().map(|d| namer.name(&d.name, bus(d).unwrap())).collect();
        assert_eq!(names, [("vdb".into(), 1), ("vdc".into(), 2), ("vda".into(), 0), ("sda".into(), 0)]);
    }
}
