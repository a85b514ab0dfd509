//! The identity of the guest's firmware, which must be the same at every start.

use sha1::{Digest, Sha1};

use crate::api::v1::VirtualMachine;

/// The namespace of the UUIDs that are made of names.
const NAMESPACE: [u8; 16] = [0x6a, 0x1a, 0x24, 0xa1, 0x40, 0x61, 0x46, 0x07, 0x8b, 0xf4, 0xa3, 0x96, 0x3d, 0x0c, 0x58, 0x95];

/// The UUID of a guest of that name which was never given one: a version 5 UUID.
pub fn legacy_uuid(name: &str) -> String {
    let digest = Sha1::new_with_prefix(NAMESPACE).chain_update(name).finalize();
    let mut bytes = [0_u8; 16];
    bytes.iter_mut().zip(digest.iter()).for_each(|(byte, digest)| *byte = *digest);
    let mut value = u128::from_be_bytes(bytes);
    value = value & !(0xf << 76) | 5 << 76;
    value = value & !(0x3 << 62) | 2 << 62;
    let hex = format!("{value:032x}");
    let part = |from, to| hex.get(from..to).unwrap_or_default();
    [part(0, 8), part(8, 12), part(12, 16), part(16, 20), part(20, 32)].join("-")
}

/// Writes the UUID into a machine without one, so that it outlives a change of the machine's name.
pub(super) fn complete(machine: &mut VirtualMachine) {
    let uuid = legacy_uuid(machine.metadata.name.as_deref().unwrap_or_default());
    if let Some(template) = &mut machine.spec.template {
        let firmware = template.spec.domain.firmware.get_or_insert_default();
        if firmware.uuid.is_empty() {
            firmware.uuid = uuid;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_make_uuids_of_version_5() {
        // Worked out by another implementation of RFC 9562.
        assert_eq!(legacy_uuid("testvmi"), "f8918e71-270a-598e-a2a4-1afac39e1394");
    }
}
