//! What libvirt and QEMU say when they will not have a domain, and which field of the guest that is about.

use kubevirt_api::v1::VirtualMachineInstance;

use super::Domain;

/// The field that somebody's words are about, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Blame {
    /// The field of the instance.
    pub field: String,
    /// What to do.
    pub right: &'static str,
}

/// Words by which a refusal is known: all of them stand in it.
struct Known {
    words: &'static [&'static str],
    field: Field,
    right: &'static str,
}

#[derive(Clone, Copy)]
enum Field {
    /// This one.
    Is(&'static str),
    /// The volume of the disk whose file or device is named.
    Volume,
}

const IN_USE: &str = "another process uses the disk: end it, or mark the disk `shareable` in all guests that share it";

const FEATURES: &str = "leave these features out, or take a model that every node of the guest has";

/// The first that fits is taken.
const KNOWN: [Known; 15] = [
    Known { words: &["Failed to get", "lock"], field: Field::Volume, right: IN_USE },
    Known { words: &["Failed to lock byte"], field: Field::Volume, right: IN_USE },
    Known {
        words: &["does not support machine type"],
        field: Field::Is("spec.domain.machine.type"),
        right: "take a machine type of the QEMU that the launcher's image has, such as q35",
    },
    Known {
        words: &["nknown CPU model"],
        field: Field::Is("spec.domain.cpu.model"),
        right: "take one of libvirt's CPU models, or host-model",
    },
    Known {
        words: &["CPU feature"],
        field: Field::Is("spec.domain.cpu.features"),
        right: "take features by the names that libvirt has for them",
    },
    Known { words: &["CPU", "missing features"], field: Field::Is("spec.domain.cpu"), right: FEATURES },
    Known { words: &["CPU", "does not provide required features"], field: Field::Is("spec.domain.cpu"), right: FEATURES },
    Known {
        words: &["backing store", "guest RAM", "Cannot allocate memory"],
        field: Field::Is("spec.domain.memory.hugepages"),
        right: "the node has not so many free huge pages: reserve more, or ask for less memory",
    },
    Known {
        words: &["Cannot allocate memory"],
        field: Field::Is("spec.domain.memory.guest"),
        right: "the node has not so much memory left: give the guest less, or raise the limit of its pod",
    },
    Known {
        words: &["Address space limit"],
        field: Field::Is("spec.domain.memory.guest"),
        right: "that is more than the guest's processor can address: give the guest less, and `maxGuest` too",
    },
    Known {
        words: &["vhost-vsock", "Address already in use"],
        field: Field::Is("spec.domain.devices.autoattachVSOCK"),
        right: "another guest on the node has the same context id: start the guest anew, it gets another one",
    },
    Known {
        words: &["Could not open", "Permission denied"],
        field: Field::Volume,
        right: "the launcher's user (107) must be able to read and write the disk",
    },
    Known {
        words: &["Could not open", "No such file"],
        field: Field::Volume,
        right: "the disk is not where it should be: look whether its claim still has it",
    },
    Known { words: &["mage is not in", "format"], field: Field::Volume, right: "the disk holds another format than it says it does" },
    Known { words: &["Could not open"], field: Field::Volume, right: "the disk cannot be read" },
];

/// Whose fault a refusal is, if that can be said.
pub fn blame(said: &str, vmi: &VirtualMachineInstance, domain: &Domain) -> Option<Blame> {
    let fits = |known: &&Known| known.words.iter().all(|word| said.contains(word));
    KNOWN.iter().filter(fits).find_map(|known| {
        let field = match known.field {
            Field::Is(field) => field.to_owned(),
            Field::Volume => volume(said, vmi, domain)?,
        };
        Some(Blame { field, right: known.right })
    })
}

/// The volume of the disk that somebody speaks of, by its file or by its name in libvirt.
fn volume(said: &str, vmi: &VirtualMachineInstance, domain: &Domain) -> Option<String> {
    let layers = domain.devices.disks.iter().flat_map(|disk| {
        let below = disk.backing_store.as_ref().map(|store| &store.source);
        let all = disk.source.iter().chain(disk.content()).chain(below);
        all.filter_map(|source| Some((disk.alias.as_deref()?, source.path()?)))
    });
    // one path may begin like another
    let by_path = layers.filter(|(_, path)| said.contains(path)).max_by_key(|(_, path)| path.len()).map(|(name, _)| name);
    let names = || domain.devices.disks.iter().filter_map(|disk| disk.alias.as_deref());
    let name = by_path.or_else(|| names().find(|name| said.contains(&format!("\"ua-{name}\""))))?;
    let at = vmi.spec.volumes.iter().position(|volume| volume.name == name)?;
    Some(format!("spec.volumes[{at}]"))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::convert;
    use super::super::testing::{facts, with};
    use super::blame;

    #[test]
    fn what_is_said_is_about_a_field() {
        let disk = |name: &str| json!({"name": name, "disk": {"bus": "virtio"}});
        let claim = |name: &str| json!({"name": name, "persistentVolumeClaim": {"claimName": name}});
        let vmi = with(json!({"spec": {
            "domain": {"devices": {"disks": [disk("data"), disk("data-2")]}}, "volumes": [claim("data"), claim("data-2")],
        }}));
        let domain = convert(&vmi, &facts(&[])).unwrap();
        let path = |at: usize| domain.devices.disks[at].content().and_then(|source| source.path()).unwrap().to_owned();
        for (said, field) in [
            (format!("Failed to get \"write\" lock\nIs another process using the image [{}]?", path(0)), Some("spec.volumes[0]")),
            (format!("Failed to get shared \"write\" lock\nIs another process using the image [{}]?", path(1)), Some("spec.volumes[1]")),
            (format!("Could not open '{}': Permission denied", path(1)), Some("spec.volumes[1]")),
            (format!("Could not open '{}': Image is not in qcow2 format", path(0)), Some("spec.volumes[0]")),
            ("-device {\"id\":\"ua-data-2\"}: Failed to lock byte 100".to_owned(), Some("spec.volumes[1]")),
            ("Could not open '/somewhere/else': Permission denied".to_owned(), None),
            ("unsupported configuration: Emulator '/q' does not support machine type 'x'".to_owned(), Some("spec.domain.machine.type")),
            ("internal error: Unknown CPU model Z80".to_owned(), Some("spec.domain.cpu.model")),
            ("cannot set up guest memory 'pc.ram': Cannot allocate memory".to_owned(), Some("spec.domain.memory.guest")),
            ("unable to map backing store for guest RAM: Cannot allocate memory".to_owned(), Some("spec.domain.memory.hugepages")),
            ("guest CPU doesn't match specification: missing features: svm".to_owned(), Some("spec.domain.cpu")),
            ("Address space limit 0xff < 0xfff phys-bits too low (8)".to_owned(), Some("spec.domain.memory.guest")),
            ("something that nobody has foreseen".to_owned(), None),
        ] {
            assert_eq!(blame(&said, &vmi, &domain).map(|blame| blame.field).as_deref(), field, "{said}");
        }
    }
}
